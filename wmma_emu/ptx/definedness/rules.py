# SPDX-License-Identifier: MIT
"""The rule of every lane operation: the undefined bits of its results."""

import re
from collections.abc import Callable

from wmma_emu.ptx.definedness.bit_rules import ElementRule, Rule, by_elements, carries, exact, products, selected, whole
from wmma_emu.ptx.definedness.comparison_rules import comparison
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.widths import bits_of_type
from wmma_emu.scalar.cvt_table import CVT_TYPES, SCALED

_INTEGER = re.compile(r"[su](16|32|64)\Z")

Modifiers = tuple[str, ...]


def _packed_elements(name: str, count: int) -> Rule:
    """Return the rule of packed results whose elements each depend on the same element of each source."""
    bits = bits_of_type(name.partition("x")[0])
    places = range(0, bits_of_type(name), bits)
    return by_elements(*(ElementRule(0, x, bits, tuple((source, x, bits) for source in range(count))) for x in places))


def _arithmetic(count: int, of_integers: Rule) -> Callable[[Modifiers], Rule]:
    def choose(words: Modifiers) -> Rule:
        if "x" in words[-1]:
            return _packed_elements(words[-1], count)
        return of_integers if _INTEGER.match(words[-1]) and "sat" not in words else whole

    return choose


def _multiplied(factor_bits: int | None = None) -> Callable[[Modifiers], Rule]:
    def choose(words: Modifiers) -> Rule:
        if "x" in words[-1]:
            return _packed_elements(words[-1], 2)
        return products(factor_bits) if words[0] in ("lo", "wide") else whole

    return choose


def _converted(words: Modifiers) -> Rule:
    """Choose the rule of `cvt`: exact bits for integers, elements for packed formats."""
    if words[0] == "pack":
        return _packed(words)
    target, source = CVT_TYPES[words[-2]], CVT_TYPES[words[-1]]
    if not target.element.is_float and not source.element.is_float and target.count == source.count == 1:
        return whole if "sat" in words else exact()
    if target.count == 1:
        return whole
    width = target.bits // target.count
    if source.count == target.count:
        taken = source.bits // source.count
        scales = [((1, i * 8, 8),) if SCALED in words else () for i in range(target.count)]
        return by_elements(
            *(ElementRule(0, i * width, width, ((0, i * taken, taken), *scales[i])) for i in range(target.count))
        )
    # The first of several operands is the highest element.
    last = target.count - 1
    return by_elements(*(ElementRule(0, i * width, width, ((last - i, 0, 0),)) for i in range(target.count)))


def _packed(words: Modifiers) -> Rule:
    """Return the rule of ``cvt.pack``: two numbers in the low elements, then low bits of the third operand."""
    width = bits_of_type(words[2])
    low = [ElementRule(0, 0, width, ((1, 0, 0),)), ElementRule(0, width, width, ((0, 0, 0),))]
    if len(words) == 4:
        return by_elements(*low)
    above = range(2 * width, 32, width)
    return by_elements(*low, *(ElementRule(0, x, width, ((2, x - 2 * width, width),)) for x in above))


def _of_three(words: Modifiers) -> Rule:
    """Return the rule of ``lop3``: result bits depend on the three bits at their position; the predicate, on all."""
    by_bits = exact()
    if words[0] == "b32":
        return by_bits
    return lambda sources: (by_bits(sources)[0], whole(sources)[1])


def _always(rule: Rule) -> Callable[[Modifiers], Rule]:
    return lambda words: rule


RULES: dict[str, Callable[[Modifiers], Rule]] = {
    **dict.fromkeys(("add", "sub"), _arithmetic(2, carries)),
    **dict.fromkeys(("addc", "subc"), _always(carries)),
    **dict.fromkeys(("mul", "mad", "madc"), _multiplied()),
    **dict.fromkeys(("mul24", "mad24"), _multiplied(24)),
    "fma": _arithmetic(3, whole),
    "neg": _arithmetic(1, carries),
    **dict.fromkeys(("abs", "ex2", "tanh"), _arithmetic(1, whole)),
    **dict.fromkeys(("min", "max"), _arithmetic(2, whole)),
    **dict.fromkeys(("and", "or", "xor", "not", "brev", "mov", "selp", "copysign"), _always(exact())),
    "lop3": _of_three,
    **dict.fromkeys(("shl", "shr", "szext"), _always(exact(1))),
    "shf": lambda words: selected(2, 31, exact(2)) if "wrap" in words else exact(2),
    "prmt": lambda words: selected(2, 0xFFFF if words == ("b32",) else 3, exact(2)),
    "bfe": _always(exact(1, 2)),
    "bfi": _always(exact(2, 3)),
    "slct": lambda words: exact() if words[-1] == "s32" else exact(2),
    "setp": lambda words: comparison(words, True),
    "set": lambda words: comparison(words, False),
    "cvt": _converted,
}  # fmt: skip
"""By mnemonic, a function that chooses the rule by the modifiers. For all other instructions, such as quotients and
approximate functions, every bit of a result depends on every bit of the sources."""


_MOVES = frozenset(("mov", "selp", "prmt", "bfe", "shr", "cvt"))
"""Instructions with which compilers split structures to copy their bytes, unless they extend a sign."""


def is_move(instruction: PtxInstruction) -> bool:
    """Return whether an instruction only moves bytes of its source, to the same or to lower positions.

    Examples
    --------
    >>> from wmma_emu.ptx.program.program import PtxInstruction
    >>> names = (("shr", "u16"), ("shr", "s16"), ("shl", "b16"), ("mov", "b32"))
    >>> [is_move(PtxInstruction(f"{x}.{y}", x, (y,), (), None, 1, 1)) for x, y in names]
    [True, False, False, True]
    """
    return instruction.mnemonic in _MOVES and all(x[0] in "bu" for x in instruction.modifiers[-2:])


def rule_of(mnemonic: str, modifiers: Modifiers) -> Rule:
    """Return the rule of an instruction.

    Examples
    --------
    >>> rule_of("sin", ("approx", "f32")) is whole
    True
    """
    return RULES[mnemonic](modifiers) if mnemonic in RULES else whole
