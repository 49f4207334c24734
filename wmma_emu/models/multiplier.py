# SPDX-License-Identifier: MIT
"""One product of arrays on the emulated chip: the kind, the order of k, the call of `gemm`, and its record."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple

import numpy as np

from wmma_emu.arithmetic import FMA_F32
from wmma_emu.display import warn_caller
from wmma_emu.errors import OptionError, UnverifiedModelWarning
from wmma_emu.formats.dtypes import format_meant
from wmma_emu.gemm import PRESETS, Factors, KOrder, ProductOptions, recording_of
from wmma_emu.gemm.device_arrays import is_cupy
from wmma_emu.gemm.gemm import gemm_of
from wmma_emu.gemm.options import Form
from wmma_emu.gemm.preset_table import Preset, Recorded
from wmma_emu.gemm.presets import form_of
from wmma_emu.instructions import DEFAULT_ARCH, Arch, arch_of
from wmma_emu.models.convolution_kernels import ConvolutionKernel
from wmma_emu.models.kinds import ProductKind, kind_of
from wmma_emu.models.log import EmulationLog, ProductRecord
from wmma_emu.models.options import EmulationOptions
from wmma_emu.scalar import cvt

Place = tuple[str, bool]
"""The module of a product in the model, and whether it computes a gradient."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayProduct:
    """A product of arrays, as `wmma_emu.gemm` takes it: D = alpha A B + beta C + bias.

    Without ``beta``, C is where the accumulators start. ``operation`` is for the log, and ``settings`` are the settings
    of the library that are on. A product that ``is_fused`` belongs to a kernel with a separate order of k, to which
    ``like`` and ``k_order`` do not apply; cuBLAS does not compute one that ``convolves``. ``kernel`` is the recorded
    kernel of another library.
    """

    operation: str
    a: Any
    b: Any
    out_dtype: Any
    c: Any = None
    alpha: float | None = None
    beta: float | None = None
    bias: Any = None
    scale_a: Any = None
    scale_b: Any = None
    scale_order: str | None = None
    settings: frozenset[str] = frozenset()
    is_fused: bool = False
    convolves: bool = False
    kernel: ConvolutionKernel | None = None

    @property
    def what(self) -> tuple[str, str, frozenset[str], str]:
        """The dtypes of A and B, the settings, and the instruction of a kernel: what determines the kind."""
        return self.a.dtype.name, self.b.dtype.name, self.settings, "" if self.kernel is None else self.kernel.instr

    @property
    def shape(self) -> tuple[int, int, int]:
        """(M, N, K)."""
        return self.a.shape[-2], self.b.shape[-1], self.a.shape[-1]

    @property
    def matrices(self) -> int:
        """The number of products."""
        return prod(np.broadcast_shapes(self.a.shape[:-2], self.b.shape[:-2]))


class ProductKernel(NamedTuple):
    """The kernel of a product: the instruction, the order of k with its evidence, and the form of the epilogue."""

    kind: ProductKind
    order: KOrder | None
    evidence: str
    form: Form = "fma_accumulator"


