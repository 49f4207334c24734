# SPDX-License-Identifier: MIT
"""Why a mnemonic names nothing, and what comes nearest to it: the words of the error messages."""

import heapq
import math
import re
from collections.abc import Iterable, Iterator
from functools import cache

from wmma_emu.formats import format_of
from wmma_emu.formats.table import FP4, FP6
from wmma_emu.instructions.parse import Parts
from wmma_emu.instructions.spec import Arch, Instruction
from wmma_emu.instructions.table import INSTRUCTIONS
from wmma_emu.instructions.tensor import TENSOR_KINDS

__all__ = ["absence", "nearest", "refusal", "shapes_in_words"]

_SUGGESTIONS = 3


def refusal(parts: Parts, chip: Arch | None) -> str:
    """Say why no row answers a mnemonic, and which rows come nearest (on that chip, if one is named)."""
    reason = next(_reasons(parts), "its parts do not go together")
    end = "" if reason.endswith("?") else "."
    return f"there is no {parts.text!r}: {reason}{end} {_near(parts, chip)}"


def absence(parts: Parts, row: Instruction, chip: Arch) -> str:
    """Say that a chip lacks a row that others have, and what comes nearest on it."""
    return (
        f"{chip.name} ({chip.generation}) has no {parts.text!r}: "
        f"the first chip that has it is {row.archs[0]}{_in_tensor_memory(row, chip)}. "
        f"{_near(parts, chip)}"
    )


def _in_tensor_memory(row: Instruction, chip: Arch) -> str:
    """Point at the `tcgen05.mma` that multiplies the same, on chips where it does."""
    kind = next((x.removeprefix("kind::") for x in row.modifiers if x.startswith("kind::")), "")
    if kind not in TENSOR_KINDS or chip.name not in TENSOR_KINDS[kind].archs:
        return ""
    name = f"tcgen05.mma{'.sp' * row.is_sparse}"
    scales = " and its block scales" if row.is_block_scaled else ""
    return f"; on {chip.name} {name} has .kind::{kind}{scales} (wmma_emu.tcgen05)"


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
        if word.removeprefix("kind::") in TENSOR_KINDS:
            yield f".{word} is a kind of tcgen05.mma alone (wmma_emu.tcgen05)"
        shown = repr(_as_written(word if len(word) < 40 else word[:40] + "..."))
        yield f"{shown} is no part of any mnemonic" + (f"; did you mean {_as_written(near)!r}?" if near else "")
    yield from _kind_reasons(parts)
    yield from _block_scale_reasons(parts)
    yield from _shape_reasons(parts)
    yield from _type_reasons(parts)
    yield from _layout_and_modifier_reasons(parts)


def _kind_reasons(parts: Parts) -> Iterator[str]:
    """Say what is wrong with a kind, or that one is missing."""
    kinds = _kinds(parts)
    having = [row for row in INSTRUCTIONS.values() if any(x in row.modifiers for x in kinds)]
    families = _distinct(row.family for row in having)
    if len(kinds) > 1:
        yield f"it names {len(kinds)} kinds, {_list(_dotted(kinds))}"
    elif kinds and parts.family not in families:
        yield f"{parts.family} has no .{kinds[0]}; {_list(families)} {'has' if len(families) == 1 else 'have'}"
    # No instruction without a kind multiplies them.
    narrow = _distinct(x for x in parts.types if x in FP6 + FP4)
    if narrow and not kinds:
        with_them = [row for row in INSTRUCTIONS.values() if {row.a, row.b} & set(narrow)]
        plain = _distinct(row.modifiers[0] for row in with_them if not row.is_block_scaled)
        scaled = _distinct(row.modifiers[0] for row in with_them if row.is_block_scaled)
        yield (
            f"{_list(narrow)} operands need {_list(_dotted(plain))}, or, with .block_scale, "
            f"{_list(_dotted(scaled), 'or')}, of {_list(_distinct(row.family for row in with_them))}"
        )


