# SPDX-License-Identifier: MIT
"""Colours of lanes: neighbours in a matrix differ for readers who lack a kind of cones; text on them is legible.

What such readers see is simulated by the matrices of G. M. Machado, M. M. Oliveira and L. A. F. Fernandes, "A
Physiologically-based Model for Simulation of Color Vision Deficiency", IEEE Transactions on Visualization and Computer
Graphics 15 (2009), 1291-1298, severity 1.0, in linear RGB. Distances are Euclidean in CIELAB under D65 (1976).
"""

import numpy as np
import pytest

from wmma_emu.palette import INK, LANE_COLOURS, lane_colour

SEEN = {
    "all cones": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protanopia": [
        [0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]
    ],
}  # fmt: skip

TO_XYZ = np.array([
    [0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]
])  # fmt: skip
"""Linear sRGB to XYZ under D65, IEC 61966-2-1."""

BESIDE = [(lane, lane + 1) for lane in range(32) if lane % 4 != 3] + [(lane, lane - 3) for lane in range(3, 32, 4)]
"""Lanes next to each other in a matrix: the last of four is next to the first of the next tile."""

BELOW = [(lane, lane + 4) for lane in range(28)]


def linear(colour):
    c = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    x = rgb @ TO_XYZ.T / TO_XYZ.sum(axis=1)
    f = np.where(x > 216 / 24389, np.cbrt(x), (24389 / 27 * x + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def simulated(kind):
    return [lab(np.clip(np.array(SEEN[kind]) @ linear(x), 0, 1)) for x in LANE_COLOURS]


def luminance(colour):
    return float(linear(colour) @ TO_XYZ[1])


@pytest.mark.parametrize("kind", SEEN)
def test_lanes_that_are_neighbours_in_a_matrix_differ(kind):
    seen = simulated(kind)
    assert min(np.linalg.norm(seen[i] - seen[j]) for i, j in BESIDE) > 5.8
    assert min(np.linalg.norm(seen[i] - seen[j]) for i, j in BELOW) > 6.5


def test_adjacent_lanes_in_a_row_differ_in_grey_and_in_a_column_need_not():
    grey = [116 * np.cbrt(luminance(x)) - 16 for x in LANE_COLOURS]
    assert min(abs(grey[i] - grey[j]) for i, j in BESIDE) > 6.9
    assert min(abs(grey[i] - grey[j]) for i, j in BELOW) < 1  # so no picture may rest on it


def test_colours_alone_do_not_distinguish_all_lanes():
    """Which is why every cell has its lane as text."""
    nearest = {
        kind: min(np.linalg.norm(x - y) for i, x in enumerate(seen) for y in seen[:i])
        for kind in SEEN for seen in [simulated(kind)]
    }  # fmt: skip
    assert nearest["all cones"] > 8.8 and nearest["deuteranopia"] < 1 and nearest["protanopia"] < 2


def test_the_contrast_of_text_is_at_least_that_of_the_table():
    contrasts = [(luminance(x) + 0.05) / (luminance(INK) + 0.05) for x in LANE_COLOURS]
    assert 6.5 < min(contrasts) < 6.6  # as palette.py says; 4.5 is the least for text of any size


def test_a_warpgroups_threads_have_the_colours_of_their_lanes():
    assert [lane_colour(x) for x in range(128)] == list(LANE_COLOURS) * 4 and len(set(LANE_COLOURS)) == 32
