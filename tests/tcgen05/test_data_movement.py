# SPDX-License-Identifier: MIT
"""Which forms of tcgen05.ld, .st, .cp and .shift exist, how they are named, and on which chips."""

from collections import Counter

import pytest

from wmma_emu.errors import UnsupportedInstructionError, UnverifiedModelWarning
from wmma_emu.tcgen05 import COPY_SHAPES, DATA_MOVEMENTS, SHAPES
from wmma_emu.tcgen05.data_movement import bound_data_movement, lookup_data_movement


def test_there_are_as_many_forms_as_ptxas_accepts():
    # ld and st have 8 + 8 + 7 + 6 + 8 repeats, packed or not. cp has 6 shapes, 3 sources, 1 or 2 CTAs.
    assert Counter(row.family for row in DATA_MOVEMENTS.values()) == {
        "tcgen05.ld": 74, "tcgen05.st": 74, "tcgen05.ld.red": 168, "tcgen05.cp": 36, "tcgen05.shift": 2,
    }  # fmt: skip


def test_every_name_finds_its_row_and_says_where_it_is_from():
    for name, row in DATA_MOVEMENTS.items():
        assert lookup_data_movement(row.family, name, row.archs[0]) is row
        assert row.status in ("documented", "inferred", "literature", "recorded") and "PTX ISA" in row.source
    for row in (*SHAPES.values(), *COPY_SHAPES.values()):
        assert row.status in ("documented", "inferred", "recorded") and "PTX ISA" in row.source
    copies = {(row.shape, row.multicast) for row in DATA_MOVEMENTS.values() if row.family == "tcgen05.cp"}
    assert copies == set(COPY_SHAPES)


@pytest.mark.parametrize(("family", "name"), [
    ("tcgen05.ld", "tcgen05.ld.sync.aligned.32x32b.x2.b32"), ("tcgen05.ld", "tcgen05.ld.sync.aligned.16x128b.x4.b32"),
    ("tcgen05.st", "tcgen05.st.sync.aligned.16x64b.x4.b32"), ("tcgen05.cp", "tcgen05.cp.cta_group::1.128x256b"),
    ("tcgen05.cp", "tcgen05.cp.cta_group::2.128x128b.b8x16.b6x16_p32"),
    ("tcgen05.cp", "tcgen05.cp.cta_group::1.64x128b.warpx2::02_13"),
    ("tcgen05.ld.red", "tcgen05.ld.red.sync.aligned.16x32bx2.x8.u32.max"),
    ("tcgen05.shift", "tcgen05.shift.down.cta_group::2"),
])  # fmt: skip
def test_the_manuals_examples_are_found(family, name):
    assert lookup_data_movement(family, name, "sm_103").family == family


@pytest.mark.parametrize(("family", "name"), [
    ("tcgen05.ld", "tcgen05.ld.16x128b.x128"), ("tcgen05.ld", "tcgen05.ld.16x256b.x64"),
    ("tcgen05.ld", "tcgen05.ld.64x32b.x1"),
    ("tcgen05.ld", "tcgen05.ld.32x32b.x1.unpack::16b"), ("tcgen05.st", "tcgen05.st.32x32b.x1.pack::16b"),
    ("tcgen05.ld", "tcgen05.st.32x32b.x1"), ("tcgen05.cp", "tcgen05.cp.cta_group::1.64x128b"),
    ("tcgen05.cp", "tcgen05.cp.cta_group::1.32x128b"), ("tcgen05.cp", "tcgen05.cp.cta_group::1.128x256b.warpx4"),
    ("tcgen05.cp", "tcgen05.cp.cta_group::3.128x256b"), ("tcgen05.cp", "tcgen05.cp.cta_group::1.128x128b.b6x16_p32"),
    ("tcgen05.shift", "tcgen05.shift.cta_group::1.up"), ("tcgen05.shift", "tcgen05.shift"), ("tcgen05.ld", ""),
])  # fmt: skip
def test_forms_that_do_not_exist_are_refused_with_the_nearest(family, name):
    with pytest.raises(UnsupportedInstructionError, match=f"Nearest on sm_100: {family}"):
        lookup_data_movement(family, name)


@pytest.mark.parametrize("name", [None, 5, b"tcgen05.ld", "x" * 1000])
def test_anything_but_a_name_is_refused_with_an_example(name):
    with pytest.raises(UnsupportedInstructionError, match=r"such as 'tcgen05\.ld\.sync\.aligned\.32x32b\.x1\.b32'"):
        lookup_data_movement("tcgen05.ld", name)


@pytest.mark.parametrize(("name", "chips"), [
    ("tcgen05.ld.32x32b.x1", {"sm_100", "sm_103"}), ("tcgen05.cp.cta_group::1.4x256b", {"sm_100", "sm_103"}),
    ("tcgen05.shift.cta_group::1.down", {"sm_100", "sm_103"}), ("tcgen05.ld.red.32x32b.x2.max.u32", {"sm_103"}),
])  # fmt: skip
@pytest.mark.parametrize("arch", ["sm_70", "sm_90", "sm_100", "sm_103", "sm_120", "b200", "gb300"])
def test_chips_with_tensor_memory_have_them(name, chips, arch):
    family = ".".join(name.split(".")[: 3 if ".red" in name else 2])
    if {"b200": "sm_100", "gb300": "sm_103"}.get(arch, arch) in chips:
        assert lookup_data_movement(family, name, arch).family == family
        return
    with pytest.raises(UnsupportedInstructionError, match=r"chips? that supports? it (are|is)"):
        lookup_data_movement(family, name, arch)


@pytest.mark.parametrize("name", [x for x, row in DATA_MOVEMENTS.items() if row.num in (1, 2)])
def test_a_form_that_nobody_has_read_back_warns(name):
    row = DATA_MOVEMENTS[name]
    if row.status in ("recorded", "documented"):
        assert bound_data_movement(row.family, name, "sm_103") is row
        return
    with pytest.warns(UnverifiedModelWarning, match=f"positions are {row.status}, with no recording") as caught:
        assert bound_data_movement(row.family, name, "sm_103") is row
    assert caught[0].filename == __file__
