# SPDX-License-Identifier: MIT
"""Pictures of memory in a browser: text stays in its cell and off other text, and dark on light by night too."""

import numpy as np
import pytest

from wmma_emu import wmma
from wmma_emu.layouts.matrix_descriptor import MatrixDescriptor
from wmma_emu.layouts.shared_memory import image_of
from wmma_emu.viz import draw_ldmatrix, draw_load_matrix_sync, draw_shared_operand
from wmma_emu.viz.picture import page

OUTSIDE = """() => {
  const found = [];
  const within = (box, cell) => box.left >= cell.left && box.right <= cell.right
    && box.top >= cell.top - 0.5 && box.bottom <= cell.bottom + 0.5;
  for (const svg of document.querySelectorAll('svg')) {
    const frame = svg.getBoundingClientRect(), name = svg.querySelector('title').textContent;
    const texts = [...svg.querySelectorAll('text')], boxes = texts.map(x => x.getBoundingClientRect());
    boxes.forEach((box, i) => within(box, frame) || found.push(`${name}: outside: ${texts[i].textContent}`));
    for (const cell of svg.querySelectorAll('g')) {
      const rects = [...cell.querySelectorAll('rect')].map(x => x.getBoundingClientRect());
      if (!rects.length) continue;
      const all = {left: rects[0].left, right: rects[0].right, top: rects[0].top, bottom: rects.at(-1).bottom};
      for (const text of cell.querySelectorAll('text'))
        within(text.getBoundingClientRect(), all) || found.push(`${name}: not in its cell: ${text.textContent}`);
    }
    const words = boxes.map((box, i) => [box, texts[i]]).sort((x, y) => x[0].top - y[0].top);
    words.forEach(([box, text], i) => {
      for (const [other, beside] of words.slice(i + 1)) {
        if (other.top > box.bottom) break;
        const wide = Math.min(box.right, other.right) - Math.max(box.left, other.left);
        const high = Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top);
        if (wide > 0.5 && high > 3) found.push(`${name}: on one another: ${text.textContent} | ${beside.textContent}`);
      }
    });
  }
  return found;
}"""

CONTRAST = """() => {
  const light = color => {
    const [r, g, b] = color.match(/[\\d.]+/g).map(x => x / 255)
      .map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratios = [...document.querySelectorAll('g.cell:not(.faint):not(:has(.faint))')].flatMap(cell => {
    const fill = light(getComputedStyle(cell.querySelector('rect')).fill);
    return [...cell.querySelectorAll('text')].map(x => (fill + 0.05) / (light(getComputedStyle(x).fill) + 0.05));
  });
  return [ratios.length, Math.min(...ratios)];
}"""


def pictures():
    """What takes most room, of every kind."""
    far = np.arange(32) * 16 + 2**32 - 1024
    yield draw_ldmatrix("ldmatrix.m8n8.x4.b16", pitch=32)
    yield draw_ldmatrix("ldmatrix.m8n8.x1.trans.b16", far, lane=9)
    yield draw_ldmatrix("ldmatrix.m16n16.x1.trans.b8x16.b6x16_p32", pitch=64)
    yield draw_ldmatrix("stmatrix.m16n8.x1.trans.b8")
    yield draw_ldmatrix("movmatrix.m8n8.trans.b16", lane=31)
    half, row, col = wmma.half, wmma.row_major, wmma.col_major
    yield draw_load_matrix_sync(wmma.fragment(wmma.matrix_a, 16, 16, 16, half, row), 2**20, lane=5)
    yield draw_load_matrix_sync(wmma.fragment(wmma.matrix_b, 32, 8, 16, half, col, arch="sm_70"), 24, start=2**16)
    yield draw_load_matrix_sync(wmma.fragment(wmma.matrix_a, 16, 16, 16, half, col, arch="sm_70"), 16, lane=9)
    b1 = wmma.experimental.precision.b1
    yield draw_load_matrix_sync(wmma.fragment(wmma.matrix_a, 8, 8, 128, b1, row), 256)
    accumulator = wmma.fragment(wmma.accumulator, 8, 8, 4, wmma.double)
    yield draw_load_matrix_sync(accumulator, 10, wmma.mem_col_major)
    for major, swizzle in (("k", 0), ("mn", 128)):
        _, descriptor = image_of(np.zeros((256, 64), np.uint16), "f16", swizzle=swizzle, major=major)
        yield draw_shared_operand(descriptor, 256, 64, "f16", major)
    yield draw_shared_operand(MatrixDescriptor(65536, 128, 4096), 64, 256, "b1", memory_rows=4)
    yield draw_shared_operand(MatrixDescriptor(512, 16, 0, 128, base_offset=4), 64, 32, "s8")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A page with all of them."""
    path = tmp_path_factory.mktemp("memory") / "memory.html"
    path.write_text(page("memory", "".join(x._repr_html_() for x in pictures())), encoding="utf-8")
    return path.as_uri()


def test_text_is_in_its_cell_and_not_on_other_text(open_page, written):
    assert open_page(written).evaluate(OUTSIDE) == []


def test_a_page_with_pictures_does_not_scroll_sideways_on_a_phone(open_page, written):
    shown = open_page(written, width=390, height=844)
    assert shown.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_in_cells_has_a_contrast_of_four_and_a_half_by_day_and_by_night(open_page, written, scheme):
    count, least = open_page(written, color_scheme=scheme).evaluate(CONTRAST)
    assert count > 2000 and least >= 4.5
