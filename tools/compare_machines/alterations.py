# SPDX-License-Identifier: MIT
"""Changes of one line of PTX, such as a compiler's or a programmer's mistake would make."""

import re
from collections.abc import Callable, Sequence

import numpy as np

__all__ = ["ALTERATIONS", "altered"]

_Choose = np.random.Generator

_ORDERING = re.compile(
    r"\s*(@!?%p\w+ )?\s*(bar|barrier|cp\.async\.\w*(wait|commit)|fence|membar|wgmma\.(wait|commit|fence)|mbarrier)\b"
)
_STORE = re.compile(r"\s*(@!?%p\w+ )?\s*(st|atom|red|stmatrix|cp)\.")
_INSTRUCTION = re.compile(r"\s*(@!?%\w+\s+)?[a-z][\w.:]*(\s.*)?;")
_END = re.compile(r"\s*(@!?%\w+\s+)?(ret|bra|exit)\b")
_REGISTER = re.compile(r"%([a-z]+)\d+\b")
_LABEL = re.compile(r"\s*(\$\w+):")

_TYPES = {
    "u32": "s32 b32 f32 u16 u64", "s32": "u32 b32 s16 s64", "b32": "u32 f32 b16 b64", "f32": "b32 f64 f16x2",
    "u64": "s64 b64 u32", "s64": "u64 b64 s32", "b64": "u64 b32 f64", "f64": "b64 f32", "u16": "s16 u8", "s16": "u16",
    "u8": "s8 u16", "f16": "bf16", "bf16": "f16", "f16x2": "bf16x2", "bf16x2": "f16x2", "b16": "u16 b8",
}  # fmt: skip
_MODIFIERS = {
    "lo": ["hi", "wide"], "wide": ["lo"], "rn": ["rz", "rm", "rp"], "rz": ["rn"], "lt": ["le", "ge", "ltu"],
    "le": ["lt"], "gt": ["ge", "lt"], "ge": ["gt", "lt"], "eq": ["ne"], "ne": ["eq"], "min": ["max"], "max": ["min"],
    "bfly": ["down", "up", "idx"], "down": ["up", "bfly"], "up": ["down"], "ftz": [""], "v4": ["v2"], "v2": ["v4"],
    "row": ["col"], "col": ["row"], "trans": [""], "shared": ["global", "local"], "global": ["shared"],
    "l": ["r"], "x4": ["x2"], "x2": ["x1", "x4"], "add": ["max", "xor"], "and": ["or", "xor"], "or": ["and"],
}  # fmt: skip

_CHANGES: list[Callable[[int], int]] = [
    lambda x: x + 1, lambda x: x - 1, lambda x: 2 * x, lambda x: x >> 1, lambda x: -x, lambda _: 0,
]  # fmt: skip


def _ordering(line: str, rng: _Choose, lines: Sequence[str]) -> str | None:
    return "" if _ORDERING.match(line) else None


def _store(line: str, rng: _Choose, lines: Sequence[str]) -> str | None:
    return "" if _STORE.match(line) else None


def _dropped(line: str, rng: _Choose, lines: Sequence[str]) -> str | None:
    return "" if _INSTRUCTION.match(line) and not _END.match(line) else None


def _doubled(line: str, rng: _Choose, lines: Sequence[str]) -> str | None:
    return f"{line}\n{line}" if _INSTRUCTION.match(line) and not _END.match(line) else None


def _negated(line: str, rng: _Choose, lines: Sequence[str]) -> str | None:
    return _replaced(line, r"@(!?)(%\w+)", lambda x: f"@{'' if x[1] else '!'}{x[2]}")


def _unguarded(line: str, rng: _Choose, lines: Sequence[str]) -> str | None:
    return _replaced(line, r"@!?%\w+\s+", lambda x: "")


def _guarded(line: str, rng: _Choose, lines: Sequence[str]) -> str | None:
    predicates = sorted({x[0] for y in lines for x in re.finditer(r"%p\w*\d\b", y)})
    if not predicates or "@" in line or not _INSTRUCTION.match(line):
        return None
    return f"@{'!' if rng.random() < 0.5 else ''}{predicates[rng.integers(len(predicates))]} {line.strip()}"


