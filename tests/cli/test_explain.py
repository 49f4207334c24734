# SPDX-License-Identifier: MIT
import json
import re
import warnings

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.cli import main
from wmma_emu.viz.arithmetic.explanation import draw_explanation, html
from wmma_emu.viz.picture import page


def explain(*args: object, **options: object) -> we.Explanation:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", we.UnverifiedModelWarning)
        return we.explain(*args, **options)


def test_the_text_is_the_librarys(run, here):
    status, out, err = run("explain", "a.npy", "b.npy", "--row", "3", "--col", "5")
    assert (status, err) == (0, "")
    assert out == f"{explain(None, np.load('a.npy'), np.load('b.npy'), row=3, col=5)}\n"


def test_json_is_the_data_of_the_explanation(run, here):
    c = np.arange(42, dtype=np.float32).reshape(6, 7)
    np.save("c.npy", c)
    out = run("explain", "a.npy", "b.npy", "--c", "c.npy", "--row", "5", "--col", "6", "--format", "JSON").out
    expected = explain(None, np.load("a.npy"), np.load("b.npy"), c, row=5, col=6)
    assert json.loads(out) == json.loads(json.dumps(expected.to_dict())) and out.count("\n") == 1
    assert json.loads(out)["result"] == expected.result


@pytest.mark.parametrize("options", [
    {"arch": "v100"}, {"arch": "a100"}, {"instr": "m16n8k8.f32.f16.f16.f32", "arch": "t4"},
    {"instr": "wmma.mma.m16n16k16.f16.f16"}, {"instr": "m8n8k4.f32.f16.f16.f32", "arch": "h100"},
])  # fmt: skip
def test_the_bits_are_those_that_gemm_computes(run, here, options):
    flags = [x for key, value in options.items() for x in (f"--{key}", value)]
    out = run("explain", "a.npy", "b.npy", "--row", "2", "--col", "1", "--format", "json", *flags).out
    assert run("gemm", "a.npy", "b.npy", "-o", "d.npy", *flags).status == 0
    d = np.load("d.npy")
    assert json.loads(out)["result"] == int(d.view(f"u{d.itemsize}")[2, 1])


def test_svg_is_the_librarys_picture_and_html_a_whole_page_with_it(run, here):
    words = ("explain", "a.npy", "b.npy", "--row", "3", "--col", "5", "--arch", "a100")
    expected = explain(None, np.load("a.npy"), np.load("b.npy"), row=3, col=5, arch="a100")
    assert run(*words, "--format", "svg") == (0, str(draw_explanation(expected)), "")
    assert run(*words, "--format", "svg", "--step", "2").out == str(draw_explanation(expected, step=2))
    assert run(*words, "--format", "HTML") == (0, page(expected.headline, html(expected)), "")
    assert run(*words, "--format", "html", "--step", "2").out == draw_explanation(expected, step=2).html()


@pytest.mark.parametrize("output", ["text", "json", "html", "svg"])
def test_a_file_gets_what_a_pipe_would(run, here, output):
    words = ("explain", "a.npy", "b.npy", "--row", "1", "--col", "2", "--format", output)
    name = "x.txt" if output == "text" else f"x.{output}"
    piped = run(*words).out
    assert run(*words, "-o", name) == (0, "", "")
    assert (here / name).read_text(encoding="utf-8") == piped and len(piped) > 500


def test_nothing_is_written_where_something_is_wrong(run, here):
    words = ("explain", "a.npy", "b.npy", "--row", "1", "--col", "2", "--format", "svg", "-o", "x.svg")
    for wrong in (("--step", "9"), ("--row", "99"), ("--arch", "z80")):
        assert run(*words, *wrong).status == 2
        assert not (here / "x.svg").exists()


def test_formats_and_lowerings_reach_the_library(run, here):
    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal(x).astype(ml_dtypes.float8_e4m3fn) for x in ((4, 32), (32, 4)))
    np.save("a.npy", a), np.save("b.npy", b.view(np.uint8))
    flags = ["--a-format", "e4m3", "--b-format", "e4m3", "--lowering", "ptxas-12.4", "--format", "json"]
    found = json.loads(run("explain", "a.npy", "b.npy", "--row", "1", "--col", "2", *flags).out)
    assert found["lowering"] == "ptxas-12.4"
    expected = explain(None, a, b, row=1, col=2, lowering="ptxas-12.4")
    assert found["result"] == expected.result


