# SPDX-License-Identifier: MIT
"""Candidates for the arithmetic of a library's kernel, and what each gives for operands on a GPU or on the host."""

from collections.abc import Iterator, Sequence
from itertools import product as cartesian
from typing import Any, NamedTuple

import torch

import wmma_emu as we
from wmma_emu.gemm import KOrder
from wmma_emu.gemm.k_order import plan_of
from wmma_emu.models.kinds import FORMATS

CHIP = "h100"

INSTRUCTIONS = {
    "bfloat16": ("m16n8k16.f32.bf16.bf16.f32", "m16n8k8.f32.bf16.bf16.f32"),
    "float16": ("m16n8k16.f32.f16.f16.f32", "m16n8k8.f32.f16.f16.f32"),
}
"""Instructions by dtype, the one of large tiles first."""

STEPS = {"m16n8k16": 16, "m16n8k8": 8, "fma": 1}

FMA = "fma.f32"
"""Multiply-adds of the CUDA cores in float32."""

_LONGEST_CHAIN = 5000
"""The largest K for which multiply-adds are tried: each k is several operations of PyTorch."""

_SPLITS = (*range(1, 25), 28, 30, 32, 36, 40, 48, 64)

_DEEPEST = 1 << 30


class Candidate(NamedTuple):
    """An instruction, an order of k, and how an addend joins: in the sum, or after rounding."""

    instr: str
    order: KOrder
    form: str = "before rounding"
    layout: str = ""

    @property
    def changed(self) -> dict[str, Any]:
        """The fields of the order that are not the default's."""
        plain = KOrder()
        return {x: getattr(self.order, x) for x in KOrder.__slots__ if getattr(self.order, x) != getattr(plain, x)}

    def as_json(self) -> dict[str, Any]:
        """Return the candidate for a file."""
        return {"instr": self.instr, "order": self.changed, "form": self.form, "layout": self.layout}


def candidates(dtype: str, k: int, layout: str, has_addend: bool, wide: bool) -> Iterator[Candidate]:
    """Yield candidates for a product of K elements, plain ones first, each way of adding once.

    Without ``wide`` there are only those of the presets, plain loops and up to 12 ranges of whole tiles of 64; and a
    plain loop of multiply-adds.
    """
    if "in turn" in layout:
        if not wide:
            yield from _in_turn(dtype, layout)
        return
    forms = ("before rounding", "after rounding") if has_addend else ("before rounding",)
    seen: set[tuple[str, ...]] = set()
    for order, instr in cartesian(_orders(FORMATS[dtype], k, wide), INSTRUCTIONS[dtype]):
        try:
            plan = plan_of(order, k, STEPS[instr.split(".")[0]], _DEEPEST)
        except ValueError:
            continue
        key = (instr, repr(plan), *((order.partials, order.reduction) if len(plan) > 1 else ()))
        if key not in seen:
            seen.add(key)
            yield from (Candidate(instr, order, form, layout) for form in forms)
    if not wide and k <= _LONGEST_CHAIN:
        yield Candidate(FMA, KOrder(), layout=layout)


def _in_turn(dtype: str, layout: str) -> Iterator[Candidate]:
    """Yield the orders of ranges that take tiles in turn, whose operands are rearranged."""
    tile, ranges = (int(word) for word in layout.split() if word.isdigit())
    for instr in INSTRUCTIONS[dtype]:
        for partials in ("", FORMATS[dtype]):
            order = KOrder(tile=tile, splits=ranges, partials=partials)  # type: ignore[arg-type]
            yield Candidate(instr, order, layout=layout)


