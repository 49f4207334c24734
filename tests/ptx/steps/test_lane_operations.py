# SPDX-License-Identifier: MIT
"""Lane operations: legal spellings, refusals, and values compared with Python's integers."""

import random
import re
import warnings

import numpy as np
import pytest

from tools.ptx_scalar_cases import scalar_cases
from tools.ptx_scalar_inputs import inputs_of
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.instructions import ARCHS
from wmma_emu.ptx.program.program import Immediate, PairOperand, PtxInstruction, Register, VectorOperand
from wmma_emu.ptx.steps.approximations import APPROXIMATION_ENTRIES
from wmma_emu.ptx.steps.bits import lookup_of_three, permute
from wmma_emu.ptx.steps.conversions import fast_path
from wmma_emu.ptx.steps.patterns import unsigned_of
from wmma_emu.ptx.steps.values import VALUE_ENTRIES, VALUE_STEPS
from wmma_emu.scalar import cvt, lop3, prmt
from wmma_emu.scalar.approx_status import APPROX_STATUS
from wmma_emu.scalar.cvt_table import CVT_FORMS, CVT_TYPES

R = Register(0, "%r", "b32")


def operation(opcode: str, *operands):
    mnemonic, *modifiers = opcode.split(".")
    return VALUE_STEPS[mnemonic](PtxInstruction(opcode, mnemonic, tuple(modifiers), operands, None, 1, 1))


def one(opcode: str, count: int, *values: int):
    """Return the result of an instruction for one thread, as an integer."""
    found = operation(opcode, *[R] * count)
    words = [np.full((1, 1, 1), x, unsigned_of(kind)) for x, kind in zip(values, found.sources, strict=True)]
    return int(found.compute(*words).flat[0])


def test_every_operation_accepts_narrow_arrays_and_returns_its_widths_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for case in scalar_cases():
            sources = [np.zeros((1, 1, 1), unsigned_of(kind)) for kind in case.operation.sources]
            results = case.operation.compute(*sources)
            results = results if isinstance(results, tuple) else (results,)
            widths = [x.dtype for x in results]
            # What a conversion gives may be narrower than its register, which the machine fills.
            if case.instruction.mnemonic != "cvt":
                assert widths == [unsigned_of(kind) for kind in case.operation.destinations], case.name
            assert all(x.ndim == 3 for x in results), case.name


def test_shapes_broadcast():
    shapes = [(2, 1, 1), (1, 3, 1), (1, 1, 32), (2, 3, 32)]
    for name in (
        "add.s32",
        "fma.rn.f32",
        "fma.rn.ftz.f16x2",
        "prmt.b32",
        "bfi.b32",
        "mad.hi.s64",
        "div.s32",
        "selp.b64",
    ):
        found = operation(name, *[R] * (1 + len(VALUE_STEPS_SOURCES[name])))
        inputs = [np.ones(shape, unsigned_of(kind)) for shape, kind in zip(shapes, found.sources, strict=False)]
        full = [np.broadcast_to(x, (2, 3, 32)).copy() for x in inputs]
        result = np.broadcast_to(found.compute(*inputs), (2, 3, 32))
        assert np.array_equal(result, found.compute(*full)), name


VALUE_STEPS_SOURCES = {case.name: case.operation.sources for case in scalar_cases()}


