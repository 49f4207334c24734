# SPDX-License-Identifier: MIT
"""The scales of one product: none, block scales of the instruction, or float32 scales of a kernel."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from wmma_emu.arithmetic import DotProduct
from wmma_emu.errors import OptionError, ShapeError, UnsupportedInstructionError, shorten
from wmma_emu.formats.codec import Bits
from wmma_emu.gemm.block_scales import ScaleOperand, block_scales_of
from wmma_emu.gemm.choice import kind_of_scales
from wmma_emu.gemm.elementwise import converted
from wmma_emu.gemm.epilogue import Epilogue
from wmma_emu.gemm.float_scales import BLOCK, FloatScales, float_scales_of
from wmma_emu.gemm.k_order import KOrder, Run
from wmma_emu.gemm.options import Factors, ProductOptions
from wmma_emu.gemm.presets import preset_of
from wmma_emu.instructions import Instruction

_Index = tuple[slice, ...]


@dataclass(frozen=True, slots=True)
class ProductScales:
    """The scales that `gemm` applies; without any, nothing changes."""

    blocks: tuple[ScaleOperand, ScaleOperand] | None = None
    floats: FloatScales | None = None

    def with_batch(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of D, with leading axes that only the scales have."""
        batches = [x.shape[:-2] for x in self.blocks or ()]
        if self.floats is not None:
            batches.append(self.floats.batch)
        try:
            return (*np.broadcast_shapes(shape[:-2], *batches), *shape[-2:])
        except ValueError:
            raise ShapeError(
                f"the leading axes of the scales, {', '.join(map(str, batches))}, do not broadcast to those of D, "
                f"{shape}"
            ) from None

    def order(self, order: KOrder | None, step: int) -> KOrder | None:
        """Complete an order of k: scales of 128 k are multiplied into sums that start from +0 every 128 k."""
        if self.floats is None or not self.floats.block:
            return order
        if BLOCK % step:
            raise UnsupportedInstructionError(
                f"the instruction's k is {step}, which does not divide the {BLOCK} k that share a scale; "
                "use an instruction with a smaller k"
            )
        if order is None:
            return KOrder(promote_every=BLOCK // step)
        if not isinstance(order, KOrder):
            return order
        self._check(order, step)
        return replace(order, promote_every=BLOCK // step, tile=order.tile or BLOCK)

    def _check(self, order: KOrder, step: int) -> None:
        if order.promote_every not in (0, BLOCK // step):
            raise OptionError(
                f"KOrder: promote_every={order.promote_every} contradicts scales of {BLOCK} k, which are applied "
                f"every {BLOCK // step} instructions; leave promote_every out"
            )
        if order.residue == "first":
            raise OptionError(f"KOrder: residue='first' shifts the {BLOCK} k that share a scale; leave residue out")
        multiples = [order.split_multiple or order.tile or BLOCK] if order.splits > 1 else []
        for name, values in (("split_multiple", multiples), ("cuts", order.cuts)):
            for x in values:
                if x % BLOCK:
                    near = max((x + BLOCK // 2) // BLOCK, 1) * BLOCK
                    raise OptionError(
                        f"KOrder: ranges of multiples of {x} k ({name}) split {BLOCK} k that share a scale; "
                        f"the nearest is {near}"
                    )

    def in_epilogue(self, epilogue: Epilogue, C: ArrayLike | None, beta: object) -> Epilogue:
        """Reject a C from which accumulators would start; make one scale for each matrix a part of alpha."""
        if self.floats is None:
            return epilogue
        if C is not None and beta is None:
            raise OptionError(
                "C was given without beta, but scaled accumulators start from +0; "
                "pass beta=1, which adds C after the scales"
            )
        if self.floats.is_factors and (epilogue.alpha is not None or epilogue.c is not None):
            raise OptionError(
                "each matrix of the batch has its own scale, which would be part of a separate alpha; "
                "multiply the matrices one by one, or leave alpha and beta out"
            )
        if not self.floats.is_factor:
            return epilogue
        return replace(epilogue, alpha=self.floats.factor(epilogue.alpha))

    def of_run(self, index: _Index, run: Run, step: int) -> tuple[Bits, ...]:
        """Return the patterns of the block scales of one run of instructions; empty without scales."""
        return tuple(x.of_run(index, run, step) for x in self.blocks or ())

    def promotion(self, index: _Index) -> Callable[[Bits, Bits, int], Bits] | None:
        """Return the function that adds sums of 128 k to those of one panel; None if they are not scaled."""
        if self.floats is None or not self.floats.block:
            return None
        promoted = self.floats.promoted
        return lambda total, sums, start: promoted(total, sums, index, start)

    def scaled(self, sums: Bits, source: str, index: _Index) -> Bits:
        """Return the accumulators of one panel, scaled if one scale applies to all k."""
        if self.floats is None or self.floats.block:
            return sums
        return converted(sums, source, "f32") if self.floats.is_factor else self.floats.scaled(sums, source, index)


def check_scaled(factors: Factors, options: ProductOptions, in_pieces: bool, on_gpu: bool) -> None:
    """Reject options that scaled products do not support: an order without scales, presets, Dask and CuPy arrays."""
    if options.scale_order is not None and kind_of_scales(factors.scale_a, factors.scale_b) != "float":
        raise OptionError(
            f"scale_order={shorten(options.scale_order)} applies to float32 scales; without them, leave it out"
        )
    if options.like is not None:
        like = preset_of(options.like).name
        raise OptionError(
            f"like={like!r} is recorded with scales of 1; leave it out, and name instr, k_order, scale_order"
        )
    for given, what, fix in (
        (in_pieces, "Dask arrays", "call gemm on chunks, each with its scales, or A.compute() and scale_a.compute()"),
        (on_gpu, "CuPy arrays", "copy them to the host, A.get() and scale_a.get()"),
    ):
        if given:
            raise OptionError(f"scale_a and scale_b are not supported for {what}; {fix}")


def scales_of(
    factors: Factors,
    scale_order: str | None,
    product: DotProduct,
    entry: Instruction | None,
    shape: tuple[int, int, int],
    arch: str,
) -> ProductScales:
    """Read the given scales of a product of M x N x K."""
    scale_a, scale_b = factors.scale_a, factors.scale_b
    kind = kind_of_scales(scale_a, scale_b)
    needs = entry is not None and entry.is_block_scaled
    if entry is not None and needs and kind != "block":
        what = "scale_a and scale_b do not have 8-bit elements" if kind else "scale_a and scale_b are missing"
        fix = "wmma_emu.quantise.quantise makes them" + (", or leave instr out" if kind else "")
        raise OptionError(
            f"{what}: {entry.mnemonic} reads 8-bit block scales of {entry.scale} for each {entry.scale_block} k; {fix}"
        )
    if not kind:
        return ProductScales()
    if kind == "float":
        return ProductScales(floats=float_scales_of(scale_a, scale_b, product, shape, arch, scale_order))
    if entry is None or not needs:
        raise OptionError(
            f"{entry or 'fma.f32'} has no block scales, but scale_a and scale_b have 8-bit elements; name an "
            "instruction with .block_scale, leave instr out, or pass float32 scales"
        )
    return ProductScales(blocks=block_scales_of(entry, scale_a, scale_b, shape))
