# SPDX-License-Identifier: MIT
"""Pictures of operands in a browser: labels of the drawn width, in light and dark, and in grey."""

import pytest

import wmma_emu as we
from wmma_emu.viz import draw_matrix, draw_registers
from wmma_emu.viz.picture import page

TF32 = we.instruction("m16n8k8.f32.tf32.tf32.f32")
F64 = we.instruction("m16n8k16.f64.f64.f64.f64")
S8 = we.instruction("m16n8k32.s32.s8.s8.s32")
S4 = we.instruction("m8n8k32.s32.s4.s4.s32", arch="sm_80")
B1 = we.instruction("m16n8k256.s32.b1.b1.s32.xor.popc", arch="sm_80")
QUADS = we.instruction("m8n8k4.f32.f16.f16.f32", arch="sm_70")
VOLTA = we.instruction("wmma.mma.m16n16k16.f32.f32", arch="sm_70")
TALL = we.instruction("wmma.mma.m32n8k16.f32.f32", arch="sm_70")
AMPERE = we.instruction("wmma.mma.m16n16k16.f32.f32", arch="sm_80")
WGMMA = we.instruction("wgmma.m64n256k16.f32.f16.f16")
BITS = we.instruction("wgmma.m64n8k256.s32.b1.b1.and.popc")

OPERANDS = {
    "tf32 m16n8k8": [TF32.a, TF32.b, TF32.c],
    "wmma on sm_70": [VOLTA.a, VOLTA.b, VOLTA.c, TALL.a, TALL.b],
    "wmma on sm_80": [AMPERE.a, AMPERE.b, AMPERE.c],
    "bits": [B1.a, B1.b, B1.d, BITS.a],
    "narrow": [S4.a, S4.b, S4.d, S8.a, S8.b],
    "quad pairs": [QUADS.a, QUADS.b, QUADS.c],
    "four warps": [WGMMA.a, WGMMA.d],
    "f64": [F64.a, F64.b, F64.d],
}

MEASURE = """() => {
  const wrong = [];
  let texts = 0;
  const inside = (a, b) => a.x >= b.x - .1 && a.y >= b.y - .1
    && a.x + a.width <= b.x + b.width + .1 && a.y + a.height <= b.y + b.height + .1;
  for (const svg of document.querySelectorAll("svg")) {
    const name = svg.querySelector("title").textContent;
    const [x, y, width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
    if (!inside(svg.getBBox(), {x, y, width, height})) wrong.push([name, "the picture is clipped"]);
    for (const cell of svg.querySelectorAll(".cell")) {
      const box = cell.querySelector("rect").getBBox();
      const boxes = [...cell.querySelectorAll("text")].map(x => x.getBBox());
      texts += boxes.length;
      boxes.forEach((at, i) => {
        if (!inside(at, box)) wrong.push([name, cell.textContent, at.width, box.width, at.y - box.y, at.height]);
        for (const other of boxes.slice(i + 1))
          if (at.x + at.width > other.x && other.x + other.width > at.x && at.y + at.height > other.y + 3
              && other.y + other.height > at.y + 3) wrong.push([name, cell.textContent, "texts overlap"]);
      });
    }
    const rulers = [...svg.querySelectorAll(":scope > text")].map(x => [x.textContent, x.getBBox()]);
    rulers.forEach(([text, at], i) => {
      for (const [other, there] of rulers.slice(i + 1))
        if (at.x + at.width > there.x && there.x + there.width > at.x && at.y + at.height > there.y + 4
            && there.y + there.height > at.y + 4) wrong.push([name, text, other, "texts overlap"]);
    });
  }
  return {wrong, texts};
}"""


def shown(tmp_path, pictures):
    path = tmp_path / "pictures.html"
    path.write_text(page("pictures", "\n".join(map(str, pictures))), encoding="utf-8")
    return path.as_uri()


@pytest.mark.sweep(keep=1 / 3)
@pytest.mark.parametrize("name", OPERANDS)
def test_every_label_is_within_its_cell_and_nothing_is_clipped(open_page, tmp_path, name):
    pictures = []
    for operand in OPERANDS[name]:
        last = (operand.layout.rows - 1, operand.layout.cols - 1)
        pictures += [draw_matrix(operand), draw_matrix(operand, element=last), draw_registers(operand),
                     draw_registers(operand, lane=31)]  # fmt: skip
    found = open_page(shown(tmp_path, pictures)).evaluate(MEASURE)
    assert found["wrong"] == [] and found["texts"] > 900


LOOKS = """() => Object.fromEntries(["on", "off"].map(name => {
  const cell = document.querySelector(`.cell.${name}`), look = x => getComputedStyle(x);
  const mark = cell.querySelector(".mark");
  return [name, {
    text: look(cell.querySelector("text")).fill, fill: look(cell.querySelector("rect")).fill,
    weight: look(cell.querySelector("text")).fontWeight, mark: mark && look(mark).strokeWidth,
    back: look(document.querySelector(".back")).fill,
  }];
}))"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_highlighting_does_not_depend_on_colour_alone(open_page, tmp_path, scheme):
    url = shown(tmp_path, [draw_matrix(TF32.a, lane=5)])
    looks = open_page(url, color_scheme=scheme).evaluate(LOOKS)
    on, off = looks["on"], looks["off"]
    assert on["mark"] == "2.6px" and off["mark"] is None
    assert (on["weight"], off["weight"]) == ("600", "400")
    assert off["fill"] == "none" and on["text"] == "rgb(27, 31, 36)" and on["fill"] == "rgb(245, 194, 161)"
    for text, behind in ((on["text"], on["fill"]), (off["text"], off["back"])):
        assert contrast(text, behind) > 4.5


def contrast(one, other):
    """By WCAG."""
    lights = []
    for colour in (one, other):
        parts = [int(x) / 255 for x in colour.removeprefix("rgb(").removesuffix(")").split(",")]
        parts = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
        lights.append(sum(x * y for x, y in zip(parts, (0.2126, 0.7152, 0.0722), strict=True)))
    return (max(lights) + 0.05) / (min(lights) + 0.05)


def test_a_picture_in_a_page_changes_nothing_else_there(open_page, tmp_path):
    path = tmp_path / "page.html"
    own = '<svg width="40" height="20"><g class="cell on"><rect class="mark" width="9" height="9"/></g></svg>'
    path.write_text(page("own", own + str(draw_matrix(TF32.b))), encoding="utf-8")
    look = open_page(path.as_uri()).evaluate("() => getComputedStyle(document.querySelector('.mark')).stroke")
    assert look == "none"


def test_notebook_output_is_read_in_light_and_dark_without_a_message(open_page, tmp_path):
    shown_there = [TF32._repr_html_(), TF32.instruction._repr_html_(), VOLTA.a._repr_html_(), WGMMA.b._repr_html_()]
    path = tmp_path / "notebook.html"
    path.write_text(page("notebook", "".join(shown_there)), encoding="utf-8")
    opened = open_page(path.as_uri(), 700, 900)
    assert opened.locator("details").count() == 9 and opened.locator("details[open]").count() == 6
    assert opened.locator('[role="group"][tabindex="0"] > svg').count() == 8
    assert opened.locator("text.title", has_text="A of m16n8k8").first.is_visible()
