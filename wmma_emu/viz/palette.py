# SPDX-License-Identifier: MIT
"""The colours of lanes in every picture: see `wmma_emu.palette`."""

from wmma_emu.palette import INK, LANE_COLOURS, lane_color, lane_colour

__all__ = ["INK", "LANE_COLOURS", "lane_color", "lane_colour"]
