# SPDX-License-Identifier: MIT
import re
import runpy
import shlex
import sys

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.cli.options import _EXAMPLES, parse_arguments

from .conftest import ROOT

EXAMPLES = ROOT / "examples"
FILES = ("a_f16.npy", "b_f16.npy", "a_bf16.npy", "b_bf16.npy")


def test_the_generator_writes_the_example_files_byte_for_byte(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["make_matrices.py", str(tmp_path)])
    runpy.run_path(str(EXAMPLES / "make_matrices.py"), run_name="__main__")
    assert sorted(x.name for x in tmp_path.iterdir()) == sorted(FILES)
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (EXAMPLES / name).read_bytes()


def test_the_example_files_are_small_and_have_the_dtypes_that_the_readme_says():
    for name in FILES:
        matrix = np.load(EXAMPLES / name, allow_pickle=False)
        assert matrix.shape == ((64, 48) if name.startswith("a") else (48, 40))
        assert matrix.dtype == (np.uint16 if "bf16" in name else np.float16)
        assert (EXAMPLES / name).stat().st_size < 10_000


@pytest.mark.parametrize("chip", ["v100", "a100", "h200", "b200"])
def test_the_f16_example_shows_bits_that_float32_does_not_have(run, tmp_path, chip):
    d = tmp_path / "d.npy"
    status, out, _ = run("gemm", EXAMPLES / "a_f16.npy", EXAMPLES / "b_f16.npy", "-o", d, "--arch", chip)
    a, b = (np.load(EXAMPLES / x) for x in FILES[:2])
    other = np.float32(a.astype(np.float64) @ b.astype(np.float64))  # correctly rounded, nearly always
    differ = np.load(d).view(np.uint32) != other.view(np.uint32)
    assert status == 0 and "elements differ; D[0, 0] is 0x" in " ".join(out.split())
    assert differ.mean() > 0.5


def test_volta_ampere_and_hopper_give_different_bits_for_the_example():
    a, b = (np.load(EXAMPLES / x) for x in FILES[:2])
    assert len({we.gemm(a, b, arch=chip).tobytes() for chip in ("v100", "a100", "h200")}) == 3


def test_the_bf16_example_runs_as_its_readme_says(run, tmp_path):
    d = tmp_path / "d.npy"
    inputs = [EXAMPLES / x for x in FILES[2:]]
    formats = ["--a-format", "bf16", "--b-format", "bf16", "--arch", "a100"]
    assert run("gemm", *inputs, "-o", d, *formats).status == 0
    a, b = (np.load(x).view(ml_dtypes.bfloat16) for x in inputs)
    assert np.load(d).tobytes() == we.gemm(a, b, arch="a100").tobytes()


def test_every_command_on_the_page_of_features_runs(run, monkeypatch):
    monkeypatch.chdir(ROOT)
    commands = re.findall(r"`wmma-emu ([^`]+)`", (ROOT / "docs/features.md").read_text(encoding="utf-8"))
    assert commands
    for command in commands:
        words = shlex.split(command.replace("INSTR", "m16n8k16.f32.f16.f16.f32").replace("--count 1e9", "--count 1e3"))
        words += ["--dry-run", "--workers", "0"] if words[0] == "crosscheck" else []  # this machine may not have a GPU
        words += ["-o", "-"] if words[0] == "explore" else []
        if len(words) > 1:
            assert run(*words).status == 0, command


def test_every_command_in_the_help_is_a_command_line_that_parses():
    examples = re.findall(r"^  (wmma-emu .+)", _EXAMPLES, re.MULTILINE)
    named = {parse_arguments(shlex.split(line)[1:]).command for line in examples}
    assert {"list", "show", "layout", "what", "where", "gemm", "explain", "compare", "quantise", "ptx"} <= named
