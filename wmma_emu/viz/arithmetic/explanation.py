# SPDX-License-Identifier: MIT
"""Pictures of an explanation: the inputs, each step in order, and the result."""

from html import escape
from math import ceil

from wmma_emu.arithmetic.explanation import Explanation, Step
from wmma_emu.arithmetic.explanation.steps import AlignedSum, BitCount, Conversion, IntegerSum, MultiplyAdd
from wmma_emu.arithmetic.explanation.text import step_lines
from wmma_emu.errors import ArgumentError, OptionError, shorten
from wmma_emu.viz.arithmetic.aligned_sum_view import draw_aligned_sum
from wmma_emu.viz.arithmetic.chosen_steps import Stretch, chosen_steps
from wmma_emu.viz.arithmetic.explanation_style import HTML_STYLE, NAME, STYLES
from wmma_emu.viz.arithmetic.integer_view import draw_bit_count, draw_integer_sum
from wmma_emu.viz.arithmetic.multiply_add_view import draw_conversion, draw_multiply_add
from wmma_emu.viz.arithmetic.step_drawing import Drawing
from wmma_emu.viz.picture import Picture, scrolled
from wmma_emu.viz.svg import document, element

_Part = str | Step | Stretch
"""The parts of a picture: the heading of an instruction, a step, a range of steps that are not drawn."""

_MARGIN = 16
_MOST_OPEN = 3
"""The most steps that are all unfolded in HTML; of more, only the first and the last are."""


def draw_explanation(explanation: Explanation, *, step: int | None = None) -> Picture:
    """Draw how one element of D is computed: every step, one below the other, or one step alone.

    If there are too many steps, the first, the last and the least exact are drawn, and the picture notes this.

    Parameters
    ----------
    explanation : Explanation
    step : int, optional
        The number of one step, from 1.

    Raises
    ------
    UnsupportedInstructionError
        If the explanation has no step of this number.
    FragmentMismatchError
        If ``explanation`` is not an `Explanation`.

    Examples
    --------
    >>> import numpy as np, wmma_emu as we
    >>> A, B = np.array([[1.5, 2**-13]], np.float16), np.array([[1.5], [2**-13]], np.float16)
    >>> e = we.explain("m16n8k16.f32.f16.f16.f32", A, B, row=0, col=0, arch="a100")
    >>> draw_explanation(e)
    <Picture: D[0, 0] = 0x40100000 (f32) = 2.25 = +0x1.2p+1>
    >>> draw_explanation(e, step=1).title
    'D[0, 0] = 0x40100000 (f32) = 2.25 = +0x1.2p+1: step 1'
    """
    if not isinstance(explanation, Explanation):
        raise ArgumentError(f"expected an Explanation, as wmma_emu.explain(...) returns it, not {shorten(explanation)}")
    if step is not None:
        one = _step_of(explanation, step)
        return _picture(f"{explanation.headline}: step {step}", [_drawn(one)], "\n".join(step_lines(one)))
    parts = _parts(explanation)
    drawings = [_drawn(x) for x in parts]
    width = max([x.width for x in drawings], default=0.0)
    return _picture(explanation.headline, [_facts(explanation, width), *drawings], _text(explanation, parts))


def html(explanation: Explanation) -> str:
    """Write an explanation as HTML for a page: the inputs, each step in a figure, and the result.

    It is self-contained. Figures scroll if the page is narrow; more than a few steps are folded.

    Examples
    --------
    >>> import numpy as np, wmma_emu as we
    >>> e = we.explain("fma.f32", np.ones((1, 2), "f4"), np.ones((2, 1), "f4"), row=0, col=0)
    >>> html(e).count("<figure ")
    2
    """
    parts = _parts(explanation)
    count = sum(not isinstance(x, (str, Stretch)) for x in parts)
    facts = "".join(
        f"<tr><th scope='row'>{escape(head)}</th><td>{escape(text)}</td></tr>" for head, text in explanation.facts()
    )
    lines = [
        f'<div class="{NAME}-html">',
        f"<style>{HTML_STYLE}</style>",
        f"<p><strong><code>{escape(explanation.headline)}</code></strong></p>",
        f"<table>{facts}</table>",
    ]
    drawn = 0
    for part in parts:
        if isinstance(part, str):
            lines.append(f"<p>{escape(part)}</p>")
        elif isinstance(part, Stretch):
            lines.append(f"<p>{escape(part.words)}</p>")
        else:
            drawn += 1
            shown = count <= _MOST_OPEN or drawn in (1, count)
            lines.append(_figure(part, shown))
    if not explanation.executions:
        lines.append("<p>No products: D is C.</p>")
    text = scrolled(escape(_text(explanation, parts)), "The same as text", "pre")
    lines += [
        f"<p><strong><code>{escape(explanation.headline)}</code></strong></p>",
        f"<details><summary>The same as text</summary>{text}</details>",
        "</div>",
    ]
    return "\n".join(lines) + "\n"


