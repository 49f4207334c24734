# SPDX-License-Identifier: MIT
"""``-`` is standard output wherever a file is written, and standard input wherever one is read."""

import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.texts_of_launches import SCALE
from wmma_emu.cli import main

from .conftest import ROOT

F16 = "m16n8k16.f32.f16.f16.f32"
COMMANDS = [
    ["list", "wmma"], ["list", "wmma", "--json"], ["show", F16], ["show", "h100"], ["layout", F16, "A"],
    ["layout", F16], ["where", F16, "A", "3", "5"], ["what", F16, "A", "--lane", "5"], ["schedule", F16],
    ["chips"], ["chips", "h100", "--csv"], ["explain", "a.npy", "b.npy", "3", "5"], ["compare", "a100", "h100"],
    ["compare", "a.npy", "b.npy", "a100", "h100"], ["compare", "a.npy", "b.npy", "a100", "h100", "--json"],
    ["ptx", "explain", "scale.ptx"], ["ptx", "explain", "scale.ptx", "--json"], ["finding"], ["finding", "race"],
    ["doctor"], ["completion", "bash"],
]  # fmt: skip


@pytest.fixture
def texts(here):
    Path("scale.ptx").write_text(SCALE, encoding="utf-8")
    return here


@pytest.mark.parametrize("argv", COMMANDS, ids=" ".join)
def test_a_dash_is_standard_output_and_a_name_is_a_file_with_the_same_text(run, texts, argv):
    plain, before = run(*argv), sorted(x.name for x in texts.iterdir())
    assert plain.status == 0 and plain.out and run(*argv, "-o", "-") == plain
    assert sorted(x.name for x in texts.iterdir()) == before
    assert run(*argv, "-o", "written") == (0, "", plain.err)
    assert (texts / "written").read_text(encoding="utf-8") == plain.out


def piped(*argv: str, given: bytes = b"") -> tuple[int, bytes, bytes]:
    done = subprocess.run(
        [sys.executable, "-m", "wmma_emu", *argv], input=given, capture_output=True,
        env={"PYTHONPATH": str(ROOT), "PATH": ""}, timeout=60,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def test_a_product_goes_through_pipes_bit_for_bit(here):
    a, b = np.load("a.npy"), np.load("b.npy")
    status, out, err = piped("gemm", "-", "b.npy", "-o", "-", given=(here / "a.npy").read_bytes())
    assert (status, err) == (0, b"")
    assert np.load(io.BytesIO(out)).tobytes() == we.gemm(a, b).tobytes()
    assert sorted(x.name for x in here.iterdir()) == ["a.npy", "b.npy"]


def test_an_array_in_the_order_of_fortran_is_read_from_a_pipe(here):
    a, b, file = np.load("a.npy"), np.load("b.npy"), io.BytesIO()
    np.save(file, np.asfortranarray(a))
    status, out, _ = piped("gemm", "-", "b.npy", "-o", "-", given=file.getvalue())
    assert status == 0 and np.load(io.BytesIO(out)).tobytes() == we.gemm(a, b).tobytes()


def test_bytes_do_not_go_to_a_terminal(here, screen, capsys):
    screen()
    for argv in (["gemm", "a.npy", "b.npy", "-o", "-"], ["quantise", "a.npy", "--pad", "-o", "-"]):
        assert main(argv) == 2
        assert "a .npy file is binary, which a terminal cannot show; name a file, such as" in capsys.readouterr().err


def test_elements_of_an_array_go_through_a_pipe_and_scales_into_a_file(here):
    a = np.load("a.npy")
    status, out, err = piped("quantise", "a.npy", "--pad", "--to", "nvfp4", "-o", "-", "--scales", "s.npy")
    expected = we.quantise.quantise(a, "nvfp4", pad=True)
    assert (status, err) == (0, b"") and np.array_equal(np.load(io.BytesIO(out)), expected.element_bits)
    assert np.array_equal(np.load("s.npy"), expected.scale_bits)
    assert piped("quantise", "a.npy", "--pad", "-o", "-", "--scales", "-")[0] == 2


@pytest.mark.thorough
def test_ptx_is_read_from_a_pipe_and_kept_on_one(texts):
    status, out, _ = piped("ptx", "explain", "-", given=SCALE.encode())
    assert status == 0 and b"standard input" in out
    status, out, _ = piped("ptx", "explain", "scale.ptx", "--keep", "-")
    assert (status, out.decode()) == (0, SCALE)


@pytest.mark.thorough
def test_what_a_kernel_writes_goes_through_a_pipe(texts):
    np.save("x.npy", np.arange(8, dtype=np.float32))
    launch = ("ptx", "run", "scale.ptx", "--grid", "1", "--block", "32", "--arg", "-=x.npy", "--arg", "2", "--arg", "8")
    status, out, err = piped(*launch)
    assert (status, err) == (0, b"")
    assert np.array_equal(np.load(io.BytesIO(out)), np.arange(0, 16, 2, dtype=np.float32))
    status, _, err = piped(*launch, "--json", "-")
    assert status == 2 and b"--json and --arg -=x.npy both write to standard output" in err
