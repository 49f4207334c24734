# SPDX-License-Identifier: MIT
"""What special registers there are, and the masks of lanes that each lane reads."""

import numpy as np
import pytest

from tests.ptx.texts_of_kernels import launch, put
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