def _moved(line: str, rng: _Choose, lines: Sequence[str]) -> str | None:
    by = int(rng.choice([-16, -4, 1, 2, 4, 8, 16, 64, 512, 4096, 1 << 20]))
    return _replaced(line, r"\[(%?[\w$]+)(?:\+(-?\d+))?\]", lambda x: f"[{x[1]}+{int(x[2] or 0) + by}]")


def _counted(line: str, rng: _Choose, lines: Sequence[str]) -> str | None:
    change = _CHANGES[int(rng.integers(len(_CHANGES)))]
    return _replaced(line, r", (-?\d+)(?=[,;])", lambda x: f", {change(int(x[1]))}")


def _other_register(line: str, rng: _Choose, lines: Sequence[str]) -> str | None:
    found = [*_REGISTER.finditer(line)]
    if not found:
        return None
    place = found[rng.integers(len(found))]
    others = sorted({x[0] for y in lines for x in _REGISTER.finditer(y) if x[1] == place[1]} - {place[0]})
    return line[: place.start()] + others[rng.integers(len(others))] + line[place.end() :] if others else None


def _other_type(line: str, rng: _Choose, lines: Sequence[str]) -> str | None:
    return _with_word(line, rng, {name: others.split() for name, others in _TYPES.items()})


def _other_modifier(line: str, rng: _Choose, lines: Sequence[str]) -> str | None:
    return _with_word(line, rng, _MODIFIERS)


def _other_target(line: str, rng: _Choose, lines: Sequence[str]) -> str | None:
    labels = [x[1] for y in lines if (x := _LABEL.match(y))]
    return _replaced(line, r"(bra(?:\.uni)?\s+)\$\w+", lambda x: x[1] + labels[rng.integers(len(labels))])


def _exchanged(line: str, rng: _Choose, lines: Sequence[str]) -> str | None:
    """Exchange the line with one of the next instructions."""
    at = lines.index(line)
    after = [x for x in lines[at + 1 : at + 6] if _INSTRUCTION.match(x) and not _END.match(x)]
    if not after or not _INSTRUCTION.match(line) or _END.match(line):
        return None
    return f"{after[rng.integers(len(after))]}\n{line}"


def _replaced(line: str, pattern: str, change: Callable[[re.Match[str]], str]) -> str | None:
    changed = re.sub(pattern, change, line, count=1)
    return changed if changed != line else None


def _with_word(line: str, rng: _Choose, words: dict[str, list[str]]) -> str | None:
    """Replace one of the words after a point."""
    found = [x for x in re.finditer(r"\.(\w+)", line.split(" [")[0]) if x[1] in words]
    if not found or not _INSTRUCTION.match(line):
        return None
    place = found[rng.integers(len(found))]
    others = words[place[1]]
    word = others[rng.integers(len(others))]
    return line[: place.start()] + (f".{word}" if word else "") + line[place.end() :]


ALTERATIONS: dict[str, Callable[[str, _Choose, Sequence[str]], str | None]] = {
    "without_order": _ordering, "without_store": _store, "dropped": _dropped, "doubled": _doubled,
    "negated": _negated, "unguarded": _unguarded, "guarded": _guarded, "moved": _moved, "counted": _counted,
    "register": _other_register, "type": _other_type, "modifier": _other_modifier, "target": _other_target,
    "exchanged": _exchanged,
}  # fmt: skip
"""Functions of a line, of a generator of random numbers and of all lines; None where a change does not apply."""


def altered(lines: Sequence[str], number: int, kind: str, seed: int) -> str | None:
    """Return the lines with one of them changed, or None."""
    changed = ALTERATIONS[kind](lines[number], np.random.default_rng(seed), lines)
    return None if changed is None else "\n".join([*lines[:number], changed, *lines[number + 1 :]])