@pytest.mark.parametrize(
    ("opcode", "operands", "says"),
    [
        ("add.sat.u64", [R] * 3, "Nearest: .*add.sat.u32"),
        ("add.ftz.rn.f32", [R] * 3, "Nearest: add.rn.ftz.f32"),
        ("fma.f32", [R] * 4, "Nearest: .*fma.r[nzmp].f32"),
        ("abs.f32x2", [R] * 2, "the types of abs are"),
        ("mov.b128", [R] * 2, "a register of .b128, or a vector of two .b64"),
        ("add.s32", [R] * 4, "expects 3 operands including results, not 4"),
        ("setp.lt.f16x2", [R] * 3, "a pair p|q"),
        ("setp.lt.f16", [PairOperand(R, R), R, R], "one result"),
        ("lop3.b32", [R] * 5, "immLut"),
        ("lop3.b32", [R] * 4 + [Immediate("f32", 0)], "an integer constant"),
        ("mov.b64", [R, VectorOperand((R, R, R))], "does not support a vector of 3"),
        ("mov.b32", [VectorOperand((R, R)), VectorOperand((R, R))], "cannot pack and unpack at once"),
        ("cvt.f16.f32", [R] * 2, "rounding"),
    ],
    ids=lambda x: x if isinstance(x, str) and " " not in x else "",
)
def test_an_illegal_spelling_is_refused_with_the_nearest_legal_one(opcode, operands, says):
    with pytest.raises(UnsupportedInstructionError, match=says):
        operation(opcode, *operands)


def test_entries_have_the_section_of_the_manual_and_the_first_chip():
    for row in VALUE_ENTRIES.values():
        assert re.fullmatch(r"PTX ISA 9\.1, 9\.7\.\d+\.\d+.*", row.source), row
        assert row.first in ("sm_70", "sm_72", "sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120")
        assert row.status == "documented"


@pytest.mark.parametrize("opcode", APPROXIMATION_ENTRIES)
def test_approximations_without_a_recording_have_a_caveat(opcode):
    name, kind = opcode.split(".")[0], opcode.rsplit(".", 1)[1].removesuffix("x2")
    sources = [R] * (2 if name == "div" else 1)
    found = operation(opcode, R, *sources)
    known = {
        chip: row for (function, element, chip), row in APPROX_STATUS.items() if (function, element) == (name, kind)
    }
    assert known["sm_90"].status == "measured" and "sm_90" not in found.caveats
    assert found.caveats == {chip: row.source for chip, row in known.items() if row.status != "measured"} != {}
    assert ARCHS[found.first].number <= min(ARCHS[chip].number for chip in known)


def test_an_operation_has_the_first_chip_of_its_entry():
    assert operation("fma.rn.f16", R, R, R, R).first == "sm_70"
    assert operation("fma.rn.relu.f16", R, R, R, R).first == VALUE_ENTRIES["fma.rn.relu.f16"].first == "sm_80"
    assert operation("cvt.rn.bf16.f32", R, R).first == "sm_80"


def test_a_second_result_is_dropped_without_a_pair():
    alone, both = operation("setp.lt.s32", R, R, R), operation("setp.lt.s32", PairOperand(R, None), R, R)
    assert alone.destinations == ("pred",) and both.destinations == ("pred", "pred")
    a, b = np.zeros((1, 1, 1), np.uint32), np.ones((1, 1, 1), np.uint32)
    assert alone.compute(a, b).item() and [x.item() for x in both.compute(a, b)] == [True, False]


def test_all_tables_of_lop3_match_the_scalar_function():
    a, b, c = (inputs_of("b32", i)[:64] for i in range(3))
    for table in range(256):
        found = np.broadcast_to(lookup_of_three(table)(a, b, c), a.shape)
        assert np.array_equal(found, lop3(a, b, c, table)), hex(table)


