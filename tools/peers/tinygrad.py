# SPDX-License-Identifier: MIT
"""Run tinygrad's tests on its mock GPU, whose kernels the emulator runs instead of gpuocelot, and print a table.

    python -m tools.peers.tinygrad CHECKOUT [--tests FILE ...] [--keep FILE] [-- PYTEST-OPTION ...]

CHECKOUT is a checkout of https://github.com/tinygrad/tinygrad (MIT). Without ``--tests``, the files are those that
its own workflow runs with ``DEV=MOCK+CUDA:PTX``: `test/backend` without `test_multitensor.py`. A launch goes through
`ptx_run` of `test/mockgpu/helpers.py`, which `tools.peers.tinygrad_device` replaces. The files need PyTorch for CPUs.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools.peers.table import Row, print_table, revision

TESTS = "test/backend"
LEFT_OUT = ("test_multitensor.py",)
"""Its workflow omits this file because it is slow."""

ENVIRONMENT = {"DEV": "MOCK+CUDA:PTX", "FORWARD_ONLY": "1"}
"""As in the job ``testnvidia`` of its workflow."""

TEST_SECONDS = {"TEST_TIMEOUT": "3600"}
"""Its `conftest.py` ends the process of a test after 300 seconds, which are few for an emulator that checks."""

PROJECT = Path(__file__).parents[2]


def files_on_mock_gpu(checkout: Path) -> list[str]:
    """Return the files that tinygrad's workflow runs on the mock GPU."""
    return [
        str(x.relative_to(checkout)) for x in sorted((checkout / TESTS).glob("test_*.py")) if x.name not in LEFT_OUT
    ]


def rows_of(records: Sequence[dict[str, str]]) -> list[Row]:
    """Return the rows of records of `tinygrad_device`: if a launch failed, its error is the reason.

    Examples
    --------
    >>> rows_of([{"test": "t.py::a", "outcome": "failed", "launch": "no textures", "error": "RuntimeError: 719"}])
    [Row(case='t.py::a', outcome='failed in a launch', reason='no textures')]
    """
    rows = []
    for x in records:
        outcome, reason = x["outcome"], x["error"]
        if outcome == "failed" and x["launch"]:
            outcome, reason = "failed in a launch", x["launch"]
        elif outcome == "failed" and not reason:
            reason = "the process of the test ended"
        rows.append(Row(x["test"].removeprefix(f"{TESTS}/"), outcome, reason))
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    given, options = _parsed(list(sys.argv[1:] if argv is None else argv))
    tests = given.tests or files_on_mock_gpu(given.checkout)
    with tempfile.TemporaryDirectory() as folder:
        results = given.keep or Path(folder) / "results.jsonl"
        results.unlink(missing_ok=True)
        paths = os.pathsep.join(map(str, (given.checkout.resolve(), PROJECT)))
        environment = TEST_SECONDS | os.environ | ENVIRONMENT | {
            "PYTHONPATH": paths, "CACHEDB": str(Path(folder) / "cache.db"),
            "WMMA_EMU_RESULTS": str(results.resolve()), "WMMA_EMU_SECONDS": str(given.seconds),
        }  # fmt: skip
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tools.peers.tinygrad_device", "-p", "no:cacheprovider"]
        done = subprocess.run([*command, *options, *tests], cwd=given.checkout, env=environment, check=False)
        if not results.is_file():
            print(f"pytest ended with status {done.returncode} and no result", file=sys.stderr)
            return 2
        records = [json.loads(x) for x in results.read_text(encoding="utf-8").splitlines()]
    return print_table("tinygrad on its mock GPU", revision(given.checkout), rows_of(records), ("passed", "skipped"))


def _parsed(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """Parse the arguments; those after ``--`` are pytest's."""
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(prog="python -m tools.peers.tinygrad", description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=Path, help="a checkout of tinygrad")
    parser.add_argument("--tests", nargs="+", help="files of the checkout, or pytest's names of tests")
    parser.add_argument("--keep", type=Path, help="a file for the outcome of each test, a line of JSON each")
    parser.add_argument("--seconds", type=float, default=300, help="for one launch (default: %(default)s)")
    given = parser.parse_args(arguments[:cut])
    if not (given.checkout / "test/mockgpu/helpers.py").is_file():
        parser.error(f"{given.checkout} has no test/mockgpu/helpers.py; give a checkout of tinygrad")
    return given, arguments[cut + 1 :]


if __name__ == "__main__":
    sys.exit(main())
