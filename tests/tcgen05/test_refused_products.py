# SPDX-License-Identifier: MIT
"""Illegal uses of `tcgen05.mma`: an error, and unchanged tensor memory."""

import random

import numpy as np
import pytest

from tests.tcgen05.products import A_AT, METADATA_AT, SCALE_A_AT, TensorProduct, bound, words
from wmma_emu.errors import (
    AlignmentError,
    FragmentMismatchError,
    OutOfBoundsError,
    UnsupportedInstructionError,
    WmmaEmuError,
)
from wmma_emu.formats.dtypes import from_bits
from wmma_emu.instructions import lookup
from wmma_emu.instructions.tensor import tensor_instruction
from wmma_emu.tcgen05 import (
    InstructionDescriptor,
    SharedMemoryDescriptor,
    TensorMemory,
    bound_tensor_instruction,
    image_of,
    mma,
    tcgen05_layout,
)

pytestmark = pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")


WRONG = {
    "d beyond the columns": (OutOfBoundsError, {"d": 508}),
    "d in lane 1": (AlignmentError, {"d": 1 << 16}),
    "d outside of the lanes": (OutOfBoundsError, {"d": 128 << 16}),
    "a beyond the columns": (OutOfBoundsError, {"a": 511}),
    "a of another type": (FragmentMismatchError, {"a": "A"}),
    "a that is a matrix": (FragmentMismatchError, {"a": np.zeros((128, 16), np.float16)}),
    "b in tensor memory": (FragmentMismatchError, {"b": 0}),
    "b too short": (OutOfBoundsError, {"b": (np.zeros(200, np.uint8), SharedMemoryDescriptor(0, 128, 256))}),
    "b that starts late": (OutOfBoundsError, {"b": (np.zeros(512, np.uint8), SharedMemoryDescriptor(256, 128, 256))}),
    "b with a long stride": (OutOfBoundsError, {"b": (np.zeros(512, np.uint8), SharedMemoryDescriptor(0, 4096, 256))}),
    "b with a descriptor of wgmma": (UnsupportedInstructionError, {"b": (np.zeros(512, np.uint8), 0x10)}),
    "b of words": (FragmentMismatchError, {"b": (np.zeros(512, np.uint32), SharedMemoryDescriptor(0, 128, 256))}),
    "scales of none": (FragmentMismatchError, {"scale_a": 0}),
    "metadata of none": (FragmentMismatchError, {"metadata": 0}),
    "another descriptor": (UnsupportedInstructionError, {"descriptor": 0x08060010}),
    "a descriptor with reserved bits": (UnsupportedInstructionError, {"descriptor": 0x08040010 | 1 << 6}),
    "scale_input_d of 16": (UnsupportedInstructionError, {"scale_input_d": 16}),
    "an absolute leading address on sm_100": (
        UnsupportedInstructionError,
        {"b": (np.zeros(512, np.uint8), SharedMemoryDescriptor(0, 1024, 1024, 128, leading_absolute=True))},
    ),
    "shared memories of two CTAs": (
        FragmentMismatchError,
        {"b": ((np.zeros(512, np.uint8),) * 2, SharedMemoryDescriptor(0, 128, 256))},
    ),
    "lanes as one number": (FragmentMismatchError, {"disable_output_lane": np.uint32(0)}),
    "three words of lanes": (FragmentMismatchError, {"disable_output_lane": (0, 0, 0)}),
    "lanes beyond 32 bits": (FragmentMismatchError, {"disable_output_lane": (0, 0, 0, 1 << 32)}),
    "a mask without .ws": (UnsupportedInstructionError, {"zero_column_mask": 0}),
    "enable_input_d that is neither": (UnsupportedInstructionError, {"enable_input_d": 2}),
    "two tensor memories": (FragmentMismatchError, {"tmem": (TensorMemory(), TensorMemory())}),
    "no tensor memory": (FragmentMismatchError, {"tmem": np.zeros((128, 512), np.uint32)}),
    "an engine of no name": (UnsupportedInstructionError, {"engine": "gpu"}),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_an_error_and_changes_nothing(name):
    error, options = WRONG[name]
    product = TensorProduct(bound("f16", 128, 16))
    arguments = {"tmem": product.tmem, "d": 0, "a": product.shared_a, "b": product.shared_b} | options
    before = words(product.tmem)
    with pytest.raises(error):
        product.ins.execute(**arguments)
    assert np.array_equal(words(product.tmem), before)


def test_options_that_a_kind_lacks_are_refused():
    for ins, options, message in (
        (bound("f8f6f4", 128, 16), {"scale_input_d": 1}, "an option of kind::f16 and kind::tf32"),
        (bound("f16", 128, 64, ws=True), {"scale_input_d": 1}, "without .ws"),
        (bound("f16", 128, 64, ws=True), {"disable_output_lane": (0,) * 4}, "without .ws"),
        (bound("mxf4", 128, 64), {"disable_output_lane": (0,) * 4}, "without block scales"),
    ):
        product = TensorProduct(ins)
        with pytest.raises(UnsupportedInstructionError, match=message):
            ins.execute(product.tmem, 0, product.shared_a, product.shared_b, **product.options, **options)
    product = TensorProduct(bound("mxf4", 128, 64))
    with pytest.raises(FragmentMismatchError, match="needs scale_a="):
        product.ins.execute(product.tmem, 0, product.shared_a, product.shared_b)
    product = TensorProduct(bound("i8", 128, 64, sparse=True))
    with pytest.raises(FragmentMismatchError, match="needs metadata="):
        product.ins.execute(product.tmem, 0, product.shared_a, product.shared_b)
    with pytest.raises(AlignmentError, match="multiple of 2"):
        product.ins.execute(product.tmem, 0, product.shared_a, product.shared_b, metadata=METADATA_AT + 1)


def test_random_addresses_are_right_or_refused():
    random = np.random.default_rng(17)
    product = TensorProduct(bound("mxf4nvf4", 128, 64))
    tmem = TensorMemory()
    tmem.alloc(128)
    every = np.broadcast_to(np.uint32(0), (128, 128))
    tmem.write(np.arange(128)[:, None], np.arange(128), every)
    refused = 0
    for _ in range(200):
        d, a, scale_a, scale_b = (int(x) for x in random.integers(0, 160, 4))
        lane = int(random.choice([0, 0, 0, 0, 16, 32, 127, 128])) << 16
        before = tmem.words.copy()
        try:
            product.ins.execute(
                tmem, d | lane, a, product.shared_b, scale_a=scale_a, scale_b=scale_b, enable_input_d=False
            )
        except WmmaEmuError:
            assert np.array_equal(tmem.words, before)
            refused += 1
            continue
        assert lane == 0 and d + 64 <= 128 and a + 8 <= 128 and scale_a + 4 <= 128 and scale_b + 2 <= 128
    assert 100 < refused < 200


def test_a_thousand_random_descriptors_are_errors_or_what_they_say():
    draw = random.Random("descriptors")
    product = TensorProduct(bound("f16", 64, 8))
    memory = np.zeros(1 << 14, np.uint8)
    done = 0
    for i in range(1000):
        word, shared = draw.getrandbits(32), draw.getrandbits(64)
        if i % 2:
            shared = 1 << 46 | shared & 0xE00E_3FFF_3FFF_3FFF
        if i % 4 == 3:  # a legal instruction descriptor and short steps, so that the shared memory decides
            word, shared = 0x04020010 | draw.randrange(4) << 15, shared & 0xE000_403F_003F_007F
        before = words(product.tmem)
        try:
            mma("tcgen05.mma.cta_group::1.kind::f16", product.tmem, 0, (memory, shared), (memory, shared), word,
                enable_input_d=False)  # fmt: skip
        except WmmaEmuError:
            assert np.array_equal(words(product.tmem), before)
            continue
        said = InstructionDescriptor.decode(word, "f16")
        assert not product.tmem.words[:16, : said.n].any() and said.encode() == word
        done += 1
    assert 0 < done < 100


@pytest.mark.parametrize(
    "call",
    [
        lambda: bound_tensor_instruction(3, "sm_100"),
        lambda: bound_tensor_instruction("tcgen05.mma.kind::f16.m64n8.f32.f16.f16", "sm_1"),
        lambda: tensor_instruction("mxf4", 128, 8, "f32", "e2m1", "e2m1", scale=np.zeros(3)),
        lambda: tensor_instruction("f16", 128, 8, "f32", "f16", ["f16"], scale_vec=np.zeros(3)),
        lambda: InstructionDescriptor("f16", np.zeros(3), "8", "f32", "f16", "f16", scale=np.zeros(3)),
        lambda: bound("f16", 64, 8).store(TensorMemory(), ["a"], 0, np.zeros((64, 16), np.float16)),
        lambda: bound("f16", 64, 8).in_shared_memory(np.zeros(3), np.zeros((64, 16), np.float16)),
        lambda: bound("f16", 64, 8).in_shared_memory("a", np.zeros((16, 64), np.float16)),
        lambda: bound("f16", 64, 8).load(TensorMemory(), "0"),
        lambda: bound("f16", 64, 8, sparse=True).store(TensorMemory(), "metadata", 0, np.full((64, 8), 16)),
        lambda: bound("f16", 64, 8).descriptor(max_shift=8),
        lambda: bound("f16", 64, 8).store(TensorMemory(), np.zeros(3), 0, np.zeros((64, 16), np.float16)),
        lambda: bound("f16", 64, 8).placement(np.array(["a", "d"])),
        lambda: bound("f16", 64, 8, sparse=True).store(TensorMemory(), "metadata", 0, [[1, 2], [3]]),
        lambda: bound("f16", 64, 8, sparse=True).indices([[1, 2], [3]]),
        lambda: bound("f16", 64, 64, ws=True).in_shared_memory("b", np.zeros((16, 64), np.float16), more_columns=None),
        lambda: tcgen05_layout("32x32b", 1, np.zeros(3)),
        lambda: image_of(np.zeros((8, 16), np.uint16), "f16", leading_absolute=np.zeros(3)),
    ],
)
def test_hostile_input_is_an_error_of_the_package(call):
    with pytest.raises(WmmaEmuError):
        call()


def test_copies_that_differ_are_refused():
    product = TensorProduct(bound("mxf4", 128, 64))
    lane = 70  # a row's scales in the third warp's lanes
    word = product.tmem.words[lane, SCALE_A_AT]
    product.tmem.write(lane, SCALE_A_AT, word ^ np.uint32(1))
    with pytest.raises(FragmentMismatchError, match=r"tensor memory has 4 replicas of scale_A.*differ.*lane 70"):
        product.ins.execute(product.tmem, 0, product.shared_a, product.shared_b, **product.options)


@pytest.mark.parametrize("nibble", [0b0000, 0b0001, 0b0101, 0b1111, 0b0010])
def test_metadata_that_mean_nothing_are_refused(nibble):
    product = TensorProduct(bound("f16", 128, 8, sparse=True))
    nibbles = product.ins.compress(from_bits(product.a, product.ins.a.format))[1]
    nibbles[77, 3] = nibble
    product.ins.store(product.tmem, "metadata", METADATA_AT, nibbles)
    before = words(product.tmem)
    with pytest.raises(FragmentMismatchError, match=f"row 77, chunk 3 of A is {nibble:#06b}; legal values are"):
        product.ins.execute(product.tmem, 0, product.shared_a, product.shared_b, metadata=METADATA_AT)
    assert np.array_equal(words(product.tmem), before)


@pytest.mark.parametrize("chip", ["sm_120", "sm_121"])
def test_chips_without_tensor_memory_name_what_they_have(chip):
    with pytest.raises(UnsupportedInstructionError, match=r"has no tensor memory and no tcgen05.*block_scale"):
        bound_tensor_instruction("tcgen05.mma.kind::mxf4.m128n8.f32.e2m1.e2m1", chip)


def test_other_instructions_and_unsupported_ones_are_refused():
    with pytest.raises(UnsupportedInstructionError, match="it is a BoundInstruction"):
        bound_tensor_instruction(lookup("m16n8k16.f32.f16.f16.f32"), "sm_100")
    with pytest.raises(UnsupportedInstructionError, match="sm_103"):
        bound_tensor_instruction("tcgen05.mma.kind::i8.m64n8.s32.s8.s8", "sm_103")
    ins = bound("f16", 64, 8)
    for call in (lambda: ins.a.layout, lambda: ins.d.pack(np.zeros((64, 8), np.float32))):
        with pytest.raises(UnsupportedInstructionError, match="has no registers"):
            call()


@pytest.mark.parametrize(
    ("mnemonic", "message"),
    [
        ("tcgen05.mma.cta_group::1", "must name a kind"),
        ("tcgen05.mma.sp.cta_group::1.kind::f16", r"declares A dense \(bit 2\), and .* declares it sparse"),
        ("tcgen05.mma.sparse.kind::f16", "'sparse' is not part of a tcgen05.mma"),
        ("tcgen05.mma.cta_group::2.kind::f16", "has no m = 64"),
        ("tcgen05.mma.ws.cta_group::1.kind::f16", "has no n = 8"),
        ("tcgen05.mma.cta_group::1.kind::tf32", "has the code"),
        (None, "must name a kind"),
    ],
)
def test_a_mnemonic_that_contradicts_its_descriptor_is_refused(mnemonic, message):
    product = TensorProduct(bound("f16", 64, 8))
    said = InstructionDescriptor("f16", 64, 8, "f32", "bf16", "f16").encode()
    with pytest.raises(UnsupportedInstructionError, match=message):
        mma(mnemonic, product.tmem, 0, product.shared_a, product.shared_b, said)


@pytest.mark.parametrize(
    ("operand", "options", "message"),
    [
        ("d", {"scale_id": 2}, "d has no scale_id: omit scale_id=2"),
        ("a", {"selector": 1}, "a has no selector"),
        ("metadata", {"scale_id": 1}, "metadata has no scale_id"),
        ("scale_a", {"selector": 1}, "scale_a has no selector"),
        ("scale_b", {"selector": None}, "scale_b has no selector"),
    ],
)
def test_options_of_another_operand_are_not_ignored(operand, options, message):
    ins = bound("mxf4", 128, 8, sparse=True)
    with pytest.raises(UnsupportedInstructionError, match=message):
        ins.placement(operand, **options)
    with pytest.raises(UnsupportedInstructionError, match=message):
        ins.store(TensorMemory(), operand, 0, np.zeros((128, 2), np.uint8), **options)


def test_columns_beyond_n_are_for_b_of_ws():
    a, b = np.zeros((64, 16), np.float16), np.zeros((16, 96), np.float16)
    ins = bound("f16", 64, 64, ws=True)
    assert ins.in_shared_memory("b", from_bits(b.view(np.uint16), "f16"), more_columns=32)[0].size == 96 * 32
    for which, operand, matrix, more in (
        (ins, "a", from_bits(a.view(np.uint16), "bf16"), 1), (ins, "b", b, 33), (ins, "b", b, -1),
        (bound("f16", 64, 64), "b", b, 32), (bound("f16", 128, 64, 2), "b", b, 32),
    ):  # fmt: skip
        with pytest.raises(UnsupportedInstructionError, match=f"0 for {operand} of .*; not {more}"):
            which.in_shared_memory(operand, matrix, more_columns=more)


def test_a_in_tensor_memory_is_not_transposed():
    product = TensorProduct(bound("f16", 128, 16))
    product.ins.store(product.tmem, "a", A_AT, product.packed)
    said = product.ins.descriptor(transpose_a=True)
    with pytest.raises(UnsupportedInstructionError, match="A in tensor memory cannot be transposed"):
        product.ins.execute(product.tmem, 0, A_AT, product.shared_b, descriptor=said)


def test_a_descriptor_of_another_kind_is_named():
    product = TensorProduct(bound("f16", 128, 16))
    said = InstructionDescriptor("tf32", 128, 16, "f32", "tf32", "tf32")
    with pytest.raises(UnsupportedInstructionError, match="takes no descriptor of kind::tf32"):
        product.ins.execute(product.tmem, 0, product.shared_a, product.shared_b, descriptor=said)


@pytest.mark.parametrize("shape", [(1, 16), (128, 1), (16, 128), (2, 128, 16), (16,), ()], ids=str)
def test_a_matrix_of_another_shape_is_not_stretched_to_fit(shape):
    ins, tmem = bound("f16", 128, 16), TensorMemory()
    tmem.alloc(32)
    for operand, matrix in (("d", np.ones(shape, np.float32)), ("a", from_bits(np.ones(shape, np.uint16), "bf16"))):
        if matrix.shape != ins.placement(operand).shape:
            with pytest.raises(FragmentMismatchError, match=r"has shape|array"):
                ins.store(tmem, operand, 0, matrix)
    assert not tmem.written.any()
