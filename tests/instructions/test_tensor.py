# SPDX-License-Identifier: MIT
"""`tcgen05.mma`: kinds, sizes and names, against what the assembler accepts and the manual's table of shapes."""

import csv
import itertools
from pathlib import Path

import pytest

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.instructions import lookup
from wmma_emu.instructions.tensor import (
    TENSOR_KINDS,
    tensor_instruction,
    tensor_instruction_named,
    tensor_sizes,
)

DATA = Path(__file__).parent / "data" / "tcgen05_mma.csv"
CHIPS = {"sm_100a": "sm_100", "sm_103a": "sm_103", "sm_120a": "sm_120", "sm_121a": "sm_121"}

PLAIN = {1: ((64, 128), range(8, 257, 8)), 2: ((128, 256), range(16, 257, 16))}
"""The manual's table of shapes, typed in: m and n by cta_group."""
INTEGER = {1: ((64, 128), (8, 16, 24, *range(32, 257, 16))), 2: ((128, 256), range(32, 257, 32))}
SCALED = {1: ((128,), range(8, 257, 8)), 2: ((128, 256), range(16, 257, 16))}
SHAPES = {"f16": PLAIN, "tf32": PLAIN, "f8f6f4": PLAIN, "i8": INTEGER, "mxf8f6f4": SCALED, "mxf4": SCALED,
          "mxf4nvf4": SCALED}  # fmt: skip
K = {"f16": 16, "tf32": 8, "f8f6f4": 32, "i8": 32, "mxf8f6f4": 32, "mxf4": 64, "mxf4nvf4": 64}
TYPES = {
    "f16": {("f32", a, b) for a in ("f16", "bf16") for b in ("f16", "bf16")} | {("f16", "f16", "f16")},
    "tf32": {("f32", "tf32", "tf32")},
    "f8f6f4": set(itertools.product(("f16", "f32"), *[("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")] * 2)),
    "i8": set(itertools.product(("s32",), ("s8", "u8"), ("s8", "u8"))),
    "mxf8f6f4": set(itertools.product(("f32",), *[("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")] * 2)),
    "mxf4": {("f32", "e2m1", "e2m1")},
    "mxf4nvf4": {("f32", "e2m1", "e2m1")},
}


def types_of(kind):
    return min(TYPES[kind])


def made(*arguments, **options):
    """The instruction, None where there is none."""
    try:
        return tensor_instruction(*arguments, **options)
    except UnsupportedInstructionError:
        return None


def facts():
    with DATA.open() as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


VECTORS = {"scale_vec::1X": 1, "scale_vec::2X": 2, "scale_vec::4X": 4}


def instruction_of(fact):
    """The smallest instruction that a line of the facts speaks of."""
    kind, group = fact["kind"], int(fact["cta_group"])
    ws, sparse = fact["family"].endswith(".ws"), fact["sparse"] == "sp"
    sizes = tensor_sizes(kind, cta_group=group, ws=ws, sparse=sparse)
    if not sizes:
        return None
    name = [
        fact["family"], *(["sp"] if sparse else []), f"cta_group::{group}", f"kind::{kind}",
        *([fact["vector"]] if fact["vector"] else []), f"m{sizes[0].m[0]}n{sizes[0].n[0]}", *types_of(kind),
        *[x for x in fact["option"].split() if x.startswith("collector")],
    ]  # fmt: skip
    if TENSOR_KINDS[kind].is_block_scaled:
        name.append("ue8m0")
    try:
        return tensor_instruction_named(".".join(name))
    except UnsupportedInstructionError:
        return None


def test_every_chip_has_exactly_what_its_assembler_accepts():
    options = ("", "zero-mask", "ws", "ws zero-mask")
    checked = 0
    for fact in facts():
        option = fact["option"].removeprefix("ws").strip()
        if option and not option.startswith("collector") and option not in options:
            continue
        row = instruction_of(fact)
        for target, chip in CHIPS.items():
            assert (row is not None and chip in row.archs) == (fact[target] == "1"), (fact, target)
            checked += 1
    assert checked > 900


