# SPDX-License-Identifier: MIT
"""Why a mnemonic names nothing, and what comes nearest to it: the words of the error messages."""

import heapq
import math
import re
from collections.abc import Iterable, Iterator
from functools import cache

from wmma_emu.formats import format_of
from wmma_emu.instructions.parse import Parts
from wmma_emu.instructions.spec import Arch, Instruction
from wmma_emu.instructions.table import INSTRUCTIONS

__all__ = ["absence", "nearest", "refusal", "shapes_in_words"]

_SUGGESTIONS = 3

_NOT_YET = ("block_scale", "kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4", "scale_vec::")
_NARROW = ("e3m2", "e2m3", "e2m1")


def refusal(parts: Parts, chip: Arch | None) -> str:
    """Say why no row answers a mnemonic, and which rows come nearest (on that chip, if one is named)."""
    reason = next(_reasons(parts), "its parts do not go together")
    end = "" if reason.endswith("?") else "."
    return f"there is no {parts.text!r}: {reason}{end} {_near(parts, chip)}"


def absence(parts: Parts, row: Instruction, chip: Arch) -> str:
    """Say that a chip lacks a row that others have, and what comes nearest on it."""
    return (
        f"{chip.name} ({chip.generation}) has no {parts.text!r}: "
        f"the first chip that has it is {row.archs[0]}. "
        f"{_near(parts, chip)}"
    )


def nearest(parts: Parts, chip: Arch | None, count: int = _SUGGESTIONS) -> list[Instruction]:
    """Rank the rows (of a chip) by their distance from a mnemonic; ties go by the order of the table."""
    rows = [row for row in INSTRUCTIONS.values() if chip is None or chip.name in row.archs]
    types, sizes = _four_types(parts), _sizes(parts)
    return heapq.nsmallest(count, rows, key=lambda row: _distance(parts, types, sizes, row))


def _near(parts: Parts, chip: Arch | None) -> str:
    names = [row.mnemonic if parts.full else row.short_mnemonic for row in nearest(parts, chip)]
    return f"Nearest{f' on {chip.name}' if chip else ''}: {', '.join(names)}"


def _reasons(parts: Parts) -> Iterator[str]:
    """Say everything that is wrong with a mnemonic; what explains most comes first."""
    for word, near in parts.unknown:
        if not word:
            yield "a part between two dots is empty"
        shown = repr(word if len(word) < 40 else word[:40] + "...")
        yield f"{shown} is no part of any mnemonic" + (f"; did you mean {near!r}?" if near else "")
    for word in parts.modifiers:
        if word.startswith(_NOT_YET):
            yield f".{word}: block-scaled instructions are not modelled yet"
    narrow = [x for x in parts.types if x in _NARROW]
    if narrow:
        yield f"{' and '.join(dict.fromkeys(narrow))} operands (FP6, FP4) are not modelled yet"
    yield from _shape_reasons(parts)
    yield from _type_reasons(parts)
    yield from _layout_and_modifier_reasons(parts)


def _shape_reasons(parts: Parts) -> Iterator[str]:
    if len(parts.shapes) > 1:
        yield f"it names {len(parts.shapes)} shapes, {' and '.join(parts.shapes)}"
    family = _family(parts)
    if not parts.shapes:
        yield f"it names no shape; {parts.family} has {shapes_in_words(family)}"
    elif all(row.shape != parts.shapes[0] for row in family):
        others = _distinct(row.family for row in INSTRUCTIONS.values() if row.shape == parts.shapes[0])
        yield f"{parts.family} has no shape {parts.shapes[0]}" + (
            f"; {others[0]} has" if others else f", it has {shapes_in_words(family)}"
        )


def _type_reasons(parts: Parts) -> Iterator[str]:
    family = _family(parts)
    if parts.family == "wmma.mma" and len(parts.types) == 4 and parts.types[1:3] == ("f16", "f16"):
        yield "with f16 operands wmma.mma names the types of d and c only"
    short = parts.family == "wmma.mma" and len(parts.types) == 2 and set(parts.types) <= {"f16", "f32"}
    wanted, order = (3, "three in the order d, a, b") if _is_warpgroup(parts) else (4, "four in the order d, a, b, c")
    if len(parts.types) != wanted and not short:
        count = {0: "no types", 1: "one type"}.get(len(parts.types), f"{len(parts.types)} types")
        yield f"it names {count}, not {order}" + (
            " (or d and c, where a and b are f16)" if parts.family == "wmma.mma" else ""
        )
    types = _four_types(parts)
    named = ".".join(types[:wanted])
    having = [row for row in family if _types(row) == types]
    if not having:
        operands = _distinct(".".join(row.types) for row in family if (row.a, row.b) == types[1:3])
        names = types[1] if types[1] == types[2] else f"{types[1]} and {types[2]}"
        yield f"no {parts.family} combines {named} ({'d.a.b.c'[: 2 * wanted - 1]})" + (
            f"; with {names} operands there is {_list(operands)}" if operands else f"; none has {names} operands"
        )
    elif parts.shapes and all(row.shape != parts.shapes[0] for row in having):
        yield f"{named} comes in {shapes_in_words(having)}, not in {parts.shapes[0]}"


