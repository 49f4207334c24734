# SPDX-License-Identifier: MIT
"""One product on several chips: results side by side, and how far apart they are."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wmma_emu.arithmetic import FMA_F32, DotModel, dot_product_of
from wmma_emu.errors import UnsupportedInstructionError, shorten
from wmma_emu.formats import Format, format_of
from wmma_emu.formats.codec import Bits
from wmma_emu.formats.distance import NOT_COMPARABLE, ulp_distance
from wmma_emu.gemm.gemm import gemm
from wmma_emu.gemm.operands import operand_format
from wmma_emu.instructions import ARCHS, Arch, arch_of, default_instruction, lookup

__all__ = ["Comparison", "compare_chips"]

_SMALL = 8
"""Matrices up to this many rows and columns are shown element by element."""


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """One product on several chips. ``str()`` of it is a table.

    Parameters
    ----------
    results : dict
        From each chip's name, ``"sm_80"``, to D, in the order of the comparison.
    instructions : dict
        The mnemonics; ``"fma.f32"`` for the CUDA cores' multiply-adds.
    models : dict
        The rows of the table of models.
    format : str
        Of the elements of D.
    reference : str
        The chip against which the others are held.
    ulps : dict
        Distances of each chip's elements from the reference's, uint64: steps between representable numbers, -0 and
        +0 being one number. `NOT_COMPARABLE`, the largest uint64, where one of them is NaN and the bits differ.
    differing : dict
        How many elements have other bits than the reference's.
    """

    results: Mapping[str, NDArray[Any]]
    instructions: Mapping[str, str]
    models: Mapping[str, DotModel]
    format: str
    reference: str
    ulps: Mapping[str, NDArray[np.uint64]]
    differing: Mapping[str, int]

    def largest(self, arch: str) -> tuple[int, tuple[int, ...]] | None:
        """The largest distance of a chip's elements from the reference's, and where; None if all bits are equal.

        Raises
        ------
        UnsupportedInstructionError
            For a chip that is not in the comparison.
        """
        name = arch_of(arch).name
        if name not in self.results:
            raise UnsupportedInstructionError(f"{name} is not compared here; there is {', '.join(self.results)}")
        if not self.differing[name]:
            return None
        distance = self.ulps[name]
        # Zeros of both signs are no distance apart, yet their bits differ.
        far = distance if distance.any() else self.bits(name) != self.bits(self.reference)
        flat = int(far.argmax())
        return int(distance.flat[flat]), tuple(int(i) for i in np.unravel_index(flat, distance.shape))

    def bits(self, arch: str) -> Bits:
        """The patterns of a chip's result."""
        result: Bits = self.results[arch].view(format_of(self.format).storage)
        return result

    def __str__(self) -> str:
        shape = self.results[self.reference].shape
        count = prod(shape)
        head = f"D {' x '.join(map(str, shape))} ({self.format}), {count} element{'s' * (count != 1)}; reference: "
        lines = [head + self.reference, *_table([self._row(arch) for arch in self.results])]
        if len(shape) == 2 and 0 < max(shape) <= _SMALL:
            lines += ["", *self._elements(shape)]
        return "\n".join(lines)

    def _row(self, arch: str) -> tuple[str, ...]:
        model, found = self.models[arch], self.largest(arch)
        instruction = self.instructions[arch]
        short = instruction if instruction == "fma.f32" else lookup(instruction).short_mnemonic
        start = (arch, short, model.status, _summary(model))
        if arch == self.reference:
            return (*start, "", "", "", "", "")
        if found is None:
            return (*start, "0", "0", "", "", "")
        ulps, where = found
        away = "NaN" if ulps == NOT_COMPARABLE else str(ulps)
        return (*start, str(self.differing[arch]), away, str(list(where)), self._hex(self.reference, where),
                self._hex(arch, where))  # fmt: skip

    def _elements(self, shape: tuple[int, ...]) -> list[str]:
        """Every element on every chip; a star where the bits are not the reference's."""
        rows = [("element", *self.results)]
        for where in np.ndindex(shape):
            first = self._hex(self.reference, where)
            values = [self._hex(arch, where) for arch in self.results]
            rows.append((f"D{list(where)}", *(x + "*" * (x != first) for x in values)))
        return _aligned(rows)

    def _hex(self, arch: str, where: tuple[int, ...]) -> str:
        fmt = format_of(self.format)
        return f"0x{int(self.bits(arch)[where]):0{fmt.bits // 4}x}"


