# SPDX-License-Identifier: MIT
"""The colour of each lane, the same in every picture: a hue per group of four lanes, from light to dark within it."""

from wmma_emu.layouts.spec import LANES, WARPS, within

_GROUPS = (
    ("#e0effe", "#bddcfe", "#97c9fe", "#7ab6f4"),  # lanes 0 to 3: blue
    ("#fedbc3", "#f5c2a1", "#e9ab82", "#dc9462"),  # lanes 4 to 7: orange
    ("#cef9e0", "#afe8c8", "#8fd7b0", "#6dc699"),  # lanes 8 to 11: green
    ("#f9d6f4", "#ebbee5", "#dca6d7", "#ce8ec8"),  # lanes 12 to 15: pink
    ("#f5eec4", "#e3daa3", "#d2c680", "#c1b25c"),  # lanes 16 to 19: yellow
    ("#e1defe", "#cdc7fc", "#b9b1f1", "#a69be7"),  # lanes 20 to 23: violet
    ("#fee6e5", "#fecac8", "#faadac", "#ee9494"),  # lanes 24 to 27: red
    ("#b8eef1", "#94dde1", "#6dccd2", "#3bbbc2"),  # lanes 28 to 31: cyan
)
"""Hues 250, 55, 160, 330, 100, 290, 20 and 200 of OKLCH: groups in adjacent rows have distant hues. Lightness decreases
from 0.945 by 0.062 per lane, and starts 0.031 lower in every other group. Colours only show groups; the text of a cell
names the lane. Lanes that are adjacent in a matrix, side by side or as lane and lane + 4 one above the other, also
differ for readers who lack one of the three kinds of cones. Lanes further apart may look the same to them, and in
greyscale so may a lane and the one below it."""

LANE_COLOURS: tuple[str, ...] = tuple(colour for group in _GROUPS for colour in group)
"""The fill colour of every lane of a warp. Dark text on any of them has a contrast of at least 6.5 to 1."""

INK = "#1b1f24"
"""The colour of text on them, in light and dark mode."""


def lane_colour(lane: int) -> str:
    """Return the colour of a lane; for a warpgroup, of its lane within the warp.

    Raises
    ------
    FragmentMismatchError
        If the lane is not an integer.
    OutOfBoundsError
        If the lane is below 0 or above 127.

    Examples
    --------
    >>> lane_colour(0), lane_colour(3), lane_colour(32)
    ('#e0effe', '#7ab6f4', '#e0effe')
    """
    return LANE_COLOURS[within("lane", lane, WARPS * LANES) % LANES]


lane_color = lane_colour