@pytest.mark.parametrize("kind", TENSOR_KINDS)
def test_sizes_match_the_manual(kind):
    d, a, b = types_of(kind)
    scale = {"scale": "ue8m0", "scale_vec": max(TENSOR_KINDS[kind].scales[0][1])} if "mx" in kind else {}
    for group, sparse, ws in itertools.product((1, 2), (False, True), (False, True)):
        ms, ns = SHAPES[kind][group]
        if ws:
            ms = () if group == 2 or scale else (32, 64, 128)
            ns = (64, 128) if sparse else (64, 128, 256)
        elif scale and sparse and group == 2:
            ms = (256,)
        for m in (16, 32, 64, 96, 128, 192, 256, 512):
            for n in range(0, 288, 4):
                row = made(kind, m, n, d, a, b, sparse=sparse, ws=ws, cta_group=group, **scale)
                assert (row is not None) == (m in ms and n in ns), (kind, m, n, group, sparse, ws)
                if row is not None:
                    assert (row.m, row.n, row.k) == (m, n, K[kind] * (1 + sparse))
                    assert row.is_sparse == sparse and row.terms == K[kind] and row.num_registers == (0, 0, 0, 0)


@pytest.mark.parametrize("kind", TENSOR_KINDS)
def test_types_match_the_manual(kind):
    everything = ("f64", "f32", "f16", "bf16", "tf32", "e4m3", "e5m2", "e3m2", "e2m3", "e2m1", "s32", "s8", "u8", "s4")
    scale = {"scale": "ue8m0", "scale_vec": max(TENSOR_KINDS[kind].scales[0][1])} if "mx" in kind else {}
    found = {
        types for types in itertools.product(everything, repeat=3)
        if made(kind, 128, 64, *types, **scale) is not None
    }  # fmt: skip
    assert found == TYPES[kind]


def test_scales_match_the_manual():
    found = {
        (kind, scale, vector)
        for kind, scale, vector in itertools.product(TENSOR_KINDS, ("ue8m0", "ue4m3", "e4m3"), (1, 2, 3, 4, 6, 8))
        if made(kind, 128, 64, *types_of(kind), scale=scale, scale_vec=vector) is not None
    }
    assert found == {
        ("mxf8f6f4", "ue8m0", 1), ("mxf4", "ue8m0", 2),
        ("mxf4nvf4", "ue8m0", 2), ("mxf4nvf4", "ue8m0", 4), ("mxf4nvf4", "ue4m3", 4),
    }  # fmt: skip


def test_a_k_of_96_exists_on_sm_103_alone_for_dense_fp4():
    for kind, group, sparse in itertools.product(TENSOR_KINDS, (1, 2), (False, True)):
        scale = {"scale": "ue8m0", "scale_vec": 3} if "mxf4" in kind else {}
        row = made(kind, 256 if group == 2 else 128, 64, *types_of(kind), k=96, sparse=sparse, cta_group=group, **scale)
        assert (row is not None) == ("mxf4" in kind and not sparse)
        if row is not None:
            assert row.archs == ("sm_103",) and row.scale_block == 32
            assert row.status == ("documented" if group == 2 else "inferred")
    six = tensor_instruction("mxf4nvf4", 256, 16, "f32", "e2m1", "e2m1", k=96, scale="ue4m3", cta_group=2)
    assert six.scale_vec == 6 and ".block16." in six.mnemonic and tensor_instruction_named(six.mnemonic) == six


