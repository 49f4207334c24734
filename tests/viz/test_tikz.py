# SPDX-License-Identifier: MIT
"""Pictures for LaTeX hold every shape of the SVG, where it is, in its colour; PNG holds its letters."""

import re
import shutil
import struct
import subprocess
import zlib
from xml.etree import ElementTree

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu import viz
from wmma_emu.errors import ArgumentValueError, BackendUnavailableError
from wmma_emu.layouts.shared_memory import MatrixDescriptor
from wmma_emu.viz.picture import Picture
from wmma_emu.viz.png import png_of
from wmma_emu.viz.shapes import drawing_of
from wmma_emu.viz.tikz import tex_text, tikz_document, tikz_picture

SVG = "{http://www.w3.org/2000/svg}"


def pictures() -> dict[str, Picture]:
    ins = we.instruction("m16n8k16.f32.f16.f16.f32")
    a = np.array([[1.5, 2**-13]], np.float16)
    return {
        "matrix": viz.draw_matrix(ins.a),
        "lane": viz.draw_matrix(ins.a, lane=5),
        "registers": viz.draw_registers(ins.b),
        "warpgroup": viz.draw_matrix(we.instruction("wgmma.m64n64k16.f32.f16.f16").d),
        "four matrices": viz.draw_matrix(we.instruction("m8n8k4.f32.f16.f16.f32", arch="v100").d),
        "schedule": viz.draw_schedule(we.instruction("wmma.mma.m16n16k16.f32.f32", arch="sm_70").schedule, step=5),
        "explanation": viz.draw_explanation(we.explain("m16n8k8.f32.f16.f16.f32", a, a.T, row=0, col=0, arch="h100")),
        "ldmatrix": viz.draw_ldmatrix("ldmatrix.m8n8.x4.b16", pitch=128),
        "swizzle": viz.draw_shared_operand(MatrixDescriptor(0, 16, 1024, swizzle=128), 64, 64, "f16"),
    }


PICTURES = pictures()


@pytest.mark.parametrize("name", PICTURES)
def test_every_line_of_text_and_every_rectangle_is_in_the_tikzpicture(name: str):
    root = ElementTree.fromstring(PICTURES[name].svg)
    drawing, tikz = drawing_of(PICTURES[name].svg), PICTURES[name].tikz()
    texts = [" ".join("".join(x.itertext()).split()) for x in root.iter(f"{SVG}text")]
    nodes = re.findall(r"\\node\[anchor=base(?: west| east)?,.*\]\n  at \(-?[\d.]+,-?[\d.]+\) \{(.*)\};", tikz)
    assert "".join(nodes) == "".join(map(tex_text, texts))
    assert len([x for x in drawing.shapes if x.kind == "rect"]) == len(list(root.iter(f"{SVG}rect")))
    rects = [x.style for x in drawing.shapes if x.kind == "rect"]
    visible = [x for x in rects if {x.get("fill"), x.get("stroke", "none")} != {"none"}]
    assert tikz.count(" rectangle ") == len(visible) + 1  # and the bounding box
    defined = set(re.findall(r"\\definecolor\{wmma([0-9A-F]{6})\}\{HTML\}\{\1\}", tikz))
    assert defined == set(re.findall(r"=wmma([0-9A-F]{6})", tikz))


def test_colours_positions_and_letters_equal_those_in_the_svg():
    tikz = PICTURES["lane"].tikz()
    cell = drawing_of(PICTURES["lane"].svg).shapes
    held = next(x for x in cell if x.kind == "rect" and x.style.get("fill") == "#f5c2a1")
    (left, top), (right, bottom) = held.lines[0]
    place = f"({left:g},{top:g}) rectangle ({right:g},{bottom:g});"
    assert f"\\path[fill=wmmaF5C2A1,draw=wmma57606A,line width=0.45bp] {place}" in tikz
    assert "font=\\sffamily\\bfseries\\fontsize{8.25bp}{8.25bp}\\selectfont" in tikz


def test_styles_are_applied_by_weight_and_then_by_order():
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" class="p" width="9" height="9"><style>'
        ".p .a rect { fill: #111111; stroke: #222222; } .p rect { fill: #333333; } .p .b { fill: #444444; }"
        ".p .a.off rect { stroke: none; } @media (prefers-color-scheme: dark) { .p rect { fill: #555555; } }</style>"
        '<g class="a"><rect width="1" height="1"/><rect class="b" width="1" height="1" fill="#666666"/></g>'
        '<g class="a off"><rect width="1" height="1"/></g><rect x="2" width="1" height="1" fill="#777777"/></svg>'
    )
    styles = [(x.style["fill"], x.style.get("stroke")) for x in drawing_of(svg).shapes]
    assert styles == [("#111111", "#222222"), ("#111111", "#222222"), ("#111111", "none"), ("#333333", None)]


