# SPDX-License-Identifier: MIT
"""Pictures for LaTeX: a tikzpicture of the same shapes, and a document that contains only it."""

from collections.abc import Iterator

from wmma_emu.errors import ArgumentValueError, shorten
from wmma_emu.viz.shapes import Drawing, Shape, drawing_of

_POINTS = 0.75
"""TeX's big points, 72 per inch, in a pixel of SVG, 96 per inch."""

_LETTERS = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}",
    "\u00d7": r"$\times$", "\u2212": r"$-$", "\u2013": "--", "\u2014": "---", "\u2192": r"$\to$",
    "\u2190": r"$\gets$", "\u2193": r"$\downarrow$", "\u2191": r"$\uparrow$", "\u2026": r"\ldots{}",
    "\u00b7": r"$\cdot$",
    "\u2264": r"$\le$", "\u2265": r"$\ge$", "\u2260": r"$\ne$", "\u00b1": r"$\pm$", "\u221e": r"$\infty$",
    "\u2215": "/", "\u00a0": "~", "\u2019": "'", "\u201c": "``", "\u201d": "''", "\u2022": r"$\bullet$",
    "\u22ee": r"$\vdots$", "\u00b0": r"$^\circ$",
}  # fmt: skip
"""Characters that TeX spells differently; Latin letters need no replacement."""

_ANCHORS = {"start": "base west", "middle": "base", "end": "base east"}

_DOCUMENT = r"""\documentclass{{article}}
\usepackage[T1]{{fontenc}}
\IfFileExists{{lmodern.sty}}{{\usepackage{{lmodern}}}}{{\usepackage{{fix-cm}}}}
\usepackage{{tikz}}
\usepackage[paperwidth={width}bp,paperheight={height}bp,margin=0bp]{{geometry}}
\pagestyle{{empty}}\parindent0pt\topskip0pt
\begin{{document}}
{picture}\end{{document}}
"""


def tex_text(text: str) -> str:
    r"""Escape a line of text for TeX.

    Examples
    --------
    >>> print(tex_text("A[9, 3]: 50 % of a_1 \u00d7 2"))
    A[9, 3]: 50 \% of a\_1 $\times$ 2
    """
    return "".join(_LETTERS.get(letter) or _plain(letter) for letter in text)


def _plain(letter: str) -> str:
    if " " <= letter <= "~" or "\u00a1" <= letter <= "\u017f":
        return letter
    raise ArgumentValueError(
        f"the character {shorten(letter)} cannot be written for LaTeX; give the picture another title, or save it "
        "as .svg or .png"
    )


def tikz_document(svg: str) -> str:
    """Write a whole LaTeX document of the picture's size; it needs TikZ and geometry."""
    drawing = drawing_of(svg)
    size = {"width": _number(drawing.width * _POINTS), "height": _number(drawing.height * _POINTS)}
    return _DOCUMENT.format(**size, picture=tikz_picture(svg))


def tikz_picture(svg: str) -> str:
    r"""Write a ``tikzpicture`` that a document includes by ``\input``; the document needs ``\usepackage{tikz}``.

    Examples
    --------
    >>> svg = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="9"><rect width="8" height="4" '
    >>> print(tikz_picture(svg + 'fill="#e0effe"/><text x="2" y="3" font-size="4">T0</text></svg>'), end="")
    \begin{tikzpicture}[x=0.75bp,y=-0.75bp]
    \definecolor{wmmaE0EFFE}{HTML}{E0EFFE}
    \definecolor{wmma000000}{HTML}{000000}
    \useasboundingbox (0,0) rectangle (20,9);
    \path[fill=wmmaE0EFFE] (0,0) rectangle (8,4);
    \node[anchor=base west,inner sep=0pt,outer sep=0pt,text=wmma000000,font=\sffamily\fontsize{3bp}{3bp}\selectfont]
      at (2,3) {T0};
    \end{tikzpicture}
    """
    drawing = drawing_of(svg)
    lines = list(_lines(drawing))
    colours = dict.fromkeys(colour for shape in drawing.shapes for colour in _colours(shape))
    return "\n".join(
        (
            f"\\begin{{tikzpicture}}[x={_POINTS}bp,y=-{_POINTS}bp]",
            *(f"\\definecolor{{wmma{x}}}{{HTML}}{{{x}}}" for x in colours),
            f"\\useasboundingbox (0,0) rectangle ({_number(drawing.width)},{_number(drawing.height)});",
            *lines,
            "\\end{tikzpicture}\n",
        )
    )


def _lines(drawing: Drawing) -> Iterator[str]:
    for shape in drawing.shapes:
        options = _options(shape)
        if shape.kind == "text":
            font = "\\bfseries" * (shape.style.get("font-weight", "400") in ("600", "700", "bold"))
            family = "\\ttfamily" if "mono" in shape.style.get("font-family", "") else "\\sffamily"
            size = f"{_number(shape.number('font-size', 16) * _POINTS)}bp"
            anchor = _ANCHORS[shape.style.get("text-anchor", "start")]
            yield (
                f"\\node[anchor={anchor},inner sep=0pt,outer sep=0pt,{options},"
                f"font={family}{font}\\fontsize{{{size}}}{{{size}}}\\selectfont]\n"
                f"  at {_point(shape.lines[0][0])} {{{tex_text(shape.text)}}};"
            )
        elif options:
            joint = " rectangle " if shape.kind == "rect" else " -- "
            yield f"\\path[{options}] " + " ".join(joint.join(_point(x) for x in line) for line in shape.lines) + ";"


def _options(shape: Shape) -> str:
    fill, stroke = _colour(shape, "fill", "#000000"), _colour(shape, "stroke", "none")
    if shape.kind == "text":
        return f"text=wmma{fill}"
    found = []
    if fill and shape.kind == "rect":
        found.append(f"fill=wmma{fill}")
        if shape.number("fill-opacity", 1) < 1:
            found.append(f"fill opacity={_number(shape.number('fill-opacity', 1))}")
    if stroke:
        found.append(f"draw=wmma{stroke},line width={_number(shape.number('stroke-width', 1) * _POINTS)}bp")
        if dashes := [float(x) * _POINTS for x in shape.style.get("stroke-dasharray", "").split()]:
            found.append(f"dash pattern=on {_number(dashes[0])}bp off {_number(dashes[-1])}bp")
    if found and shape.number("opacity", 1) < 1:
        found.append(f"opacity={_number(shape.number('opacity', 1))}")
    return ",".join(found)


def _colours(shape: Shape) -> Iterator[str]:
    for name, default in (("fill", "#000000"), ("stroke", "none")):
        colour = _colour(shape, name, default)
        if colour and (name == "fill" or shape.kind != "text") and (name == "stroke" or shape.kind != "path"):
            yield colour


def _colour(shape: Shape, name: str, default: str) -> str:
    given = shape.style.get(name, default)
    if given == "none":
        return ""
    digits = given.removeprefix("#").upper()
    return digits if len(digits) == 6 else "".join(2 * x for x in digits)


def _point(at: tuple[float, float]) -> str:
    return f"({_number(at[0])},{_number(at[1])})"


def _number(given: float) -> str:
    return f"{given:.4f}".rstrip("0").rstrip(".")
