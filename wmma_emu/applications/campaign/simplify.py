# SPDX-License-Identifier: MIT
"""Simpler numbers for a mismatch: fewer significant bits, exponents nearer to zero."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations
from itertools import product as product_of

from wmma_emu.applications.campaign.cases import Case
from wmma_emu.formats import Format
from wmma_emu.formats.reference import round_pack, unpack
from wmma_emu.warp import BoundInstruction

_C = -1
_ONE, _MINUS_ONE, _ONE_AND_A_HALF, _ZERO = (0, 2), (1, 2), (0, 3), (0, 0)
"""Sign, and the number of halves. A zero is multiplied by the largest power of two, which shows whether it is aligned.
"""

_INFINITY, _NAN = 100.0, 200.0


def cost_of_number(bits: int, fmt: Format) -> float:
    """Return the complexity of a number: significant bits, then the exponent's size, then the sign.

    Examples
    --------
    >>> from wmma_emu.formats import format_of
    >>> f16 = format_of("f16")
    >>> [cost_of_number(x, f16) for x in (0x0000, 0x3C00, 0xBC00, 0x3E00, 0x4000)]
    [0.0, 4.0, 4.5, 8.0, 5.0]
    """
    if not fmt.is_float:
        magnitude = min(bits, (1 << fmt.bits) - bits) if fmt.signed else bits
        return float(4 * magnitude.bit_count() + magnitude.bit_length() + (fmt.signed and bits != magnitude) * 0.5)
    unread = (bits & ((1 << fmt.ignored_low_bits) - 1)).bit_count() / 64
    u = unpack(bits, fmt)
    sign = 0.5 * u.sign
    if u.kind == "zero":
        return sign + unread
    if u.kind in ("infinity", "nan"):
        payload = (bits & ~fmt.sign_mask & fmt.mask).bit_count()
        return (_INFINITY if u.kind == "infinity" else _NAN) + payload + sign
    width = u.significand.bit_length() - (u.significand & -u.significand).bit_length() + 1
    return 4.0 * width + abs(exponent_of(bits, fmt)) + sign + unread


def simpler(ins: BoundInstruction, case: Case, terms: Sequence[int]) -> Iterator[Case]:
    """Propose cases with one number, one term, or all exponents simpler. Not all of them are; the caller decides."""
    product = ins.product
    for term in terms:
        if term == _C:
            yield from (replace(case, c=x) for x in _simpler_numbers(case.c, product.c))
            continue
        a, b = _term(case, term)
        yield from (_with_term(case, term, x, b) for x in _simpler_numbers(a, product.a))
        yield from (_with_term(case, term, a, x) for x in _simpler_numbers(b, product.b))
        yield from _same_product(ins, case, term)
    if product.a.is_float:
        yield from _shifted(ins, case, terms)
    yield from _moved(case, terms)


def _simpler_numbers(bits: int, fmt: Format) -> Iterator[int]:
    if bits == 0:
        return
    yield 0
    if not fmt.is_float:
        yield 1
        yield from (bits & ~(1 << i) for i in range(fmt.bits) if bits >> i & 1)
        yield bits >> 1
        if fmt.signed:
            yield -bits & fmt.mask
        return
    yield bits & ~((1 << fmt.ignored_low_bits) - 1)
    yield bits & ~fmt.sign_mask
    u = unpack(bits, fmt)
    if u.kind != "finite":
        yield from (x for x in (fmt.infinity, fmt.canonical_nan, fmt.max_finite) if x >= 0)
        return
    sign, exponent = u.sign, exponent_of(bits, fmt)
    yield power(0, fmt, sign)
    yield power(exponent, fmt, sign)
    significand, low = u.significand, u.exponent - fmt.fraction_bits
    yield round_pack(sign, significand & -significand, low, fmt, "RZ", "saturate")  # the last bit, in case it decides
    for kept in range(1, significand.bit_length()):
        cut = significand.bit_length() - kept
        yield round_pack(sign, significand >> cut << cut, low, fmt, "RZ", "saturate")
    for nearer in {
        exponent // 2 if exponent > 0 else -(-exponent // 2),
        exponent - 1 if exponent > 0 else exponent + 1,
    }:
        yield round_pack(sign, significand, low + nearer - exponent, fmt, "RZ", "saturate")


def _same_product(ins: BoundInstruction, case: Case, term: int) -> Iterator[Case]:
    """Move the whole product into one factor, or split its exponent between both."""
    a, b = _term(case, term)
    p, q = ins.product.a, ins.product.b
    if not p.is_float:
        return
    x, y = unpack(a, p), unpack(b, q)
    if {x.kind, y.kind} != {"finite"}:
        return
    whole = exponent_of(a, p) + exponent_of(b, q)
    sign = x.sign ^ y.sign
    for of_a in {0, whole, whole // 2, min(max(whole, p.emin), p.emax)}:
        for left in (0, 1):
            yield _with_term(case, term, power(of_a, p, sign * left), power(whole - of_a, q, sign * (1 - left)))
    yield _with_term(case, term, power(0, p, 0), times(b, q, exponent_of(a, p)))


def _shifted(ins: BoundInstruction, case: Case, terms: Sequence[int]) -> Iterator[Case]:
    """Multiply everything by one power of two; or move each term nearer to the largest."""
    product = ins.product
    exponents = {}
    for term in terms:
        if term == _C:
            if unpack(case.c, product.c).kind == "finite":
                exponents[term] = exponent_of(case.c, product.c)
        else:
            a, b = _term(case, term)
            if {unpack(a, product.a).kind, unpack(b, product.b).kind} == {"finite"}:
                exponents[term] = _size(ins, case, term)
    if not exponents:
        return
    top = max(exponents.values())
    for shift in {-top, -(top // 2), 1 if top < 0 else -1}:
        moved = case
        for term in exponents:
            moved = _scaled(ins, moved, term, shift)
        yield moved
    for term, exponent in exponents.items():
        for shift in {top - exponent, (top - exponent) // 2, 1, -1}:
            yield _scaled(ins, case, term, shift)


def _scaled(ins: BoundInstruction, case: Case, term: int, shift: int) -> Case:
    """Multiply a term by a power of two: its b, or its a beyond the range of b."""
    product = ins.product
    if term == _C:
        return replace(case, c=times(case.c, product.c, shift))
    a, b = _term(case, term)
    wanted = exponent_of(b, product.b) + shift
    of_b = min(max(wanted, product.b.emin), product.b.emax) - exponent_of(b, product.b)
    return _with_term(case, term, times(a, product.a, shift - of_b), times(b, product.b, of_b))


def _moved(case: Case, terms: Sequence[int]) -> Iterator[Case]:
    """Move all terms to the lowest positions."""
    own = [term for term in terms if term != _C]
    if case.indices is not None or own == list(range(len(own))):
        return
    a, b = [0] * len(case.a), [0] * len(case.b)
    for to, term in enumerate(own):
        a[to], b[to] = _term(case, term)
    yield replace(case, a=tuple(a), b=tuple(b))


def rebuilt(ins: BoundInstruction, case: Case, terms: Sequence[int], few: int) -> Iterator[Case]:
    """Propose cases of a few powers of two at the positions of a larger case.

    A mismatch that needs many terms, such as small ones that add up, can usually be caused by a few terms of other
    sizes: sizes near the end of a number, of rounding, of truncation, or of the floor.
    """
    product, model = ins.product, ins.model
    if model.arithmetic == "fma_chain":
        yield from _lone_terms(ins, case)
    if model.arithmetic != "aligned_sum":
        return
    out, cut = model.output_format, model.fraction_bits
    largest = max(_size(ins, case, term) for term in terms)
    nothing = replace(case, a=(0,) * len(case.a), b=(0,) * len(case.b), c=0)
    own = [term for term in terms if term != _C]
    ends = {0, -1, *(-out.fraction_bits - i for i in range(3)), *(-cut - i for i in range(-2, 3))}
    floors = {out.emin - out.fraction_bits - i for i in range(-1, 3)}
    floors |= {model.min_exponent - cut - i for i in range(-2, 3)}
    high = min(product.a.emax + product.b.emax, out.emax) - 2
    passes = (
        ((product.a.emin + product.b.emax,), 12, (), (_ZERO,), (_ONE, _MINUS_ONE)),
        ((largest, high), 60, (), (_ONE,), (_ONE, _MINUS_ONE)),
        ((largest, high), 12, (), (_ONE_AND_A_HALF,), (_ONE, _MINUS_ONE, _ONE_AND_A_HALF)),
        ((0, model.min_exponent, *sorted(floors)), 6, floors, (_ONE,), (_ONE, _MINUS_ONE)),
    )
    # Two terms before three, whatever their sizes, because there are far fewer of them.
    for count, (tops, most, low, first, others) in product_of(range(1, few), passes):
        places_of = _some([*permutations([*own, _C], count + 1)], most)
        for top in tops:
            sizes = sorted({top + x for x in ends} | {x for x in low if x <= top}, reverse=True)
            for places, rest in product_of(places_of, product_of(sizes, repeat=count)):
                for numbers in product_of(first, *([others] * count)):
                    built = nothing
                    for place, size, number in zip(places, (top, *rest), numbers, strict=True):
                        built = _numbered(ins, built, place, size, number)
                    yield built


def _lone_terms(ins: BoundInstruction, case: Case) -> Iterator[Case]:
    """Propose one product, the first or the last of the chain, of smallest, plain and largest numbers, with a c."""
    product = ins.product
    p, q = product.a, product.b
    nothing = replace(case, a=(0,) * len(case.a), b=(0,) * len(case.b), c=0)
    of_c = (0, product.c.sign_mask, power(0, product.c, 0), power(0, product.c, 1))
    sizes = [(p.emin - p.fraction_bits, q.emin - q.fraction_bits), (0, q.emin), (0, 0), (p.emax, q.emax)]
    for place, (of_a, of_b), sign, c in product_of((len(case.a) - 1, 0), sizes, (1, 0), of_c):
        a, b = power(of_a, p, sign), power(of_b, q, 0)
        yield replace(_with_term(nothing, place, a, b), c=c)


def _some(choices: Sequence[tuple[int, ...]], most: int) -> Sequence[tuple[int, ...]]:
    return choices[:: max(1, -(-len(choices) // most))]


def _numbered(ins: BoundInstruction, case: Case, term: int, exponent: int, number: tuple[int, int]) -> Case:
    """Put a number times a power of two at a term's position; both factors of a product have its significand."""
    product, (sign, halves) = ins.product, number
    if not halves:
        return case if term == _C else _with_term(case, term, 0, power(product.b.emax, product.b, 0))
    if term == _C:
        return replace(case, c=round_pack(sign, halves, exponent - 1, product.c, "RZ", "saturate"))
    of_a = min(max(exponent // 2, product.a.emin - product.a.fraction_bits), product.a.emax)
    a = round_pack(sign, halves, of_a - 1, product.a, "RZ", "saturate")
    return _with_term(case, term, a, round_pack(0, halves, exponent - of_a - 1, product.b, "RZ", "saturate"))


def _size(ins: BoundInstruction, case: Case, term: int) -> int:
    product = ins.product
    if term == _C:
        return exponent_of(case.c, product.c)
    a, b = _term(case, term)
    return exponent_of(a, product.a) + exponent_of(b, product.b)


def _term(case: Case, term: int) -> tuple[int, int]:
    return case.a[term], case.b[case.k_of(term)]


def _with_term(case: Case, term: int, a: int, b: int) -> Case:
    left, right = list(case.a), list(case.b)
    left[term], right[case.k_of(term)] = a, b
    return replace(case, a=tuple(left), b=tuple(right))


def exponent_of(bits: int, fmt: Format) -> int:
    """Return the exponent of the leading bit; the smallest exponent for zero, the largest for specials."""
    u = unpack(bits, fmt)
    if u.kind in ("infinity", "nan"):
        return fmt.emax
    if not u.significand:
        return fmt.emin
    return int(u.exponent + u.significand.bit_length() - 1 - fmt.fraction_bits)


def power(exponent: int, fmt: Format, sign: int = 0) -> int:
    """Return a power of two, or the nearest number of the format."""
    return round_pack(sign, 1, exponent, fmt, "RZ", "saturate")


def times(bits: int, fmt: Format, shift: int) -> int:
    """Return a finite number times a power of two, or the nearest number of the format."""
    u = unpack(bits, fmt)
    if u.kind != "finite":
        return bits
    return round_pack(u.sign, u.significand, u.exponent + shift - fmt.fraction_bits, fmt, "RZ", "saturate")
