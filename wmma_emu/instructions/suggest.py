# SPDX-License-Identifier: MIT
"""Error messages for mnemonics that do not exist: the reason, and the nearest instructions."""

import heapq
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from wmma_emu.formats import format_of
from wmma_emu.formats.table import FP4, FP6
from wmma_emu.instructions.parse import MnemonicParts
from wmma_emu.instructions.refusals import unsupported_on
from wmma_emu.instructions.spec import Arch, Instruction
from wmma_emu.instructions.table import INSTRUCTIONS
from wmma_emu.instructions.tensor import TENSOR_KINDS
from wmma_emu.suggestions import listed, nearest_are, question

_SUGGESTIONS = 3

_NUMBERS = {3: "three", 4: "four", 5: "five"}


def refusal(parts: MnemonicParts, chip: Arch | None) -> str:
    """Return why no instruction matches a mnemonic, and the nearest ones (on that chip, if one is named)."""
    reason = next(_reasons(parts), "its parts cannot be combined")
    end = "" if reason.endswith("?") else "."
    return f"there is no {parts.text!r}: {reason}{end} {_near(parts, chip)}"


def absence(parts: MnemonicParts, instruction: Instruction, chip: Arch) -> str:
    """Return the message that a chip does not support an instruction, with the nearest ones on it."""
    lacking = unsupported_on(chip, repr(parts.text), instruction.archs)
    return f"{lacking}{_in_tensor_memory(instruction, chip)}. {_near(parts, chip)}"


def _in_tensor_memory(instruction: Instruction, chip: Arch) -> str:
    """Name the `tcgen05.mma` that computes the same product, on chips that support it."""
    kind = instruction.kind.removeprefix("kind::")
    if kind not in TENSOR_KINDS or chip.name not in TENSOR_KINDS[kind].archs:
        return ""
    name = f"tcgen05.mma{'.sp' * instruction.is_sparse}"
    scales = " and its block scales" if instruction.is_block_scaled else ""
    return f"; on {chip.name} {name} has .kind::{kind}{scales} (wmma_emu.tcgen05)"


def nearest(parts: MnemonicParts, chip: Arch | None, count: int = _SUGGESTIONS) -> list[Instruction]:
    """Rank the instructions (of a chip) by their distance from a mnemonic; ties keep the order of the table."""
    entries = [entry for entry in INSTRUCTIONS.values() if chip is None or chip.name in entry.archs]
    types = _four_types(parts)
    sizes = [max(int(x), 1) for shape in parts.shapes[:1] for x in re.findall("[0-9]+", shape)]
    return heapq.nsmallest(count, entries, key=lambda entry: _distance(parts, types, sizes, entry))


def _near(parts: MnemonicParts, chip: Arch | None) -> str:
    names = [entry.mnemonic if parts.full else entry.short_mnemonic for entry in nearest(parts, chip)]
    return nearest_are(names, chip.name if chip else "")


def _reasons(parts: MnemonicParts) -> Iterator[str]:
    """Yield everything that is wrong with a mnemonic, the most general reason first."""
    for word, near in parts.unknown:
        if not word:
            yield "a part between two dots is empty"
        if word.removeprefix("kind::") in TENSOR_KINDS:
            yield f".{word} is a kind of tcgen05.mma alone (wmma_emu.tcgen05)"
        shown = repr(_as_written(word if len(word) < 40 else word[:40] + "..."))
        yield f"{shown} is not part of any mnemonic{question([_as_written(x) for x in near])}"
    guess = _Guess.by(parts)
    for reasons in (_kind_reasons, _scale_reasons, _shape_reasons, _count_reasons, _type_reasons, _other_reasons):
        yield from reasons(parts, guess)


