# SPDX-License-Identifier: MIT
"""The profile of launches: counters by kernel, by source line and by line of the PTX."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from wmma_emu.errors import UnknownNameError, shorten
from wmma_emu.ptx.profile.counters import COUNTERS, Counters
from wmma_emu.ptx.profile.instruction_costs import kind_of
from wmma_emu.ptx.program.program import KernelProgram, PtxInstruction
from wmma_emu.ptx.reports.frames import own_frames, short_path
from wmma_emu.suggestions import listed, nearest

_LINE = re.compile(r"(?:(?P<file>.+):)?(?:line )?(?P<number>\d+)")
_NEAR = 3


@dataclass(frozen=True, slots=True)
class ProfiledInstruction(Counters):
    """An instruction of the PTX with its counters.

    ``line`` is its line of the PTX, ``text`` the statement there; ``file`` and ``number`` are its own source line, ""
    and 0 if it is unknown. ``kind`` is its kind in the instruction mix.
    """

    line: int = 0
    opcode: str = ""
    text: str = ""
    kind: str = ""
    file: str = ""
    number: int = 0


@dataclass(frozen=True, slots=True)
class ProfiledLine(Counters):
    """A line with the counters of its instructions.

    ``where`` is the file and line of the source, such as "gemm.cu:41", or "line 54" of the PTX; ``text`` is the line.
    """

    where: str = ""
    text: str = ""


@dataclass(frozen=True)
class KernelProfile:
    """The counters of a kernel, added over its launches.

    Attributes
    ----------
    kernel, arch : str
    launches : int
    grid, block : tuple of int
        Of the last launch.
    shared_bytes : int
        The shared memory of a block, static and dynamic.
    instructions : tuple of ProfiledInstruction
        The instructions of the PTX, also those that were never executed.
    """

    kernel: str
    arch: str
    launches: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    instructions: tuple[ProfiledInstruction, ...] = field(repr=False)

    @cached_property
    def total(self) -> Counters:
        """The counters of all instructions."""
        return Counters.total(self.instructions)

    @property
    def mix(self) -> dict[str, int]:
        """The executions of each kind of instruction, of PTX, not of machine code; the most frequent kind first."""
        found: dict[str, int] = {}
        for x in self.instructions:
            found[x.kind] = found.get(x.kind, 0) + x.executions
        return dict(sorted(((k, v) for k, v in found.items() if v), key=lambda item: -item[1]))

    def __add__(self, other: "KernelProfile") -> "KernelProfile":
        """Add the counters of another launch of the same kernel."""
        return replace(
            other, launches=self.launches + other.launches,
            instructions=tuple(
                _with(x, x + y) for x, y in zip(self.instructions, other.instructions, strict=True)
            ),
        )  # fmt: skip

    @property
    def _identity(self) -> tuple[object, ...]:
        return self.kernel, self.arch, tuple((x.line, x.text, x.file, x.number) for x in self.instructions)


@dataclass(frozen=True)
class Profile:
    """The profile of one or several launches.

    Attributes
    ----------
    kernels : tuple of KernelProfile
    sources : mapping
        The text of each source file, by its name in the PTX; files that are not available are left out.

    Examples
    --------
    >>> import numpy as np, wmma_emu as we
    >>> module = we.ptx.Module('''.version 8.0
    ... .target sm_90
    ... .address_size 64
    ... .visible .entry k(.param .u64 x) {
    ...   .reg .b32 %r<3>; .reg .b64 %d<3>; .shared .b8 s[4096];
    ...   mov.u32 %r1, %tid.x; mov.u64 %d1, s;
    ...   mad.wide.u32 %d1, %r1, 128, %d1;
    ...   st.shared.u32 [%d1], %r1;
    ...   ret;
    ... }''')
    >>> profile = module["k"][1, 32](np.zeros(1), profile=True).profile
    >>> profile["line 8"].bank_conflicts, profile["k"].total.shared_wavefronts
    (31, 32)
    """

    kernels: tuple[KernelProfile, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    @property
    def total(self) -> Counters:
        """The counters of all kernels."""
        return Counters.total(x.total for x in self.kernels)

    @property
    def lines(self) -> tuple[ProfiledLine, ...]:
        """The source lines with instructions, by file and number; lines of the PTX where the source is unknown."""
        return tuple(self._lines.values())

    @cached_property
    def _lines(self) -> dict[tuple[str, int], ProfiledLine]:
        found: dict[tuple[str, int], list[ProfiledInstruction]] = {}
        for x in self._instructions():
            found.setdefault((x.file, x.number or x.line), []).append(x)
        return {key: self._line(key, parts) for key, parts in sorted(found.items())}

    @cached_property
    def ptx_lines(self) -> tuple[ProfiledLine, ...]:
        """The lines of the PTX with instructions, kernel by kernel."""
        found: list[ProfiledLine] = []
        for kernel in self.kernels:
            lines: dict[int, list[ProfiledInstruction]] = {}
            for x in kernel.instructions:
                lines.setdefault(x.line, []).append(x)
            found += [self._line(("", line), parts) for line, parts in sorted(lines.items())]
        return tuple(found)

    def _instructions(self) -> Iterator[ProfiledInstruction]:
        for kernel in self.kernels:
            yield from kernel.instructions

    def _line(self, key: tuple[str, int], parts: list[ProfiledInstruction]) -> ProfiledLine:
        file, number = key
        text = self.text_of(file, number) if file else parts[0].text
        where = f"{short_path(file)}:{number}" if file else f"line {number}"
        return ProfiledLine(**_values(Counters.total(parts)), where=where, text=text)

    def text_of(self, file: str, number: int) -> str:
        """Return a line of a source file, "" if it is not available."""
        lines = self.sources.get(file, "").split("\n")
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""

    def __getitem__(self, key: str) -> "ProfiledLine | KernelProfile":
        """Return a source line ("gemm.cu:41"), a line of the PTX ("line 54"), or a kernel (its name).

        Raises
        ------
        UnknownNameError
            If the launches have no instruction of such a line, or no such kernel.
        """
        for kernel in self.kernels:
            if kernel.kernel == key:
                return kernel
        found = _LINE.fullmatch(key) if isinstance(key, str) else None
        if found is None:
            names = [x.kernel for x in self.kernels]
            raise UnknownNameError(
                f"the profile has no kernel or line {shorten(key)}; it has "
                f"{listed(nearest(key, names, _NEAR, 0) or names) or 'no kernel'}, and lines such as 'gemm.cu:41'"
            )
        return self._line_at(key, found["file"] or "", int(found["number"]))

    def _line_at(self, key: str, file: str, number: int) -> ProfiledLine:
        if not file:
            parts = [x for x in self._instructions() if x.line == number]
            if parts:
                return self._line(("", number), parts)
            raise UnknownNameError(f"the PTX has no instruction at line {number}")
        lines = [at for at in self._lines if at[0] and (at[0] == file or short_path(at[0]) == file.replace("\\", "/"))]
        here = [at for at in lines if at[1] == number]
        if len(here) == 1:
            return self._lines[here[0]]
        if here:
            raise UnknownNameError(f"{key} is a line of {listed(x[0] for x in here)}; name the whole path")
        near = sorted(lines, key=lambda at: abs(at[1] - number))[:_NEAR]
        files = sorted({short_path(at[0]) for at in self._lines if at[0]})
        hint = (
            f"the nearest lines with instructions are {listed(sorted(x[1] for x in near))}"
            if near
            else f"its files are {listed(files)}" if files else "its source lines are unknown"
        )  # fmt: skip
        raise UnknownNameError(f"the profile has no instruction of {key}; {hint}")

    def __add__(self, other: "Profile") -> "Profile":
        """Add the counters of other launches; launches of the same kernel are added to each other."""
        found = {x._identity: x for x in self.kernels}
        for x in other.kernels:
            found[x._identity] = found[x._identity] + x if x._identity in found else x
        return Profile(tuple(found.values()), {**self.sources, **other.sources})


def _values(counters: Counters) -> dict[str, int]:
    return {name: getattr(counters, name) for name in COUNTERS}


def _with(instruction: ProfiledInstruction, counters: Counters) -> ProfiledInstruction:
    return replace(instruction, **_values(counters))


def profiled_instructions(
    program: KernelProgram, instructions: Iterable[PtxInstruction], counted: Iterable[Counters]
) -> tuple[ProfiledInstruction, ...]:
    """Join the instructions of a program to their counters, in the order of the PTX; those of one line that are equal
    are added.
    """
    found: dict[tuple[int, str], ProfiledInstruction] = {}
    for instruction, counters in zip(instructions, counted, strict=True):
        source = next(iter(own_frames(instruction.source)), None)
        key = instruction.line, instruction.opcode
        one = ProfiledInstruction(
            **_values(counters), line=instruction.line, opcode=instruction.opcode,
            text=program.text(instruction.line), kind=kind_of(instruction),
            file="" if source is None else source.file, number=0 if source is None else source.line,
        )  # fmt: skip
        found[key] = _with(found[key], found[key] + one) if key in found else one
    return tuple(found[key] for key in sorted(found, key=lambda key: key[0]))


def sources_of(
    instructions: Iterable[ProfiledInstruction], text_of: Callable[[str], str]
) -> dict[str, str]:  # fmt: skip
    """Return the available texts of the files of instructions."""
    texts = {file: text_of(file) for file in sorted({x.file for x in instructions if x.file})}
    return {file: text for file, text in texts.items() if text}
