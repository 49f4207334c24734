# SPDX-License-Identifier: MIT
"""What special registers there are, and the masks of lanes that each lane reads."""

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.texts_of_kernels import launch, numbers, put, text_of
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.ptx.program.special import SPECIAL

LANE = np.arange(32, dtype=np.uint64)
MASKS = {
    "eq": 1 << LANE,
    "lt": (1 << LANE) - 1,
    "le": (2 << LANE) - 1,
    "ge": 0xFFFF_FFFF & ~((1 << LANE) - 1),
    "gt": 0xFFFF_FFFF & ~((2 << LANE) - 1),
}


@pytest.mark.parametrize("name", MASKS)
def test_a_lane_mask_has_the_lanes_that_its_name_says(name):
    x = np.zeros(32, np.uint32)
    launch(f"mov.u32 %r2, %lanemask_{name};\n{put('%r2')}ret;", x)
    assert x.tolist() == MASKS[name].astype(np.uint32).tolist()


def test_counters_and_registers_of_the_driver_end_where_the_manual_says():
    assert {"pm0", "pm7", "pm0_64", "pm7_64", "envreg0", "envreg31"} <= set(SPECIAL)
    assert not {"pm8", "pm8_64", "envreg32"} & set(SPECIAL)


def test_the_lower_half_of_the_number_of_the_grid_can_be_read_alone():
    x = np.full(32, 9, np.uint32)
    launch(f"mov.u32 %r2, %gridid; add.u32 %r2, %r2, 7;\n{put('%r2')}ret;", x)
    assert x.tolist() == [7] * 32


def test_the_lower_half_of_another_register_cannot_be_read_alone():
    with pytest.raises(UnsupportedInstructionError, match=r"%clock64 \(\.u64\) as this operand: read it with mov\.u64"):
        launch(f"mov.u32 %r2, %clock64;\n{put('%r2')}ret;", np.zeros(32, np.uint32))


def value(name, kind="u32", grid=1, block=32, arch="sm_90", shared=0, before=""):
    """The value that the last thread of the last block reads."""
    x = np.full(2, 9, np.uint64)
    register = "%rd5" if kind == "u64" else "%r5"
    widen = "" if kind == "u64" else "cvt.u64.u32 %rd5, %r5;\n"
    text = text_of(f"{before}mov.{kind} {register}, %{name};\n{widen}st.global.u64 [%rd1], %rd5;\nret;")
    module = we.ptx.Module(text.replace("sm_90", arch), arch=arch, findings="report")
    module["k"][grid, block, shared](x, checks=())
    return int(x[0])


@pytest.mark.parametrize(
    ("name", "expected"), [("dynamic_smem_size", 200), ("total_smem_size", 384), ("aggr_smem_size", 300 + 1024)]
)
def test_shared_memory_has_a_size_in_whole_units_and_an_exact_size_with_the_reserved_part(name, expected):
    before = ".shared .align 4 .b8 s[100];\n.extern .shared .align 4 .b8 d[];\n"
    before += "st.shared.u8 [s], 1;\nst.shared.u8 [d], 1;\n"
    assert value(name, before=before, shared=200) == expected


def test_shared_memory_is_in_units_of_256_bytes_before_sm_80():
    assert value("total_smem_size", arch="sm_75", before=".shared .b8 s[1];\nst.shared.u8 [s], 1;\n") == 256
    assert value("total_smem_size", arch="sm_80", before=".shared .b8 s[1];\nst.shared.u8 [s], 1;\n") == 128


def test_blocks_are_distributed_to_the_multiprocessors_in_turn():
    assert value("nsmid") == 132 and value("smid", grid=1) == 0
    x = numbers(300)
    body = "mov.u32 %r5, %smid;\nmul.wide.u32 %rd5, %r1, 4;\nadd.s64 %rd5, %rd1, %rd5;\n"
    body += "st.global.u32 [%rd5], %r5;\nret;"
    assert not launch(body, x, grid=300, block=1).findings
    assert x.tolist() == [i % 132 for i in range(300)]


@pytest.mark.parametrize("name", ["pm0", "pm7", "envreg0", "envreg31"])
def test_counters_and_registers_of_the_driver_are_zero(name):
    assert value(name) == 0


@pytest.mark.parametrize("name", ["gridid", "current_graph_exec", "pm3_64"])
def test_a_launch_is_the_first_grid_and_belongs_to_no_graph(name):
    assert value(name, "u64") == 0