@pytest.mark.parametrize(
    ("name", "mnemonic"),
    [
        ("TCGEN05.MMA.kind::f16.m64n8.f32.bf16.bf16;", "tcgen05.mma.cta_group::1.kind::f16.m64n8k16.f32.bf16.bf16"),
        ("tcgen05.mma.m64n8k16.f32.f16.f16.f32.kind::f16", "tcgen05.mma.cta_group::1.kind::f16.m64n8k16.f32.f16.f16"),
        (
            "tcgen05.mma.sp.cta_group::2.kind::mxf4nvf4.block16.m256n16.f32.e2m1.e2m1.ue4m3.collector::a::use",
            "tcgen05.mma.sp.cta_group::2.kind::mxf4nvf4.block_scale.scale_vec::4X.m256n16k128.f32.e2m1.e2m1.ue4m3",
        ),
        (
            "tcgen05.mma.kind::mxf4.m128n8.f32.e2m1.e2m1",
            "tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X.m128n8k64.f32.e2m1.e2m1.ue8m0",
        ),
        (
            "tcgen05.mma.ws.sp.kind::i8.m32n64.s32.u8.s8.collector::b2::fill.satfinite",
            "tcgen05.mma.ws.sp.cta_group::1.kind::i8.satfinite.m32n64k64.s32.u8.s8",
        ),
    ],
)  # fmt: skip
def test_a_name_is_read_however_it_is_written(name, mnemonic):
    row = tensor_instruction_named(name)
    assert row.mnemonic == mnemonic
    assert tensor_instruction_named(mnemonic) == row == lookup(mnemonic, row.archs[0])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tcgen05.mma.kind::f16.m128n256k16.f32.f16.bf17", "'bf17' is not part of a tcgen05.mma; did you mean 'bf16'"),
        ("tcgen05.mma.m128n256k16.f32.f16.f16", "names no kind, such as .kind::f16"),
        ("tcgen05.mma.kind::f16", "names no shape"),
        ("tcgen05.mma.kind::f17.m64n8.f32.f16.f16", "has no kind 'kind::f17'.*did you mean 'f16'"),
        ("tcgen05.mma.kind::f16.m64n8.f32.f16", "names 2 types, not three"),
        ("tcgen05.mma.kind::f16.m64n8.f32.f16.f16.f16", "names 4 types, not three"),
        ("tcgen05.mma.kind::f16.m100n8.f32.f16.f16", "has no m = 100; there is 64, 128: the nearest is 128"),
        ("tcgen05.mma.kind::i8.m64n40.s32.s8.s8", "has no n = 40; there is 8, 16, 24, 32, .*: the nearest is 32"),
        ("tcgen05.mma.kind::f16.m64n8k32.f32.f16.f16", "has no k = 32; there is 16"),
        ("tcgen05.mma.kind::mxf4.ws.m128n64.f32.e2m1.e2m1", "block scales cannot be combined with .ws"),
        ("tcgen05.mma.kind::f16.ws.cta_group::2.m128n64.f32.f16.f16", "needs cta_group::1"),
        ("tcgen05.mma.kind::mxf4nvf4.m128n64.f32.e2m1.e2m1.ue8m0", "needs more than scale='ue8m0'"),
        ("tcgen05.mma.kind::f16.block_scale.m128n64.f32.f16.f16.ue8m0", "has no block scales; kinds that have"),
        ("tcgen05.mma.kind::f16.ashift.m128n64.f32.f16.f16", "ashift is not modelled"),
        ("tcgen05.mma.kind::f16.m128n64.f16.bf16.f16", "with D of f16 multiplies f16, not bf16 and f16"),
        ("tcgen05.mma.kind::f16.kind::f16.m128n64.f16.f16.f16", "has kind::f16 and kind::f16"),
        ("tcgen05.mma.kind::f16.collector::b0::use.m128n64.f16.f16.f16", "expected collector::a"),
        ("tcgen05.mma.ws.kind::f16.collector::a::use.m128n64.f16.f16.f16", "expected collector::b0 to b3"),
        ("tcgen05.mma.kind::f16.m64n8.f32.f16.f16.satfinite", "kind::f16 does not saturate"),
        ("mma.kind::f16.m64n8.f32.f16.f16", "is not a tcgen05.mma"),
        ("tcgen05.mma.kind::f16 [%r0]", "is not the name of an instruction"),
        ("tcgen05.mma." + "f16." * 200, "is not the name of an instruction"),
        (7, "named by a string"),
    ],
)
def test_what_does_not_exist_is_refused_with_the_reason(name, message):
    with pytest.raises(UnsupportedInstructionError, match=message):
        tensor_instruction_named(name)


@pytest.mark.parametrize(
    "wrong",
    [
        {"cta_group": 3},
        {"sparse": 1},
        {"ws": "yes"},
        {"scale_vec": 2},
        {"scale": "ue8m0"},
        {"k": "16"},
        {"saturate": 0},
    ],
    ids=str,
)
def test_a_call_with_an_unknown_option_is_refused(wrong):
    with pytest.raises(UnsupportedInstructionError):
        tensor_instruction("f16", 128, 64, "f32", "f16", "f16", **wrong)


@pytest.mark.parametrize("chip", ["sm_90", "sm_120", "sm_121"])
def test_chips_without_tensor_memory_have_none(chip):
    with pytest.raises(UnsupportedInstructionError, match="sm_100, sm_103"):
        lookup("tcgen05.mma.kind::f16.m64n8.f32.f16.f16", chip)


def test_integers_are_multiplied_on_sm_100_alone():
    with pytest.raises(UnsupportedInstructionError, match="sm_103"):
        lookup("tcgen05.mma.kind::i8.m64n8.s32.s8.s8", "sm_103")


@pytest.mark.parametrize("kind", ["f17", None, "", ["f16"]])
def test_sizes_of_a_kind_that_does_not_exist_are_an_error_and_not_none(kind):
    with pytest.raises(UnsupportedInstructionError, match="has no kind"):
        tensor_sizes(kind)
    assert tensor_sizes("mxf4", ws=True) == () == tensor_sizes("f16", cta_group=3)
