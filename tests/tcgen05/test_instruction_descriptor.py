# SPDX-License-Identifier: MIT
"""The instruction descriptor: every field there and back, every illegal code refused, against the manual's tables."""

import dataclasses
import random

import pytest

from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.instructions.tensor import TENSOR_KINDS, tensor_instruction
from wmma_emu.tcgen05.instruction_descriptor import InstructionDescriptor
from wmma_emu.tcgen05.instruction_descriptor_table import DESCRIPTOR_FIELDS

ONE, TWO, FOUR = {0}, {0, 1}, {0, 1, 2, 3}
N = set(range(1, 33))
NARROW = {0, 1, 3, 4, 5}


def plain(results, operands, selectors, saturate, negate):
    """The manual's first table: lowest bit, bits, legal codes."""
    return (
        (0, 2, selectors), (2, 1, TWO), (3, 1, saturate), (4, 2, results), (6, 1, ONE), (7, 3, operands),
        (10, 3, operands), (13, 1, negate), (14, 1, negate), (15, 1, TWO), (16, 1, TWO), (17, 6, N), (23, 1, ONE),
        (24, 5, {2, 4, 8, 16}), (29, 1, ONE), (30, 2, FOUR),
    )  # fmt: skip


def fp4(scales):
    """The third table."""
    return (
        (0, 2, ONE), (2, 1, TWO), (3, 1, ONE), (4, 2, {0, 2}), (6, 1, ONE), (7, 3, {1}), (10, 2, {1}), (12, 1, ONE),
        (13, 1, TWO), (14, 1, TWO), (15, 1, ONE), (16, 1, ONE), (17, 6, N), (23, 1, scales), (24, 3, ONE),
        (27, 2, {1, 2}), (29, 2, {0, 2}), (31, 1, TWO),
    )  # fmt: skip


TABLES = {
    "f16": plain({0, 1}, {0, 1}, FOUR, ONE, TWO),
    "tf32": plain({1}, {2}, FOUR, ONE, TWO),
    "f8f6f4": plain({0, 1}, NARROW, ONE, ONE, TWO),
    "i8": plain({2}, {0, 1}, ONE, TWO, ONE),
    "mxf8f6f4": (
        (0, 2, ONE), (2, 1, TWO), (3, 1, ONE), (4, 2, FOUR), (6, 1, ONE), (7, 3, NARROW), (10, 3, NARROW), (13, 1, TWO),
        (14, 1, TWO), (15, 1, TWO), (16, 1, TWO), (17, 6, N), (23, 1, {1}), (24, 3, ONE), (27, 2, {1, 2}),
        (29, 2, FOUR), (31, 1, ONE),
    ),
    "mxf4": fp4({1}),
    "mxf4nvf4": fp4({0, 1}),
}  # fmt: skip


UE8M0 = {"scale": "ue8m0"}


def word_of(kind, codes):
    return sum(code << low for (low, _, _), code in zip(TABLES[kind], codes, strict=True))


def codes_of(kind, word):
    return [word >> low & (1 << width) - 1 for low, width, _ in TABLES[kind]]


def is_legal(kind, word):
    return all(code in legal for code, (_, _, legal) in zip(codes_of(kind, word), TABLES[kind], strict=True))


@pytest.mark.parametrize("kind", TABLES)
def test_fields_cover_all_bits_once_as_in_the_manual(kind):
    assert [(x.low, x.width) for x in DESCRIPTOR_FIELDS[kind]] == [(low, width) for low, width, _ in TABLES[kind]]
    assert sum(x.width for x in DESCRIPTOR_FIELDS[kind]) == 32
    assert [bool(x.name) for x in DESCRIPTOR_FIELDS[kind]] == [
        legal != ONE or (low in (0, 3, 13, 14, 15, 16) and bool(x.name))
        for (low, _, legal), x in zip(TABLES[kind], DESCRIPTOR_FIELDS[kind], strict=True)
    ]


def some_descriptor(kind, draw):
    """A random legal descriptor."""
    row = TENSOR_KINDS[kind]
    d, operands = draw.choice(row.types)
    sparse = draw.random() < 0.5
    long = kind in ("mxf4", "mxf4nvf4") and not sparse and draw.random() < 0.3
    group = draw.choice((1, 2))
    m = draw.choice((64, 128) if group == 1 else (128, 256)) if not row.scales else 128 if group == 1 else 256
    fields = {
        "sparse": sparse, "k": 96 if long else 0,
        "n": draw.choice(range(32, 257, 32)),
        "scale": draw.choice(row.scales)[0] if row.scales else "",
    }  # fmt: skip
    if row.negates:
        fields |= {"negate_a": draw.random() < 0.5, "negate_b": draw.random() < 0.5}
    if row.transposes:
        fields |= {"transpose_a": draw.random() < 0.5, "transpose_b": draw.random() < 0.5}
    if kind in ("f16", "tf32") and sparse:
        fields["sparsity_selector"] = draw.randrange(4)
    if kind == "i8":
        fields["saturate"] = draw.random() < 0.5
    if row.scales:
        ids = (0, 1, 2, 3) if kind == "mxf8f6f4" or long else (0, 2)
        fields |= {"scale_id_a": draw.choice(ids), "scale_id_b": draw.choice(ids)}
    else:
        fields["max_shift"] = draw.choice((0, 8, 16, 32))
    return InstructionDescriptor(kind, m, d=d, a=draw.choice(operands), b=draw.choice(operands), **fields)


