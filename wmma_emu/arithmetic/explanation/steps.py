# SPDX-License-Identifier: MIT
"""The steps that compute one element of D as data: only integers, strings and tuples.

Every class is a frozen dataclass, so that `dataclasses.asdict` returns nested dictionaries that ``json`` accepts. A
name such as ``"c"``, ``"step 3"`` or ``"+0"`` is the origin of a number that enters a step.
"""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["zero", "finite", "infinity", "nan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A decoded floating-point pattern: ``(-1)**sign * significand * 2**(exponent - fraction_bits)``."""

    name: str
    bits: int
    kind: Kind
    sign: int
    exponent: int
    significand: int
    fraction_bits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounding:
    """The rounding of an exact number, ``(-1)**sign * significand * 2**exponent``, to a format.

    ``kept * 2**kept_exponent`` is kept; the last ``dropped_bits`` bits, the integer ``dropped``, are dropped. ``up`` is
    whether the magnitude was then raised by one unit in the last place.
    """

    mode: str
    format: str
    sign: int
    significand: int
    exponent: int
    kept: int
    kept_exponent: int
    dropped: int
    dropped_bits: int
    up: bool
    subnormal: bool
    overflow: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Special:
    """A step decided by infinities and NaN: the result, the rule, and the operands or terms that caused it."""

    result: Literal["infinity", "nan"]
    rule: str
    causes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """One number before and after a conversion."""

    name: str
    bits: int
    result: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """Numbers converted from one format to another, to nearest even; ``number`` is 0 for inputs of the unit."""

    step: Literal["conversion"] = "conversion"
    number: int
    operand: str
    source: str
    target: str
    numbers: tuple[Converted, ...]
    rounding: Rounding | None
    result: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignedTerm:
    """One term of an aligned sum: a product, or the addend, whose ``k``, ``a`` and ``b`` are None.

    For a group of products with block scales, ``a`` and ``b`` are the scales, and ``k`` is None.

    The term is ``(-1)**sign * significand * 2**(exponent - fraction_bits)``, not normalised. A right shift by ``shift``
    aligns it; ``kept`` is the signed kept part in units of the sum, and the integer ``cut`` of ``cut_bits`` bits is the
    truncated part.
    """

    name: str
    k: int | None
    a: int | None
    b: int | None
    bits: int | None
    a_kind: str
    b_kind: str
    kind: Kind
    sign: int
    exponent: int
    significand: int
    fraction_bits: int
    shift: int
    kept: int
    cut: int
    cut_bits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledBlock:
    """Products that share a scale of A and one of B, ``significand * 2**(exponent - fraction_bits)`` together.

    If they are a group, which is one term, ``ks``, ``a`` and ``b`` are the operands, and ``total * 2**-total_bits`` is
    the exact sum of their products; otherwise these fields are empty and zero.
    """

    name: str
    scale_a: int
    scale_b: int
    kind: Kind
    exponent: int
    significand: int
    fraction_bits: int
    ks: tuple[int, ...] = ()
    a: tuple[int, ...] = ()
    b: tuple[int, ...] = ()
    total: int = 0
    total_bits: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignedSum:
    """One rounding step: terms aligned to ``exponent``, truncated to units of ``2**(exponent - fraction_bits)``, added.

    ``floor`` is whether the unit's lowest exponent determined the alignment; otherwise ``aligned_to`` is the first term
    that did. With infinities or NaN among the terms, no term is aligned: see ``special``. If the terms are groups of
    products, ``a_format`` and ``b_format`` are the format of their scales, ``operand_formats`` those of the products.
    """

    step: Literal["aligned_sum"] = "aligned_sum"
    number: int
    a_format: str
    b_format: str
    format: str
    result_format: str
    terms: tuple[AlignedTerm, ...]
    fraction_bits: int
    exponent: int
    floor: bool
    aligned_to: str
    total: int
    rounding: Rounding | None
    special: Special | None
    result: int
    scale_format: str = ""
    blocks: tuple[ScaledBlock, ...] = ()
    operand_formats: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiplyAdd:
    """A multiply-add, multiplication or addition, exact and then rounded once.

    ``operands`` are (a, b, addend), (a, b) or (x, y). The exact result is ``(-1)**sign * significand * 2**exponent``.
    """

    step: Literal["multiply_add"] = "multiply_add"
    number: int
    operation: Literal["fma", "mul", "add"]
    k: int | None
    format: str
    mode: str
    operands: tuple[Number, ...]
    sign: int
    significand: int
    exponent: int
    rounding: Rounding | None
    special: Special | None
    result: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegerTerm:
    """One product of integers: bits, values, product."""

    k: int
    a: int
    b: int
    a_value: int
    b_value: int
    product: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegerSum:
    """All products of an instruction and c, exactly; the total wrapped or clamped to the format once."""

    step: Literal["integer_sum"] = "integer_sum"
    number: int
    a_format: str
    b_format: str
    format: str
    terms: tuple[IntegerTerm, ...]
    c_name: str
    c: int
    c_value: int
    total: int
    satfinite: bool
    limit: Literal["none", "wrapped", "lowest", "highest"]
    result: int
    value: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BitWord:
    """Thirty-two bits of a and b starting at ``k``, the lowest k lowest: combined, and counted."""

    k: int
    a: int
    b: int
    combined: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BitCount:
    """The population count of ``a xor b`` or ``a and b``, added to c and wrapped."""

    step: Literal["bit_count"] = "bit_count"
    number: int
    operation: str
    format: str
    words: tuple[BitWord, ...]
    count: int
    c_name: str
    c: int
    c_value: int
    total: int
    limit: Literal["none", "wrapped"]
    result: int
    value: int


Step = Conversion | AlignedSum | MultiplyAdd | IntegerSum | BitCount


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One of the consecutive instructions over k, or a whole chain of scalar multiply-adds."""

    number: int
    first_k: int
    last_k: int
    c_name: str
    c: int
    steps: tuple[Step, ...]
    result: int
