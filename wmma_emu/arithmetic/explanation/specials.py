# SPDX-License-Identifier: MIT
"""The operands that made a result an infinity or NaN, and the rule, as text."""

from collections.abc import Sequence

from wmma_emu.arithmetic.explanation.steps import ScaledBlock, Special
from wmma_emu.arithmetic.reference import Term
from wmma_emu.formats import Format
from wmma_emu.formats.reference import unpack

__all__ = ["Special", "of_multiply_add", "of_terms"]

CANONICAL = "every NaN result is canonical"
OPPOSED = "infinities of both signs are NaN"
INFINITE = "infinities of the same sign are kept"
PROPAGATED = "the first NaN among b, addend, a is the result, made quiet, with its sign and payload"
NAN_SCALE = "a NaN scale gives NaN for all of its products, even zeros; every NaN result is canonical"
NEW_NAN = "infinity times zero is NaN, the canonical one"


def of_terms(names: list[str], terms: list[Term], blocks: Sequence[ScaledBlock] = ()) -> Special | None:
    """Explain a step with infinities or NaN among its terms, by their names; return None for other steps."""
    scales = [f"scales of {block.name}" for block in blocks if block.kind == "nan"]
    if scales:
        return Special(result="nan", rule=NAN_SCALE, causes=tuple(scales))
    nans = [name for name, term in zip(names, terms, strict=True) if term.kind == "nan"]
    infinite = [(name, term.sign) for name, term in zip(names, terms, strict=True) if term.kind == "infinity"]
    if nans:
        return Special(result="nan", rule=CANONICAL, causes=tuple(nans))
    if not infinite:
        return None
    causes = tuple(name for name, _ in infinite)
    if len({sign for _, sign in infinite}) == 2:
        return Special(result="nan", rule=OPPOSED, causes=causes)
    return Special(result="infinity", rule=INFINITE, causes=causes)


def of_multiply_add(bits: tuple[int, int, int], fmt: Format, nan: str, names: tuple[str, str, str]) -> Special | None:
    """Explain ``a * b + c`` with infinities or NaN among the three; otherwise return None."""
    a, b, c = (unpack(x, fmt) for x in bits)
    numbers = dict(zip(names, (a, b, c), strict=True))
    nans = [name for name, u in numbers.items() if u.kind == "nan"]
    if nans:
        if nan == "propagate":
            first = next(name for name in (names[1], names[2], names[0]) if name in nans)
            return Special(result="nan", rule=PROPAGATED, causes=(first,))
        return Special(result="nan", rule=CANONICAL, causes=tuple(nans))
    if {a.kind, b.kind} == {"zero", "infinity"}:
        return Special(result="nan", rule=NEW_NAN, causes=names[:2])
    infinite = [name for name, u in numbers.items() if u.kind == "infinity"]
    if not infinite:
        return None
    if c.kind == "infinity" and len(infinite) > 1 and a.sign ^ b.sign != c.sign:
        return Special(result="nan", rule=OPPOSED, causes=tuple(infinite))
    return Special(result="infinity", rule=INFINITE, causes=tuple(infinite))