@pytest.mark.parametrize("kind", TABLES)
def test_every_field_goes_there_and_back(kind):
    draw = random.Random(f"fields of {kind}")
    seen = {x.name: set() for x in DESCRIPTOR_FIELDS[kind] if x.name}
    for _ in range(300):
        given = some_descriptor(kind, draw)
        word = given.encode()
        assert is_legal(kind, word) or given.k == 96, hex(word)
        assert InstructionDescriptor.decode(word, kind) == given
        for name, values in seen.items():
            values.add(getattr(given, name))
    for (_, width, legal), field in zip(TABLES[kind], DESCRIPTOR_FIELDS[kind], strict=True):
        if field.name and field.name not in ("m", "n"):
            assert len(seen[field.name]) >= len(legal), (field, seen[field.name], width)


@pytest.mark.parametrize("kind", TABLES)
def test_random_illegal_words_are_errors(kind):
    draw = random.Random(f"illegal words of {kind}")
    count = 0
    while count < 200:  # 1400 of all kinds: any 32 bits, and legal descriptors with one field spoilt
        word = draw.getrandbits(32)
        if count % 2:
            codes = codes_of(kind, some_descriptor(kind, draw).encode())
            field = draw.randrange(len(codes))
            codes[field] = draw.randrange(1 << TABLES[kind][field][1])
            word = word_of(kind, codes)
        if is_legal(kind, word) or (codes_of(kind, word)[-1] and kind.startswith("mxf4")):
            continue  # scale ids of k = 96 have a separate figure
        with pytest.raises(UnsupportedInstructionError):
            InstructionDescriptor.decode(word, kind)
        count += 1


@pytest.mark.parametrize("kind", TABLES)
def test_random_words_are_refused_or_come_back_as_they_were(kind):
    draw = random.Random(f"words of {kind}")
    for _ in range(500):
        codes = [draw.choice(sorted(legal)) for _, _, legal in TABLES[kind]]
        word = word_of(kind, codes)
        try:
            found = InstructionDescriptor.decode(word, kind)
        except UnsupportedInstructionError:
            continue
        assert found.encode() == word


@pytest.mark.parametrize(
    ("descriptor", "word"),
    [
        # (M >> 4) << 24 | (N >> 3) << 17 | b << 10 | a << 7 | d << 4, as CuTe's bit fields lie
        (InstructionDescriptor("f16", 128, 256, "f32", "f16", "f16"), 8 << 24 | 32 << 17 | 1 << 4),
        (InstructionDescriptor("f16", 256, 16, "f32", "bf16", "f16"), 16 << 24 | 2 << 17 | 1 << 7 | 1 << 4),
        (InstructionDescriptor("f16", 64, 8, "f16", "f16", "f16", negate_b=True), 4 << 24 | 1 << 17 | 1 << 14),
        (InstructionDescriptor("tf32", 64, 8, "f32", "tf32", "tf32", transpose_a=True), 0x04028910),
        (InstructionDescriptor("f8f6f4", 128, 64, "f16", "e2m1", "e3m2"), 8 << 24 | 8 << 17 | 4 << 10 | 5 << 7),
        (InstructionDescriptor("i8", 32, 64, "s32", "s8", "u8", max_shift=16), 2 << 30 | 2 << 24 | 8 << 17 | 0xA0),
        (
            InstructionDescriptor("mxf8f6f4", 256, 32, "f32", "e5m2", "e2m3", **UE8M0, scale_id_a=3, scale_id_b=1),
            3 << 29 | 16 << 24 | 1 << 23 | 4 << 17 | 3 << 10 | 1 << 7 | 1 << 4,
        ),
        (
            InstructionDescriptor("mxf4nvf4", 128, 64, "f32", "e2m1", "e2m1", scale="ue4m3", sparse=True),
            8 << 24 | 8 << 17 | 1 << 10 | 1 << 7 | 1 << 2,
        ),
        (InstructionDescriptor("mxf4", 256, 16, "f32", "e2m1", "e2m1", scale="ue8m0", k=96), 0x90840480 | 1 << 31),
    ],
    ids=lambda x: x.kind if isinstance(x, InstructionDescriptor) else "",
)  # fmt: skip
def test_known_descriptors_have_known_bits(descriptor, word):
    assert descriptor.encode() == word
    assert InstructionDescriptor.decode(word, descriptor.kind) == descriptor


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("f16", {"d": "s32"}, "d of kind::f16 is f32 or f16, not 's32'"),
        ("f16", {"d": "f16", "a": "bf16"}, "multiplies f16, not bf16"),
        ("f16", {"a": "e4m3"}, "a of kind::f16 is f16 or bf16"),
        ("f16", {"m": 96}, "has m = 96"),
        ("f16", {"n": 12}, "with n = 12"),
        ("f16", {"k": 96}, "has no k"),
        ("f16", {"saturate": True}, "kind::f16 does not saturate"),
        ("f16", {"scale": "ue8m0"}, "has no scale"),
        ("f16", {"scale_id_a": 2}, "has no scale_id_a"),
        ("f16", {"sparsity_selector": 1}, "in a dense product of kind::f16"),
        ("f16", {"sparsity_selector": 4, "sparse": True}, "0 to 3, not 4"),
        ("f16", {"max_shift": 4}, "0, 8, 16 or 32, not 4"),
        ("f16", {"negate_a": 1}, "True or False, not 1"),
        ("f17", {}, "no kind 'f17'"),
    ],
    ids=str,
)
def test_what_a_kind_lacks_is_refused(kind, options, message):
    fields = {"m": 128, "n": 64, "d": "f32", "a": "f16", "b": "f16"} | options
    with pytest.raises(UnsupportedInstructionError, match=message):
        InstructionDescriptor(kind, **fields)