class _Guess(NamedTuple):
    """The instructions that a mnemonic most likely means: its family, and its kind if the family has it."""

    entries: Sequence[Instruction]
    kinds: list[str]
    name: str
    types: tuple[str, str, str, str]

    @classmethod
    def by(cls, parts: MnemonicParts) -> "_Guess":
        entries = [entry for entry in INSTRUCTIONS.values() if entry.family == parts.family]
        kinds = _distinct(x for x in parts.modifiers if x.startswith("kind::"))
        of_kind = [entry for entry in entries if kinds[0] in entry.modifiers] if len(kinds) == 1 else []
        name = f"{parts.family} with .{kinds[0]}" if of_kind else parts.family
        return cls(of_kind or entries, kinds, name, _four_types(parts))


def _kind_reasons(parts: MnemonicParts, guess: _Guess) -> Iterator[str]:
    families = _distinct(entry.family for entry in INSTRUCTIONS.values() if set(guess.kinds) & set(entry.modifiers))
    if len(guess.kinds) > 1:
        yield f"it names {len(guess.kinds)} kinds, {_dotted(guess.kinds)}"
    elif guess.kinds and parts.family not in families:
        yield f"{parts.family} has no .{guess.kinds[0]}; {_list(families)} {'has' if len(families) == 1 else 'have'}"
    narrow = _distinct(x for x in parts.types if x in FP6 + FP4)
    if narrow and not guess.kinds:
        with_them = [entry for entry in INSTRUCTIONS.values() if {entry.a, entry.b} & set(narrow)]
        plain, scaled = (
            [entry.modifiers[0] for entry in with_them if entry.is_block_scaled is x] for x in (False, True)
        )
        yield (
            f"{_list(narrow)} operands need {_dotted(plain)}, or, with .block_scale, {_dotted(scaled, 'or')}, of "
            f"{_list(entry.family for entry in with_them)}"
        )


def _scale_reasons(parts: MnemonicParts, guess: _Guess) -> Iterator[str]:
    vectors = [x for x in parts.modifiers if x.startswith("scale_vec::")]
    scales = [x for x in parts.types if x.startswith("ue")]
    scaled = [entry for entry in guess.entries if entry.is_block_scaled and entry.modifiers[0] in parts.modifiers]
    if not scaled:
        word = "block_scale" if "block_scale" in parts.modifiers else (*vectors, *scales, "")[0]
        entries = [entry for entry in INSTRUCTIONS.values() if entry.is_block_scaled]
        kinds, families = (
            _dotted((entry.modifiers[0] for entry in entries), "or"),
            _list(entry.family for entry in entries),
        )
        if word:
            yield f".{_as_written(word)} is a modifier of {kinds}, of {families}"
        return
    kind = scaled[0].modifiers[0]
    if "block_scale" not in parts.modifiers:
        yield f".{kind} needs .block_scale"
    accumulators = [x for x in (*parts.types[:1], *parts.types[3:4]) if x != "f32" and not x.startswith("ue")]
    if accumulators and (not scales or parts.types[-1] == scales[0]):
        yield f"block scales need f32 accumulators, not {accumulators[0]}"
    legal = _distinct(f"{entry.modifiers[2]} with {entry.scale}" for entry in scaled)
    vector = _as_written(vectors[0]) if vectors else "no scale_vec"
    if len(scales) != 1 or f"{vector} with {scales[0]}" not in legal or parts.types[-1] != scales[0]:
        named = f"{vector} and {_list(scales) if scales else 'no format'}"
        ways = _list((f"{x} scales" for x in legal), "or")
        yield f".{kind} takes {ways}, their format named last; this mnemonic has {named}"


def _shape_reasons(parts: MnemonicParts, guess: _Guess) -> Iterator[str]:
    if len(parts.shapes) > 1:
        yield f"it names {len(parts.shapes)} shapes, {' and '.join(parts.shapes)}"
    if not parts.shapes:
        yield f"it names no shape; {guess.name} has {shapes_in_words(guess.entries)}"
    elif all(entry.shape != parts.shapes[0] for entry in guess.entries):
        others = _distinct(entry.family for entry in INSTRUCTIONS.values() if entry.shape == parts.shapes[0])
        elsewhere = others and parts.family not in others
        there = f"; {others[0]} has" if elsewhere else f", it has {shapes_in_words(guess.entries)}"
        yield f"{guess.name} has no shape {parts.shapes[0]}{there}"