def _block_scale_reasons(parts: Parts) -> Iterator[str]:
    """Say what is wrong with block scales."""
    vectors = [x for x in parts.modifiers if x.startswith("scale_vec::")]
    scales = [x for x in parts.types if x.startswith("ue")]
    scaled = [row for row in _meant(parts) if row.is_block_scaled and row.modifiers[0] in parts.modifiers]
    word = "block_scale" if "block_scale" in parts.modifiers else (*vectors, *scales, "")[0]
    if word and not scaled:
        rows = [row for row in INSTRUCTIONS.values() if row.is_block_scaled]
        kinds, families = _distinct(row.modifiers[0] for row in rows), _distinct(row.family for row in rows)
        yield f".{_as_written(word)} goes with {_list(_dotted(kinds), 'or')}, of {_list(families)}"
    if not scaled:
        return
    kind = scaled[0].modifiers[0]
    if "block_scale" not in parts.modifiers:
        yield f".{kind} needs .block_scale"
    accumulators = [x for x in (*parts.types[:1], *parts.types[3:4]) if x != "f32" and not x.startswith("ue")]
    if accumulators and (not scales or parts.types[-1] == scales[0]):
        yield f"block scales go with f32 accumulators alone, not with {accumulators[0]}"
    legal = _distinct(f"{row.modifiers[2]}.{row.scale}" for row in scaled)
    vector = _as_written(vectors[0]) if vectors else "no scale_vec"
    if len(scales) != 1 or f"{vector}.{scales[0]}" not in legal or parts.types[-1] != scales[0]:
        named = f"{vector} and {_list(scales) if scales else 'no format'}"
        ways = _list((f"{x.replace('.', ' with ')} scales" for x in legal), "or")
        yield f".{kind} takes {ways}, their format named last; here are {named}"


def _kinds(parts: Parts) -> list[str]:
    return _distinct(x for x in parts.modifiers if x.startswith("kind::"))


def _dotted(words: Iterable[str]) -> list[str]:
    return [f".{x}" for x in words]


def _as_written(word: str) -> str:
    """A word as PTX writes it: with a capital X in the size of a scale vector."""
    return word.replace("x", "X") if word.startswith("scale_vec::") else word


def _shape_reasons(parts: Parts) -> Iterator[str]:
    if len(parts.shapes) > 1:
        yield f"it names {len(parts.shapes)} shapes, {' and '.join(parts.shapes)}"
    rows, name = _meant(parts), _name_of_meant(parts)
    if not parts.shapes:
        yield f"it names no shape; {name} has {shapes_in_words(rows)}"
    elif all(row.shape != parts.shapes[0] for row in rows):
        others = _distinct(row.family for row in INSTRUCTIONS.values() if row.shape == parts.shapes[0])
        elsewhere = others and parts.family not in others
        yield f"{name} has no shape {parts.shapes[0]}" + (
            f"; {others[0]} has" if elsewhere else f", it has {shapes_in_words(rows)}"
        )


def _type_reasons(parts: Parts) -> Iterator[str]:
    rows = _meant(parts)
    if parts.family == "wmma.mma" and len(parts.types) == 4 and parts.types[1:3] == ("f16", "f16"):
        yield "with f16 operands wmma.mma names the types of d and c only"
    short = parts.family == "wmma.mma" and len(parts.types) == 2 and set(parts.types) <= {"f16", "f32"}
    wanted, order = (3, "three in the order d, a, b") if _is_warpgroup(parts) else (4, "four in the order d, a, b, c")
    if "block_scale" in parts.modifiers:
        wanted, order = 5, "five in the order d, a, b, c, scales"
    if len(parts.types) != wanted and not short:
        count = {0: "no types", 1: "one type"}.get(len(parts.types), f"{len(parts.types)} types")
        yield f"it names {count}, not {order}" + (
            " (or d and c, where a and b are f16)" if parts.family == "wmma.mma" else ""
        )
    types = _four_types(parts)
    named = ".".join(types[: min(wanted, 4)])
    having = [row for row in rows if _types(row) == types]
    if not having:
        operands = _distinct(".".join(row.types[:4]) for row in rows if (row.a, row.b) == types[1:3])
        names = types[1] if types[1] == types[2] else f"{types[1]} and {types[2]}"
        yield f"no {_name_of_meant(parts)} combines {named} ({'d.a.b.c'[: 2 * min(wanted, 4) - 1]})" + (
            f"; with {names} operands there is {_list(operands)}" if operands else f"; none has {names} operands"
        )
    elif parts.shapes and all(row.shape != parts.shapes[0] for row in having):
        yield f"{named} comes in {shapes_in_words(having)}, not in {parts.shapes[0]}"