@dataclass(eq=False)
class ModelMultiplier:
    """Multiplies arrays with the bits of one chip, and logs the products.

    Examples
    --------
    >>> multiply = ModelMultiplier(EmulationOptions(arch="a100"))
    >>> ones = np.ones((2, 2), np.float16)
    >>> multiply(ArrayProduct(operation="dot", a=ones, b=ones, out_dtype=np.float16))
    array([[2., 2.],
           [2., 2.]], dtype=float16)
    >>> multiply.log[0].instruction
    'mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32'
    """

    options: EmulationOptions
    log: EmulationLog = field(default_factory=EmulationLog)
    place: Callable[[], Place] = lambda: ("", False)
    kinds: dict[tuple[str, str, frozenset[str], str], ProductKind | None] = field(default_factory=dict)
    _warned: set[str] = field(default_factory=set)

    @property
    def arch(self) -> Arch:
        """The chip."""
        return arch_of(DEFAULT_ARCH) if self.options.arch is None else self.options.arch

    def kind(self, a: str, b: str, settings: frozenset[str], instr: str = "") -> ProductKind | None:
        """Return the kind of products of two dtypes; None if the chip has no instruction for it."""
        what = (a, b, settings, instr)
        if what not in self.kinds:
            self.kinds[what] = self._kind(*what)
        return self.kinds[what]

    def _kind(self, a: str, b: str, settings: frozenset[str], instr: str) -> ProductKind | None:
        found = kind_of(a, b, self.arch, settings, instr)
        if found is None:
            return None
        for name, chip in self.options.model_of.items():
            other = kind_of(a, b, arch_of(chip), settings, instr)
            found = found if other is None else found.with_field(name, other)
        return found.changed(self.options.changes)

    def __call__(self, product: ArrayProduct) -> Any:
        """Multiply; return NotImplemented if the chip has no instruction for the dtypes."""
        kind = self.kind(*product.what)
        if kind is None:
            return NotImplemented
        begin = time.perf_counter()
        d, kernel = self._multiplied(product, kind)
        self._note(product, kernel, time.perf_counter() - begin)
        return d

    def product_of(self, product: ArrayProduct) -> Any:
        """Multiply without an entry in the log, for the analysis of a product that has one."""
        kind = self.kind(*product.what)
        return NotImplemented if kind is None else self._multiplied(product, kind)[0]

    def _multiplied(self, product: ArrayProduct, kind: ProductKind) -> tuple[Any, ProductKernel]:
        """Return the product and its kernel."""
        kernel = self._kernel(product, kind)
        self._warn_once(kernel.kind)
        factors = Factors(
            self._converted(product.a, kernel.kind), self._converted(product.b, kernel.kind),
            product.scale_a, product.scale_b,
        )  # fmt: skip
        options = ProductOptions(
            instr=kernel.kind.instr, out_dtype=product.out_dtype, engine=self._engine(product),
            threads=self.options.threads, k_order=kernel.order, alpha=product.alpha, beta=product.beta,
            bias=product.bias, form=kernel.form, scale_order=product.scale_order,
        )  # fmt: skip
        return gemm_of(factors, product.c, options), kernel

    def _engine(self, product: ArrayProduct) -> str:
        return "cupy" if is_cupy(product.a) else self.options.engine

    def _warn_once(self, kind: ProductKind) -> None:
        """Raise a warning about arithmetic without a recording, once for each instruction in an emulation."""
        doubt = None if kind.instruction is None else kind.instruction.doubt
        if doubt is not None and kind.mnemonic not in self._warned:
            self._warned.add(kind.mnemonic)
            warn_caller(doubt, UnverifiedModelWarning)

    def _converted(self, array: Any, kind: ProductKind) -> Any:
        """Convert an operand as the kernel does: to float32 for multiply-adds, or to TF32."""
        if kind.widens:
            return array.astype(np.float32)
        if kind.operand_format != "tf32" or self.options.tf32_conversion == "truncate":
            return array
        words = np.ascontiguousarray(array).view(np.uint32)
        return cvt(words, f"cvt.{self.options.tf32_conversion}.tf32.f32").view(np.float32)

    def _kernel(self, product: ArrayProduct, kind: ProductKind) -> ProductKernel:
        """Return the recorded kernel of a product, or the assumed one."""
        evidence = "recorded" if self.options.like_chip == self.arch.name else "given"
        if product.kernel is not None:
            return ProductKernel(kind, product.kernel.order, evidence)
        found = self._recorded(product, kind)
        if found is not None:
            preset, entry = found
            recorded = self.kind(*product.what[:3], entry.instr or preset.instr)
            allowed = entry.order is None or f"no {entry.order.partials} partials" not in product.settings
            if recorded is not None and allowed and _fits(entry.order, product, recorded):
                return ProductKernel(recorded, entry.order, evidence, form_of(preset, entry.order, product.beta))
        return ProductKernel(kind, *self._order(product, kind))

    def _order(self, product: ArrayProduct, kind: ProductKind) -> tuple[KOrder | None, str]:
        chosen = None if product.is_fused else self.options.k_order
        if callable(chosen):
            chosen = chosen(product.shape, product.matrices, kind.operand_format)
        elif chosen is not None and not _fits(chosen, product, kind):
            chosen = None
        return (kind.k_order, "assumed") if chosen is None else (chosen, "given")

    def _recorded(self, product: ArrayProduct, kind: ProductKind) -> tuple[Preset, Recorded] | None:
        """Return the preset whose recordings have this product, and the entry."""
        starts_from_c = product.c is not None and product.beta is None
        is_other = product.scale_a is not None or starts_from_c or product.is_fused or product.convolves
        is_other |= "f16 sums" in product.settings and kind.operand_format == "f16"
        if "cublas" not in self.options.libraries or is_other:
            return None
        out = _format_name(product.out_dtype)
        options = ProductOptions(out_dtype=out, alpha=product.alpha, beta=product.beta, bias=product.bias)
        for preset in PRESETS:
            fits = preset.arch == self.options.like_chip and preset.a == kind.operand_format and out in preset.outs
            if preset.name.startswith("cublas-") and fits:
                found = recording_of(preset.name, Factors(product.a, product.b), product.c, options)
                if found is not None:
                    return preset, found
        return None

    def _note(self, product: ArrayProduct, kernel: ProductKernel, seconds: float) -> None:
        module, is_backward = self.place()
        if self.options.keep_operands:
            self.log.operands.append((product, kernel.kind))
        kind = kernel.kind
        self.log.records.append(ProductRecord(
            module, product.operation, is_backward, product.shape, product.matrices, kind.a, kind.b,
            _format_name(product.out_dtype), self.arch.name, kind.mnemonic, kernel.order, kind.status, kernel.evidence,
            seconds, self._engine(product),
        ))  # fmt: skip


def _fits(order: KOrder, product: ArrayProduct, kind: ProductKind) -> bool:
    """Return whether a product has enough k for an order, and an instruction that allows it."""
    dot = FMA_F32 if kind.instruction is None else kind.instruction.product
    step = dot.k if kind.instruction is None else kind.instruction.instruction.k
    try:
        order.check(dot, step)
        order.ranges(product.shape[2], step)
    except OptionError:
        return False
    return True


def _format_name(dtype: Any) -> str:
    fmt = format_meant(dtype)
    return str(dtype) if fmt is None else fmt.name
