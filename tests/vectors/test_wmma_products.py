# SPDX-License-Identifier: MIT
"""Every product of mma.h, memory in and memory out, on a Hopper GPU: equal to `wmma_emu.wmma`, bit for bit."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import wmma_emu as we
from tests.emulated_wmma import fragment_of, load, memory_of, multiply, multiply_edited, order_of, product_of, store
from tools import wmma_probes
from tools.record_wmma_products import Recorded, read_products
from tools.recordings import all_inputs, load_arrays
from tools.wmma_alignment import EQUAL
from tools.wmma_products import GAP, TILES, products
from wmma_emu import wmma
from wmma_emu.formats.packing import unpack_words

FILE = Path(__file__).parents[1] / "data" / "sm90_wmma_products.npz"
PRODUCTS = {x.mnemonic: x for x in products("sm_90")}

pytestmark = pytest.mark.vectors


@cache
def arrays() -> dict[str, np.ndarray]:
    return load_arrays(FILE)[0]


@cache
def recorded() -> dict[str, Recorded]:
    return {x.product.mnemonic: x for x in read_products(FILE)}


def test_the_recording_holds_every_product_of_the_header():
    assert sorted(recorded()) == sorted(PRODUCTS)
    saturating = [x for x in PRODUCTS.values() if x.is_saturating]
    bits = [x.bit_operation for x in PRODUCTS.values() if x.bit_operation]
    assert (len(PRODUCTS) - len(saturating) - len(bits), len(saturating), sorted(bits)) == (94, 26, ["AND", "XOR"])


@pytest.mark.parametrize("mnemonic", PRODUCTS)
def test_memory_equals_what_the_gpu_left_there(mnemonic):
    product, *matrices, d = recorded()[mnemonic]
    np.testing.assert_array_equal(multiply(product, matrices), product.d.image(d))


@pytest.mark.parametrize("mnemonic", PRODUCTS)
def test_one_warp_with_a_slice_for_a_pointer_gives_the_same(mnemonic):
    product, *matrices, d = recorded()[mnemonic]
    last = len(d) - 1
    fragments = [fragment_of(x) for x in product.matrices[:3]]
    for frag, matrix, patterns in zip(fragments, product.matrices, matrices, strict=False):
        memory = memory_of(matrix, matrix.image(patterns[last:]))
        wmma.load_matrix_sync(frag, memory, matrix.ldm, *order_of(matrix))
    out = np.full((1, product.d.nbytes), GAP, np.uint8)
    result = product_of(product, *fragments)
    wmma.store_matrix_sync(memory_of(product.d, out), result, product.d.ldm, *order_of(product.d))
    np.testing.assert_array_equal(out, product.d.image(d[last:]))


@pytest.mark.slow
@pytest.mark.parametrize("mnemonic", PRODUCTS)
def test_the_reference_equals_what_the_gpu_left_there(mnemonic):
    product, *matrices, d = recorded()[mnemonic]
    fragments = [load(x, x.image(y)) for x, y in zip(product.matrices, matrices, strict=False)]
    result = product_of(product, *fragments, engine="reference")
    np.testing.assert_array_equal(store(product.d, result, len(d), GAP), product.d.image(d))


@pytest.mark.parametrize("mnemonic", wmma_probes.EDITED)
def test_edited_fragments_give_the_products_of_the_gpu(mnemonic):
    product, *matrices, _ = recorded()[mnemonic]
    stored = arrays()[f"edited|{mnemonic}"]
    d = np.concatenate([stored[:1], stored[1:] ^ stored[:1]])
    image = multiply_edited(product, matrices, wmma_probes.edits(product.row))
    np.testing.assert_array_equal(image, product.d.image(d))


@pytest.mark.parametrize("mnemonic", wmma_probes.EDITED)
def test_edits_of_copies_that_the_chip_does_not_read_changed_nothing(mnemonic):
    product = PRODUCTS[mnemonic]
    changed = arrays()[f"edited|{mnemonic}"][1:].any(axis=(1, 2))
    for edit, did in zip(wmma_probes.edits(product.row)[1:], changed, strict=True):
        if edit.element >= fragment_of(product.matrices[edit.operand]).lane_map.read_elements:
            assert not did, edit
    assert changed.mean() > 0.25


@pytest.mark.parametrize("mnemonic", wmma_probes.SATURATED)
def test_satf_on_halves_does_what_the_chip_did(mnemonic):
    ins = we.instruction(mnemonic)
    row = ins.instruction
    types = {"f16": wmma.half, "f32": wmma.float32}
    a = wmma.fragment(wmma.matrix_a, 16, 16, 16, wmma.half, wmma.row_major)
    b = wmma.fragment(wmma.matrix_b, 16, 16, 16, wmma.half, wmma.col_major)
    c, d = (wmma.fragment(wmma.accumulator, 16, 16, 16, types[x]) for x in (row.c, row.d))
    registers = all_inputs(mnemonic, wmma_probes.SATURATED_GENERATORS, 1, TILES)
    for frag, words in zip((a, b, c), registers, strict=True):
        frag.x = unpack_words(words, frag.format)
    wmma.mma_sync(d, a, b, c, satf="hardware")
    result = arrays()[f"satfinite|{mnemonic}"]
    np.testing.assert_array_equal(d.registers(), result)
    values = ins.d.unpack(result)
    assert np.isinf(values).any() and np.isnan(values).any()
    differs = (ins.execute(*registers) != result).any()
    assert differs == ((row.d, row.c) == ("f16", "f32"))


def test_rounding_to_tf32_equals_the_rounding_of_the_header():
    patterns = wmma_probes.tf32_patterns()
    result = wmma.float_to_tf32(patterns.view(np.float32)).view(np.uint32)
    np.testing.assert_array_equal(result, arrays()["float_to_tf32"])


def test_loads_off_the_alignment_gave_the_right_elements_or_were_refused():
    answers = arrays()["alignment"]
    metadata = load_arrays(FILE)[1]
    assert len(answers) == len(metadata["fragments"])
    assert not (answers == 0).any()
    for right, name in zip((answers == EQUAL).tolist(), metadata["fragments"], strict=True):
        _, use, _, multiplicands, accumulator, order = name.split("|")
        by16, by8, by4, by2, by1 = right  # the offset in bytes
        assert by16 and (by8 or accumulator == "f64") and by4 <= by8, name
        is_against_its_grain = (use, order) in (("matrix_a", "col_major"), ("matrix_b", "row_major"))
        assert by1 == by2 == (is_against_its_grain and multiplicands in ("s8", "u8")), name