KINDS = [
    ([], np.float16),
    (["--arch", "v100"], np.float16),
    (["--instr", "m8n8k4.f32.f16.f16.f32", "--arch", "h100"], np.float16),
    (["--instr", "m16n8k8.f32.tf32.tf32.f32"], np.float32),
    (["--instr", "fma.f32"], np.float32),
    (["--a-format", "e4m3", "--b-format", "e4m3", "--lowering", "ptxas-12.4"], ml_dtypes.float8_e4m3fn),
    ([], np.float64),
    ([], np.int8),
    ([], np.bool_),
]


@pytest.mark.parametrize(("options", "dtype"), KINDS, ids=lambda x: " ".join(x) if isinstance(x, list) else x.__name__)
def test_a_terminal_gets_every_character_of_the_text_in_lines_that_fit(screen, run, here, monkeypatch, options, dtype):
    rng = np.random.default_rng(4)
    np.save("a.npy", (3 * rng.standard_normal((3, 70))).astype(dtype))
    np.save("b.npy", (3 * rng.standard_normal((70, 2))).astype(dtype))
    words = ["explain", "a.npy", "b.npy", "--row", "2", "--col", "1", *options]
    text = run(*words).out
    characters = sorted if dtype is np.int8 else "".join  # integer products change their order with their columns
    for columns in (40, 60, 80, 120, 500):
        out = screen(columns)
        monkeypatch.setenv("NO_COLOR", "1")
        assert main(words) == 0
        assert max(map(len, out.text.splitlines())) <= columns
        assert characters("".join(out.text.split())) == characters("".join(text.split()))


@pytest.mark.sweep(keep=1 / 2)
@pytest.mark.parametrize(("words", "line"), [
    ("a.npy b.npy --col 1", "explain needs --row: the position of an element of D, counted from 0"),
    ("a.npy b.npy --row 6 --col 1", "row 6 does not exist in D; legal values are 0 to 5"),
    ("a.npy b.npy --row 1 --col 7", "column 7 does not exist in D; legal values are 0 to 6"),
    ("a.npy b.npy --row one --col 1", "--row 'one' is not an integer; legal integers begin at 0"),
    ("a.npy b.npy --row 1 --col 1 --format csv", "--format 'csv' is not one of text, json, html, svg; did you "
     "mean svg?"),
    ("a.npy a.npy --row 1 --col 1", "A has shape (6, 5) and B (6, 5): K is 5 in A and 6 in B; B.T would fit"),
    ("none.npy b.npy --row 1 --col 1", "none.npy: No such file or directory"),
    ("batch.npy b.npy --row 1 --col 1", "A has shape (2, 6, 5); one matrix is explained at a time: index the batch, "
     "A[i]"),
    ("empty.npy b.npy --row 0 --col 1", "row 0 does not exist in D; D is empty"),
    ("a.npy b.npy --row 1 --col 1 --step 1", "--step 1 applies only to pictures; add --format svg or --format html"),
    ("a.npy b.npy --row 1 --col 1 --format json --step 1", "--step 1 applies only to pictures; add --format svg or "
                                                           "--format "
     "html"),
    ("a.npy b.npy --row 1 --col 1 --format svg --step 2", "the explanation has no step 2; its steps are 1 to 1"),
    ("a.npy b.npy --row 1 --col 1 --format svg --step 0", "the explanation has no step 0; its steps are 1 to 1"),
    ("a.npy b.npy --row 1 --col 1 --format html -o x.svg", "x.svg: the output has format html; add --format svg, "
     "or give the file another name"),
    ("a.npy b.npy --row 1 --col 1 --json -o x.html", "x.html: the output has format json; add --format html, or give "
     "the file another name"),
    ("a.npy b.npy --row 1 --col 1 --format svg -o a.npy", "a.npy is also an input; name another file to write"),
    ("a.npy b.npy --row 1 --col 1 --lowering x", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 on sm_90 has no "
     "lowering 'x'; it has 'native'"),
])  # fmt: skip
def test_wrong_use_is_one_line_and_status_two(run, here, words, line):
    np.save("batch.npy", np.ones((2, 6, 5), np.float16)), np.save("empty.npy", np.ones((0, 5), np.float16))
    assert run("explain", *words.split()) == (2, "", f"wmma-emu: error: {line}\n")


