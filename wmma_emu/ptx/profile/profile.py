# SPDX-License-Identifier: MIT
"""The profile of launches: counters by kernel, by source line and by line of the PTX."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wmma_emu.errors import ArgumentError, ArgumentValueError, OptionError, ProfileLimitError, UnknownNameError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.ptx.profile.comparison import ProfileChanges, changes_of
from wmma_emu.ptx.profile.conflicts import ConflictExplanation, counted, explain_conflicts
from wmma_emu.ptx.profile.counters import COUNTERS, RATIOS, Counters, counts_of
from wmma_emu.ptx.profile.late_warps import worst_of
from wmma_emu.ptx.profile.limits import Limit
from wmma_emu.ptx.profile.lines import KernelProfile, ProfiledInstruction, ProfiledLine
from wmma_emu.ptx.profile.page import page_of, table_html
from wmma_emu.ptx.profile.plain import csv_of, json_of, kernel_to_dict, parsed
from wmma_emu.ptx.profile.same_names import first_name, other_names, shown_names
from wmma_emu.ptx.profile.snapshot import snapshot_of
from wmma_emu.ptx.profile.text import table_of, wrapped_summary_of
from wmma_emu.ptx.reports.frames import short_path
from wmma_emu.spellings import in_either_spelling
from wmma_emu.suggestions import listed, nearest

_LINE = re.compile(r"(?:(?P<file>.+):)?(?:line )?(?P<number>\d+)")
_NEAR = 3
_EMPTY = "the profile is empty: no kernel was launched while it counted"
_EXPLAINED = 8
"""The most lines whose conflicts a page explains."""


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

    if not TYPE_CHECKING:  # type checkers know the names

        def __getattr__(self, name: str) -> Any:
            hint = (
                f"; profile.total.{name} and profile['gemm.cu:41'].{name} exist" if name in (*COUNTERS, *RATIOS) else ""
            )
            raise AttributeError(f"a Profile has no {name}{hint}")

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
        for key, x in self._instructions():
            found.setdefault(key, []).append(x)
        ordered = sorted(found.items(), key=lambda item: (not item[0][0], item[0]))
        return {key: self._line(key, parts) for key, parts in ordered}

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

    def _instructions(self) -> Iterator[tuple[tuple[str, int], ProfiledInstruction]]:
        """Yield all instructions, each with the key of its line: the file, or the PTX, and the number."""
        for kernel in self.kernels:
            ptx = f"PTX of {kernel.kernel}" if self._has_other_ptx else ""
            for x in kernel.instructions:
                yield ((x.file, x.number) if x.file else (ptx, x.line)), x

    @cached_property
    def _has_other_ptx(self) -> bool:
        """Whether lines of one number, without a source, differ, because the kernels' modules differ."""
        texts: dict[int, str] = {}
        own = (x for kernel in self.kernels for x in kernel.instructions if not x.file)
        return any(texts.setdefault(x.line, x.text) != x.text for x in own)

    def _line(self, key: tuple[str, int], parts: list[ProfiledInstruction]) -> ProfiledLine:
        file, number = key
        text = self.text_of(file, number) if file else parts[0].text
        late = worst_of(y for x in parts for y in x.late)
        where = f"{self._names[file]}:{number}" if file else f"line {number}"
        return ProfiledLine(**counts_of(Counters.total(parts)), where=where, text=text, late=late)

    @cached_property
    def _names(self) -> dict[str, str]:
        """The names of the files in tables."""
        return shown_names({file for (file, _), _ in self._instructions() if file})

    def text_of(self, file: str, number: int) -> str:
        """Return a line of a source file, "" if it is not available."""
        lines = self.sources.get(file, "").split("\n")
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""

    def __getitem__(self, key: str) -> "ProfiledLine | KernelProfile":
        """Return a source line ("gemm.cu:41"), a line of the PTX ("line 54"), or a kernel (its name).

        Raises
        ------
        UnknownNameError
            If the launches have no instruction of such a line, or no such kernel, or several of that name.
        """
        named = [x for x in self.kernels if x.kernel == key]
        if len(named) > 1:
            raise UnknownNameError(f"{key} is the name of {len(named)} different kernels; profile.kernels has them")
        if named:
            return named[0]
        if not self.kernels:
            raise UnknownNameError(_EMPTY)
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
            parts = [x for _, x in self._instructions() if x.line == number]
            if not parts:
                raise UnknownNameError(f"the PTX has no instruction at line {number}")
            if len({x.text for x in parts}) > 1:
                names = listed(x.kernel for x in self.kernels if any(y.line == number for y in x.instructions))
                raise UnknownNameError(f"line {number} is in the PTX of {names}; profile.kernels has each of them")
            return self._line(("", number), parts)
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
        """Add the counters of other launches; launches of the same kernel are added to each other.

        A source file that has the name of another is numbered: "kernel (2).cu".
        """
        if not isinstance(other, Profile):
            return NotImplemented
        names = other_names(self.sources, other.sources)
        found = {x.identity: x for x in self.kernels}
        for x in (kernel.with_files(names) for kernel in other.kernels):
            found[x.identity] = found[x.identity] + x if x.identity in found else x
        sources = {names.get(file, file): text for file, text in other.sources.items()}
        return Profile(tuple(found.values()), {**self.sources, **sources})

    def compare(self, before: "Profile") -> ProfileChanges:
        """Compare the kernels that both have with an earlier profile of the same launches.

        Lines are compared by their text, so that lines that only moved do not differ. A line that only one of the
        profiles has is listed for the counters that change in the same direction in the total of a kernel: a line that
        was edited, and counts as before, is neither worse nor better.

        Raises
        ------
        ArgumentError
            If ``before`` is not a profile.
        ArgumentValueError
            If the profiles have no kernel in common.
        """
        if not isinstance(before, Profile):
            raise ArgumentError(f"before is {shorten(before)}; pass a Profile: Profile.read(file) reads one")
        common = {x.kernel for x in self.kernels} & {x.kernel for x in before.kernels}
        if not common:
            had, has = (listed(sorted({x.kernel for x in y.kernels})) or "none" for y in (before, self))
            raise ArgumentValueError(f"the profiles have no kernel in common: the kernels before are {had}, now {has}")
        old, new = before._only(common), self._only(common)
        kernels = changes_of(old._totals(), new._totals())
        changed = {(x.counter, x.is_worse) for x in kernels}
        lines_before, lines_now = old._by_text(), new._by_text()
        both = lines_before.keys() & lines_now.keys()
        lines = changes_of(lines_before, lines_now)
        changes = [*kernels, *(x for x in lines if x.where in both or (x.counter, x.is_worse) in changed)]
        return ProfileChanges(
            tuple(x for x in changes if x.is_worse), tuple(x for x in changes if not x.is_worse)
        )  # fmt: skip

    def _only(self, names: set[str]) -> "Profile":
        return Profile(tuple(x for x in self.kernels if x.kernel in names), self.sources)

    def _totals(self) -> dict[str, Counters]:
        found: dict[str, Counters] = {}
        for x in self.kernels:
            found[x.kernel] = found.get(x.kernel, Counters()) + x.total
        return found

    def _by_text(self) -> dict[str, Counters]:
        """Return the counters of each line by its file and text, or by its number if the text is not available."""
        found: dict[str, Counters] = {}
        for (file, _), x in self._lines.items():
            name = f"{first_name(short_path(file))}: {x.text}" if file and x.text else x.where
            found[name] = found.get(name, Counters()) + x
        return found

    def require(self, *limits: str, line: str | None = None) -> None:
        """Require limits of a line, or of every kernel.

        Parameters
        ----------
        *limits : str
            Such as ``"bank_conflicts <= 0"`` or ``"active_lanes >= 24"``: a counter or a ratio of `Counters`.
        line : str, optional
            A line, as for ``profile[line]``.

        Raises
        ------
        OptionError
            If a limit has the wrong form, or there is no such counter.
        ProfileLimitError
            If a limit does not hold; the error names the lines that contribute most. Also if no kernel was launched.
        UnknownNameError
            If there is no such line.
        """
        wanted = [Limit.of(x) for x in limits]
        if not wanted:
            raise OptionError("there is no limit to require; pass, for example, 'bank_conflicts <= 0'")
        if not self.kernels:
            raise ProfileLimitError(f"{_EMPTY}, so nothing shows whether {listed(map(str, wanted))} holds")
        parts = self.kernels if line is None else (self[line],)
        texts = [
            limit.text(where, counters, lines, self._fix_for(limit, lines))
            for where, counters, lines in map(self._counted, parts)
            for limit in wanted
            if not limit.holds(counters)
        ]
        if texts:
            raise ProfileLimitError("\n".join(texts))

    def _counted(self, part: "ProfiledLine | KernelProfile") -> tuple[str, Counters, Sequence[ProfiledLine]]:
        """Return the name, the counters and the lines of a kernel, or of a line."""
        if isinstance(part, KernelProfile):
            return part.kernel, part.total, Profile((part,), self.sources).lines
        return part.where, part, (part,)

    def _fix_for(self, limit: Limit, lines: Sequence[ProfiledLine]) -> str:
        """Return what may bring the lines back within a limit: the remedy for the worst conflict, or a general hint."""
        worst = limit.broken_by(lines)
        if not limit.is_of_conflicts or not worst or not worst[0].bank_conflicts:
            return limit.fix
        with suppress(ArgumentValueError):  # atomic operations and copies are not explained
            where = worst[0].where
            found = self.conflicts_at(where)
            remedy = f"{found.remedies[0].text}: {counted(found.remedies[0].wavefronts)}; " if found.remedies else ""
            return f"{remedy}profile.conflicts_at({where!r}) shows the banks"
        return limit.fix

    def conflicts_at(self, *lines: str, row_bytes: int | None = None) -> ConflictExplanation:
        """Explain the bank conflicts of lines, and search a padding or a swizzle that removes them.

        An access of each line with many conflicts is explained: at least as many as its accesses have on average.

        Parameters
        ----------
        *lines : str
            Lines, as for ``profile[line]``, that access the same array, those without conflicts too.
        row_bytes : int, optional
            The bytes of a row of the array; by default the most frequent distance between neighbouring lanes.

        Raises
        ------
        ArgumentValueError
            If none of the lines has a conflict, or ``row_bytes`` does not fit the access.
        UnknownNameError
            If there is no such line.
        """
        found = []
        for key in lines:
            line = self[key]
            parts = [x for at, x in self._instructions() if self._is_at(at, x, line)]
            own = [x.conflicting for x in parts if x.conflicting is not None]
            found += [max(own, key=lambda x: x.conflicts)] if own else []
        if not any(x.conflicts for x in found):
            worst = sorted(self.lines, key=lambda x: -x.bank_conflicts)[:_NEAR]
            have = listed(x.where for x in worst if x.bank_conflicts)
            verb = "have" if len(lines) > 1 else "has"
            subject = (
                f"{listed(lines)} {verb} no bank conflicts" if lines else "no line was given to explain its conflicts"
            )
            raise ArgumentValueError(f"{subject}; {f'there are conflicts at {have}' if have else 'no line has any'}")
        return explain_conflicts(listed(lines), found, row_bytes)

    def _is_at(
        self, at: tuple[str, int], instruction: ProfiledInstruction, line: "ProfiledLine | KernelProfile"
    ) -> bool:  # fmt: skip
        """Return whether an instruction belongs to a line, or to a kernel."""
        if isinstance(line, KernelProfile):
            return instruction in line.instructions
        if line.where.startswith("line "):
            return line.where == f"line {instruction.line}"
        return line.where == f"{self._names.get(at[0], '')}:{at[1]}"

    def snapshot(self) -> str:
        """Return the counters of kernels and lines as text without line numbers, for a file that is reviewed."""
        return snapshot_of(self.kernels, self._by_text().items())

    def __str__(self) -> str:
        return self.to_text()

    @in_either_spelling
    def to_text(self, width: int = 100, *, by: str = "line", color: bool = False) -> str:
        """Return a summary of each kernel, and a table of the executed lines.

        Parameters
        ----------
        width : int
            The number of columns.
        by : {"line", "ptx"}
            Whether the table has lines of the source or of the PTX.
        color : bool
            Whether to add ANSI escape sequences: lines with many conflicts, or unused bytes, are coloured.

        Raises
        ------
        ArgumentError, UnknownNameError
            If ``width`` is not an integer, or ``by`` is neither.
        """
        if integer_of(width) is None:
            raise ArgumentError(f"width={shorten(width)} is not a number of columns, such as 100")
        if not self.kernels:
            return _EMPTY
        summaries = [line for kernel in self.kernels for line in wrapped_summary_of(kernel, width)]
        lines = self._lines_by(by)
        return "\n".join([*summaries, *(["", *table_of(lines, width, color=color)] if lines else [])])

    def _lines_by(self, by: str) -> tuple[ProfiledLine, ...]:
        if by not in ("line", "ptx"):
            raise UnknownNameError(f"by={shorten(by)} is neither 'line' nor 'ptx'")
        return self.lines if by == "line" else self.ptx_lines

    def __rich__(self) -> Any:
        """Return the text for a console of `rich`."""
        from rich.text import Text

        return Text.from_ansi(self.to_text(color=True))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data; counters that are 0 are left out."""
        return {"kernels": [kernel_to_dict(x) for x in self.kernels], "sources": dict(self.sources)}

    def to_json(self) -> str:
        """Return everything as JSON, with a line for each instruction; `read` reads it again."""
        return json_of(self.kernels, self.sources)

    def to_csv(self, by: str = "line") -> str:
        """Return a table of all counters as CSV.

        Parameters
        ----------
        by : {"line", "ptx"}
            Whether a row is a line of the source or of the PTX.

        Raises
        ------
        UnknownNameError
            If it is neither.
        """
        return csv_of(self._lines_by(by))

    def to_html(self) -> str:
        """Return a page with the annotated sources and pictures of bank conflicts, in one file."""
        return page_of(self.kernels, self._lines, self.sources, self._explained())

    def _repr_html_(self) -> str:
        return table_html(self.kernels, self.lines, self._explained())

    def _explained(self) -> list[tuple[str, str, str]]:
        """Return the lines with most bank conflicts, their source, and explanations as HTML."""
        explained = {at for at, x in self._instructions() if x.conflicting and x.conflicting.conflicts}
        lines = sorted((self._lines[key] for key in explained), key=lambda x: (-x.bank_conflicts, x.where))
        return [(x.where, x.text, self.conflicts_at(x.where)._repr_html_()) for x in lines[:_EXPLAINED]]

    def write(self, path: str | PathLike[str]) -> None:
        """Write the profile to a file: as HTML or CSV if its name ends so, else as JSON."""
        target = Path(path)
        writers = {".html": self.to_html, ".csv": self.to_csv}
        target.write_text(writers.get(target.suffix.lower(), self.to_json)(), encoding="utf-8")

    @classmethod
    def read(cls, path: str | PathLike[str]) -> "Profile":
        """Read a profile from a file that `write` has written as JSON.

        Raises
        ------
        ArgumentValueError
            If the file is not such a file.
        """
        return cls(*parsed(Path(path).read_bytes(), Path(path).name))

    @classmethod
    def from_json(cls, text: str) -> "Profile":
        """Return the profile that `to_json` has written.

        Raises
        ------
        ArgumentValueError
            If it has written something else.
        """
        return cls(*parsed(text, "the JSON"))