def test_options_of_one_kind_are_refused_by_others():
    i8 = {"m": 128, "n": 64, "d": "s32", "a": "s8", "b": "s8"}
    fp4 = {"m": 128, "n": 64, "d": "f32", "a": "e2m1", "b": "e2m1", "scale": "ue8m0"}
    for kind, fields, wrong, message in (
        ("i8", i8, {"negate_a": True}, "does not negate"),
        ("i8", i8, {"sparse": True, "sparsity_selector": 1}, "selector is 0 of kind::i8"),
        ("mxf4", fp4, {"transpose_b": True}, "is not transposed"),
        ("mxf4", fp4, {"scale_id_a": 1}, "one of 0, 2, not 1"),
        ("mxf4", fp4, {"scale": ""}, "block scales of kind::mxf4 are ue8m0"),
        ("mxf4", fp4, {"max_shift": 8}, "has no max_shift"),
        ("mxf4", fp4, {"k": 96, "sparse": True}, "has no k = 96"),
    ):
        with pytest.raises(UnsupportedInstructionError, match=message):
            InstructionDescriptor(kind, **fields | wrong)


def test_the_instruction_of_a_descriptor_has_its_shape_and_types():
    row = tensor_instruction("mxf4nvf4", 256, 48, "f32", "e2m1", "e2m1", scale="ue4m3", sparse=True, cta_group=2)
    said = InstructionDescriptor.of(row, negate_a=True)
    assert said.negate_a and said.instruction(cta_group=2) == row
    assert InstructionDescriptor.decode(said.encode(), "mxf4nvf4").instruction(cta_group=2) == row
    both = tensor_instruction("mxf4nvf4", 128, 48, "f32", "e2m1", "e2m1", scale="ue8m0", scale_vec=4)
    assert InstructionDescriptor.of(both).instruction(scale_vec=4) == both
    with pytest.raises(UnsupportedInstructionError, match="needs more"):
        InstructionDescriptor.of(both).instruction()


def test_a_mnemonic_that_contradicts_its_descriptor_is_refused():
    said = InstructionDescriptor("f16", 256, 64, "f32", "f16", "f16")
    with pytest.raises(UnsupportedInstructionError, match="has no m = 256"):
        said.instruction()
    with pytest.raises(UnsupportedInstructionError, match=r"max_shift is an option of tcgen05\.mma\.ws"):
        InstructionDescriptor("f16", 128, 64, "f32", "f16", "f16", max_shift=8).instruction()
    narrow = InstructionDescriptor("f8f6f4", 128, 24, "f32", "e4m3", "e2m1", transpose_b=True)
    with pytest.raises(UnsupportedInstructionError, match="multiple of 16, not 24"):
        narrow.instruction()
    with pytest.raises(UnsupportedInstructionError, match="multiple of 32, not 48"):
        dataclasses.replace(narrow, n=48).instruction(cta_group=2)
    four = InstructionDescriptor("mxf4nvf4", 128, 64, "f32", "e2m1", "e2m1", scale="ue4m3", scale_id_b=2)
    with pytest.raises(UnsupportedInstructionError, match="are 0"):
        four.instruction()


@pytest.mark.parametrize("word", [-1, 1 << 32, 1.0, "8", None, True], ids=repr)
def test_anything_but_a_32_bit_word_is_refused(word):
    with pytest.raises(FragmentMismatchError, match="integer of 32 bits"):
        InstructionDescriptor.decode(word, "f16")


def test_options_that_an_instruction_has_decided_are_refused():
    row = tensor_instruction("f16", 128, 64, "f32", "f16", "f16")
    with pytest.raises(FragmentMismatchError, match="sparse is not an option of"):
        InstructionDescriptor.of(row, sparse=True)
    with pytest.raises(UnsupportedInstructionError, match=r"is not a tcgen05\.mma"):
        InstructionDescriptor.of("f16")
