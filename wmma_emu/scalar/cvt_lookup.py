# SPDX-License-Identifier: MIT
"""The look-up of a ``cvt`` mnemonic on a chip, and the nearest forms if it does not exist."""

import re

from wmma_emu.errors import CallError, UnknownNameError, UnsupportedInstructionError, shorten
from wmma_emu.scalar.cvt_table import CHIPS, CVT_FORMS, CVT_ROUNDINGS, CVT_TYPES, SCALED, CvtForm
from wmma_emu.suggestions import did_you_mean, first_chip, likeness, nearest_are

_WORDS = (*CVT_ROUNDINGS, "ftz", "sat", "satfinite", "relu", SCALED)
_LONGEST = 100


def lookup_cvt(instruction: str, arch: object = "sm_90") -> CvtForm:
    """Find the entry of a conversion instruction.

    Modifiers come in any order; the chip is a PTX target, ``sm_90`` or ``sm_90a``.

    Examples
    --------
    >>> lookup_cvt("cvt.rn.satfinite.relu.e4m3x2.f32").num_operands
    2
    >>> lookup_cvt("cvt.rn.satfinite.e4m3x2.f32", "sm_80")
    Traceback (most recent call last):
        ...
    wmma_emu.errors.UnsupportedInstructionError: sm_80 has no 'cvt.rn.satfinite.e4m3x2.f32'; the first chip that
    supports it is sm_89. Nearest on sm_80: cvt.rn.satfinite.f16x2.f32, cvt.rn.satfinite.bf16x2.f32,
    cvt.rn.satfinite.f16.f32
    """
    chip = _chip(arch)
    target, source, modifiers = _parse(instruction, chip)
    form = CVT_FORMS.get((target, source, frozenset(modifiers)))
    if form is None:
        raise UnsupportedInstructionError(
            f"there is no {instruction!r}: {_reason(target, source, modifiers)}. {_near(instruction, chip)}"
        )
    if chip not in form.archs:
        raise UnsupportedInstructionError(
            f"{chip} has no {instruction!r}; {first_chip(form.archs, CHIPS)}. {_near(instruction, chip)}"
        )
    return form


def _chip(arch: object) -> str:
    """Read a PTX target, the name of an entry in the table of chips."""
    name = getattr(arch, "name", arch)
    plain = re.sub("[af]$", "", name) if isinstance(name, str) else ""
    if plain not in CHIPS:
        raise UnknownNameError(
            f"there is no chip {shorten(arch)}; pass a PTX target, one of {', '.join(CHIPS)}; "
            "wmma_emu.instructions.arch_of finds the target of a product"
        )
    return plain


def _parse(instruction: object, chip: str) -> tuple[str, str, tuple[str, ...]]:
    if not isinstance(instruction, str) or len(instruction) > _LONGEST:
        raise CallError(
            f"a conversion is named by its PTX mnemonic, such as 'cvt.rn.f16.f32', not by {shorten(instruction)}"
        )
    first, *words = instruction.split(".")
    if first != "cvt" or len(words) < 2:
        raise UnsupportedInstructionError(
            f"{instruction!r} is not a conversion: cvt, modifiers, the target type and the source type. "
            f"{_near(instruction, chip)}"
        )
    *modifiers, target, source = words
    legal: tuple[tuple[str, str, tuple[str, ...]], ...] = (
        *((x, "modifier of cvt", _WORDS) for x in modifiers),
        (target, "type that cvt converts to", tuple(CVT_TYPES)),
        (source, "type that cvt converts from", tuple(CVT_TYPES)),
    )
    for word, what, names in legal:
        if word not in names:
            hint = did_you_mean(word, names) or f"; legal are {', '.join(names)}."
            raise UnsupportedInstructionError(f"{instruction!r}: {word!r} is not a {what}{hint}")
    twice = next((x for x in modifiers if modifiers.count(x) > 1), None)
    if twice:
        raise UnsupportedInstructionError(f"{instruction!r} gives .{twice} twice; give it once")
    return target, source, tuple(modifiers)


def _reason(target: str, source: str, modifiers: tuple[str, ...]) -> str:
    """Return the illegal part: the pair of types, the rounding, or the following modifiers."""
    pair = [entry for entry in CVT_FORMS.values() if (entry.target, entry.source) == (target, source)]
    if not pair:
        sources = dict.fromkeys(entry.source for entry in CVT_FORMS.values() if entry.target == target)
        if not sources:
            return f"no type is converted to {target}"
        return f"{target} is converted from {', '.join(sources)}, not from {source}"
    given = [x for x in modifiers if x in CVT_ROUNDINGS]
    roundings = list(dict.fromkeys(entry.rounding for entry in pair))
    if len(given) > 1:
        return f"it names {len(given)} roundings, {' and '.join(given)}"
    rounding = given[0] if given else ""
    if rounding not in roundings:
        named = [f".{x}" for x in roundings if x]
        if not named:
            return f"a conversion from {source} to {target} does not round, so that .{rounding} is not legal"
        none = " or none" if "" in roundings else ""
        return f"from {source} to {target} the rounding is one of {', '.join(named)}{none}" + (
            f", not .{rounding}" if rounding else "; name one"
        )
    rest = [".".join(x for x in entry.modifiers if x != rounding) for entry in pair if entry.rounding == rounding]
    asked = ".".join(x for x in modifiers if x != rounding)
    legal = ", ".join(f".{x}" if x else "none" for x in rest)
    return f"modifiers {f'.{asked}' if asked else '(none)'} are not legal; legal: {legal}"


def _near(instruction: str, chip: str) -> str:
    """Rank the chip's forms by how alike they are spelled; the same types come first."""
    target, source = (["", "", *instruction.split(".")])[-2:]

    def closeness(entry: CvtForm) -> float:
        same = 0.25 * (entry.source == source) + 0.15 * (entry.target == target)
        return likeness(entry.mnemonic, instruction) + same + 0.1 * all(x in instruction for x in entry.modifiers)

    entries = sorted((entry for entry in CVT_FORMS.values() if chip in entry.archs), key=closeness, reverse=True)
    return nearest_are((entry.mnemonic for entry in entries[:3]), chip)
