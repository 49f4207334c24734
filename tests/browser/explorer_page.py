# SPDX-License-Identifier: MIT
"""What tests of the explorer share: instructions that they look at, questions, and what is lit."""

from pathlib import Path

A16 = "m16n8k16.f32.f16.f16.f32"
WMMA = "wmma.mma.m16n16k16.f32.f32"
S8 = "m16n8k32.s32.s8.s8.s32"
HOW_TO = Path(__file__).parents[2] / "docs/how-to/find-what-a-lane-holds.md"
SVG = "{http://www.w3.org/2000/svg}"
LDMATRIX = "ldmatrix.m8n8.x4.shared.b16"


def ask(page, question):
    page.fill("#question", question)
    page.press("#question", "Enter")
    return page.inner_text("#answer").replace("\xa0", " ")


def holders(page, figure, kind):
    """(index, lane) of the lit cells of a picture."""
    script = f"""() => [...document.querySelectorAll("#{figure} .cell.{kind}")].map(
        x => [Number(x.dataset.index), Number(x.dataset.lane)])"""
    return sorted(map(tuple, page.evaluate(script)))


def state(page):
    return page.evaluate("explorer.state()")


def turn_to(page, **state):
    page.evaluate(
        """fragment => {
            history.pushState(null, "", "#" + fragment);
            dispatchEvent(new PopStateEvent("popstate"));
          }""",
        "&".join(f"{name}={value}" for name, value in state.items()),
    )


def answer_of(page, question):
    """Return the answer of a question, which is not typed."""
    script = """question => {
        const box = document.getElementById("question");
        box.value = question;
        box.form.requestSubmit();
        return document.getElementById("answer").innerText;
      }"""
    return page.evaluate(script, question).replace("\xa0", " ")


def found(page, text):
    """Return the entries of the list of instructions, and its words, after a query is typed."""
    script = """text => {
        const box = document.getElementById("instruction"), list = document.getElementById("found");
        box.focus();
        box.value = text;
        box.dispatchEvent(new InputEvent("input", {bubbles: true}));
        return [[...list.querySelectorAll("[role=option]")].map(x => x.innerText), list.innerText];
      }"""
    return page.evaluate(script, text)


def css(colour):
    """A colour as a browser computes it."""
    return f"rgb({', '.join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))})"


def upto(first, count):
    return f"{first}–{first + count - 1}" if count > 1 else f"{first}"


def bands(page):
    """Return the positions of each operand in a mark's row or column."""
    return page.evaluate("""() => Object.fromEntries(Object.entries(explorer.marked()).map(
        ([letter, kinds]) => [letter, kinds.band.map(x => [x.row, x.col])]))""")


def product(rows, cols):
    return [[row, col] for row in rows for col in cols]


LOOK = """figure => {
  const box = node => { const {x, y, width, height} = node.getBoundingClientRect(); return {x, y, width, height}; };
  const at = node => { const {x, y, width} = node.getBoundingClientRect(); return [y, x + width / 2]; };
  const svg = document.querySelector(`#${figure} svg`);
  return {
    cells: [...svg.querySelectorAll("[role=gridcell]")].map(node => {
      const fills = [...node.querySelectorAll("rect")].map(x => [x, getComputedStyle(x)])
        .filter(([, style]) => style.fill !== "none").map(([x, style]) => [box(x).x, style.fill, style.fillOpacity]);
      return {
        ...box(node.querySelector("rect")), name: node.getAttribute("aria-label"), classes: [...node.classList],
        texts: [...node.querySelectorAll("text")].map(x => x.textContent),
        fills: fills.sort((a, b) => a[0] - b[0]).map(x => x[1]), opacity: fills.map(x => Number(x[2])),
      };
    }),
    around: [...svg.querySelectorAll("text")].filter(x => !x.closest("[role=gridcell]"))
      .map(x => [...at(x), x.textContent]),
  };
}"""
"""A script that returns what the cells of a picture show, and the strings around them."""
