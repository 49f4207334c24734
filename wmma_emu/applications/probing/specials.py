# SPDX-License-Identifier: MIT
"""Subnormals, zeros, infinities, NaN, overflow, full carries: what the subject makes of them, beside the model."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from wmma_emu.applications.probing.alignment import Step
from wmma_emu.applications.probing.device_under_test import Case, DeviceUnderTest
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
    cases: tuple[tuple[str, Case], ...]
    summary: Callable[[DeviceUnderTest, Sequence[str], Sequence[int]], str]
    shown: int = 0


def special_answers(subject: DeviceUnderTest, product: DotProduct, step: Step) -> list[Answer]:
    """Ask for every corner, and compare with what the model so far makes of it."""
    makers = (_subnormals, _largest_sums, _nan, _infinities, _zeros, _overflow, _unread_bits)
    questions = [question for make in makers for question in [make(subject, step)] if question.cases]
    return [_answer(subject, product, question) for question in questions]


def _answer(subject: DeviceUnderTest, product: DotProduct, question: _Question) -> Answer:
    cases = [case for _, case in question.cases]
    results = subject.ask(cases)
    predicted = matmul(product, *subject.operands(cases))[:, 0, 0]
    evidence, wrong = [], []
    for (name, case), bits, model in zip(question.cases, results, predicted, strict=True):
        evidence.append(f"{name}: {observed_line(subject, case, bits)}")
        both_nan = unpack(bits, subject.d).kind == unpack(int(model), subject.d).kind == "nan"
        if bits != int(model) and not both_nan:
            wrong.append(f"{name}: {_short(bits, subject.d)} and not {_short(int(model), subject.d)}")
    words = question.summary(subject, [name for name, _ in question.cases], results)
    return Answer(question.name, words, tuple(evidence[-question.shown :]), "; ".join(wrong[:3]))


def _short(bits: int, fmt: Format) -> str:
    return f"{pattern_text(bits, fmt)} ({value_text(bits, fmt)})"


def _one(fmt: Format) -> int:
    return exact(fmt, 1, 0) or 0


def _smallest(fmt: Format) -> int:
    return 1 << fmt.ignored_low_bits


def _subnormals(subject: DeviceUnderTest, step: Step) -> _Question:
    terms = Terms(subject)
    one_a, one_b = _one(subject.a), _one(subject.b)
    large_a, large_b = (exact(fmt, 1, fmt.emax - 1) or 0 for fmt in (subject.a, subject.b))
    reaches = subject.a.emin - subject.a.fraction_bits >= subject.d.emin - subject.d.fraction_bits
    k = step.positions[0]
    cases = [
        ("operands of A", Case({k: (_smallest(subject.a), one_b if reaches else large_b)})),
        ("operands of B", Case({k: (one_a if reaches else large_a, _smallest(subject.b))})),
    ]
    if subject.c.bits == subject.d.bits:
        cases.append(("c", Case({}, subject.c.mask & (0b101 << subject.c.fraction_bits - 3))))
    result = terms.case([(k, 1, subject.d.emin - 2, 0)])
    if result is not None:
        cases.append(("results", result))
    return _Question("subnormal numbers", tuple(cases), _of_subnormals)


def _largest_sums(subject: DeviceUnderTest, step: Step) -> _Question:
    """Largest significands in every product of a step, and in c: the widest sum."""
    terms = Terms(subject)
    significand_a, significand_b = ((2 << fmt.fraction_bits) - 1 for fmt in (subject.a, subject.b))
    low = -subject.a.fraction_bits - subject.b.fraction_bits
    factors = [terms.product(low, significand_a, significand_b, sign) for sign in (0, 1)]
    addends = [terms.addend((2 << subject.c.fraction_bits) - 1, -subject.c.fraction_bits, sign) for sign in (0, 1)]
    cases = []
    for count in range(1, len(step.positions) + 1):
        for sign, c in ((0, 0), (0, addends[0]), (1, addends[1])):
            if factors[sign] is not None and c is not None:
                products = {k: factors[sign] for k in step.positions[:count]}
                name = f"{'minus ' if sign else ''}{count} of them{' and c' if c else ''}"
                cases.append((name, Case(products, c)))  # type: ignore[arg-type]
    return _Question("carries", tuple(cases), _of_carries, shown=3)


def _nan(subject: DeviceUnderTest, step: Step) -> _Question:
    k = step.positions[0]
    one_a, one_b = _one(subject.a), _one(subject.b)
    cases = [(f"NaN {pattern_text(x, subject.a)} in A", Case({k: (x, one_b)})) for x in _nans(subject.a)]
    cases += [(f"NaN {pattern_text(x, subject.b)} in B", Case({k: (one_a, x)})) for x in _nans(subject.b)]
    cases += [(f"NaN {pattern_text(x, subject.c)} in c", Case({}, x)) for x in _nans(subject.c)]
    return _Question("NaN", tuple(cases), _of_nan)


def _nans(fmt: Format) -> Iterator[int]:
    """Quiet and signalling ones, with a payload, of both signs."""
    top = ((1 << fmt.exponent_bits) - 1) << fmt.fraction_bits
    fractions = (1, 1 << fmt.fraction_bits - 1 | 1) if fmt.nan == "ieee" else ((1 << fmt.fraction_bits) - 1,)
    for fraction in fractions:
        for sign in (0, fmt.sign_mask):
            yield (top | fraction) << fmt.ignored_low_bits | sign


def _infinities(subject: DeviceUnderTest, step: Step) -> _Question:
    k, other = step.positions[:2] if len(step.positions) > 1 else (step.positions[0], subject.terms - 1)
    one_a, one_b = _one(subject.a), _one(subject.b)
    cases: list[tuple[str, Case]] = []
    if subject.a.has_infinity:
        plus, minus = (pack_infinity(sign, subject.a) for sign in (0, 1))
        cases += [
            ("infinity times one", Case({k: (minus, one_b)})),
            ("infinity times zero", Case({k: (plus, 0)})),
            ("both infinities", Case({k: (plus, one_b), other: (minus, one_b)})),
        ]
    if subject.b.has_infinity:
        cases.append(("zero times infinity", Case({k: (0, pack_infinity(1, subject.b))})))
    infinity_c = pack_infinity(1, subject.c)
    cases.append(("c infinite", Case({k: (one_a, one_b)}, infinity_c)))
    if subject.a.has_infinity:
        cases.append(("both infinities, one as c", Case({k: (pack_infinity(0, subject.a), one_b)}, infinity_c)))
    return _Question("infinities", tuple(cases), _of_infinities)


def _zeros(subject: DeviceUnderTest, step: Step) -> _Question:
    terms = Terms(subject)
    minus_a, minus_c = subject.a.sign_mask, subject.c.sign_mask
    one_a, one_b = _one(subject.a), _one(subject.b)
    every = range(subject.terms)
    cases = [
        ("every term -0", Case({k: (minus_a, one_b) for k in every}, minus_c)),
        ("products -0, c +0", Case({k: (minus_a, one_b) for k in every}, 0)),
        ("c -0, products +0", Case({}, minus_c)),
        ("1 - 1", Case({0: (one_a, one_b), 1: (one_a | minus_a, one_b)})),
        ("-1 + 1", Case({0: (one_a | minus_a, one_b), 1: (one_a, one_b)})),
    ]
    tiny = terms.case([(step.positions[0], 1, subject.d.emin - subject.d.fraction_bits - 2, 1)])
    if tiny is not None:
        cases.append(("a negative number too small for d", tiny))
    return _Question("zeros", tuple(cases), _of_zeros)


def _overflow(subject: DeviceUnderTest, step: Step) -> _Question:
    terms = Terms(subject)
    k, top = step.positions, subject.d.emax
    asked = [("a product too large for d", terms.case([(k[0], 1, top + 1, 0)])),
             ("a sum too large for d", terms.case([(k[0], 1, top, 1), (k[-1], 1, top, 1)]))]  # fmt: skip
    if len(k) > 1:
        asked += [
            ("two of them that cancel", terms.case([(k[0], 1, top + 1, 0), (k[1], 1, top + 1, 1)])),
            ("two of them that leave one", terms.case([(k[0], 1, top + 1, 0), (k[1], 1, top + 1, 1), (C, 1, 0, 0)])),
        ]
    largest_c = (1 << subject.c.fraction_bits + 1) - 1
    half = subject.c.emax - subject.c.fraction_bits
    asked += [
        ("c the largest number, and half of its last place",
         terms.case([(C, largest_c, half, 0), (k[0], 1, half - 1, 0)])),
        ("c the largest number, and a quarter", terms.case([(C, largest_c, half, 0), (k[0], 1, half - 2, 0)])),
    ]  # fmt: skip
    return _Question("overflow", tuple((name, case) for name, case in asked if case is not None), _of_overflow)


def _unread_bits(subject: DeviceUnderTest, step: Step) -> _Question:
    """Bits below the fraction that a format does not have, in its register."""
    ones = (1 << subject.a.ignored_low_bits) - 1
    k = step.positions[0]
    cases = (
        ("low bits of A", Case({k: (_one(subject.a) | ones, _one(subject.b))})),
        ("low bits of B", Case({k: (_one(subject.a), _one(subject.b) | ones)})),
    )
    return _Question("unread bits", cases if ones else (), _of_unread)


def _of_subnormals(subject: DeviceUnderTest, names: Sequence[str], results: Sequence[int]) -> str:
    flushed = [name for name, bits in zip(names, results, strict=True) if unpack(bits, subject.d).kind == "zero"]
    kept = [name for name in names if name not in flushed]
    parts = [f"{', '.join(kept)} kept"] if kept else []
    return "; ".join([*parts, *([f"{', '.join(flushed)} taken for zero"] if flushed else [])])


def _of_carries(subject: DeviceUnderTest, names: Sequence[str], results: Sequence[int]) -> str:
    return f"sums of largest significands: 1 to {(len(names) + 2) // 3} of them, with and without the largest c"


def _of_nan(subject: DeviceUnderTest, names: Sequence[str], results: Sequence[int]) -> str:
    different = sorted(set(results))
    if len(different) == 1:
        return f"always {pattern_text(different[0], subject.d)}"
    return f"{len(different)} patterns: sign or payload of the operand matter"


def _of_infinities(subject: DeviceUnderTest, names: Sequence[str], results: Sequence[int]) -> str:
    nan = sorted({pattern_text(x, subject.d) for x in results if unpack(x, subject.d).kind == "nan"})
    return f"infinities go through; what is undefined is NaN {', '.join(nan)}" if nan else "infinities go through"


def _of_zeros(subject: DeviceUnderTest, names: Sequence[str], results: Sequence[int]) -> str:
    minus = [name for name, x in zip(names, results, strict=True) if x == subject.d.sign_mask]
    return f"-0 from {', '.join(minus)}; else +0" if minus else "always +0"


def _of_overflow(subject: DeviceUnderTest, names: Sequence[str], results: Sequence[int]) -> str:
    kinds = {name: unpack(x, subject.d).kind for name, x in zip(names, results, strict=True)}
    infinite = [name for name, kind in kinds.items() if kind == "infinity"]
    nan = [name for name, kind in kinds.items() if kind == "nan"]
    finite = [name for name, kind in kinds.items() if kind not in ("infinity", "nan")]
    words = (("infinity", infinite), ("NaN", nan), ("finite", finite))
    return "; ".join(f"{word} from {', '.join(which)}" for word, which in words if which)


def _of_unread(subject: DeviceUnderTest, names: Sequence[str], results: Sequence[int]) -> str:
    one = exact(subject.d, 1, 0)
    read = [name for name, x in zip(names, results, strict=True) if x != one]
    return f"{', '.join(read)} are read" if read else "the low bits are not read"
