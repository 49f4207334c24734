# SPDX-License-Identifier: MIT
import json
import os
import re
import warnings
from xml.etree import ElementTree

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.cli import main

from .conftest import ROOT

F16 = "m16n8k16.f32.f16.f16.f32"


def compare(**options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", we.UnverifiedModelWarning)
        return we.compare_archs(np.load("a.npy"), np.load("b.npy"), **options)


@pytest.fixture
def larger(here):
    """Matrices of which no chip has the bits of another."""
    for name, source in (("a.npy", "a_f16.npy"), ("b.npy", "b_f16.npy")):
        np.save(name, np.load(ROOT / "examples" / source))
    return here


def test_the_tables_say_what_the_comparison_says(run, larger):
    status, out, err = run("compare", "a.npy", "b.npy", "--archs", "v100, a100,h100", "--worst", "2")
    assert (status, err) == (0, "")
    found = compare(archs=["v100", "a100", "h100"])
    lines = out.splitlines()
    assert lines[:3] == ["D 64 x 40 (f32), 2560 elements", "compared with sm_70", ""]
    chips = [re.split(r" {2,}", x) for x in lines[3:7]]
    assert chips[0][:6] == ["CHIP", "STATUS", "DIFFER", "MEDIAN", "MEAN", "MAX ULPS"]
    assert chips[1] == ["sm_70", "recorded", "m8n8k4.f32.f16.f16.f32", "4 a step, 23 bits, RZ to f32"]
    for row, arch in zip(chips[2:], ("sm_80", "sm_90"), strict=True):
        x = found.statistics(arch)
        assert row[:6] == [
            arch, found.models[arch].status, str(x.differing), f"{x.median:.4g}", f"{x.mean:.4g}", str(x.largest)
        ]  # fmt: skip
    worst = [re.split(r" {2,}", x) for x in lines[9:]]
    assert worst == [
        [x.arch, str(list(x.index)), str(x.ulps), *x.hex_bits(), str(x.reference_value), str(x.value)]
        for arch in ("sm_80", "sm_90")
        for x in found.worst(arch, 2)
    ]


def test_json_is_the_data_of_the_comparison(run, larger):
    out = run("compare", "a.npy", "b.npy", "--format", "JSON", "--worst", "3", "--reference", "h100").out
    assert json.loads(out) == json.loads(json.dumps(compare(reference="h100").to_dict(3))) and out.count("\n") == 1
    assert json.loads(out)["reference"] == "sm_90"


def test_markdown_is_the_table_and_the_worst_elements(run, larger):
    words = ("compare", "a.npy", "b.npy", "--archs", "a100,h100", "--format", "markdown")
    found = compare(archs=["a100", "h100"])
    assert run(*words, "--worst", "0").out == found.to_markdown()
    out = run(*words, "--worst", "4").out
    assert out.startswith(found.to_markdown() + "\n| chip | element | ulps |") and out.count("\n| sm_90 |") == 1 + 4


def test_the_picture_is_the_librarys(run, larger):
    status, out, _ = run("compare", "a.npy", "b.npy", "--archs", "a100,h100", "--svg", "d.svg")
    text = (larger / "d.svg").read_text(encoding="utf-8")
    assert status == 0 and out.endswith("\n\nthe picture is d.svg\n")
    assert text == compare(archs=["a100", "h100"]).svg() and ElementTree.fromstring(text) is not None


def test_every_option_reaches_the_library(run, here):
    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal(x).astype(ml_dtypes.float8_e4m3fn) for x in ((4, 64), (64, 4)))
    c = rng.standard_normal((4, 4)).astype(np.float32)
    np.save("a.npy", a), np.save("b.npy", b.view(np.uint8)), np.save("c.npy", c)
    flags = ["--a-format", "e4m3", "--b-format", "e4m3", "--c", "c.npy", "--engine", "reference", "--format", "json",
             "--instr", "m16n8k32.f32.e4m3.e4m3.f32"]  # fmt: skip
    for words, lowering in (
        (["--lowering", "h100=ptxas-12.4, b200=ptxas-12.8"], {"h100": "ptxas-12.4", "b200": "ptxas-12.8"}),
        (["--lowering", "ptxas-12.4"], "ptxas-12.4"),
        ([], None),
    ):
        found = json.loads(run("compare", "a.npy", "b.npy", *flags, *words).out)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", we.UnverifiedModelWarning)
            expected = we.compare_archs(a, b, c, instr=flags[-1], lowering=lowering)
        assert found == json.loads(json.dumps(expected.to_dict()))


def test_a_file_that_does_not_say_its_format_is_read_as_the_instruction_says(run, here):
    np.save("a.npy", np.ones((4, 16), ml_dtypes.bfloat16)), np.save("b.npy", np.ones((16, 4), ml_dtypes.bfloat16))
    words = ("compare", "a.npy", "b.npy", "--instr", "m16n8k16.f32.bf16.bf16.f32", "--format", "json")
    for archs in ([], ["--archs", "h100,a100"]):
        chips = json.loads(run(*words, *archs).out)["chips"]
        assert len(chips) > 1 and {x["differing"] for x in chips} == {0}


