# SPDX-License-Identifier: MIT
"""One product of tensors on the emulated chip: the kind, the order of k, the call of `gemm`, and its record."""

import time
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
import torch

from wmma_emu.display import warn_caller
from wmma_emu.errors import UnverifiedModelWarning
from wmma_emu.formats.libraries import library_of
from wmma_emu.gemm import PRESETS, Factors, KOrder, ProductOptions, gemm, recording_of
from wmma_emu.instructions import DEFAULT_ARCH, Arch, arch_of
from wmma_emu.scalar import cvt
from wmma_emu.torch.choice import Kind, kind_of, settings_of
from wmma_emu.torch.log import EmulationLog, ProductRecord
from wmma_emu.torch.options import EmulationOptions
from wmma_emu.torch.places import Places


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A product of tensors, as `wmma_emu.gemm` takes it: D = alpha A B + beta C + bias.

    Without ``beta``, C is where the accumulators start. ``operation`` is for the log.
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
    convolves: bool = False
    precise: bool = False

    def with_result(self, dtype: Any) -> "Product":
        """Return the same product with a result of another dtype."""
        return replace(self, out_dtype=dtype)

    @property
    def shape(self) -> tuple[int, int, int]:
        """(M, N, K)."""
        return self.a.shape[-2], self.b.shape[-1], self.a.shape[-1]

    @property
    def matrices(self) -> int:
        """The number of products."""
        return prod(torch.broadcast_shapes(self.a.shape[:-2], self.b.shape[:-2]))


