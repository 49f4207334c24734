# SPDX-License-Identifier: MIT
"""Rules of undefined bits against every value of the undefined bits, computed by the lane operations."""

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

from tools.ptx_scalar_cases import scalar_cases
from wmma_emu.ptx.definedness.bit_rules import Sources
from wmma_emu.ptx.definedness.rules import RULES, rule_of
from wmma_emu.ptx.program.program import PtxInstruction, Register
from wmma_emu.ptx.steps.approximations import FACTOR_ENTRIES
from wmma_emu.ptx.steps.floats import SCALED_ENTRIES
from wmma_emu.ptx.steps.moves import VECTOR_ENTRIES
from wmma_emu.ptx.steps.operation_entries import CARRY
from wmma_emu.ptx.steps.values import ALL_VIDEO_ENTRIES, VALUE_ENTRIES, VALUE_STEPS
from wmma_emu.ptx.widths import bits_of_type, dtype_of_bits
from wmma_emu.scalar.cvt_table import CVT_FORMS

ROWS = {**VALUE_ENTRIES, **VECTOR_ENTRIES, **ALL_VIDEO_ENTRIES, **FACTOR_ENTRIES, **SCALED_ENTRIES}
CASES = {case.name: case for case in scalar_cases()}

BY_BITS = (
    "and.b32", "or.b32", "xor.b64", "not.b32", "lop3.b32", "shl.b32", "shr.s32", "shr.u64", "shf.l.wrap.b32",
    "shf.r.clamp.b32", "prmt.b32", "bfe.u32", "bfe.s32", "bfi.b32", "brev.b32", "selp.b32", "mov.b32", "mov.b64",
    "cvt.u8.u32", "cvt.s32.s8", "cvt.u64.u32", "and.pred", "or.pred", "xor.pred", "not.pred", "slct.b32.s32",
    "copysign.f32", "szext.clamp.s32",
)  # fmt: skip
"""Instructions whose rule marks exactly the bits that can differ."""

DECIDED = ("setp.eq.u32", "setp.ne.b16", "setp.lt.s32", "setp.ge.u32", "setp.lt.and.s32", "setp.eq.or.u32")
"""Comparisons: undefined exactly where both outcomes are possible."""


def dtype_of(kind):
    return dtype_of_bits(1 if kind == CARRY else bits_of_type(kind))


def case_of(name):
    for found in (key for key in CASES if key == name or key.startswith(f"{name} ")):
        return CASES[found]
    mnemonic, *modifiers = name.split(".")
    instruction = PtxInstruction(name, mnemonic, tuple(modifiers), (Register(0, "%r", "b8"),), None, 1, 1)
    return SimpleNamespace(operation=VALUE_STEPS[mnemonic](instruction), instruction=instruction)


def completions(value, bit_numbers):
    """Every value that differs from a given one in some of a few bits."""
    found = [value]
    for bit_number in bit_numbers:
        bit = np.True_ if value.dtype == np.bool_ else value.dtype.type(1 << bit_number)
        found += [x ^ bit for x in found]
    return np.array(found, value.dtype)


def drawn(rng, kind, is_narrow):
    """A pattern, and at most three of its bits."""
    dtype = dtype_of(kind)
    if dtype == np.bool_:
        return dtype.type(rng.integers(2)), [0] if rng.integers(2) else []
    bits = dtype.itemsize * 8
    value = dtype.type(rng.integers(1 << (5 if is_narrow else min(bits, 62)), dtype=np.uint64))
    bit_numbers = sorted(rng.choice(bits, rng.integers(4), replace=False).tolist())
    return value, bit_numbers


def compared(form, rule, given):
    """The undefined bits of the results by the rule, and those that differ over all completions."""
    values = [np.full((1, 1, 1), value) for value, _ in given]
    bits = []
    for value, bit_numbers in given:
        mask = value.dtype.type(sum(1 << x for x in bit_numbers))
        bits.append(np.full((1, 1, 1), mask, value.dtype) if bit_numbers else None)
    dtypes = tuple(dtype_of(x) for x in form.destinations)
    by_rule = rule(Sources(values, bits, tuple(range(len(given))), form.compute, dtypes))
    every = np.meshgrid(*(completions(value, bit_numbers) for value, bit_numbers in given), indexing="ij")
    with np.errstate(all="ignore"):
        results = form.compute(*(np.ascontiguousarray(x.reshape(-1, 1, 1)) for x in every))
    results = results if isinstance(results, tuple) else (results,)
    differing = [np.bitwise_or.reduce((x ^ x[:1]).reshape(-1)) for x in results]
    return [int(np.broadcast_to(x, (1, 1, 1)).item()) for x in by_rule], [int(x) for x in differing]


def given_of(case, rng):
    """Sources of a case: small numbers for shift amounts, and the constants of its PTX source."""
    kinds = case.operation.sources
    return [drawn(rng, kind, i > 0 and kind == "u32") for i, kind in enumerate(kinds)]


def test_every_rule_belongs_to_an_instruction_and_accepts_all_its_modifiers():
    assert {x.split(".")[0] for x in ROWS} | {"cvt"} >= set(RULES)
    for opcode, row in ROWS.items():
        mnemonic, *modifiers = opcode.split(".")
        assert callable(rule_of(mnemonic, tuple(modifiers))), row
    for target, source, more in CVT_FORMS:
        assert callable(rule_of("cvt", (*more, target, source)))
    assert {x.split(".")[0] for x in ROWS} | {"cvt"} >= set(VALUE_STEPS)


