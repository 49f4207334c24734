# SPDX-License-Identifier: MIT
"""What a step rounds its sum to, and how; where the floor of the alignment is; what operands become first."""

from collections.abc import Iterator, Sequence
from itertools import combinations, product

from wmma_emu.applications.probing.alignment import RoundingStep
from wmma_emu.applications.probing.device_under_test import DeviceUnderTest, Query
from wmma_emu.applications.probing.terms import C, Leaf, Terms, exact
from wmma_emu.arithmetic import DotProduct

ROUNDINGS = ("RZ", "RNE", "RD", "RU", "RNA", "odd")
"""Every rounding that is tried; a `DotModel` has the first two."""

_SCALE = 8
"""Sums of rounding cases are some 2**8: their last kept bits are numbers of every format."""

_PRODUCTS = {0: 0, 1: 1, 2: 2, 3: 4}
"""From the growth of a sum, in bits, to the products of 2.25 that make it; none stands for a single 1."""

_Piece = tuple[Leaf, int, int, int]


def rounding_cases(device: DeviceUnderTest, step: RoundingStep, fraction_bits: int) -> list[Query]:
    """Sums that end in a last place, halves and quarters of it, and the last bit that terms keep; both signs.

    One to four products of 2.25 make a sum of up to eight times the exponent that all terms align to, so that up to F +
    3 bits lie below its leading one. Last places are those of f16, e8m13 and f32.
    """
    cases: list[Query] = []
    for growth, sign in product(_PRODUCTS, (0, 1)):
        if len(step.positions) < _PRODUCTS[growth]:
            continue
        top = _SCALE + growth
        last = {top - bits for bits in (10, 13, 23)}
        lowest = _SCALE - fraction_bits
        pieces = {x - i for x in last for i in range(3)} | {lowest, lowest + 1, top - 24}
        kept = sorted(x for x in pieces if x >= lowest)
        for count in (1, 2, 3):
            for chosen in combinations(kept, count):
                cases += _sums_of_pieces(device, step, growth, chosen, sign)
    return cases


def _sums_of_pieces(
    device: DeviceUnderTest, step: RoundingStep, growth: int, pieces: Sequence[int], sign: int
) -> Iterator[Query]:
    """The base, and the pieces: on products that are left over, then on c."""
    terms = Terms(device)
    count = _PRODUCTS[growth]
    factors = {k: terms.product(_SCALE - 2, 3, 3, sign) for k in step.positions[:count]}
    base: list[_Piece] = [] if growth else [(step.positions[0], 1, _SCALE, sign)]
    places = step.positions[max(count, 1) :]
    on_products, on_c = pieces[: len(places)], pieces[len(places) :]
    if on_c and not step.takes_c:
        return
    terms_of = [*base, *((k, 1, exponent, sign) for k, exponent in zip(places, on_products, strict=False))]
    if on_c:
        lowest = min(on_c)
        terms_of.append((C, sum(1 << x - lowest for x in on_c), lowest, sign))
    case = terms.case(terms_of)
    if case is not None and None not in factors.values():
        yield Query({**case.products, **factors}, case.c)  # type: ignore[dict-item]


def floor_cases(device: DeviceUnderTest, step: RoundingStep, fraction_bits: int) -> list[Query]:
    """Sums at the bottom of d: just below its smallest numbers, or half of them, and single bits far below.

    Floors under the bottom show in sums of terms that are all below it, and of which one has the last bit kept there.
    """
    if len(step.positions) < 2:
        return []
    terms = Terms(device)
    cases: list[Query | None] = []
    lowest_product = terms.bottom - device.a.fraction_bits - device.b.fraction_bits
    for bottom, sign in product(_bottoms_of(device), (0, 1)):
        for low in range(max(lowest_product, bottom - 40), bottom):
            is_near = -2 <= bottom - fraction_bits - low <= _most_lift(step) + 2
            lifts = range(_most_lift(step) + 1) if is_near else range(1)
            cases += [_split_bottom(device, step, bottom, low, lift, sign) for lift in lifts]
            # Half of the bottom, and one bit: nearest is upwards if it is not cut.
            cases.append(terms.case([(step.positions[0], 1, bottom - 1, sign), (step.positions[1], 1, low, sign)]))
            if step.takes_c:
                cases.append(terms.case([(step.positions[0], 1, low, sign), (C, 1, bottom, sign)]))
    if step.takes_c:
        lowest_c = device.c.emin - device.c.fraction_bits
        cases += [terms.case([(C, 1, exponent, 0)]) for exponent in range(lowest_c, lowest_c + 40)]
    return [case for case in cases if case is not None]