def _orders(fmt: str, k: int, wide: bool) -> Iterator[KOrder]:
    yield KOrder()
    if not wide:
        yield from (KOrder(tile=64, splits=n) for n in range(2, 13))
        yield KOrder(tile=64, residue="first")
        return
    # Kernels for a K that is not a multiple of 16 bytes have small tiles and divide K at multiples of 8.
    tiles, residues, multiple = ((64, 32), ("last", "first"), 8) if k % 8 else ((64, 32, 128, 16), ("last",), 0)
    ways = (("", "ascending"), (fmt, "ascending"), ("", "descending"), ("", "pairwise"))
    for splits, tile, residue, (partials, reduction) in cartesian(_SPLITS, tiles, residues, ways):
        yield KOrder(
            tile=tile, residue=residue, splits=splits, split_multiple=multiple, partials=partials, reduction=reduction  # type: ignore[arg-type]
        )  # fmt: skip


class Sums:
    """The float32 sums of one product of matrices, by instruction and range of k; each is computed once."""

    def __init__(self, a: Any, b: Any) -> None:
        self._a, self._b = (x.view(torch.int16) for x in (a, b))
        self._dtype = str(a.dtype).removeprefix("torch.")
        self._ranges: dict[tuple[str, str], Any] = {}

    def of(self, candidate: Candidate) -> Any:
        """Return the sum of all ranges, in float32."""
        step = STEPS[candidate.instr.split(".")[0]]
        plan = plan_of(candidate.order, self._a.shape[-1], step, _DEEPEST)
        parts = [self._range(candidate.instr, groups) for groups in plan]
        order = candidate.order
        if order.partials and len(parts) > 1:
            parts = [x.to(getattr(torch, self._dtype)).float() for x in parts]
        return _added(parts, order.reduction)

    def _range(self, instr: str, groups: list[list[Any]]) -> Any:
        key = instr, repr(groups)
        if key not in self._ranges:
            total = None
            for run in groups[0]:
                a, b = self._a[..., run.start : run.stop], self._b[..., run.start : run.stop, :]
                total = _gemm(a, b, total, instr, getattr(torch, self._dtype))
            self._ranges[key] = total
        return self._ranges[key]


def _added(parts: Sequence[Any], reduction: str) -> Any:
    parts = list(reversed(parts)) if reduction == "descending" else list(parts)
    while len(parts) > 1:
        if reduction == "pairwise":
            pairs = [sum(parts[i + 1 : i + 2], parts[i]) for i in range(0, len(parts), 2)]
            parts = pairs
        else:
            parts[:2] = [parts[0] + parts[1]]
    return parts[0]


def _gemm(a: Any, b: Any, c: Any, instr: str, dtype: torch.dtype) -> Any:
    """Multiply patterns with `wmma_emu.gemm`: with the GPU engine if they are in GPU memory."""
    if instr == FMA:
        return _chain(*(x.view(dtype).float() for x in (a, b)))
    if a.device.type == "cuda":
        import cupy

        x, y = (cupy.from_dlpack(v.contiguous()).view("u2") for v in (a, b))
        z = None if c is None else cupy.from_dlpack(c.contiguous())
        return torch.from_dlpack(we.gemm(x, y, z, instr=instr, arch=CHIP, engine="cupy"))
    x, y = (v.contiguous().numpy().view("u2") for v in (a, b))
    return torch.from_numpy(we.gemm(x, y, None if c is None else c.numpy(), instr=instr, arch=CHIP))


def _chain(a: Any, b: Any) -> Any:
    """Add the products of each k by fused multiply-adds.

    A product of two elements of 11 bits is exact in float32, so that its sum is rounded once, as in `fma.rn.f32`.
    """
    total = a.new_zeros(*a.shape[:-1], b.shape[-1])
    for k in range(a.shape[-1]):
        total += a[..., k, None] * b[..., k, None, :]
    return total


def finished(total: Any, addend: Any, form: str, dtype: torch.dtype) -> Any:
    """Round a sum to the result's dtype, with an addend before or after."""
    if addend is None:
        return total.to(dtype)
    if form == "before rounding":
        return (total + addend.float()).to(dtype)
    return (total.to(dtype).float() + addend.float()).to(dtype)
