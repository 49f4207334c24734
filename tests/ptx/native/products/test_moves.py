# SPDX-License-Identifier: MIT
"""ldmatrix, stmatrix, movmatrix, wmma.load and wmma.store move the same bytes on both machines."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import wmma_emu as we
from tests.ptx.native.products.moving_kernels import HEAD, REGISTERS, both_machines, move_of_rows, move_of_tile
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.layouts import fragment_layout
from wmma_emu.layouts.wmma_table import FRAGMENTS
from wmma_emu.warp.matrix_moves_table import MATRIX_MOVES

MOVES = {name: x for name, x in MATRIX_MOVES.items() if x.family != "movmatrix"}
USES = {"a": "matrix_a", "b": "matrix_b", "c": "accumulator"}
TILES = {
    f"{shape} {letter} {kind} {order} {arch}": (shape, letter, kind, order, arch)
    for arch in ("sm_70", "sm_75", "sm_90")
    for shape, use, kind in FRAGMENTS
    for letter in "abc"
    if USES[letter] == use
    for order in ("row", "col")
}


@pytest.mark.sweep(keep=1 / 5)
@pytest.mark.parametrize("name", MOVES)
def test_rows_move_the_same_bytes(name):
    move, rng = MOVES[name], np.random.default_rng(1)
    chip = "sm_100" if move.first == "sm_100" else "sm_90"
    given = rng.integers(0, 256, 512, np.uint8), rng.permutation(32).astype(np.uint32)
    expected, found = both_machines(move_of_rows(move, f"{chip}a"), chip, (given, ()), [np.zeros(512, np.uint32)])
    assert expected[0].any()
    assert np.array_equal(expected, found)


@pytest.mark.sweep(keep=1 / 30)
@pytest.mark.parametrize("space", [".global", ""], ids=["global", "generic"])
@pytest.mark.parametrize("name", TILES)
def test_tiles_move_the_same_bytes(name, space):
    shape, letter, kind, order, arch = TILES[name]
    m, n, k = (int(x) for x in shape[1:].replace("n", " ").replace("k", " ").split())
    try:
        layout = fragment_layout(USES[letter], m, n, k, kind, None if letter == "c" else order, arch)
        text = move_of_tile(shape, letter, kind, order, layout, arch, space)
        we.ptx.Module(text, arch=arch)["k"]
    except UnsupportedInstructionError:
        pytest.skip("the chip has no such fragment")
    line, lines = (layout.cols, layout.rows) if order == "row" else (layout.rows, layout.cols)
    stride = line + 128 // layout.element_bits
    image = np.random.default_rng(1).integers(0, 256, lines * stride * layout.element_bits // 8, np.uint8)
    fragment = np.zeros(layout.num_registers * layout.register_bits * 4, np.uint8)
    arguments = (image,), (np.uint32(stride),)
    expected, found = both_machines(text, arch, arguments, [fragment, np.zeros_like(image)])
    for x, y in zip(expected, found, strict=True):
        assert np.array_equal(x, y)


def test_movmatrix_transposes_the_same_bytes():
    text = HEAD.format(target="sm_75", parameters=".param .u64 a, .param .u64 o") + REGISTERS
    text += """ld.param.u64 %d1, [a]; ld.param.u64 %d2, [o]; mov.u32 %r1, %tid.x; mul.wide.u32 %d3, %r1, 4;
    add.u64 %d1, %d1, %d3; add.u64 %d2, %d2, %d3; ld.global.u32 %r2, [%d1];
    movmatrix.sync.aligned.m8n8.trans.b16 %r3, %r2; st.global.u32 [%d2], %r3; ret; }"""
    given = np.arange(64, dtype=np.uint16)
    expected, found = both_machines(text, "sm_75", ((given,), ()), [np.zeros(32, np.uint32)])
    assert np.array_equal(expected[0].view(np.uint16), given.reshape(8, 8).T.reshape(-1))
    assert np.array_equal(expected, found)