@pytest.mark.parametrize(("columns", "column"), [(80, 6), (200, None)])
def test_the_bits_of_all_terms_are_aligned_in_columns(screen, here, monkeypatch, columns, column):
    out = screen(columns)
    monkeypatch.setenv("NO_COLOR", "1")
    assert main(["explain", "a.npy", "b.npy", "--row", "3", "--col", "5"]) == 0
    found = {x.start(1) for line in out.text.splitlines() if (x := re.search(r"  ([+-]) [01]+\.[01]{20,}", line))}
    assert len(found) == 1 and column in (None, *found)


HEAD = "    term         a       b   exp  shift  significand"


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize(("dtype", "options"), [
    (np.float16, []), (ml_dtypes.float8_e4m3fn, ["--a-format", "e4m3", "--b-format", "e4m3"]),
], ids=["f16", "e4m3"])  # fmt: skip
def test_the_heading_is_aligned_with_the_bits_and_its_bar_with_the_bars(
    screen, here, monkeypatch, columns, dtype, options
):
    rng = np.random.default_rng(7)
    np.save("a.npy", (3 * rng.standard_normal((2, 32))).astype(dtype))
    np.save("b.npy", (3 * rng.standard_normal((32, 2))).astype(dtype))
    out = screen(columns)
    monkeypatch.setenv("NO_COLOR", "1")
    assert main(["explain", "a.npy", "b.npy", "--row", "0", "--col", "1", *options]) == 0
    lines = out.text.splitlines()
    heads = [i for i, line in enumerate(lines) if line.startswith("    term ")]
    assert len(heads) == 2
    for i in heads:
        head, *rows = lines[i + 1 : lines.index("    sum", i) + 2]
        rows = rows[1::2]
        assert lines[i] == HEAD and re.fullmatch(r" {8}bits x 2\^-?\d+ +\|cut", head)
        assert len(rows) > 10 and all(re.match(r" {6}[+-] [01]+\.[01]{25}\|", row) for row in rows)
        assert {row.index("|") for row in rows} == {head.index("|")}


def test_truncated_bits_continue_after_the_bar(screen, here, monkeypatch):
    np.save("a.npy", np.array([[3.0, 3.0]], np.float16)), np.save("b.npy", np.array([[2.0**14], [0]], np.float16))
    np.save("c.npy", np.array([[np.uint32(0x30D5_5555).view(np.float32)]]))
    words = ["explain", "a.npy", "b.npy", "--c", "c.npy", "--row", "0", "--col", "0"]
    out = screen(40)
    monkeypatch.setenv("NO_COLOR", "1")
    assert main(words) == 0
    lines = out.text.splitlines()
    i = next(i for i, line in enumerate(lines) if re.search(r"\|[01]", line))
    bar = lines[i].index("|")
    assert len(lines[i]) == 40 and re.fullmatch(rf" {{{bar + 1}}}[01()]+", lines[i + 1])


def test_products_of_integers_read_down_first_in_as_many_columns_as_fit(screen, here, monkeypatch):
    np.save("a.npy", np.full((1, 32), -128, np.int8)), np.save("b.npy", np.full((32, 1), -128, np.int8))
    expected = [f"k={k:<3} 0x80 x 0x80 = -128 x -128 = 16384" for k in range(32)]
    for columns, count in ((60, 1), (90, 2)):
        out = screen(columns)
        monkeypatch.setenv("NO_COLOR", "1")
        assert main(["explain", "a.npy", "b.npy", "--row", "0", "--col", "0"]) == 0
        rows = [line.split("    ") for line in out.text.splitlines() if line.startswith("    k=")]
        assert [row[1 + i].rstrip() for i in range(count) for row in rows] == expected