def _count_reasons(parts: MnemonicParts, guess: _Guess) -> Iterator[str]:
    """Yield whether types are missing or too many; f16 operands of `wmma.mma` are not named."""
    is_wmma = parts.family == "wmma.mma"
    if is_wmma and len(parts.types) == 4 and parts.types[1:3] == ("f16", "f16"):
        yield "with f16 operands wmma.mma names the types of d and c only"
    order = _order(parts)
    if len(parts.types) != len(order) and not (
        is_wmma and len(parts.types) == 2 and set(parts.types) <= {"f16", "f32"}
    ):
        wanted = f"{_NUMBERS[len(order)]} in the order {', '.join(order)}"
        yield f"it names {_counted(parts.types, 'type')}, not {wanted}" + (
            " (or d and c, where a and b are f16)" if is_wmma else ""
        )


def _order(parts: MnemonicParts) -> tuple[str, ...]:
    order = ("d", "a", "b") if parts.family.startswith("wgmma") else ("d", "a", "b", "c")
    return ("d", "a", "b", "c", "scales") if "block_scale" in parts.modifiers else order


def _type_reasons(parts: MnemonicParts, guess: _Guess) -> Iterator[str]:
    order, a, b = _order(parts)[:4], *guess.types[1:3]
    named = ".".join(guess.types[: len(order)])
    having = [entry for entry in guess.entries if _types(entry) == guess.types]
    if not having:
        operands = _distinct(".".join(entry.types[:4]) for entry in guess.entries if (entry.a, entry.b) == (a, b))
        names = f"{a if a == b else f'{a} and {b}'} operands"
        there = f"with {names} there is {_list(operands)}" if operands else f"no such instruction has {names}"
        yield f"no {guess.name} combines {named} ({'.'.join(order)}); {there}"
    elif parts.shapes and all(entry.shape != parts.shapes[0] for entry in having):
        yield f"{named} comes in {shapes_in_words(having)}, not in {parts.shapes[0]}"


def _other_reasons(parts: MnemonicParts, guess: _Guess) -> Iterator[str]:
    """Yield errors of layouts, then of modifiers."""
    entries = [entry for entry in guess.entries if _types(entry) == guess.types and entry.shape in parts.shapes]
    if len(parts.layouts) not in (0, 2):
        yield f"it names {_counted(parts.layouts, 'layout')}, not two (of a and of b)"
    layouts, given = _distinct(f"{entry.a_layout}.{entry.b_layout}" for entry in entries), ".".join(parts.layouts)
    if given and parts.family.startswith("wgmma"):
        yield "wgmma names no layouts: descriptors and the transpose operands define the layout of matrices"
    elif given and given not in layouts:
        yield f"with these types {parts.shapes[0]} comes as {_list(layouts)} only, not as {given}"
    repeated = [x for x in parts.modifiers if parts.modifiers.count(x) > 1]
    if repeated:
        yield f".{_as_written(repeated[0])} is given twice"
    legal = _distinct(".".join(entry.modifiers) for entry in entries)
    named = _dotted(x for x in legal if x)
    given = f".{'.'.join(map(_as_written, parts.modifiers))} is not legal"
    if not parts.modifiers:
        yield f"one of {named} is required"
    elif not named:
        yield f"{given}: with these types {parts.shapes[0]} takes no modifier"
    else:
        yield f"{given}; legal is {named}" + (", or none" if "" in legal else "")


def _as_written(word: str) -> str:
    """Return a word as PTX writes it: with a capital X in the size of a scale vector."""
    return word.replace("x", "X") if word.startswith("scale_vec::") else word


