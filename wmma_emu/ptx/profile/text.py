# SPDX-License-Identifier: MIT
"""Profiles as text: a summary of each kernel, and a table of its lines."""

from collections.abc import Sequence
from textwrap import wrap

from wmma_emu.display import in_columns
from wmma_emu.errors import printable
from wmma_emu.ptx.profile.columns import Column, shown_lines, used_columns
from wmma_emu.ptx.profile.counters import Counters
from wmma_emu.ptx.profile.lines import KernelProfile, ProfiledLine
from wmma_emu.ptx.profile.occupancy import occupancy_of

_BAD = 0.25
_STYLES = ("", "\x1b[33m", "\x1b[31m")
_PLAIN = "\x1b[0m"
_BOLD = "\x1b[1m"
_LEAST_QUOTE, _GOOD_QUOTE = 12, 40
"""The characters of source text that are worth a column, and that are worth heads in two lines."""

_LEAST_WIDTH = 40


def summary_of(kernel: KernelProfile) -> list[str]:
    """Describe a kernel in a few lines: its launches, its memory accesses, its instruction mix."""
    total = kernel.total
    sizes = "x".join(map(str, kernel.grid)), "x".join(map(str, kernel.block))
    times = f"{kernel.launches} launches, the last with" if kernel.launches > 1 else "1 launch,"
    lines = [
        f"{printable(kernel.kernel)} on {kernel.arch}: {times} grid {sizes[0]}, block {sizes[1]}",
        f"  {_number(total.executions)} PTX instructions of warps, {total.active_lanes:.1f} of 32 threads active",
    ]
    lines += [f"  {x}" for x in _facts(total)]
    everything = sum(kernel.mix.values())
    mix = ", ".join(f"{kind} {count / everything:.0%}" for kind, count in kernel.mix.items())
    lines.append(f"  instructions: {mix or 'none'}")
    lines.append(f"  {occupancy_of(kernel.arch, kernel.block, kernel.shared_bytes)}")
    return lines


def _facts(total: Counters) -> list[str]:
    """Describe the accesses, the branches and the products of a kernel, if there are any."""
    found = []
    if total.global_requests:
        found.append(
            f"global memory: {_number(total.global_requests)} accesses, {total.sectors_per_request:.1f} sectors each, "
            f"{total.sector_use:.0%} of the bytes used"
        )
    if total.shared_requests:
        found.append(
            f"shared memory: {_number(total.shared_requests)} accesses, {total.wavefronts_per_request:.1f} wavefronts "
            f"each, {_number(total.bank_conflicts)} bank conflicts"
        )
    if total.local_requests:
        found.append(f"local memory: {_number(total.local_requests)} accesses, {_number(total.local_sectors)} sectors")
    if total.bulk_bytes:
        found.append(f"bulk copies: {_number(total.bulk_bytes)} bytes")
    if total.branches:
        found.append(f"branches: {_number(total.branches)}, {_number(total.divergent_branches)} of them diverge")
    if total.atomics:
        found.append(f"atomics: {_number(total.atomics)}, {_number(total.atomic_collisions)} collisions")
    if total.barriers:
        found.append(f"barriers: {_number(total.barriers)} arrivals of warps")
    if total.matrix_instructions:
        found.append(
            f"matrix instructions: {_number(total.matrix_instructions)}, {_number(total.multiply_adds)} multiply-adds"
        )
    if total.intensity:
        found.append(f"arithmetic intensity: {total.intensity:.2f} operations for each byte of global memory")
    return found


def _number(value: int) -> str:
    return f"{value:,}".replace(",", " ")


def wrapped_summary_of(kernel: KernelProfile, width: int) -> list[str]:
    """Return the lines of `summary_of`, broken to a width."""
    return [
        line for text in summary_of(kernel) for line in wrap(text, max(width, _LEAST_WIDTH), subsequent_indent="    ")
    ]


def table_of(lines: Sequence[ProfiledLine], width: int, *, color: bool = False) -> list[str]:
    r"""Return a table of lines, without those that were never executed; costly cells are coloured.

    Heads take two lines where that makes room for the source.

    Examples
    --------
    >>> rows = [ProfiledLine(where="k.cu:4", text="x = s[i];", executions=32, shared_requests=32, bank_conflicts=992)]
    >>> print(*table_of(rows, 60), sep="\n")
    line    executions  shared  conflicts/request  source
    k.cu:4          32      32               31.0  x = s[i];
    """
    shown = shown_lines(lines)
    columns = used_columns(shown)
    rows = [[x.where, *(column.text(x) for column in columns)] for x in shown]
    heads = [["line", *(x.head for x in columns)]]
    plain = in_columns([*heads, *rows], right=range(1, len(columns) + 1))
    quoted = max((len(printable(x.text)) for x in shown), default=0)
    if max(map(len, plain)) + 2 + min(quoted, _GOOD_QUOTE) > width:
        heads = _in_two_lines(heads[0])
        plain = in_columns([*heads, *rows], right=range(1, len(columns) + 1))
    before = max(map(len, plain))
    room = width - before - 2
    if room < _LEAST_QUOTE or not quoted:
        quotes = [""] * len(plain)
    else:
        source = [""] * (len(heads) - 1) + ["source"]
        quotes = [*source, *(_cut(printable(x.text.expandtabs(4)), room) for x in shown)]
    lines_of_text = [f"{x:{before}}  {y}".rstrip() for x, y in zip(plain, quotes, strict=True)]
    if not color:
        return lines_of_text
    coloured = [_coloured(text, x, columns) for text, x in zip(lines_of_text[len(heads) :], shown, strict=True)]
    return [*(f"{_BOLD}{x}{_PLAIN}" for x in lines_of_text[: len(heads)]), *coloured]


def _in_two_lines(heads: Sequence[str]) -> list[list[str]]:
    """Break heads such as "sectors/request" before the slash; other heads are in the second line."""
    parts = [head.partition("/") for head in heads]
    if not any(slash for _, slash, _ in parts):
        return [[*heads]]
    return [
        [name if slash else "" for name, slash, _ in parts],
        [f"/{x}" if slash else name for name, slash, x in parts],
    ]


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room - 3]}..."


def _coloured(text: str, line: ProfiledLine, columns: Sequence[Column]) -> str:
    """Colour a line by its worst cell."""
    worst = max((x.weight(line) for x in columns if x.value(line)), default=0.0)
    style = _STYLES[0 if worst < _BAD else 1 if worst < 2 * _BAD else 2]
    return f"{style}{text}{_PLAIN}" if style else text