@pytest.mark.sweep(keep=1 / 2)
@pytest.mark.parametrize("name", sorted(CASES)[::5])
def test_no_bit_that_may_differ_counts_as_defined(name):
    case = CASES[name]
    rng = np.random.default_rng(len(name))
    rule = rule_of(case.instruction.mnemonic, case.instruction.modifiers)
    for _ in range(4):
        by_rule, differing = compared(case.operation, rule, given_of(case, rng))
        for found, needed in zip(by_rule, differing, strict=True):
            assert needed & ~found == 0, (hex(found), hex(needed))


@pytest.mark.parametrize("name", BY_BITS + DECIDED)
def test_exactly_the_bits_that_may_differ_are_undefined(name):
    case = case_of(name)
    controls = {"shl": 1, "shr": 1, "szext": 1, "shf": 2, "prmt": 2, "bfe": 1, "bfi": 2}
    rng = np.random.default_rng(len(name))
    rule = rule_of(case.instruction.mnemonic, case.instruction.modifiers)
    for _ in range(40):
        given = given_of(case, rng)
        first = controls.get(case.instruction.mnemonic)
        if first is not None:
            given = [(value, [] if i >= first else bit_numbers) for i, (value, bit_numbers) in enumerate(given)]
        by_rule, differing = compared(case.operation, rule, given)
        assert [hex(x) for x in by_rule] == [hex(x) for x in differing]


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("add.u32", [(5, [8]), (7, [])], 0xFFFF_FF00),
        ("sub.u32", [(5, []), (7, [31])], 0x8000_0000),
        ("mul.lo.u32", [(5, [8]), (16, [])], 0xFFFF_F000),
        ("mul.lo.u32", [(5, [8, 9]), (0, [])], 0),
        ("mad.lo.u32", [(5, []), (7, []), (1, [4])], 0xFFFF_FFF0),
        ("add.sat.s32", [(5, [8]), (7, [])], 0xFFFF_FFFF),  # one high bit decides whether the result is the limit
        ("cvt.sat.u16.u32", [(5, [20])], 0xFFFF),
        ("cvt.u16.u32", [(5, [3, 20])], 0x8),
        ("slct.b32.f32", [(5, []), (7, [1]), (0, [31])], 0xFFFF_FFFF),
        ("bfi.b32", [(1, []), (0, []), (0, [0, 1]), (1, [])], 0xFFFF_FFFF),  # the bit can be inserted at four positions
        ("add.rn.f16x2", [(0x3C00_3C00, [17]), (0, [])], 0xFFFF_0000),
        ("cvt.rn.f16x2.f32", [(0x3F80_0000, [3]), (0, [])], 0xFFFF_0000),
        ("cvt.rn.satfinite.e4m3x2.f32", [(0x3F80_0000, [3]), (0, [])], 0xFF00),
        ("cvt.rn.satfinite.e4m3x2.f32", [(0x3F80_0000, []), (0, [30])], 0x00FF),
        ("cvt.pack.sat.s16.s32", [(1, [3]), (2, [])], 0xFFFF_0000),
        ("cvt.pack.sat.s16.s32", [(1, []), (2, [30])], 0x0000_FFFF),
        ("cvt.pack.sat.s8.s32.b32", [(1, [3]), (2, []), (0, [])], 0xFF00),
        ("cvt.pack.sat.s8.s32.b32", [(1, []), (2, [30]), (0, [])], 0x00FF),
        ("cvt.pack.sat.s8.s32.b32", [(1, []), (2, []), (0, [9, 30])], 0xFF00_0000),  # its upper half goes
        ("fma.rn.f32", [(0, [0]), (0, []), (0, [])], 0xFFFF_FFFF),
        ("dp4a.u32.u32", [(0, [0]), (0, []), (0, [])], 0xFFFF_FFFF),
    ],
)
def test_sums_are_undefined_from_the_lowest_undefined_bit_and_packed_numbers_separately(name, given, expected):
    case = case_of(name)
    rule = rule_of(case.instruction.mnemonic, case.instruction.modifiers)
    kinds = [dtype_of(kind).type for kind in case.operation.sources]
    typed = [(kind(value), bit_numbers) for kind, (value, bit_numbers) in zip(kinds, given, strict=True)]
    by_rule, _ = compared(case.operation, rule, typed)
    assert hex(by_rule[0]) == hex(expected)


def test_both_sources_vary_together_if_they_are_the_same_register():
    register = Register(0, "%r", "b32")
    form = VALUE_STEPS["xor"](PtxInstruction("xor.b32", "xor", ("b32",), (register,) * 3, None, 1, 1))
    word = np.full((1, 1, 1), 0xFFFF_FFFF, np.uint32)
    sources = Sources([word, word], [word, word], ("a", "a"), form.compute, (word.dtype,))
    assert not rule_of("xor", ("b32",))(sources)[0].any()
    assert rule_of("xor", ("b32",))(sources._replace(names=("a", "b")))[0].all()


def test_comparisons_are_decided_by_defined_bits():
    form = case_of("setp.eq.u32").operation
    rule = rule_of("setp", ("eq", "u32"))
    for bit_numbers, other in combinations(range(8), 2):
        given = [(np.uint32(0), [bit_numbers]), (np.uint32(1 << other), [])]
        assert compared(form, rule, given)[0][0] == 0  # bit `other` differs whatever the undefined one is
        assert compared(form, rule, [(np.uint32(0), [bit_numbers]), (np.uint32(1 << bit_numbers), [])])[0][0] == 1