def shapes_in_words(entries: Iterable[Instruction]) -> str:
    """List the shapes from small to large; those of `wgmma`, which are many, by the rule for n."""
    entries = list(entries)
    if not any(entry.is_warpgroup for entry in entries):
        return _list(shape for *_, shape in sorted({(entry.m, entry.n, entry.k, entry.shape) for entry in entries}))
    names = _list(f"m{m}nNk{k}" for m, k in sorted({(entry.m, entry.k) for entry in entries}))
    floats = {entry.format("a").is_float for entry in entries}
    rule = "a multiple of 8 up to 256"
    if False in floats:
        rule += " (of 16 above 24" + " for integers and bits" * (True in floats) + ")"
    return f"{names}, N {rule}"


def _types(instruction: Instruction) -> tuple[str, str, str, str]:
    return instruction.d, instruction.a, instruction.b, instruction.c


def _distinct(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(words))


def _list(words: Iterable[str], conjunction: str = "and") -> str:
    return listed(_distinct(words), conjunction)


def _dotted(words: Iterable[str], conjunction: str = "and") -> str:
    return _list((f".{x}" for x in words), conjunction)


def _counted(named: Sequence[str], what: str) -> str:
    count = {0: "no", 1: "one"}.get(len(named), str(len(named)))
    return f"{count} {what}{'s' * (len(named) != 1)}"


def _four_types(parts: MnemonicParts) -> tuple[str, str, str, str]:
    """Return the types as d, a, b, c; missing ones as most likely meant ("" is unknown)."""
    given = parts.types
    if len(given) >= 4:
        return given[0], given[1], given[2], given[3]
    if len(given) == 2 and parts.family == "wmma.mma" and set(given) <= {"f16", "f32"}:
        return given[0], "f16", "f16", given[1]
    if len(given) in (2, 3):
        return given[0], given[1], given[-1], given[0]
    return ("", given[0], given[0], "") if given else ("", "", "", "")


def _distance(parts: MnemonicParts, types: tuple[str, ...], sizes: list[int], instruction: Instruction) -> float:
    """Return how much of a mnemonic differs from an instruction; operand types weigh most, layouts least."""
    total = 0.0
    if instruction.family != parts.family:
        total += 2.5 if parts.family_given else 1.5
        total += 4.0 * (instruction.is_sparse != (".sp" in parts.family))
    if sizes and parts.shapes[0] != instruction.shape:
        total += 2.0 + abs(math.log2(sizes[0] / instruction.m)) + abs(math.log2(sizes[1] / instruction.n))
        total += abs(math.log2(sizes[2] / instruction.k))
    if types != _types(instruction):
        d, a, b, c = types
        total += (d not in ("", instruction.d)) + (c not in ("", instruction.c))
        total += _operand_distance(a, instruction.a) + _operand_distance(b, instruction.b)
    total += 0.5 * bool(instruction.scale and instruction.scale not in parts.types)
    if not parts.layouts:
        total += 2.5 * ((instruction.a_layout, instruction.b_layout) != ("row", "col"))
    elif parts.layouts != (instruction.a_layout, instruction.b_layout):
        total += sum(x != y for x, y in zip(parts.layouts, (instruction.a_layout, instruction.b_layout), strict=False))
    return total + _modifier_distance(parts.modifiers, instruction)


def _modifier_distance(modifiers: tuple[str, ...], instruction: Instruction) -> float:
    """Weigh an extra modifier little, a missing one much: less if the kind implies it or another is named."""
    if not modifiers and not instruction.modifiers:
        return 0.0
    asked, has = set(modifiers), {x.lower() for x in instruction.modifiers}
    if not has:
        return 1.0 * len(asked)
    missing = 1.0 if instruction.is_block_scaled and instruction.modifiers[0] in asked else 4.0
    total = 1.0 * len(asked - has) + missing * len(has - asked)
    kinds = {x for x in asked ^ has if x.startswith("kind::")}
    return total - 3.0 if len(kinds) == 2 else total


@cache
def _operand_distance(given: str, has: str) -> float:
    """Return the distance of two formats, which share the kind, then the width; "" is unknown."""
    if given in ("", has):
        return 0.0
    x, y = format_of(given), format_of(has)
    return 3.5 + 4.0 * (x.kind != y.kind) + abs(math.log2(x.bits / y.bits))
