# SPDX-License-Identifier: MIT
"""Pictures of schedules in a browser: text stays in its block, off other text, and within the picture."""

import pytest

from wmma_emu.schedule import schedule_of
from wmma_emu.viz.picture import page
from wmma_emu.viz.schedules.schedule import draw_schedule, html

SHOWN = [
    *(
        (f"wmma.mma.{shape}.{types}", chip, None)
        for shape in ("m16n16k16", "m32n8k16", "m8n32k16")
        for types, chip in (("f32.f32", "sm_70"), ("f16.f16", "sm_70"), ("f16.f32", "sm_75"), ("f32.f16", "sm_80"))
    ),
    *((f"wmma.mma.{shape}.f32.f32", "sm_70", 15) for shape in ("m16n16k16", "m32n8k16", "m8n32k16")),
    ("m8n8k4.row.col.f32.f16.f16.f32", "sm_70", None),
    ("m16n8k16.f32.f16.f16.f32", "sm_80", None),
    ("m16n8k32.f32.e4m3.e4m3.f32", "sm_90", None),
    ("m16n8k64.s32.s4.s4.s32", "sm_120", None),
    ("m16n8k16.f64.f64.f64.f64", "sm_100", None),
    ("m16n8k256.s32.b1.b1.s32.and.popc", "sm_100", None),
    ("m16n8k256.s32.b1.b1.s32.and.popc", "sm_80", None),
    ("mma.sp.m16n8k64.f32.e4m3.e4m3.f32", "sm_90", None),
    ("mma.sp.m16n8k16.f32.f16.f16.f32", "sm_80", None),
    ("wgmma.m64n8k16.f32.f16.f16", "sm_90", None),
    ("wgmma.m64n256k256.s32.b1.b1.and.popc", "sm_90", None),
]

WRONG = """() => {
  const found = [];
  document.querySelectorAll('svg').forEach((svg, number) => {
    const say = text => found.push(`${number}: ${text}`);
    const frame = svg.viewBox.baseVal;
    const boxes = [...svg.querySelectorAll('text')].map(text => [text.getBBox(), text.textContent]);
    for (const [box, text] of boxes) {
      if (box.x < 0 || box.y < 0 || box.x + box.width > frame.width || box.y + box.height > frame.height)
        say(`outside: ${text}`);
    }
    boxes.sort((x, y) => x[0].y - y[0].y);
    boxes.forEach(([box, text], i) => {
      for (const [other, beside] of boxes.slice(i + 1)) {
        if (other.y > box.y + box.height) break;
        const wide = Math.min(box.x + box.width, other.x + other.width) - Math.max(box.x, other.x);
        const high = Math.min(box.y + box.height, other.y + other.height) - Math.max(box.y, other.y);
        if (wide > 0.5 && high > 5) say(`on one another: ${text} | ${beside}`);
      }
    });
    for (const part of svg.querySelectorAll('g.part')) {
      const text = part.querySelector('text');
      if (!text) continue;
      const box = text.getBBox(), blocks = [...part.querySelectorAll('rect')].map(x => x.getBBox());
      const left = Math.min(...blocks.map(x => x.x)), right = Math.max(...blocks.map(x => x.x + x.width));
      if (box.x < left || box.x + box.width > right) say(`not in its block: ${text.textContent}`);
    }
  });
  return found;
}"""


def test_labels_stay_in_their_blocks_and_do_not_overlap(open_page, tmp_path):
    pictures = [draw_schedule(schedule_of(name, chip), step=step) for name, chip, step in SHOWN]
    (tmp_path / "all.html").write_text(page("all", "".join(x._repr_html_() for x in pictures)), encoding="utf-8")
    opened = open_page((tmp_path / "all.html").as_uri())
    assert opened.locator("svg").count() == len(SHOWN)
    assert opened.evaluate(WRONG) == []


@pytest.mark.parametrize("width", [1440, 390])
def test_a_page_does_not_scroll_sideways(open_page, tmp_path, width):
    text = page("schedule", html(schedule_of("wmma.mma.m16n16k16.f32.f16", "sm_70")))
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    opened = open_page((tmp_path / "page.html").as_uri(), width, 900)
    assert opened.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert opened.locator("table").count() == 3 and opened.get_by_role("img").count() == 1
