# SPDX-License-Identifier: MIT
"""Pictures of explanations in a browser: text stays in its cell and off other text; pages do not scroll sideways."""

import warnings

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.viz.arithmetic.explanation import draw_explanation, html
from wmma_emu.viz.picture import page

OUTSIDE = """() => {
  const found = [];
  const within = (box, cell, slack) => box.left >= cell.left - slack && box.right <= cell.right + slack
    && box.top >= cell.top - slack && box.bottom <= cell.bottom + slack;
  for (const svg of document.querySelectorAll('svg')) {
    const frame = svg.getBoundingClientRect(), texts = [...svg.querySelectorAll('text')];
    const boxes = texts.map(text => text.getBoundingClientRect());
    boxes.forEach((box, i) => within(box, frame, 0) || found.push(`outside the picture: ${texts[i].textContent}`));
    const words = boxes.map((box, i) => [box, texts[i]]).filter(([, text]) => !text.classList.contains('digits'));
    words.sort((x, y) => x[0].top - y[0].top);
    words.forEach(([box, text], i) => {
      for (const [other, beside] of words.slice(i + 1)) {
        if (other.top > box.bottom) break;
        const wide = Math.min(box.right, other.right) - Math.max(box.left, other.left);
        const high = Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top);
        if (wide > 0.5 && high > 4) found.push(`on one another: ${text.textContent} | ${beside.textContent}`);
      }
    });
    for (const pattern of svg.querySelectorAll('.pattern')) {
      const cells = [...pattern.querySelectorAll('rect')];
      const digits = [...pattern.querySelectorAll('text.mono')];
      digits.forEach((text, i) => within(text.getBBox(), cells[i].getBBox(), 0.5)
        || within(text.getBoundingClientRect(), cells[i].getBoundingClientRect(), 0.5)
        || found.push(`not in its box: ${text.textContent}`));
    }
    for (const row of svg.querySelectorAll('.row')) {
      const cells = [...row.querySelectorAll('rect[data-bit]')].map(x => x.getBBox());
      const text = [...row.querySelectorAll(':scope > text.digits')].flatMap(
        x => [...x.textContent].map((_, i) => x.getExtentOfChar(i)));
      if (cells.length !== text.length) found.push(`${cells.length} cells, ${text.length} digits`);
      text.forEach((box, i) => (box.x >= cells[i].x && box.x + box.width <= cells[i].x + cells[i].width)
        || found.push(`digit ${i} of ${row.dataset.term} is not in its cell`));
    }
  }
  return found;
}"""


def explained():
    """Explanations of every kind of step, and of what takes most room."""
    rng = np.random.default_rng(2)

    def normal(dtype, k, scale=1.0):
        return [(rng.standard_normal(shape) * scale).astype(dtype) for shape in ((1, k), (k, 1))]

    def wide(dtype, k, most):
        return [(rng.standard_normal(s) * 2.0 ** rng.integers(-most, most, s)).astype(dtype) for s in ((1, k), (k, 1))]

    bits = [rng.integers(0, 2, shape).astype(np.bool_) for shape in ((1, 256), (256, 1))]
    s8 = [rng.integers(-128, 128, shape).astype(np.int8) for shape in ((1, 32), (32, 1))]
    c = np.array([[-(2**31)]], np.int32)
    special = np.array([[np.inf, 1, 0, -np.inf]], np.float16), np.array([[1], [2], [np.nan], [1]], np.float16)
    f16_results = "wmma.mma.m16n16k16.f16.f16"
    cases = [
        (*normal(np.float16, 16), None, "a100", None), (*normal(np.float16, 64), None, "v100", None),
        (*wide(ml_dtypes.bfloat16, 16, 60), None, "h100", None), (*wide(np.float64, 6, 900), None, "h100", None),
        (*normal(np.float64, 4), None, "h100", None), (*normal(np.float16, 16, 2.0**-11), None, "h100", f16_results),
        (*normal(ml_dtypes.float8_e4m3fn, 32), None, "h100", None), (*special, None, "h100", None),
        (*normal(np.float32, 8), None, "h100", "m16n8k8.f32.tf32.tf32.f32"), (*s8, c, "h100", None),
        (*bits, None, "h100", None), (*normal(np.float16, 4), None, "h100", "m8n8k4.f16.f16.f16.f16"),
        (*normal(ml_dtypes.float8_e5m2, 32), None, "l4", None), (*normal(np.float16, 512), None, "h100", None),
    ]  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", we.UnverifiedModelWarning)
        return [we.explain(i, a, b, c, row=0, col=0, arch=arch) for a, b, c, arch, i in cases]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A page with all of them as HTML, and one with the first of them as a picture of all its steps."""
    folder = tmp_path_factory.mktemp("explained")
    found = explained()
    body = "\n".join(map(html, found)).replace("<details>", "<details open>")
    (folder / "all.html").write_text(page("all", body), encoding="utf-8")
    (folder / "one.svg").write_text(str(draw_explanation(found[0])), encoding="utf-8")
    return folder


def test_text_stays_in_its_cell_and_the_page_does_not_scroll_sideways(open_page, written):
    shown = open_page(f"file://{written}/all.html", 1440, 900)
    assert shown.locator("svg").count() > 40
    wide = "[...document.querySelectorAll('figure')].filter(x => x.scrollWidth > x.clientWidth + 1).length"
    for width in (1440, 390):
        shown.set_viewport_size({"width": width, "height": 900})
        assert shown.evaluate("document.documentElement.scrollWidth") <= width
        assert (shown.evaluate(wide) > 10) == (width == 390)
    assert shown.evaluate(OUTSIDE) == []
    colours = set()
    for scheme in ("light", "dark"):
        shown.emulate_media(color_scheme=scheme)
        for kind in ("b0", "b1", "x1"):
            colours.add(shown.evaluate(f"getComputedStyle(document.querySelector('.{kind}')).fill"))
    assert len(colours) == 6


def test_a_picture_alone_has_its_text_inside_and_larger_letters_are_found_outside(open_page, written):
    shown = open_page(f"file://{written}/one.svg", 1440, 900)
    assert shown.evaluate(OUTSIDE) == []
    shown.evaluate("document.querySelector('style').textContent += 'text { font-size: 19px !important }'")
    found = {x.split(":")[0].split(" ")[0] for x in shown.evaluate(OUTSIDE)}
    assert found == {"outside", "on", "not", "digit"}