def compare_chips(
    A: ArrayLike,
    B: ArrayLike,
    C: ArrayLike | None,
    instr: str | None,
    archs: Iterable[str | Arch] | None,
    reference: str | Arch | None,
    engine: str,
    a_format: str | None,
    b_format: str | None,
) -> Comparison:
    """Multiply on every chip, as `wmma_emu.gemm` does; see `wmma_emu.compare_archs`."""
    chips = _named(archs)
    rows = _instructions(A, B, instr, chips, a_format, b_format)
    first = next(iter(rows)) if reference is None else arch_of(reference).name
    if first not in rows:
        raise UnsupportedInstructionError(f"reference={shorten(first)} is not compared; there is {', '.join(rows)}")
    results = {
        arch: gemm(A, B, C, instr=name, arch=arch, engine=engine, a_format=a_format, b_format=b_format)
        for arch, (name, _, _) in rows.items()
    }
    fmt = rows[first][2]
    bits = {arch: result.view(fmt.storage) for arch, result in results.items()}
    return Comparison(
        results=results,
        instructions={arch: name for arch, (name, _, _) in rows.items()},
        models={arch: model for arch, (_, model, _) in rows.items()},
        format=fmt.name,
        reference=first,
        ulps={arch: ulp_distance(x, bits[first], fmt) for arch, x in bits.items()},
        differing={arch: int((x != bits[first]).sum()) for arch, x in bits.items()},
    )


def _named(archs: Iterable[str | Arch] | None) -> tuple[Arch, ...] | None:
    if archs is None:
        return None
    if isinstance(archs, str | Arch):
        raise UnsupportedInstructionError(f"archs={shorten(archs)} is one chip; pass a list, archs=[{shorten(archs)}]")
    try:
        chips = tuple(arch_of(name) for name in archs)
    except TypeError:
        raise UnsupportedInstructionError(f"archs={shorten(archs)} is no list of chips") from None
    if not chips:
        raise UnsupportedInstructionError("archs is empty; name at least one chip, or leave archs out for all")
    for i, chip in enumerate(chips):
        if chip in chips[:i]:
            raise UnsupportedInstructionError(f"archs names {chip} twice; {chip} is {chip.generation}")
    return chips


_Row = tuple[str, DotModel, Format]


def _instructions(
    A: ArrayLike,
    B: ArrayLike,
    instr: str | None,
    chips: tuple[Arch, ...] | None,
    a_format: str | None,
    b_format: str | None,
) -> dict[str, _Row]:
    """Mnemonic, model and format of D for each chip that is named, or else for each that has the instruction."""
    candidates = tuple(ARCHS.values()) if chips is None else chips
    if isinstance(instr, str) and instr == "fma.f32":
        return {chip.name: (instr, FMA_F32.model, FMA_F32.d) for chip in candidates}
    found: dict[str, _Row] = {}
    refusal = None
    if instr is not None:
        lookup(instr)
    formats = None if instr is not None else (operand_format(A, "A", a_format), operand_format(B, "B", b_format))
    for chip in candidates:
        try:
            row = lookup(instr or "", chip) if formats is None else default_instruction(*formats, chip)
        except UnsupportedInstructionError as error:
            if chips is not None:
                raise
            refusal = error
            continue
        found[chip.name] = (row.mnemonic, dot_product_of(row, chip.name).model, row.format("d"))
    if not found and refusal is not None:
        raise refusal
    return found


def _summary(model: DotModel) -> str:
    """What a model computes, in a few words; `DotModel.describe` says it in full."""
    match model.arithmetic:
        case "integer":
            return "exact"
        case "popcount":
            return "bit count"
        case "fma_chain":
            return f"{model.chain_format} multiply-adds"
    software = f", as {model.operand_format}" if model.operand_format else ""
    rounded = f"{model.rounding} to {model.output_format}"
    return f"{model.terms_per_step} a step, {model.fraction_bits} bits, {rounded}{software}"


_HEADS = ("chip", "instruction", "status", "model", "differ", "max ulps", "at", "reference", "here")


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    return _aligned([_HEADS, *rows])


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
