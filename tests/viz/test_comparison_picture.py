# SPDX-License-Identifier: MIT
"""The picture of a comparison shows what the comparison holds: every cell, every count, within its bounds."""

import itertools
import re
from xml.etree import ElementTree

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.viz.comparisons.distance_scale import EQUAL, KINDS, NAN, ZERO_SIGN
from wmma_emu.viz.svg import text_width

from .chosen_distances import ONE, comparison_of, distances

SVG = "{http://www.w3.org/2000/svg}"
QUIET_NAN = 0x7FFFFFFF
CHIPS = ("sm_86", "sm_89", "sm_90", "sm_100", "sm_120")


def cells_of(root):
    """Return, for each panel, each cell's kind, position and text."""
    frames = [x for x in root.findall(f"{SVG}rect") if x.get("class") == f"k{EQUAL}" and x.get("width") != "16"]
    panels = [[] for _ in frames]
    for group in root.findall(f"{SVG}g"):
        kind = int(group.get("class")[1:])
        for rect in group.findall(f"{SVG}rect"):
            x, y, size = (float(rect.get(name)) for name in ("x", "y", "width"))
            (panel,) = (i for i, frame in enumerate(frames) if inside(frame, x, y, size))
            left, top = (float(frames[panel].get(name)) for name in ("x", "y"))
            place = round((y - top) / size), round((x - left) / size)
            panels[panel].append((kind, place, rect.find(f"{SVG}title").text))
    return panels


def inside(frame, x, y, size):
    left, top, width, height = (float(frame.get(name)) for name in ("x", "y", "width", "height"))
    within = left - 1e-3 <= x and x + size <= left + width + 1e-3
    return within and top - 1e-3 <= y and y + size <= top + height + 1e-3


def texts_of(root):
    return [x.text for x in root.findall(f"{SVG}text")]


MIXED = np.array([[0, 1, 2, 3], [4, 7, 8, 15], [16, 63, 64, 255], [256, 4095, 4096, 2**22]])
KINDS_OF_MIXED = [[0, 2, 3, 3], [4, 4, 5, 5], [6, 6, 7, 7], [8, 8, 9, 9]]


def test_every_element_is_a_cell_of_its_kind_at_its_place_with_its_bits():
    root = ElementTree.fromstring(distances(MIXED).svg())
    [panel] = cells_of(root)
    expected = []
    for (row, column), steps in np.ndenumerate(MIXED):
        if steps:
            bits = f"sm_80 0x{ONE:08x}, sm_90 0x{ONE + steps:08x}"
            text = f"D[{row}, {column}]: {bits}: {steps} ulp{'s' if steps > 1 else ''}"
            expected.append((KINDS_OF_MIXED[row][column], (row, column), text))
    assert sorted(panel) == sorted(expected)


def test_kinds_end_where_their_labels_say():
    for kind, following in itertools.pairwise(KINDS[ZERO_SIGN + 1 : NAN]):
        first, last = kind.first, following.first - 1
        assert kind.label == ("1 ulp" if first == 1 else f"{first}–{last}")
    assert KINDS[NAN - 1].label == f"{KINDS[NAN - 1].first} up"


def test_nan_and_signs_of_zero_have_their_own_colours_and_marks():
    reference = np.array([[0, ONE, QUIET_NAN, QUIET_NAN]], np.uint32)
    other = np.array([[0x80000000, QUIET_NAN, ONE, 0x7FC00000]], np.uint32)
    root = ElementTree.fromstring(comparison_of(reference, sm_90=other).svg())
    [panel] = cells_of(root)
    assert [(kind, place) for kind, place, _ in panel] == [(ZERO_SIGN, (0, 0)), *((NAN, (0, x)) for x in (1, 2, 3))]
    assert panel[0][2].endswith(": zeros of both signs") and panel[1][2].endswith("0x7fffffff: NaN")
    groups = {x.get("class"): x for x in root.findall(f"{SVG}g")}
    assert len(groups[f"k{ZERO_SIGN}"].findall(f"{SVG}circle")) == 1
    assert len(groups[f"k{NAN}"].findall(f"{SVG}path")) == 3
    assert {"sign of 0", "NaN"} <= set(texts_of(root))


def test_the_legend_counts_every_element_of_every_chip_once():
    rng = np.random.default_rng(3)
    steps = rng.integers(0, 2, (40, 30)) * 2 ** rng.integers(0, 14, (40, 30))
    found = distances(steps, CHIPS)
    texts = texts_of(ElementTree.fromstring(found.svg()))
    labels = [kind.label for kind in KINDS]
    counts = {
        text: [int(x.replace(",", "")) for x in texts[i + 1 : i + 1 + len(CHIPS)]]
        for i, text in enumerate(texts)
        if text in labels
    }
    for i, chip in enumerate(CHIPS):
        assert sum(x[i] for x in counts.values()) == steps.size
        assert counts["same bits"][i] == steps.size - found.differing[chip]
    assert "NaN" not in counts and "sign of 0" not in counts and "1 ulp" in counts


SHAPES = [(1, 1), (16, 8), (1, 500), (500, 1), (70, 40), (4, 40, 30), (0, 3), (2, 0, 5)]