def _figure(step: Step, shown: bool) -> str:
    drawing = _drawn(step)
    width, height = drawing.width + 2 * _MARGIN, drawing.y + 2 * _MARGIN
    body = element("g", "\n", "\n".join(drawing.body), "\n", transform=f"translate({_MARGIN} {_MARGIN})")
    svg = document(NAME, ceil(width), ceil(height), drawing.title, "\n".join(step_lines(step)), *STYLES, [body])
    mark = ' open=""' if shown else ""
    return f"<details{mark}><summary>{escape(drawing.title)}</summary>{scrolled(svg, drawing.title)}</details>"


def _picture(title: str, drawings: list[Drawing], description: str) -> Picture:
    width, y = max(x.width for x in drawings), float(_MARGIN)
    body = []
    for drawing in drawings:
        head, room = drawing.head(width)
        parts = [*head, element("g", "\n", "\n".join(drawing.body), "\n", transform=f"translate(0 {room:g})")]
        body.append(element("g", "\n", "\n".join(parts), "\n", transform=f"translate({_MARGIN} {y:g})"))
        y += room + drawing.y + 14
    height = ceil(y - 14 + _MARGIN)
    return Picture(title, document(NAME, ceil(width + 2 * _MARGIN), height, title, description, *STYLES, body))


def _facts(explanation: Explanation, width: float) -> Drawing:
    drawing = Drawing(explanation.headline, width)
    for head, text in explanation.facts():
        drawing.words(f"{head}: {text}", quiet=True)
    if not explanation.executions:
        drawing.words("No products: D is C.")
    return drawing


def _parts(explanation: Explanation) -> list[_Part]:
    chosen = chosen_steps(explanation.steps)
    if len(explanation.executions) < 2:
        return list(chosen)
    of = {id(step): execution for execution in explanation.executions for step in execution.steps}
    found: list[_Part] = []
    opened = None
    for part in chosen:
        if not isinstance(part, Stretch) and of[id(part)] is not opened:
            opened = of[id(part)]
            found.append(explanation.opening(opened))
        found.append(part)
    return found


def _drawn(part: _Part) -> Drawing:
    match part:
        case str():
            return Drawing(part)
        case Stretch():
            drawing = Drawing("")
            drawing.words(part.words, quiet=True)
            return drawing
        case AlignedSum():
            return draw_aligned_sum(part)
        case MultiplyAdd():
            return draw_multiply_add(part)
        case Conversion():
            return draw_conversion(part)
        case IntegerSum():
            return draw_integer_sum(part)
        case BitCount():
            return draw_bit_count(part)


def _text(explanation: Explanation, parts: list[_Part]) -> str:
    if not any(isinstance(x, Stretch) for x in parts):
        return str(explanation)
    lines = [explanation.headline, *(f"  {head}: {text}" for head, text in explanation.facts()), ""]
    for part in parts:
        lines += [part] if isinstance(part, str) else [part.words] if isinstance(part, Stretch) else step_lines(part)
    return "\n".join([*lines, "", explanation.headline])


def _step_of(explanation: Explanation, number: int) -> Step:
    found = [x for x in explanation.steps if x.number == number and number > 0]
    if not found:
        last = max((x.number for x in explanation.steps), default=0)
        legal = f"its steps are 1 to {last}" if last else "D is C"
        raise OptionError(f"the explanation has no step {shorten(number)}; {legal}")
    return found[0]