def _layout_and_modifier_reasons(parts: Parts) -> Iterator[str]:
    rows = [row for row in _meant(parts) if _types(row) == _four_types(parts) and row.shape in parts.shapes]
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
        yield f".{_as_written(repeated[0])} is given twice"
    legal = _distinct(".".join(row.modifiers) for row in rows)
    named = [f".{x}" for x in legal if x]
    given = f".{'.'.join(map(_as_written, parts.modifiers))} is not legal here"
    if not parts.modifiers:
        yield f"one of {_list(named)} is needed"
    elif "" in legal and not named:
        yield f"{given}: with these types {parts.shapes[0]} takes no modifier"
    else:
        yield f"{given}; legal is {_list(named)}" + (", or none" if "" in legal else "")


def _meant(parts: Parts) -> list[Instruction]:
    """The rows of the family; where it has the one kind that is named, those of the kind."""
    rows, kinds = [row for row in INSTRUCTIONS.values() if row.family == parts.family], _kinds(parts)
    of_kind = [row for row in rows if kinds[0] in row.modifiers] if len(kinds) == 1 else []
    return of_kind or rows


def _name_of_meant(parts: Parts) -> str:
    kinds = _kinds(parts)
    has_kind = len(kinds) == 1 and kinds[0] in _meant(parts)[0].modifiers
    return f"{parts.family} with .{kinds[0]}" if has_kind else parts.family


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


def _list(words: Iterable[str], conjunction: str = "and") -> str:
    *most, last = words
    return f"{', '.join(most)} {conjunction} {last}" if most else last


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
        total += 2.0 + abs(math.log2(sizes[0] / row.m)) + abs(math.log2(sizes[1] / row.n))
        total += abs(math.log2(sizes[2] / row.k))
    if types != _types(row):
        d, a, b, c = types
        total += (d not in ("", row.d)) + (c not in ("", row.c))
        total += _operand_distance(a, row.a) + _operand_distance(b, row.b)
    total += 0.5 * bool(row.scale and row.scale not in parts.types)
    if not parts.layouts:
        total += 2.5 * ((row.a_layout, row.b_layout) != ("row", "col"))
    elif parts.layouts != (row.a_layout, row.b_layout):
        total += sum(x != y for x, y in zip(parts.layouts, (row.a_layout, row.b_layout), strict=False))
    return total + _modifier_distance(parts.modifiers, row)


def _modifier_distance(modifiers: tuple[str, ...], row: Instruction) -> float:
    """A modifier too many weighs little, a missing one much: less where the kind implies it or another is named."""
    if not modifiers and not row.modifiers:
        return 0.0
    asked, has = set(modifiers), {x.lower() for x in row.modifiers}
    if not has:
        return 1.0 * len(asked)
    missing = 1.0 if row.is_block_scaled and row.modifiers[0] in asked else 4.0
    total = 1.0 * len(asked - has) + missing * len(has - asked)
    kinds = {x for x in asked ^ has if x.startswith("kind::")}
    return total - 3.0 if len(kinds) == 2 else total


@cache
def _operand_distance(given: str, has: str) -> float:
    """Two formats are the nearer the more they share: the kind, then the width; "" is unknown."""
    if given in ("", has):
        return 0.0
    x, y = format_of(given), format_of(has)
    return 3.5 + 4.0 * (x.kind != y.kind) + abs(math.log2(x.bits / y.bits))
