# SPDX-License-Identifier: MIT
import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from wmma_emu.cli import main

ROOT = Path(__file__).parents[2]


class Outcome(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Run a command line in this process."""

    def run_it(*argv: object) -> Outcome:
        capsys.readouterr()
        status = main([str(x) for x in argv])
        return Outcome(status, *capsys.readouterr())

    return run_it


@pytest.fixture
def process() -> Callable[..., Outcome]:
    """Run a command line in a separate process, from a checkout on the path."""

    def run_it(
        *argv: object, stdout: object = subprocess.PIPE, stderr: object = subprocess.PIPE, **environment: str
    ) -> Outcome:
        command = [sys.executable, "-m", "wmma_emu", *(str(x) for x in argv)]
        env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
        done = subprocess.run(command, stdout=stdout, stderr=stderr, env=env, timeout=60)
        return Outcome(done.returncode, (done.stdout or b"").decode(), (done.stderr or b"").decode())

    return run_it


class Screen(io.TextIOWrapper):
    """A standard output that says it is a terminal."""

    def __init__(self, encoding: str = "utf-8") -> None:
        super().__init__(io.BytesIO(), encoding=encoding, write_through=True)

    def isatty(self) -> bool:
        return True

    @property
    def text(self) -> str:
        return self.buffer.getvalue().decode(self.encoding)


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Screen]:
    """Replace standard output by a terminal of the given width."""

    def make(columns: int = 80, encoding: str = "utf-8") -> Screen:
        for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLORTERM"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("TERM", "xterm-256color")
        monkeypatch.setenv("COLUMNS", str(columns))
        screen = Screen(encoding)
        monkeypatch.setattr(sys, "stdout", screen)
        return screen

    return make


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current directory with two small matrices in it, a.npy (6 x 5) and b.npy (5 x 7) of float16."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    np.save("a.npy", rng.standard_normal((6, 5)).astype(np.float16))
    np.save("b.npy", rng.standard_normal((5, 7)).astype(np.float16))
    return tmp_path
