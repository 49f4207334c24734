# SPDX-License-Identifier: MIT
"""The colour of a lane, the same in every picture: a hue for each group of four, from light to dark within it."""

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
"""Hues 250, 55, 160, 330, 100, 290, 20 and 200 of OKLCH: groups whose rows are neighbours are far apart. Lightness goes
from 0.945 down by 0.062 a lane, and starts 0.031 lower in every other group. Colours only group; which lane it is, the
text of the cell says. Lanes that are neighbours in a matrix, beside each other or as lane and lane + 4 below each
other, differ for readers who lack one of three kinds of cones too. Lanes further apart may look the same to them, and
in grey a lane and the one below it may."""

LANE_COLOURS: tuple[str, ...] = tuple(colour for group in _GROUPS for colour in group)
"""Fill of every lane of a warp. Dark text on any of them has a contrast of at least 6.5 to 1."""

INK = "#1b1f24"
"""The colour of text on them, by day and by night."""


def lane_colour(lane: int) -> str:
    """Return the colour of a lane; in a warpgroup, of its lane within the warp.

    Raises
    ------
    FragmentMismatchError
        For what is no integer.
    OutOfBoundsError
        For a lane below 0 or beyond 127.

    Examples
    --------
    >>> lane_colour(0), lane_colour(3), lane_colour(32)
    ('#e0effe', '#7ab6f4', '#e0effe')
    """
    return LANE_COLOURS[within("lane", lane, WARPS * LANES) % LANES]


lane_color = lane_colour