def test_nan_and_signs_of_zero_are_counted_and_named(run, here):
    a, b, c = np.full((1, 4), -0.0, np.float16), np.ones((4, 1), np.float16), np.full((1, 1), -0.0, np.float16)
    np.save("a.npy", a), np.save("b.npy", b), np.save("c.npy", c)
    out = run("compare", "a.npy", "b.npy", "--c", "c.npy", "--instr", "m8n8k4.f16.f16.f16.f16", "--archs",
              "v100,h100").out  # fmt: skip
    assert re.search(r"^sm_90 +measured +1 +1 +m8n8k4", out, re.MULTILINE)
    assert out.splitlines()[-1].split() == "sm_90 [0, 0] sign of 0 0x0000 0x8000 0.0 -0.0".split()
    big, factors = np.full((1, 16), 2.0**127, ml_dtypes.bfloat16), np.zeros((16, 1), ml_dtypes.bfloat16)
    factors[[0, 1, 8], 0] = 1, 1, -np.inf
    np.save("a.npy", big), np.save("b.npy", factors)
    formats = ["--a-format", "bf16", "--b-format", "bf16"]
    out = run("compare", "a.npy", "b.npy", *formats, "--archs", "a100,h100").out
    assert out.splitlines()[-1].split() == "sm_90 [0, 0] NaN 0x7fffffff 0xff800000 nan -inf".split()


@pytest.mark.parametrize("columns", [80, 120, 500])
def test_the_tables_of_a_terminal_fit_it(screen, larger, monkeypatch, columns):
    out = screen(columns)
    monkeypatch.setenv("NO_COLOR", "1")
    assert main(["compare", "a.npy", "b.npy", "--archs", "v100,a100,h100"]) == 0
    assert max(map(len, out.text.splitlines())) <= columns
    assert ("RZ to f32" in out.text) == (columns == 500)


@pytest.mark.sweep(keep=1 / 2)
@pytest.mark.parametrize(("words", "line"), [
    ("a.npy", "compare takes two files, A.npy and B.npy, and only a.npy is given"),
    ("a.npy b.npy a.npy", "compare takes two files, A.npy and B.npy, and a.npy, b.npy, a.npy are given; pass "
     "the file of C with --c"),
    ("a.npy b.npy v100 --archs a100", "chips are named twice: v100, and --archs a100"),
    ("h100", "h100 has nothing to be compared with; name another chip, or files: A.npy B.npy"),
    ("h100 gh200", "h100 and gh200 are both sm_90 (Hopper): their matrix instructions are the same"),
    ("a.npy b.npy --archss a100", "compare has no option '--archss'; it has --help, --c, --instr, --archs, "
     "--reference, --a-format, --b-format, --lowering, --model, --scale-a, --scale-b, --worst, --svg, --format, "
     "--output, --engine, --verbose; did you mean --archs?"),
    ("a.npy b.npy --archs a100,A100", "archs names sm_80 twice; sm_80 is Ampere"),
    ("a.npy b.npy --archs ,", "archs is empty; name at least one chip, or leave archs out for all"),
    ("a.npy b.npy --archs v100 --reference h100", "--reference 'h100' (sm_90) is not compared; the chips are sm_70"),
    ("a.npy b.npy --worst 1.5", "--worst '1.5' is not an integer; legal integers begin at 0"),
    ("a.npy b.npy --worst -1", "--worst -1 is negative; pass 0 or more"),
    ("a.npy b.npy --format svg", "--format 'svg' is not one of text, json, markdown"),
    ("a.npy b.npy --svg a.npy", "a.npy is also an input; name another file to write"),
    ("a.npy b.npy --svg none/d.svg", "none/d.svg: the directory HERE/none does not exist; create it first"),
    ("a.npy b.npy --lowering h100=native,x", "--lowering 'x' does not name a chip; write h100=x, or one lowering "
                                             "alone for "
     "all chips"),
    ("a.npy b.npy --lowering h100=native,h100=native", "--lowering names 'h100' twice; keep one"),
    ("a.npy b.npy --archs h100 --lowering x", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 on sm_90 has no "
     "lowering 'x'; it has 'native'"),
    ("a.npy a.npy", "A has shape (6, 5) and B (6, 5): K is 5 in A and 6 in B; B.T would fit"),
    ("bfloat.npy b.npy", "bfloat.npy: the file does not say the format of its 2-byte elements; name it: --a-format "
     "bf16"),
])  # fmt: skip
def test_wrong_use_is_one_line_and_status_two(run, here, words, line):
    np.save("bfloat.npy", np.ones((6, 5), ml_dtypes.bfloat16))
    before = sorted(os.listdir())
    line = line.replace("HERE", str(here.resolve()))
    assert run("compare", *words.split()) == (2, "", f"wmma-emu: error: {line}\n")
    assert sorted(os.listdir()) == before


def test_nothing_is_written_when_the_product_cannot_be(run, here):
    assert run("compare", "a.npy", "b.npy", "--instr", F16, "--archs", "v100", "--svg", "d.svg").status == 2
    assert not (here / "d.svg").exists()
