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
