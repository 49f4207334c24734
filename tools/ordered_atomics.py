# SPDX-License-Identifier: MIT
"""The rule that names the atomic operations of a kernel whose order its results may show."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

from wmma_emu.ptx.program.program import KernelProgram, PtxInstruction, Register

__all__ = ["OrderedAtomic", "ordered_atomics"]


class OrderedAtomic(NamedTuple):
    """An atomic operation whose order a result may show.

    Attributes
    ----------
    opcode : str
    line : int
        The line of the PTX.
    source : str
        The line of the source, "" if it is unknown.
    """

    opcode: str
    line: int
    source: str

    def __str__(self) -> str:
        return f"{self.opcode} at {self.source or f'line {self.line} of the PTX'}"


def ordered_atomics(program: KernelProgram) -> tuple[OrderedAtomic, ...]:
    """Return the atomic operations of a kernel whose order its results may show.

    Examples
    --------
    >>> from wmma_emu.ptx import Module
    >>> text = ".version 8.0 .target sm_80 .address_size 64 .visible .entry k(.param .u64 x) { .reg .b64 %d;"
    >>> text += " .reg .f32 %f; ld.param.u64 %d, [x]; mov.f32 %f, 0f3F800000;"
    >>> for body in ("red.global.add.f32 [%d], %f;", "red.global.add.u32 [%d], 1;"):
    ...     program = Module(f"{text} {body} ret; }}").program.kernels["k"]
    ...     print([str(x) for x in ordered_atomics(program)])
    ['red.global.add.f32 at line 1 of the PTX']
    []
    """
    found = []
    for one in program.instructions:
        if one.mnemonic not in ("atom", "red"):
            continue
        is_sum = "add" in one.modifiers and one.modifiers[-1][0] in "fb"
        if is_sum or (one.mnemonic == "atom" and _is_read(one, program)):
            source = "" if one.source is None else str(one.source).split(", inlined")[0]
            found.append(OrderedAtomic(one.opcode, one.line, "/".join(source.rsplit("/", 2)[-2:])))
    return tuple(found)


def _is_read(atomic: PtxInstruction, program: KernelProgram) -> bool:
    """Return whether another instruction reads the register with the earlier value."""
    result = next(iter(_registers(atomic.operands[:1])), None)
    return result is not None and any(
        result in _registers(x.operands[1:] if x.mnemonic not in ("st", "red") else x.operands)
        or result in _registers((x.guard,))
        for x in program.instructions
        if x is not atomic
    )


def _registers(operands: Any) -> Iterator[int]:
    """Yield the numbers of the registers in operands."""
    for one in operands:
        if isinstance(one, Register):
            yield one.index
        elif isinstance(one, tuple | list):
            yield from _registers(one)
        elif is_dataclass(one):
            yield from _registers(getattr(one, x.name) for x in fields(one))
