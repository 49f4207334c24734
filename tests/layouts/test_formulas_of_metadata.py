# SPDX-License-Identifier: MIT
"""Rules of thumb for sparsity metadata against the maps, for every sparse instruction and every selector."""

import numpy as np
import pytest

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.instructions import INSTRUCTIONS, lookup
from wmma_emu.layouts import metadata_map, selectors_of
from wmma_emu.layouts.metadata_formulas import metadata_formulas

SPARSE = [row for row in INSTRUCTIONS.values() if row.is_sparse and (not row.is_warpgroup or row.n in (8, 24, 256))]


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize("row", SPARSE, ids=lambda row: row.mnemonic)
def test_the_functions_are_the_map_of_every_selector(row):
    functions = {}
    exec(metadata_formulas(row).python("E"), functions)
    several = len(selectors_of(row)) > 1
    assert ("E_selector" in functions) == several
    for selector in selectors_of(row):
        found = metadata_map(row, selector)
        places = np.indices(found.lane.shape)
        asked = (*places, selector) if several else tuple(places)
        thread = found.lane + places[0] // 16 * 32  # of wgmma's four warps each has sixteen rows
        assert (functions["E_lane"](*asked) == thread).all()
        assert (functions["E_nibble"](*asked) == found.nibble).all()
        assert (functions["E_row"](thread, found.nibble) == places[0]).all()
        assert (functions["E_chunk"](thread, found.nibble) == places[1]).all()
        assert (functions["E_bit"](found.nibble) == found.nibble * 4).all()
        if several:
            assert (functions["E_selector"](thread) == selector).all()


def test_instructions_of_one_k_and_kind_of_elements_share_their_formulas():
    found = {}
    for row in SPARSE:
        fmt = row.format("a")
        key = (row.is_warpgroup, row.k, fmt.bits, fmt.is_float)
        found.setdefault(key, set()).add(str(metadata_formulas(row)))
    assert found and all(len(texts) == 1 for texts in found.values())


def test_the_functions_say_what_they_are_of():
    formulas = metadata_formulas(lookup("mma.sp.m16n8k32.f32.f16.f16.f32"))
    assert formulas.c("E").startswith(
        "// E: metadata of mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32, 2:4: a nibble for each 4\n"
        "// columns of A.\n// lane is 0 to 31, nibble is 0 to 7, row is 0 to 15, chunk is 0 to 7, selector is 0 to 1.\n"
    )
    assert repr(formulas) == "<MetadataFormulas of mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32>"
    assert formulas.derivation().splitlines()[2:5] == [
        "lane = row % 8 * 4 + selector * 2 + chunk / 4",
        "  bit of lane  4      3      2      1           0",
        "  is bit       row 2  row 1  row 0  selector 0  chunk 2",
    ]


def test_a_dense_instruction_has_no_metadata_to_have_formulas_of():
    with pytest.raises(UnsupportedInstructionError, match="has no metadata: its A is dense"):
        metadata_formulas(lookup("mma.m16n8k16.f32.f16.f16.f32"))
