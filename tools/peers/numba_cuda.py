# SPDX-License-Identifier: MIT
"""Run the tests that the wheel of numba-cuda contains on the emulator, and print a table.

    python -m tools.peers.numba_cuda [--tests NAME ...] [--arch CHIP] [--seconds N] [--keep FILE] [-- PYTEST-OPTION ...]

The suite (https://github.com/NVIDIA/numba-cuda, BSD-2-Clause) runs as it is, without a driver, while
`wmma_emu.languages.emulate` is on. A name is a module in `numba.cuda.tests`, such as ``cudapy.test_atomics``; without
names, all of `FOLDERS` run. The suite needs filecheck, psutil, cffi and cloudpickle.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib import metadata, util
from pathlib import Path

from tools.peers.outcomes import FILE
from tools.peers.table import Row, print_table
from wmma_emu.instructions import DEFAULT_ARCH

FOLDERS = ("cudapy", "doc_examples", "cudadrv", "nrt", "nocuda", "core")
"""The folders of the suite; ``cudasim`` tests numba's own simulator, and ``benchmarks`` measures."""

PROJECT = Path(__file__).parents[2]

_SWITCH = """import atexit
from wmma_emu.languages import emulate
_emulation = emulate({arch!r}, languages=["numba-cuda"], findings="report", max_seconds={seconds})
_emulation.__enter__()
atexit.register(_emulation.__exit__, None, None, None)
"""

_TESTS = """from numba.cuda.tests.{folder} import {module} as _tests
globals().update({{name: value for name, value in vars(_tests).items() if not name.startswith("__")}})
"""
"""A file of tests with those of a module: pytest itself would import the module under another name."""


def modules_of(suite: Path) -> list[str]:
    """Return the names of the modules of the folders."""
    return [f"{x}.{y.stem}" for x in FOLDERS for y in sorted((suite / x).glob("test_*.py"))]


def rows_of(records: Sequence[dict[str, str]]) -> list[Row]:
    """Return the rows of the outcomes of tests.

    Examples
    --------
    >>> rows_of([{"test": "cudapy__test_sm.py::T::test_a", "outcome": "failed", "error": "ValueError: no"}])
    [Row(case='cudapy.test_sm::T::test_a', outcome='failed', reason='ValueError: no')]
    """
    return [
        Row(x["test"].replace("__", ".", 1).replace(".py::", "::"), x["outcome"], x["error"]) for x in records
    ]  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    given, options = _parsed(list(sys.argv[1:] if argv is None else argv))
    found = util.find_spec("numba.cuda.tests")
    if found is None or found.submodule_search_locations is None:
        print("numba-cuda is not installed: pip install '.[numba-cuda]'", file=sys.stderr)
        return 2
    names = given.tests or modules_of(Path(found.submodule_search_locations[0]))
    with tempfile.TemporaryDirectory() as folder:
        results = given.keep or Path(folder) / "results.jsonl"
        results.unlink(missing_ok=True)
        (Path(folder) / "sitecustomize.py").write_text(_SWITCH.format(arch=given.arch, seconds=given.seconds))
        files = [_write(Path(folder), name) for name in names]
        paths = os.pathsep.join((folder, str(PROJECT)))
        environment = os.environ | {"PYTHONPATH": paths, FILE: str(results.resolve())}
        plugins = ["-p", "tools.peers.numba_cuda_device", "-p", "no:cacheprovider", "-W", "ignore"]
        command = [sys.executable, "-m", "pytest", "-q", *plugins, f"--rootdir={folder}", *options, *files]
        done = subprocess.run(command, cwd=folder, env=environment, check=False)
        if not results.is_file():
            print(f"pytest ended with status {done.returncode} and no result", file=sys.stderr)
            return 2
        records = [json.loads(x) for x in results.read_text(encoding="utf-8").splitlines()]
    suite = f"Tests of numba-cuda on the emulated {given.arch}"
    return print_table(suite, metadata.version("numba-cuda"), rows_of(records), ("passed", "skipped"))


def _write(folder: Path, name: str) -> str:
    group, _, module = name.partition(".")
    path = folder / f"{group}__{module}.py"
    path.write_text(_TESTS.format(folder=group, module=module))
    return path.name


def _parsed(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Parse the arguments; those after ``--`` are pytest's."""
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(prog="python -m tools.peers.numba_cuda", description=__doc__.splitlines()[0])
    parser.add_argument("--tests", nargs="+", help="modules of numba.cuda.tests")
    parser.add_argument("--arch", default=DEFAULT_ARCH, help="the chip (default: %(default)s)")
    parser.add_argument("--keep", type=Path, help="a file for the outcome of each test, a line of JSON each")
    parser.add_argument("--seconds", type=float, default=60, help="for one launch (default: %(default)s)")
    return parser.parse_args(arguments[:cut]), arguments[cut + 1 :]


if __name__ == "__main__":
    sys.exit(main())
