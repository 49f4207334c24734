# SPDX-License-Identifier: MIT
"""A whole process: start, exit status, pipes, locale."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest

import wmma_emu

from .conftest import ROOT

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a device of Linux")


def test_version_prints_the_version_of_the_package(process):
    assert process("--version") == (0, f"wmma-emu {wmma_emu.__version__}\n", "")


@pytest.mark.sweep(keep=1 / 3)
@pytest.mark.parametrize(
    "argv",
    [["--help"], *([x, "-h"] for x in ("list", "show", "layout", "where", "what", "gemm", "explain", "ptx"))],
    ids=lambda x: x[0],
)
def test_help_goes_to_standard_output(process, argv):
    status, out, err = process(*argv)
    assert (status, err) == (0, "") and out.startswith("usage: wmma-emu")


def test_an_error_is_one_line_and_exit_status_two(process, tmp_path):
    status, out, err = process("gemm", "none.npy", "none.npy", "-o", tmp_path / "d.npy")
    assert (status, out, err) == (2, "", "wmma-emu: error: none.npy: No such file or directory\n")


@pytest.mark.thorough
def test_the_posix_locale_is_enough(process, here):
    (here / "a.npy").rename("größe.npy")
    posix = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    status, out, err = process("gemm", "größe.npy", "b.npy", "-o", "d.npy", "--arch", "t4", **posix)
    assert status == 0 and out.isascii() and err.isascii() and np.load("d.npy").shape == (6, 7)
    assert process("gemm", "größer.npy", "b.npy", "-o", "d.npy", **posix).status == 2


def test_a_closed_pipe_is_not_an_error(process):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        assert process("list", stdout=writer) == (141, "", "")
    finally:
        os.close(writer)


@LINUX
def test_a_full_disk_under_standard_output_is_an_error(process):
    with open("/dev/full", "wb") as full:
        outcome = process("list", stdout=full)
    assert outcome == (2, "", "wmma-emu: error: standard output: No space left on device\n")


@pytest.mark.thorough
@LINUX
def test_a_full_disk_under_standard_error_changes_no_exit_status(process, here):
    with open("/dev/full", "wb") as full:
        assert process("list", "--arch", "pascal", stderr=full) == (2, "", "")
        assert process("list", stdout=full, stderr=full).status == 2
        assert process("gemm", "a.npy", "b.npy", "-o", "d.npy", "--arch", "t4", stderr=full).status == 0
    assert np.load("d.npy").shape == (6, 7)


@pytest.mark.parametrize("module", ["wmma_emu.cli.app", "wmma_emu.cli.options", "wmma_emu.cli.listing"])
def test_an_interrupt_during_the_commands_imports_is_quiet(module):
    program = f"""
import sys, wmma_emu.cli

class Interrupt:
    def find_spec(name, *_):
        if name == "{module}":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt)
sys.exit(wmma_emu.cli.main(["list"]))
"""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=env, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_listing_into_a_pipe_imports_neither_rich_nor_another_command():
    program = (
        "import sys, wmma_emu.cli; status = wmma_emu.cli.main(['list']); "
        "print([x for x in ('rich', 'wmma_emu.cli.product', 'wmma_emu.cli.show') if x in sys.modules], status)"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=env, timeout=60)
    assert done.stdout.splitlines()[-1] == "[] 0"


@pytest.mark.slow
@pytest.mark.parametrize("argv", [
    ["--version"], ["list"], ["show", "m16n8k16.f32.f16.f16.f32"],
    ["layout", "m16n8k16.f32.f16.f16.f32", "--operand", "A"],
])  # fmt: skip
def test_the_command_starts_in_half_a_second(process, argv):
    times = []
    for _ in range(5):
        start = time.perf_counter()
        assert process(*argv).status == 0
        times.append(time.perf_counter() - start)
    assert min(times) < 0.5