@pytest.mark.parametrize("mode", ["", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"])
def test_permutations_by_a_constant_match_those_by_a_register(mode):
    a, b = inputs_of("b32", 0)[:16], inputs_of("b32", 1)[:16]
    for selector in (0x3210, 0x5410, 0x7632, 0x0123, 0xFEDC, 0x8888, 0x4444, 0x1076, *range(0, 1 << 16, 977)):
        word = np.array([selector], np.uint32)
        found = np.broadcast_to(permute(mode)(a, b, word), a.shape)
        assert np.array_equal(found, prmt(a, b, np.full(16, selector, np.uint32), mode)), hex(selector)


def test_bit_fields_match_python_integers():
    chance = random.Random(1)
    for _ in range(300):
        a, b = chance.getrandbits(32), chance.getrandbits(32)
        position, length = chance.randrange(40), chance.randrange(40)
        field = a >> position & (1 << length) - 1
        assert one("bfe.u32", 4, a, position, length) == field
        mask = ((1 << length) - 1 << position) & 0xFFFF_FFFF
        assert one("bfi.b32", 5, a, b, position, length) == (b & ~mask | a << position & mask)
        assert one("popc.b32", 2, a) == a.bit_count()
        assert one("clz.b32", 2, a) == 32 - a.bit_length()
        assert one("brev.b32", 2, a) == int(f"{a:032b}"[::-1], 2)


def test_products_and_carries_match_python_integers():
    chance, every = random.Random(2), (1 << 64) - 1
    for _ in range(300):
        a, b, c = (chance.getrandbits(64) >> chance.choice((0, 40)) for _ in range(3))
        carry = chance.randrange(2)
        assert one("mul.hi.u64", 3, a, b) == a * b >> 64
        signed = [x - (x >> 63 << 64) for x in (a, b)]
        assert one("mul.hi.s64", 3, a, b) == signed[0] * signed[1] >> 64 & every
        words = [np.full((1, 1, 1), x, np.uint64) for x in (a, b, c)]
        flag = np.full((1, 1, 1), bool(carry))
        low, out = operation("madc.lo.cc.u64", *[R] * 4).compute(*words, flag)
        total = (a * b & every) + c + carry
        assert (low.item(), out.item()) == (total & every, total > every)
        low, out = operation("subc.cc.u64", *[R] * 3).compute(*words[:2], flag)
        total = a - b - (1 - carry)
        assert (low.item(), out.item()) == (total & every, total >= 0)


@pytest.mark.parametrize(("opcode", "a", "b", "result"), [
    ("div.s32", 0x80000000, 0xFFFFFFFF, 0x80000000), ("rem.s32", 0x80000000, 0xFFFFFFFF, 0),
    ("div.s32", 7, 0, 0xFFFFFFFF), ("rem.u64", 7, 0, (1 << 64) - 1), ("div.u16", 7, 0, 0xFFFF),
    ("div.s32", 0xFFFFFFF9, 2, 0xFFFFFFFD), ("rem.s32", 0xFFFFFFF9, 2, 0xFFFFFFFF),
    ("add.sat.s32", 0x7FFFFFFF, 1, 0x7FFFFFFF), ("add.s16x2", 0x7FFF_FFFF, 0x0001_0001, 0x8000_0000),
    ("shl.b32", 1, 32, 0), ("shr.s32", 0x80000000, 99, 0xFFFFFFFF), ("shr.u32", 0x80000000, 99, 0),
    ("min.relu.s32", 0xFFFFFFFF, 5, 0), ("max.NaN.f32", 0x7FC00001, 0, 0x7FFFFFFF),
    ("mul.ftz.f32", 0x00FFFFFF, 0x3F000000, 0), ("mul.f32", 0x00FFFFFF, 0x3F000000, 0x00800000),
])  # fmt: skip
def test_corner_cases(opcode, a, b, result):
    assert one(opcode, 3, a, b) == result


def test_fast_conversions_match_the_general_ones():
    seen = 0
    for row in CVT_FORMS.values():
        way = fast_path(row)
        if way is None:
            continue
        seen += 1
        source = CVT_TYPES[row.source]
        kind = source.name if source.element.is_float else f"b{source.bits}"
        words = [inputs_of(kind, i)[::2] for i in range(row.num_operands)]
        if kind in ("f16", "bf16"):
            words = [np.arange(1 << 16, dtype=np.uint16)]
        found = way(*words)
        assert np.array_equal(found, cvt(words[0], row.mnemonic, *words[1:])), row.mnemonic
    assert seen > 60