@dataclass(eq=False)
class Multiplier:
    """Multiplies tensors with the bits of one chip, and logs the products."""

    options: EmulationOptions
    log: EmulationLog = field(default_factory=EmulationLog)
    places: Places = field(default_factory=Places)
    kinds: dict[tuple[Any, Any, frozenset[str]], Kind | None] = field(default_factory=dict)
    _warned: set[str] = field(default_factory=set)

    @property
    def arch(self) -> Arch:
        """The chip."""
        return arch_of(DEFAULT_ARCH) if self.options.arch is None else self.options.arch

    def kind(self, product: Product) -> Kind | None:
        """Return the kind of a product; None if the chip has no instruction for it."""
        what = (product.a.dtype, product.b.dtype, settings_of(product.convolves, product.precise))
        if what not in self.kinds:
            self.kinds[what] = self.kind_on(self.arch, *what)
        return self.kinds[what]

    def kind_on(self, arch: Arch, a: Any, b: Any, settings: frozenset[str]) -> Kind | None:
        """Return the kind of products on a chip, with the changes of the options."""
        found = kind_of(a, b, arch, settings)
        if found is None:
            return None
        for name, chip in self.options.model_of.items():
            other = kind_of(a, b, arch_of(chip), settings)
            found = found if other is None else found.with_field(name, other)
        return found.changed(self.options.changes)

    def __call__(self, product: Product) -> Any:
        """Multiply; return NotImplemented if the chip has no instruction for the dtypes."""
        kind = self.kind(product)
        if kind is None:
            return NotImplemented
        self._warn_once(kind)
        begin = time.perf_counter()
        arrays = {x: _on_host(getattr(product, x)) for x in ("a", "b", "c", "bias", "scale_a", "scale_b")}
        a, b = (self._converted(arrays[x], kind) for x in ("a", "b"))
        given = {
            "C": arrays["c"], "alpha": product.alpha, "beta": product.beta, "bias": arrays["bias"],
            "scale_a": arrays["scale_a"], "scale_b": arrays["scale_b"], "out_dtype": product.out_dtype,
        }  # fmt: skip
        how, order, evidence = self._kernel(product, kind, a, b, given)
        d: Any = gemm(a, b, **given, **how, engine=self.options.engine, threads=self.options.threads)
        self._note(product, kind, order, evidence, time.perf_counter() - begin)
        return d if product.a.device.type == "cpu" else d.to(product.a.device)

    def _warn_once(self, kind: Kind) -> None:
        """Raise a warning about arithmetic without a recording, once for each instruction in an emulation."""
        doubt = None if kind.instruction is None else kind.instruction.doubt
        if doubt is not None and kind.mnemonic not in self._warned:
            self._warned.add(kind.mnemonic)
            warn_caller(doubt, UnverifiedModelWarning)

    def _converted(self, tensor: Any, kind: Kind) -> Any:
        """Convert an operand as the kernel does: to float32 for multiply-adds, or to TF32."""
        if kind.widens:
            return tensor.float()
        if kind.operand_format != "tf32" or self.options.tf32_conversion == "truncate":
            return tensor
        words = tensor.contiguous().numpy().view(np.uint32)
        return torch.from_numpy(cvt(words, f"cvt.{self.options.tf32_conversion}.tf32.f32").view(np.float32))

    def _kernel(
        self, product: Product, kind: Kind, a: Any, b: Any, given: dict[str, Any]
    ) -> tuple[dict[str, Any], KOrder | None, str]:
        """Return the kernel as arguments of `gemm`: an instruction and an order of k, or a recorded kernel."""
        preset = self._recorded(product, kind, a, b, given)
        if preset is not None:
            return {"like": preset[0]}, preset[1], "recorded"
        order, evidence = self._order(product, kind)
        return {"instr": kind.instr, "k_order": order}, order, evidence

    def _order(self, product: Product, kind: Kind) -> tuple[KOrder | None, str]:
        chosen = self.options.k_order
        if callable(chosen):
            chosen = chosen(product.shape, product.matrices, kind.operand_format)
        if chosen is not None:
            return chosen, "given"
        return kind.k_order, "assumed"

    def _recorded(
        self, product: Product, kind: Kind, a: Any, b: Any, given: dict[str, Any]
    ) -> tuple[str, KOrder | None] | None:
        """Return the preset whose recordings have this product, and its order of k."""
        if self.options.like is None or product.scale_a is not None or (product.c is not None and product.beta is None):
            return None
        out = str(product.out_dtype).removeprefix("torch.")
        options = ProductOptions(
            out_dtype=product.out_dtype, alpha=product.alpha, beta=product.beta, bias=_dtyped(given["bias"])
        )
        for preset in PRESETS:
            fits = preset.arch == self.arch.name and preset.a == kind.operand_format and out in _names(preset.outs)
            if preset.name.partition("-")[0] == self.options.like and fits:
                found = recording_of(preset.name, Factors(a, b), _dtyped(given["C"]), options)
                if found is not None:
                    return preset.name, found.order
        return None

    def _note(self, product: Product, kind: Kind, order: KOrder | None, evidence: str, seconds: float) -> None:
        module, is_backward = self.places()
        if self.options.keep_operands:
            self.log.operands.append((product, kind))
        self.log.records.append(ProductRecord(
            module, product.operation, is_backward, product.shape, product.matrices, kind.a, kind.b,
            _format_name(product.out_dtype), self.arch.name, kind.mnemonic, order, kind.status, evidence, seconds,
        ))  # fmt: skip


def _on_host(tensor: Any) -> Any:
    """Return a tensor on the CPU without a gradient; numbers are returned as they are."""
    return tensor.detach().cpu() if isinstance(tensor, torch.Tensor) else tensor


def _dtyped(tensor: Any) -> Any:
    """Return an addend as the array whose dtype the tables of presets compare."""
    if tensor is None:
        return None
    library = library_of(tensor)
    return tensor if library is None else library.read(tensor, "C")


_SHORT = {
    "float32": "f32", "float16": "f16", "bfloat16": "bf16", "float64": "f64", "int32": "s32", "int8": "s8",
    "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2",
}  # fmt: skip


def _format_name(dtype: Any) -> str:
    name = str(dtype).removeprefix("torch.")
    return _SHORT.get(name, name)


def _names(outs: tuple[str, ...]) -> set[str]:
    return {name for name, fmt in _SHORT.items() if fmt in outs}
