# SPDX-License-Identifier: MIT
"""Run gpuocelot's assembly tests (TestPTXAssembly) on the emulator, and print a table.

    python -m tools.peers.ocelot CHECKOUT [--only REGEX] [--seeds N] [--ptxas PATH] [--cases FILE]

CHECKOUT is a checkout of https://github.com/gtcasl/gpuocelot (BSD) with its submodule `hydrazine`. The tests are C++:
functions that write PTX, draw inputs, and compute what is expected. `ocelot_cases.cpp` compiles that file of the
checkout with g++ and Boost's headers, and prints the cases. Integers have to be equal, numbers as near as the test
itself asks.
"""

import argparse
import functools
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.peers.ptxas import rejection, verdict
from tools.peers.table import Row, print_table, revision
from wmma_emu.errors import PtxSyntaxError, WmmaEmuError
from wmma_emu.ptx import Module

EQUAL, NEAR, ILLEGAL = "equal bits", "within the tolerance of the test", "ptxas rejects it too"

_DTYPES = {"b": "u1", "h": "u2", "i": "u4", "q": "u8", "f": "f4", "d": "f8"}

_OWN = ("ocelot/ir/implementation", ("PTXOperand", "PTXInstruction", "Instruction"))
_HYDRAZINE = (
    "hydrazine/hydrazine/implementation",
    ("Test", "math", "LowLevelTimer", "debug", "FloatingPoint", "Exception", "ArgumentParser", "Timer", "string"),
)
_FLAGS = ("-std=c++14", "-O0", "-w", "-fpermissive", "-fno-access-control")


def cases_of(checkout: Path, seeds: int, folder: Path) -> list[dict[str, Any]]:
    """Compile the suite's file, and return its cases.

    Raises
    ------
    RuntimeError
        With the compiler's message.
    """
    root = checkout / "ocelot"
    (folder / "configure.h").touch()  # gpuocelot's build writes its options there
    sources = [Path(__file__).with_name("ocelot_cases.cpp")]
    sources += [root / x / f"{name}.cpp" for x, names in (_OWN, _HYDRAZINE) for name in names]
    includes = [f"-I{x}" for x in (folder, root, root / "hydrazine")]
    for source in sources:
        _checked(["g++", *_FLAGS, *includes, "-c", str(source), "-o", str(folder / f"{source.stem}.o")])
    # The suite also calls gpuocelot's runtime, which no case needs: its symbols stay unresolved.
    objects = [str(folder / f"{x.stem}.o") for x in sources]
    program = str(folder / "cases")
    _checked(["g++", "-static", "-no-pie", "-Wl,--unresolved-symbols=ignore-all", *objects, "-o", program])
    return [json.loads(x) for x in _checked([program, str(seeds)]).splitlines()]


def _checked(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return done.stdout


@functools.lru_cache(maxsize=8)
def _module(text: str) -> Module:
    return Module(text)


def row_of(case: dict[str, Any], ptxas: str | None) -> Row:
    """Run one case; ptxas decides whether a refused text is legal."""
    name, text = f"{case['name']} ({case['seed']})", case["ptx"]
    expected = np.frombuffer(bytes.fromhex(case["expected"]), np.uint8)
    output = np.zeros_like(expected)
    given = np.frombuffer(bytes.fromhex(case["input"]), np.uint8).copy()
    try:
        _module(text)["test"][case["blocks"], case["threads"]](output, given, findings="report")
    except (WmmaEmuError, TypeError, ValueError) as error:
        error_there = rejection(text, ptxas)
        line = str(error).splitlines()[0 if isinstance(error, PtxSyntaxError) else -1]
        reason = re.sub(r"^line \d+(, column \d+)?: ", "", line)
        why = f"{type(error).__name__}: {reason[:200]}{verdict(error_there)}"
        return Row(name, ILLEGAL if error_there else "refused", why)
    if np.array_equal(output, expected):
        return Row(name, EQUAL)
    found = next(iter(_differences(output, expected, case["results"], case["epsilon"])), None)
    return Row(name, NEAR) if found is None else Row(name, "differs", found)


def _differences(output: NDArray[Any], expected: NDArray[Any], types: str, epsilon: int) -> list[str]:
    """Return the results that the suite itself would reject."""
    found, offset = [], 0
    for letter in types:
        dtype = np.dtype(_DTYPES[letter])
        offset = -(-offset // dtype.itemsize) * dtype.itemsize
        here, there = (x[offset : offset + dtype.itemsize].view(dtype)[0] for x in (output, expected))
        if not (is_near(here, there, epsilon) if dtype.kind == "f" else here == there):
            pattern = [hex(int(x.view(f"u{dtype.itemsize}"))) for x in (here, there)]
            found.append(f"{pattern[0]}, expected {pattern[1]}")
        offset += dtype.itemsize
    return found


def is_near(here: Any, there: Any, epsilon: int) -> bool:
    """Return whether the suite accepts a number: an absolute error if it is small, otherwise a relative one.

    Examples
    --------
    >>> is_near(np.float32(1), np.float32(1.0000002), 1), is_near(np.float32(1), np.float32(1.0000004), 1)
    (True, False)
    """
    if (np.isnan(here) and np.isnan(there)) or here == there:
        return True
    small = 1e4 if here.dtype.itemsize == 4 else 1e15
    with np.errstate(all="ignore"):
        error = abs(here - there) if abs(here) < small else abs(1 - here / there)
    return bool(error <= np.finfo(here.dtype).eps * 2.0**epsilon)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.peers.ocelot", description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=Path, help="a checkout of gpuocelot")
    parser.add_argument("--only", default="", help="a regular expression for the names of tests")
    parser.add_argument("--seeds", type=int, default=8, help="inputs for each test (default: %(default)s)")
    parser.add_argument("--ptxas", default=shutil.which("ptxas"), help="the ptxas to run (default: %(default)s)")
    parser.add_argument("--cases", type=Path, help="a file for the cases, a line of JSON each")
    given = parser.parse_args(argv)
    if not (given.checkout / "ocelot/ocelot/ir/test/TestPTXAssembly.cpp").is_file():
        parser.error(f"{given.checkout} has no ocelot/ocelot/ir/test/TestPTXAssembly.cpp; give a checkout of gpuocelot")
    if not (given.checkout / "ocelot/hydrazine/hydrazine").is_dir():
        parser.error(f"{given.checkout}/ocelot/hydrazine is empty; run git submodule update --init there")
    with tempfile.TemporaryDirectory() as folder:
        cases = cases_of(given.checkout.resolve(), given.seeds, Path(folder))
    if given.cases:
        given.cases.write_text("".join(json.dumps(x) + "\n" for x in cases), encoding="utf-8")
    rows = [row_of(x, given.ptxas) for x in cases if re.search(given.only, x["name"])]
    suite = f"gpuocelot's TestPTXAssembly, {len(cases) // given.seeds} tests, {given.seeds} inputs each"
    return print_table(suite, revision(given.checkout), rows, (EQUAL, NEAR, ILLEGAL))


if __name__ == "__main__":
    sys.exit(main())