@pytest.mark.sweep(keep=1 / 3)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("chips", [(), CHIPS[:1], CHIPS[:2], CHIPS], ids=len)
def test_everything_is_within_the_picture_and_no_labels_overlap(shape, chips):
    steps = np.random.default_rng(5).integers(0, 2**20, shape)
    root = ElementTree.fromstring(distances(steps, chips).svg())
    width, height = (float(root.get(x)) for x in ("width", "height"))
    boxes = []
    for text in root.findall(f"{SVG}text"):
        x, y, size = (float(text.get(name)) for name in ("x", "y", "font-size"))
        length = text_width(text.text, size) * 0.9  # of sentences, which have narrower letters than numbers
        left = x - length if text.get("text-anchor") == "end" else x
        assert left >= 0 and left + length <= width and y - size >= 0 and y + 4 <= height
        boxes.append((left, y - 0.75 * size, left + length, y))
    for one, two in itertools.combinations(boxes, 2):
        apart = one[2] <= two[0] or two[2] <= one[0] or one[3] <= two[1] or two[3] <= one[1]
        assert apart, (one, two)
    for rect in root.iter(f"{SVG}rect"):
        x, y, w, h = (float(rect.get(name, 0)) for name in ("x", "y", "width", "height"))
        assert x >= 0 and y >= 0 and x + w <= width and y + h <= height


def test_a_large_matrix_is_reduced_and_the_picture_notes_it():
    steps = np.zeros((1024, 1024), np.uint32)
    steps[1000, 3], steps[1001, 5], steps[0, 0] = 9, 30, 1
    text = distances(steps).svg()
    root = ElementTree.fromstring(text)
    assert "Each cell is the worst element of 8 × 8 neighbours." in texts_of(root)
    [panel] = cells_of(root)
    assert sorted((kind, place) for kind, place, _ in panel) == [(2, (0, 0)), (6, (125, 0))]
    assert panel[1][2].startswith("2 of 64 differ; the worst is D[1001, 5]: ")


@pytest.mark.thorough
def test_a_picture_of_many_chips_and_large_matrices_stays_small():
    steps = np.random.default_rng(1).integers(1, 1 << 20, (512, 512))
    text = distances(steps, CHIPS).svg()
    assert len(text.encode()) < 3e6
    panels = cells_of(ElementTree.fromstring(text))
    assert len(panels) == len(CHIPS) and sum(map(len, panels)) <= 128 * 128


def test_a_batch_is_laid_on_one_another():
    steps = np.zeros((2, 3, 4, 4), np.uint32)
    steps[1, 2, 3, 0], steps[0, 1, 3, 0] = 5, 2
    root = ElementTree.fromstring(distances(steps).svg())
    assert "Each cell is the worst element of the 6 matrices of the batch." in texts_of(root)
    assert [x[1:] for x in cells_of(root)[0]] == [
        ((3, 0), "2 of 6 differ; the worst is D[1, 2, 3, 0]: sm_80 0x3f800000, sm_90 0x3f800005: 5 ulps")
    ]


def test_every_panel_is_headed_by_its_chip_and_says_what_it_computes():
    found = distances(MIXED, CHIPS)
    texts = " ".join(texts_of(ElementTree.fromstring(found.svg())))
    for chip in CHIPS:
        assert f"{chip} ({we.ARCHS[chip].generation})" in texts
    assert "reference sm_80 (Ampere): 8 a step, 24 bits, RZ to f32 (recorded)" in texts
    assert texts.count("15 of 16 elements differ") == len(CHIPS) and "m16n8k16.f32.f16.f16.f32" in texts


def test_one_chip_alone_and_no_elements_are_said_to_be_so():
    assert "No other chip is compared." in texts_of(ElementTree.fromstring(distances(MIXED, ()).svg()))
    assert "no elements" in texts_of(ElementTree.fromstring(distances(np.zeros((3, 0))).svg()))


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    parts = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return sum(x * y for x, y in zip(parts, (0.2126, 0.7152, 0.0722), strict=True))


@pytest.mark.parametrize(("column", "sign"), [("day", -1), ("night", 1)])
def test_lightness_alone_orders_the_distances_away_from_equal_bits(column, sign):
    # They must be distinguishable without any colour vision.
    lights = [luminance(getattr(kind, column)) for kind in KINDS[ZERO_SIGN + 1 : NAN]]
    lights = [luminance(getattr(KINDS[EQUAL], column)), *lights]
    for one, two in itertools.pairwise(lights):
        brighter, darker = max(one, two), min(one, two)
        assert sign * (two - one) > 0 and (brighter + 0.05) / (darker + 0.05) > 1.15
    assert len({getattr(kind, column) for kind in KINDS}) == len(KINDS)


def test_the_colours_of_all_kinds_change_with_the_surroundings():
    day, night = distances(MIXED).svg().split("prefers-color-scheme: dark")
    for i, kind in enumerate(KINDS):
        assert f".k{i} {{ fill: {kind.day}; }}" in day and f".k{i} {{ fill: {kind.night}; }}" in night


def test_a_notebook_shows_the_picture_and_a_file_holds_it(tmp_path):
    found = distances(MIXED)
    found.save_svg(tmp_path / "d.svg")
    text = (tmp_path / "d.svg").read_text(encoding="utf-8")
    assert text == found.svg()
    assert text in found._repr_html_() and re.match(r"<svg [^>]*role=\"img\"", text)


def test_the_order_of_k_is_named():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((4, 64)).astype(np.float16), rng.standard_normal((64, 3)).astype(np.float16)
    found = we.compare_archs(a, b, archs=["sm_80", "sm_90"], k_order=we.KOrder(splits=2, partials="f16"))
    assert "order of k: splits=2, partials='f16'" in texts_of(ElementTree.fromstring(found.svg()))