def test_paths_are_followed():
    begin = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><g transform="translate(10 20)">'
    svg = begin + '<path d="{}"/></g></svg>'
    lines = drawing_of(svg.format("M1 2h3V7l-1-1m1 1v4z")).shapes[0].lines
    assert lines == (((11, 22), (14, 22), (14, 27), (13, 26)), ((14, 27), (14, 31), (14, 27)))
    with pytest.raises(ArgumentValueError, match="paths are straight lines"):
        drawing_of(svg.format("M1 2C3 4 5 6 7 8"))


@pytest.mark.parametrize(
    ("svg", "said"),
    [
        ("no svg", "this picture is not SVG"),
        ('<svg xmlns="http://www.w3.org/2000/svg"><circle r="3"/></svg>', "<circle> does not occur"),
        ('<svg xmlns="http://www.w3.org/2000/svg"><g transform="rotate(3)"/></svg>', "groups are only translated"),
        (
            '<svg xmlns="http://www.w3.org/2000/svg"><text x="1" y="2">\N{SNOWMAN}</text></svg>',
            "cannot be written for LaTeX",
        ),
    ],
)
def test_svg_of_other_tools_is_rejected(svg: str, said: str):
    with pytest.raises(ArgumentValueError) as caught:
        tikz_picture(svg)
    assert said in str(caught.value)


def test_the_endings_write_a_document_and_a_tikzpicture(tmp_path):
    picture = PICTURES["matrix"]
    picture.save(tmp_path / "a.tex")
    picture.save(tmp_path / "a.tikz")
    document = (tmp_path / "a.tex").read_text(encoding="utf-8")
    assert document == tikz_document(picture.svg)
    assert (tmp_path / "a.tikz").read_text(encoding="utf-8") == picture.tikz()
    assert document.startswith("\\documentclass") and picture.tikz() in document
    width, height = drawing_of(picture.svg).width, drawing_of(picture.svg).height
    assert f"paperwidth={width * 0.75:g}bp,paperheight={height * 0.75:g}bp" in document
    assert document.count("{") == document.count("}")


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_makes_one_page_of_it(tmp_path):
    PICTURES["registers"].save(tmp_path / "a.tex")
    run = subprocess.run(["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "a.tex"], cwd=tmp_path,
                         capture_output=True, text=True, errors="replace")  # fmt: skip
    assert run.returncode == 0 and "(1 page," in run.stdout, run.stdout[-2000:]
    assert "Overfull" not in run.stdout


def pixels(png: bytes) -> np.ndarray:
    """The pixels of a PNG of eight bits a colour: (height, width, 4)."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, data = 8, b""
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at : at + 8])
        body = png[at + 8 : at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colours = struct.unpack(">IIBB", body[:10])
            assert (depth, colours) == (8, 6)
        data += body * (kind == b"IDAT")
        at += size + 12
    rows = np.frombuffer(zlib.decompress(data), np.uint8).reshape(height, 1 + width * 4)
    out = np.zeros((height, width, 4), np.uint8)
    before = np.zeros((width, 4), np.int64)
    for y, row in enumerate(rows):
        line = row[1:].reshape(width, 4).astype(np.int64)
        if row[0] == 1:
            line = np.cumsum(line, axis=0)
        elif row[0] == 2:
            line = line + before
        elif row[0] > 2:
            left, corner = np.zeros(4, np.int64), np.zeros(4, np.int64)
            for x in range(width):
                up = before[x]
                if row[0] == 3:
                    guess = (left + up) // 2
                else:
                    p = left + up - corner
                    far = np.abs(np.stack((p - left, p - up, p - corner)))
                    guess = np.choose(np.argmin(far, axis=0), (left, up, corner))
                line[x] = left = (line[x] + guess) % 256
                corner = up
        before = line % 256
        out[y] = before
    return out


def test_a_png_has_the_colours_and_the_letters():
    pytest.importorskip("resvg_py", reason="resvg-py, of the extra png, is not installed")
    begin = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20">'
    begin += '<rect width="40" height="20" fill="#e0effe"/>'
    font = 'font-family="system-ui, sans-serif" font-size="14"'
    picture = Picture("T", f'{begin}<text x="2" y="15" {font}>T5</text></svg>')
    try:
        png = picture.png(1)
    except BackendUnavailableError as error:
        pytest.skip(str(error))
    seen = pixels(png)
    assert seen.shape == (20, 40, 4) and seen[0, 39].tolist() == [0xE0, 0xEF, 0xFE, 255]
    assert (seen[..., :3] < 60).all(axis=-1).sum() > 20, "no letters"
    assert pixels(picture.png(2)).shape == (40, 80, 4)


def test_without_resvg_the_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr("wmma_emu.viz.png.import_module", lambda name: (_ for _ in ()).throw(ImportError(name)))
    with pytest.raises(BackendUnavailableError, match=r"pip install '\.\[png\]'"):
        PICTURES["matrix"].save(tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("scale", [0, -1, 21, True, "2", None])
def test_a_scale_is_a_number_in_bounds(scale: object):
    with pytest.raises(ArgumentValueError, match=r"from 0\.1 to 20"):
        png_of(PICTURES["matrix"].svg, scale)  # type: ignore[arg-type]