def highest_hidden_floor(product: DotProduct) -> int:
    """The highest floor of which no input of a dot product can show that it is there.

    One that no term is below; or that cuts no bit, since no term has bits so low; or, all terms being below it, one
    under which their sum rounds to zero whatever is cut.
    """
    model, accumulator = product.model, product.model.accumulator_format
    lowest_exponent = sum(fmt.emin for fmt in product.operand_formats)
    lowest_bit = sum(fmt.emin - fmt.fraction_bits for fmt in (product.a, product.b))
    if model.c_joins == "first_step":
        lowest_exponent = min(lowest_exponent, product.c.emin)
        lowest_bit = min(lowest_bit, product.c.emin - product.c.fraction_bits)
    if len(product.steps) > 1:
        # What a step hands on can be its last bit alone.
        lowest_exponent = min(lowest_exponent, max(lowest_bit, accumulator.emin))
    most = max(len(step) for step in product.steps)
    bottom = model.output_format.emin - model.output_format.fraction_bits - (model.rounding == "RNE")
    # So many products, each below four times its power of two, which is below the floor; a sum or a c is not.
    too_small = bottom - 1 - (most - 1).bit_length()
    hidden = too_small if accumulator.emin > too_small else lowest_exponent
    return max(lowest_exponent, lowest_bit + model.fraction_bits, hidden)


def _bottoms_of(device: DeviceUnderTest) -> list[int]:
    """The last places of the subnormal numbers that d may have."""
    fractions = {device.d.fraction_bits, 13 if device.d.bits == 32 else device.d.fraction_bits}
    return sorted(device.d.emin - bits for bits in fractions)


def _most_lift(step: RoundingStep) -> int:
    """How far below a sum the exponent of all its products can be: each is below four times its power of two."""
    return (4 * len(step.positions)).bit_length()


def _split_bottom(
    device: DeviceUnderTest, step: RoundingStep, bottom: int, low: int, lift: int, sign: int
) -> Query | None:
    """The bottom, made of products whose exponents are so far below it, the last of them a single low bit.

    If one bit is cut, the sum is below the bottom. Products of 2.25 come first, then all the bits of what is left.
    """
    top = bottom - 1 - lift
    if low > top - 2:
        return None
    places = list(step.positions)
    rest = 1 << bottom - low
    terms = Terms(device)
    run: list[_Piece] = []
    factors = {}
    while rest > 2 << top - low and len(places) > 1:
        # 2.25, or where that is too much, 1 times a power of two.
        significand, units = (3, 9 << top - 2 - low) if rest > 9 << top - 2 - low else (1, 1 << top - low)
        pair = terms.product(top - 2 * (significand == 3), significand, significand, sign)
        if pair is None:
            return None
        factors[places.pop(0)] = pair
        rest -= units
    # One bit is taken from what is left, and comes last.
    rest -= 1
    width = device.a.fraction_bits + 1
    at = low
    while rest and len(places) > 1:
        run.append((places.pop(0), rest & (1 << width) - 1, at, sign))
        rest >>= width
        at += width
    if rest or not places:
        return None
    run = [piece for piece in run if piece[1]]
    case = terms.case([*run, (places[0], 1, low, sign)])
    return None if case is None else Query({**case.products, **factors}, case.c)


def operand_cases(device: DeviceUnderTest, step: RoundingStep, fraction_bits: int) -> list[Query]:
    """Subnormal operands in large terms that cancel, and small terms around the last bit that then is kept."""
    if not step.arrangements() or C in step.arrangements()[0][:2]:
        return []
    where = step.arrangements()[0]
    terms = Terms(device)
    bottom = device.d.emin - device.d.fraction_bits
    cases = []
    for which in ("a", "b"):
        fmt, other = (device.a, device.b) if which == "a" else (device.b, device.a)
        scale = exact(other, 1, other.emax - 1)
        for below in range(1, fmt.fraction_bits + 1):
            exponent = fmt.emin - below + other.emax - 1
            factors = [(exact(fmt, 1, fmt.emin - below, sign), scale) for sign in (0, 1)]
            pairs = [(x, y) if which == "a" else (y, x) for x, y in factors]
            smalls = [
                [(where[2], 1, exponent - depth, 0)] for depth in range(fraction_bits - below - 2, fraction_bits + 3)
            ]
            if step.takes_c and where[2] != C:
                # What d is too coarse for lifts a tie.
                smalls += [[(where[2], 1, bottom - x, 0), (C, 1, bottom, 0)] for x in range(1, 4)]
            for small in smalls:
                case = terms.case(small)
                if case is not None:
                    products = {**case.products, int(where[0]): pairs[0], int(where[1]): pairs[1]}
                    cases.append(Query(products, case.c))  # type: ignore[arg-type]
    return cases
