# SPDX-License-Identifier: MIT
"""`wmma-emu layout` in CuTe's notation, for LaTeX and as PNG."""

import pytest

import wmma_emu as we
from wmma_emu.cli import main

F16 = "m16n8k16.f32.f16.f16.f32"


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (f"{F16} A", ["A  ((4,8),(2,2,2)):((32,1),(16,8,128))"]),
        ("SM80_16x8x16_F32F16F16F32_TN B", ["B  ((4,8),(2,2)):((16,1),(8,64))"]),
        ("m8n8k4.f32.f16.f16.f32 D --arch v100", ["D  ((2,2,2),(2,2,2)):((1,16,4),(8,2,32))  threads (4,2):(1,16)"]),
        (f"{F16}", ["A  ((4,8),(2,2,2)):((32,1),(16,8,128))", "B  ((4,8),(2,2)):((16,1),(8,64))",
                    "C  ((4,8),(2,2)):((32,1),(16,8))", "D  ((4,8),(2,2)):((32,1),(16,8))"]),
    ],
)  # fmt: skip
def test_cute_is_shape_and_stride(words, lines, capsys):
    assert main(["layout", *words.split(), "--format", "cute"]) == 0
    assert capsys.readouterr().out.splitlines() == lines


@pytest.mark.parametrize("kind", ["tex", "tikz"])
def test_the_name_of_a_file_says_that_it_is_for_latex(kind, tmp_path, capsys):
    path = tmp_path / f"a.{kind}"
    picture = we.viz.draw_matrix(we.instruction(F16).a, lane=5)
    assert main(["layout", F16, "A", "--lane", "5", "-o", str(path)]) == 0
    assert path.read_text(encoding="utf-8") == picture.text(kind)
    assert main(["layout", F16, "A", "--lane", "5", "--format", kind]) == 0
    assert capsys.readouterr().out == picture.text(kind)


def test_png_is_written_as_bytes(tmp_path):
    pytest.importorskip("resvg_py", reason="resvg-py, of the extra png, is not installed")
    path = tmp_path / "a.png"
    code = main(["layout", F16, "A", "--view", "registers", "-o", str(path)])
    if code:
        pytest.skip("no font is installed")
    assert path.read_bytes() == we.viz.draw_registers(we.instruction(F16).a).png()


def test_png_without_its_extra_says_which(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("wmma_emu.viz.png.import_module", lambda name: (_ for _ in ()).throw(ImportError(name)))
    assert main(["layout", F16, "A", "-o", str(tmp_path / "a.png")]) != 0
    assert "pip install '.[png]'" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--format tikz", "a picture shows one operand; name it after the instruction"),
        ("A --format cute --lane 3", "functions in cute cover all lanes"),
        ("A --format cute --view matrix", "--view matrix applies only to drawings"),
        (
            "A --format tex -o a.png",
            "a.png: the output has format tex; add --format png, or give the file another name",
        ),
    ],
)
def test_what_does_not_go_together_is_told(words, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["layout", F16, *words.split()]) == 2
    assert said in capsys.readouterr().err
