# SPDX-License-Identifier: MIT
"""Cases on the interpreter of their language, in another process: ``TRITON_INTERPRET=1``.

    TRITON_INTERPRET=1 python -m tools.language_programs.interpreted ROOT ARCH

A line on standard input is the name of a case; a line on standard output, which begins with a mark, is its distance,
the error that ended it, and the seconds of two calls. The switch is on, so that host code that asks for a GPU gets an
answer, but no kernel runs on the emulator.
"""

import contextlib
import importlib
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

__all__ = ["Interpreted", "Interpreter"]

_MARK = "interpreted: "


class Interpreted(NamedTuple):
    """A case on the interpreter: see `Outcome`."""

    distance: float | None
    error: str
    seconds: float
    again: float


class Interpreter:
    """A process that runs cases on the interpreter; a case that ends it is an error, and the next starts another."""

    def __init__(self, root: Path, arch: str) -> None:
        self._arguments = [str(root), arch]
        self._process: subprocess.Popen[str] | None = None

    def run(self, name: str) -> Interpreted:
        """Run a case."""
        process = self._process or self._start()
        to, answers = cast(IO[str], process.stdin), cast(IO[str], process.stdout)
        try:
            to.write(f"{name}\n")
            to.flush()
            for line in answers:
                if line.startswith(_MARK):
                    return Interpreted(*json.loads(line.removeprefix(_MARK)))
        except BrokenPipeError:
            pass
        self._process = None
        return Interpreted(None, f"the process ended with status {process.wait()}", 0.0, 0.0)

    def _start(self) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "tools.language_programs.interpreted", *self._arguments]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env={**os.environ, "TRITON_INTERPRET": "1"},
        )  # fmt: skip
        return self._process

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def _serve(root: Path, arch: str) -> None:
    import wmma_emu as we
    from tools.language_programs import projects
    from tools.language_programs.case import CASES, use_checkouts
    from tools.language_programs.running import call

    importlib.import_module(projects.__name__)
    use_checkouts(root)
    for name in sys.stdin:
        case = CASES[name.strip()]
        found: list[Any] = [None, "", 0.0, 0.0]
        with warnings.catch_warnings(), contextlib.redirect_stdout(sys.stderr), we.emulate(case.arch or arch) as on:
            warnings.simplefilter("ignore")
            found[:3] = call(case.run)
            if on.launches:
                found[:2] = None, "the interpreter does not run such kernels"
            if not found[1]:
                found[3] = call(case.run)[2]
        print(_MARK + json.dumps(found), flush=True)


if __name__ == "__main__":
    _serve(Path(sys.argv[1]), sys.argv[2])