def _layout_and_modifier_reasons(parts: Parts) -> Iterator[str]:
    rows = [row for row in _family(parts) if _types(row) == _four_types(parts) and row.shape in parts.shapes]
    if len(parts.layouts) not in (0, 2):
        count = "one layout" if len(parts.layouts) == 1 else f"{len(parts.layouts)} layouts"
        yield f"it names {count}, not two (of a and of b)"
    layouts = _distinct(f"{row.a_layout}.{row.b_layout}" for row in rows)
    if parts.layouts and _is_warpgroup(parts):
        yield "wgmma names no layouts: descriptors and the transpose operands say how matrices lie"
    elif parts.layouts and ".".join(parts.layouts) not in layouts:
        given = ".".join(parts.layouts)
        yield f"with these types {parts.shapes[0]} comes as {_list(layouts)} only, not as {given}"
    repeated = _distinct(x for x in parts.modifiers if parts.modifiers.count(x) > 1)
    if repeated:
        yield f".{repeated[0]} is given twice"
    legal = _distinct(".".join(row.modifiers) for row in rows)
    named = [f".{x}" for x in legal if x]
    given = f".{'.'.join(parts.modifiers)} is not legal here"
    if not parts.modifiers:
        yield f"one of {_list(named)} is needed"
    elif "" in legal and not named:
        yield f"{given}: with these types {parts.shapes[0]} takes no modifier"
    else:
        yield f"{given}; legal is {_list(named)}" + (", or none" if "" in legal else "")


def _family(parts: Parts) -> list[Instruction]:
    return [row for row in INSTRUCTIONS.values() if row.family == parts.family]


def _is_warpgroup(parts: Parts) -> bool:
    return parts.family.startswith("wgmma")


def shapes_in_words(rows: Iterable[Instruction]) -> str:
    """Their shapes from small to large; those of `wgmma`, which are too many to name, by the rule for n."""
    rows = list(rows)
    if not any(row.is_warpgroup for row in rows):
        return _list(shape for *_, shape in sorted({(row.m, row.n, row.k, row.shape) for row in rows}))
    names = _list(f"m{m}nNk{k}" for m, k in sorted({(row.m, row.k) for row in rows}))
    floats = {row.format("a").is_float for row in rows}
    rule = "a multiple of 8 up to 256"
    if False in floats:
        rule += " (of 16 from 32 on" + " for integers and bits" * (True in floats) + ")"
    return f"{names}, N {rule}"


def _types(row: Instruction) -> tuple[str, str, str, str]:
    return row.d, row.a, row.b, row.c


def _distinct(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(words))


def _list(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def _four_types(parts: Parts) -> tuple[str, str, str, str]:
    """Read the types as d, a, b, c; where some are missing, as what was most likely meant ("" is unknown)."""
    given = parts.types
    if len(given) >= 4:
        return given[0], given[1], given[2], given[3]
    if len(given) == 2 and parts.family == "wmma.mma" and set(given) <= {"f16", "f32"}:
        return given[0], "f16", "f16", given[1]
    if len(given) in (2, 3):
        return given[0], given[1], given[-1], given[0]
    return ("", given[0], given[0], "") if given else ("", "", "", "")


def _sizes(parts: Parts) -> list[int]:
    return [max(int(x), 1) for x in re.findall("[0-9]+", parts.shapes[0])] if parts.shapes else []


def _distance(parts: Parts, types: tuple[str, ...], sizes: list[int], row: Instruction) -> float:
    """How much of a mnemonic has to change to become a row's; operand types weigh most, layouts least."""
    total = 0.0
    if row.family != parts.family:
        total += 2.5 if parts.family_given else 1.5
        total += 4.0 * (row.is_sparse != (".sp" in parts.family))
    if sizes and parts.shapes[0] != row.shape:
        total += 2.0 + sum(abs(math.log2(x / y)) for x, y in zip(sizes, (row.m, row.n, row.k), strict=True))
    for given, has, is_operand in zip(types, _types(row), (False, True, True, False), strict=True):
        if given and given != has:
            total += _operand_distance(given, has) if is_operand else 1.0
    total += sum(x != y for x, y in zip(parts.layouts, (row.a_layout, row.b_layout), strict=False))
    if not parts.layouts:
        total += 2.5 * ((row.a_layout, row.b_layout) != ("row", "col"))
    asked, has_modifiers = set(parts.modifiers), set(row.modifiers)
    return total + 1.0 * len(asked - has_modifiers) + 4.0 * len(has_modifiers - asked)


@cache
def _operand_distance(given: str, has: str) -> float:
    """Two formats are the nearer the more they share: the kind, then the width."""
    x, y = format_of(given), format_of(has)
    return 3.5 + 4.0 * (x.kind != y.kind) + abs(math.log2(x.bits / y.bits))