def test_no_item_of_a_listing_is_torn_apart(screen, here, monkeypatch):
    dtype = ml_dtypes.float8_e4m3fn
    a = np.random.default_rng(8).standard_normal((1, 32)).astype(dtype)
    np.save("a.npy", a), np.save("b.npy", np.zeros((32, 1), dtype))
    out = screen(60)
    monkeypatch.setenv("NO_COLOR", "1")
    formats = ["--a-format", "e4m3", "--b-format", "e4m3"]
    assert main(["explain", "a.npy", "b.npy", "--row", "0", "--col", "0", *formats]) == 0
    lines = out.text.splitlines()
    converted = lines[lines.index("A converted from e4m3 to f16, exactly:") + 1 :]
    converted = converted[: next(i for i, line in enumerate(converted) if not line.startswith(" "))]
    item = r"k=[\d.]+ 0x\w\w -> 0x\w{4}"
    assert len(converted) > 12 and all(re.fullmatch(rf"    {item}(,  {item})*,?", line) for line in converted)
    zeros = lines[next(i for i, line in enumerate(lines) if line.startswith("    zero:")) :]
    item = r"(k=[\d.]+ 0x\w{4} x 0x\w{4}|\S+ 0x0{8})"
    assert re.fullmatch(rf" {{4}}zero:   {item}(,  {item})*,", zeros[0])
    assert re.fullmatch(rf" {{12}}{item}(,  {item})*,", zeros[1])


def test_a_long_mnemonic_breaks_before_a_dot(screen, here, monkeypatch):
    np.save("a.npy", np.ones((1, 256), np.bool_)), np.save("b.npy", np.ones((256, 1), np.bool_))
    out = screen(60)
    monkeypatch.setenv("NO_COLOR", "1")
    assert main(["explain", "a.npy", "b.npy", "--row", "0", "--col", "0"]) == 0
    assert out.text.splitlines()[1:4] == [
        "  instruction", "    mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor", "    .popc on sm_90",
    ]  # fmt: skip


def test_a_heading_is_bold_to_its_end(screen, here):
    pytest.importorskip("rich")
    out = screen(60)
    assert main(["explain", "a.npy", "b.npy", "--row", "3", "--col", "5"]) == 0
    lines = out.text.splitlines()
    i = next(i for i, line in enumerate(lines) if "step 1:" in line)
    assert [line.startswith("\x1b[1m") for line in lines[i : i + 3]] == [True, True, False]


@pytest.mark.parametrize("instr", ["wgmma.m64n64k16.f32.f16.f16", "mma.sp.m16n8k32.f32.f16.f16.f32",
                                   "wgmma.sp.m64n8k32.f32.f16.f16"])  # fmt: skip
def test_wgmma_and_sparse_instructions_are_explained_as_gemm_multiplies(run, here, instr):
    a = np.load("a.npy")
    a[:, 1:3] = 0  # two of four columns
    np.save("a.npy", a)
    assert run("gemm", "a.npy", "b.npy", "-o", "d.npy", "--instr", instr).status == 0
    words = ("explain", "a.npy", "b.npy", "--row", "3", "--col", "5", "--instr", instr)
    found = json.loads(run(*words, "--format", "json").out)
    assert found["result"] == int(np.load("d.npy").view(np.uint32)[3, 5])
    assert (found["ks"][:4] == [0, 3, 4, 5]) == ("sp" in instr)
    out = run(*words).out
    assert out == f"{explain(instr, a, np.load('b.npy'), row=3, col=5)}\n"
    assert re.search(r"^    k=3 ", out, re.MULTILINE) and not re.search(r"^    k=[12] ", out, re.MULTILINE)


def test_an_explanation_of_a_sparse_element_fits_a_terminal(here, screen, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    a = np.load("a.npy")
    a[:, 1:3] = 0
    np.save("a.npy", a)
    for columns in (60, 80, 120):
        out = screen(columns)
        monkeypatch.setenv("NO_COLOR", "1")
        assert (
            main(["explain", "a.npy", "b.npy", "--row", "3", "--col", "5", "--instr", "wgmma.sp.m64n8k32.f32.f16.f16"])
            == 0
        )
        assert max(map(len, out.text.splitlines())) <= columns


def test_a_matrix_that_is_not_sparse_is_refused_in_one_line(run, here):
    for words in (("explain", "a.npy", "b.npy", "--row", "3", "--col", "5"), ("gemm", "a.npy", "b.npy", "-o", "d.npy")):
        status, out, err = run(*words, "--instr", "mma.sp.m16n8k32.f32.f16.f16.f32")
        assert (status, out, err.count("\n")) == (2, "", 1)
        row = 3 if words[0] == "explain" else 0
        assert f"row {row}, columns 0 to 3 of A have 4 that are not zero; " in err and "keeps 2 of 4 elements" in err
    assert not (here / "d.npy").exists()
