# SPDX-License-Identifier: MIT
"""Subnormals, zeros, infinities, NaN, overflow, full carries: what the subject makes of them, beside the model."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from wmma_emu.applications.probing.alignment import RoundingStep
from wmma_emu.applications.probing.device_under_test import DeviceUnderTest, Query
from wmma_emu.applications.probing.fitting import observed_line
from wmma_emu.applications.probing.report import Answer
from wmma_emu.applications.probing.terms import C, Terms, exact, pattern_text, value_text
from wmma_emu.arithmetic import DotProduct, matmul
from wmma_emu.formats import Format
from wmma_emu.formats.reference import pack_infinity, unpack


@dataclass(frozen=True, slots=True)
class _Question:
    """Cases of one kind, each with what it is about, and who sums up their results; the last ones are shown, or all."""

    name: str
    cases: tuple[tuple[str, Query], ...]
    summary: Callable[[DeviceUnderTest, Sequence[str], Sequence[int]], str]
    shown: int = 0


def special_answers(device: DeviceUnderTest, product: DotProduct, step: RoundingStep) -> list[Answer]:
    """Ask for every corner, and compare with what the model so far makes of it."""
    makers = (_subnormals, _largest_sums, _nan, _infinities, _zeros, _overflow, _unread_bits)
    questions = [question for make in makers for question in [make(device, step)] if question.cases]
    return [_answer(device, product, question) for question in questions]


def _answer(device: DeviceUnderTest, product: DotProduct, question: _Question) -> Answer:
    cases = [case for _, case in question.cases]
    results = device.query(cases)
    predicted = matmul(product, *device.operands(cases))[:, 0, 0]
    evidence, wrong = [], []
    for (name, case), bits, model in zip(question.cases, results, predicted, strict=True):
        evidence.append(f"{name}: {observed_line(device, case, bits)}")
        both_nan = unpack(bits, device.d).kind == unpack(int(model), device.d).kind == "nan"
        if bits != int(model) and not both_nan:
            wrong.append(f"{name}: {_short(bits, device.d)} and not {_short(int(model), device.d)}")
    words = question.summary(device, [name for name, _ in question.cases], results)
    return Answer(question.name, words, tuple(evidence[-question.shown :]), "; ".join(wrong[:3]))


def _short(bits: int, fmt: Format) -> str:
    return f"{pattern_text(bits, fmt)} ({value_text(bits, fmt)})"


def _one(fmt: Format) -> int:
    return exact(fmt, 1, 0) or 0


def _smallest(fmt: Format) -> int:
    return 1 << fmt.ignored_low_bits


def _subnormals(device: DeviceUnderTest, step: RoundingStep) -> _Question:
    terms = Terms(device)
    one_a, one_b = _one(device.a), _one(device.b)
    large_a, large_b = (exact(fmt, 1, fmt.emax - 1) or 0 for fmt in (device.a, device.b))
    reaches = device.a.emin - device.a.fraction_bits >= device.d.emin - device.d.fraction_bits
    k = step.positions[0]
    cases = [
        ("operands of A", Query({k: (_smallest(device.a), one_b if reaches else large_b)})),
        ("operands of B", Query({k: (one_a if reaches else large_a, _smallest(device.b))})),
    ]
    if device.c.bits == device.d.bits:
        cases.append(("c", Query({}, device.c.mask & (0b101 << device.c.fraction_bits - 3))))
    result = terms.case([(k, 1, device.d.emin - 2, 0)])
    if result is not None:
        cases.append(("results", result))
    return _Question("subnormal numbers", tuple(cases), _of_subnormals)


def _largest_sums(device: DeviceUnderTest, step: RoundingStep) -> _Question:
    """Largest significands in every product of a step, and in c: the widest sum."""
    terms = Terms(device)
    significand_a, significand_b = ((2 << fmt.fraction_bits) - 1 for fmt in (device.a, device.b))
    low = -device.a.fraction_bits - device.b.fraction_bits
    factors = [terms.product(low, significand_a, significand_b, sign) for sign in (0, 1)]
    addends = [terms.addend((2 << device.c.fraction_bits) - 1, -device.c.fraction_bits, sign) for sign in (0, 1)]
    cases = []
    for count in range(1, len(step.positions) + 1):
        for sign, c in ((0, 0), (0, addends[0]), (1, addends[1])):
            if factors[sign] is not None and c is not None:
                products = {k: factors[sign] for k in step.positions[:count]}
                name = f"{'minus ' if sign else ''}{count} of them{' and c' if c else ''}"
                cases.append((name, Query(products, c)))  # type: ignore[arg-type]
    return _Question("carries", tuple(cases), _of_carries, shown=3)


def _nan(device: DeviceUnderTest, step: RoundingStep) -> _Question:
    k = step.positions[0]
    one_a, one_b = _one(device.a), _one(device.b)
    cases = [(f"NaN {pattern_text(x, device.a)} in A", Query({k: (x, one_b)})) for x in _nans(device.a)]
    cases += [(f"NaN {pattern_text(x, device.b)} in B", Query({k: (one_a, x)})) for x in _nans(device.b)]
    cases += [(f"NaN {pattern_text(x, device.c)} in c", Query({}, x)) for x in _nans(device.c)]
    return _Question("NaN", tuple(cases), _of_nan)


def _nans(fmt: Format) -> Iterator[int]:
    """Quiet and signalling ones, with a payload, of both signs."""
    top = ((1 << fmt.exponent_bits) - 1) << fmt.fraction_bits
    fractions = (1, 1 << fmt.fraction_bits - 1 | 1) if fmt.nan == "ieee" else ((1 << fmt.fraction_bits) - 1,)
    for fraction in fractions:
        for sign in (0, fmt.sign_mask):
            yield (top | fraction) << fmt.ignored_low_bits | sign


def _infinities(device: DeviceUnderTest, step: RoundingStep) -> _Question:
    k, other = step.positions[:2] if len(step.positions) > 1 else (step.positions[0], device.terms - 1)
    one_a, one_b = _one(device.a), _one(device.b)
    cases: list[tuple[str, Query]] = []
    if device.a.has_infinity:
        plus, minus = (pack_infinity(sign, device.a) for sign in (0, 1))
        cases += [
            ("infinity times one", Query({k: (minus, one_b)})),
            ("infinity times zero", Query({k: (plus, 0)})),
            ("both infinities", Query({k: (plus, one_b), other: (minus, one_b)})),
        ]
    if device.b.has_infinity:
        cases.append(("zero times infinity", Query({k: (0, pack_infinity(1, device.b))})))
    infinity_c = pack_infinity(1, device.c)
    cases.append(("c infinite", Query({k: (one_a, one_b)}, infinity_c)))
    if device.a.has_infinity:
        cases.append(("both infinities, one as c", Query({k: (pack_infinity(0, device.a), one_b)}, infinity_c)))
    return _Question("infinities", tuple(cases), _of_infinities)


def _zeros(device: DeviceUnderTest, step: RoundingStep) -> _Question:
    terms = Terms(device)
    minus_a, minus_c = device.a.sign_mask, device.c.sign_mask
    one_a, one_b = _one(device.a), _one(device.b)
    every = range(device.terms)
    cases = [
        ("every term -0", Query({k: (minus_a, one_b) for k in every}, minus_c)),
        ("products -0, c +0", Query({k: (minus_a, one_b) for k in every}, 0)),
        ("c -0, products +0", Query({}, minus_c)),
        ("1 - 1", Query({0: (one_a, one_b), 1: (one_a | minus_a, one_b)})),
        ("-1 + 1", Query({0: (one_a | minus_a, one_b), 1: (one_a, one_b)})),
    ]
    tiny = terms.case([(step.positions[0], 1, device.d.emin - device.d.fraction_bits - 2, 1)])
    if tiny is not None:
        cases.append(("a negative number too small for d", tiny))
    return _Question("zeros", tuple(cases), _of_zeros)


def _overflow(device: DeviceUnderTest, step: RoundingStep) -> _Question:
    terms = Terms(device)
    k, top = step.positions, device.d.emax
    queried = [("a product too large for d", terms.case([(k[0], 1, top + 1, 0)])),
             ("a sum too large for d", terms.case([(k[0], 1, top, 1), (k[-1], 1, top, 1)]))]  # fmt: skip
    if len(k) > 1:
        queried += [
            ("two of them that cancel", terms.case([(k[0], 1, top + 1, 0), (k[1], 1, top + 1, 1)])),
            ("two of them that leave one", terms.case([(k[0], 1, top + 1, 0), (k[1], 1, top + 1, 1), (C, 1, 0, 0)])),
        ]
    largest_c = (1 << device.c.fraction_bits + 1) - 1
    half = device.c.emax - device.c.fraction_bits
    queried += [
        ("c the largest number, and half of its last place",
         terms.case([(C, largest_c, half, 0), (k[0], 1, half - 1, 0)])),
        ("c the largest number, and a quarter", terms.case([(C, largest_c, half, 0), (k[0], 1, half - 2, 0)])),
    ]  # fmt: skip
    return _Question("overflow", tuple((name, case) for name, case in queried if case is not None), _of_overflow)


def _unread_bits(device: DeviceUnderTest, step: RoundingStep) -> _Question:
    """Bits below the fraction that a format does not have, in its register."""
    ones = (1 << device.a.ignored_low_bits) - 1
    k = step.positions[0]
    cases = (
        ("low bits of A", Query({k: (_one(device.a) | ones, _one(device.b))})),
        ("low bits of B", Query({k: (_one(device.a), _one(device.b) | ones)})),
    )
    return _Question("unread bits", cases if ones else (), _of_unread)


def _of_subnormals(device: DeviceUnderTest, names: Sequence[str], results: Sequence[int]) -> str:
    flushed = [name for name, bits in zip(names, results, strict=True) if unpack(bits, device.d).kind == "zero"]
    kept = [name for name in names if name not in flushed]
    parts = [f"{', '.join(kept)} kept"] if kept else []
    return "; ".join([*parts, *([f"{', '.join(flushed)} taken for zero"] if flushed else [])])


def _of_carries(device: DeviceUnderTest, names: Sequence[str], results: Sequence[int]) -> str:
    return f"sums of largest significands: 1 to {(len(names) + 2) // 3} of them, with and without the largest c"


def _of_nan(device: DeviceUnderTest, names: Sequence[str], results: Sequence[int]) -> str:
    different = sorted(set(results))
    if len(different) == 1:
        return f"always {pattern_text(different[0], device.d)}"
    return f"{len(different)} patterns: sign or payload of the operand matter"


def _of_infinities(device: DeviceUnderTest, names: Sequence[str], results: Sequence[int]) -> str:
    nan = sorted({pattern_text(x, device.d) for x in results if unpack(x, device.d).kind == "nan"})
    return f"infinities go through; what is undefined is NaN {', '.join(nan)}" if nan else "infinities go through"


def _of_zeros(device: DeviceUnderTest, names: Sequence[str], results: Sequence[int]) -> str:
    minus = [name for name, x in zip(names, results, strict=True) if x == device.d.sign_mask]
    return f"-0 from {', '.join(minus)}; else +0" if minus else "always +0"


def _of_overflow(device: DeviceUnderTest, names: Sequence[str], results: Sequence[int]) -> str:
    kinds = {name: unpack(x, device.d).kind for name, x in zip(names, results, strict=True)}
    infinite = [name for name, kind in kinds.items() if kind == "infinity"]
    nan = [name for name, kind in kinds.items() if kind == "nan"]
    finite = [name for name, kind in kinds.items() if kind not in ("infinity", "nan")]
    words = (("infinity", infinite), ("NaN", nan), ("finite", finite))
    return "; ".join(f"{word} from {', '.join(which)}" for word, which in words if which)


def _of_unread(device: DeviceUnderTest, names: Sequence[str], results: Sequence[int]) -> str:
    one = exact(device.d, 1, 0)
    read = [name for name, x in zip(names, results, strict=True) if x != one]
    return f"{', '.join(read)} are read" if read else "the low bits are not read"
