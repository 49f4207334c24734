# SPDX-License-Identifier: MIT
"""Run the PTX tests of ZLUDA on the emulator, and print a table.

    python -m tools.peers.zluda CHECKOUT [--only REGEX] [--ptxas PATH]

CHECKOUT is a checkout of https://github.com/vosen/ZLUDA (MIT or Apache-2.0). Its folder `ptx/src/test/spirv_run` has
PTX for each test, and in `mod.rs` the input, the output and the shape of the launch, as macros; they are read by the
rules of Rust's literals. A test passes if the output array has the expected bytes. If a test with PTX fails,
ptxas decides whether the PTX is valid; tests without values pass if their PTX can be parsed.
"""

import argparse
import math
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.peers.ptxas import rejection, verdict
from tools.peers.table import Row, print_table, revision
from wmma_emu.errors import WmmaEmuError
from wmma_emu.ptx import Module

__all__ = ["ZludaTest", "array_of", "cases_of", "failure_of", "main", "row_of", "value_of"]

FOLDER = Path("ptx/src/test/spirv_run")

_DTYPES = {
    **{f"{x}{bits}": f"{x}{bits // 8}" for x in "ui" for bits in (8, 16, 32, 64)},
    **{f"f{bits}": f"f{bits // 8}" for bits in (16, 32, 64)},
}
"""NumPy's names of Rust's types."""

_THREADS = {"test_ptx": 1, "test_ptx_with_32": 1, "test_ptx_warp": 64}
"""Threads of the one block, by macro; what has more than one takes no input."""

_SHARED_BYTES = 1024

EQUAL, PARSED, ILLEGAL = "gives the expected bytes", "has no values, and is parsed", "ptxas rejects it too"

_OLDEST = 90
"""The chip; PTX for older chips runs on it."""

_NUMBER = re.compile(r"(-?)(0x[0-9a-fA-F_]+?|0b[01_]+?|[0-9][0-9_]*(?:\.[0-9]*)?)_?([uif](?:8|16|32|64))?")
_TYPE = r"(?:half::|std::)?([uif](?:8|16|32|64))"


@dataclass(frozen=True)
class ZludaTest:
    """One test: its name, the threads of its block, and its arrays; without an output it has to be read, no more."""

    name: str
    threads: int
    input: NDArray[Any] | None = None
    output: NDArray[Any] | None = None


def value_of(text: str) -> Any:
    """Evaluate an element of an array: a NumPy scalar, or a number of Python where Rust infers the type.

    Examples
    --------
    >>> int(value_of("0x7fu8")), hex(value_of("half::f16::from_f32(1.5)").view("u2")), value_of("-3")
    (127, '0x3e00', -3)
    """
    text = text.strip()
    if found := re.fullmatch(r"(.*)\.to_bits\(\)", text):
        value = value_of(found[1])
        return value.view(f"u{value.dtype.itemsize}")
    if found := re.fullmatch(_TYPE + r"::from_bits\((.*)\)", text):
        dtype = np.dtype(_DTYPES[found[1]])
        return np.dtype(f"u{dtype.itemsize}").type(value_of(found[2])).view(dtype)
    if found := re.fullmatch(r"half::f16::from_(f32|f64)\((.*)\)", text):
        return np.float16(np.dtype(_DTYPES[found[1]]).type(value_of(found[2])))
    if found := re.fullmatch(r"(.*) / (.*)", text):
        value = value_of(found[1])
        return value / value.dtype.type(value_of(found[2]))
    if found := re.fullmatch(_TYPE + r"::(?:consts::)?([A-Z_]+|max_value\(\)|min_value\(\))", text):
        return _constant(np.dtype(_DTYPES[found[1]]), found[2])
    number = _NUMBER.fullmatch(text)
    if number is None:
        raise ValueError(f"{text!r} is not a value of a test that this tool can parse")
    sign, digits, kind = number.groups()
    digits = digits.replace("_", "")
    plain = float(digits) if "." in digits or (kind or "")[:1] == "f" else int(digits, 0)
    plain = -plain if sign else plain
    return plain if kind is None else np.dtype(_DTYPES[kind]).type(plain)


def _constant(dtype: "np.dtype[Any]", name: str) -> Any:
    """Return a constant of a type: ``MAX``, ``NAN``, ``PI``."""
    if dtype.kind in "ui":
        return dtype.type(np.iinfo(dtype).max if name in ("MAX", "max_value()") else np.iinfo(dtype).min)
    known = {"NAN": math.nan, "INFINITY": math.inf, "NEG_INFINITY": -math.inf, "PI": math.pi, "E": math.e}
    return dtype.type(known[name])


def array_of(text: str) -> NDArray[Any]:
    """Evaluate ``[1u32, 2]``: the elements have the type that one of them names; as in Rust, else i32 or f64.

    Examples
    --------
    >>> array_of("[1u16, 2, 3]")
    array([1, 2, 3], dtype=uint16)
    """
    values = [value_of(x) for x in _split(text.strip()[1:-1])]
    typed = next((x.dtype for x in values if isinstance(x, np.generic)), None)
    if typed is None:
        typed = np.dtype("f8" if any(isinstance(x, float) for x in values) else "i4")
    return np.array(values, typed)


def _split(text: str) -> list[str]:
    """Split at the commas outside brackets."""
    found, depth, begin = [], 0, 0
    for i, letter in enumerate(text + ","):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            found.append(text[begin:i].strip())
            begin = i + 1
    return [x for x in found if x]


def cases_of(source: str) -> Iterator[ZludaTest]:
    """Yield the tests of ``mod.rs``, in its order."""
    source = re.sub(r"//[^\n]*", "", source)
    for found in re.finditer(r"^(test_ptx\w*)!\((.*?)\);", source, re.MULTILINE | re.DOTALL):
        threads = _THREADS[found[1]]
        name, *arrays = _split(found[2])
        if not arrays:
            yield ZludaTest(name, threads)
        elif threads > 1:
            yield ZludaTest(name, threads, None, array_of(arrays[0]))
        else:
            yield ZludaTest(name, threads, array_of(arrays[0]), array_of(arrays[1]))


def _chip(text: str) -> str:
    found = re.search(r"\.target\s+sm_(\d+)", text)
    return f"sm_{max(_OLDEST, int(found[1]) if found else 0)}"


def failure_of(case: ZludaTest, text: str) -> str | None:
    """Run a test; say why it fails, None if it does not."""
    try:
        module = Module(text, arch=_chip(text))
        if case.output is None:
            return None
        kernel = module[case.name]
        given = np.zeros_like(case.output)
        # A kernel of two pointers that has no input gets the output twice, as from ZLUDA's own launch.
        arrays = (given if case.input is None else case.input.copy(), given)[-len(kernel.parameters) :]
        kernel[1, case.threads, _SHARED_BYTES](*arrays, findings="report")
    except (WmmaEmuError, TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    if given.tobytes() == case.output.tobytes():
        return None
    wrong = int(np.flatnonzero(given.view(f"u{given.itemsize}") != case.output.view(f"u{given.itemsize}"))[0])
    return f"element {wrong} is {_bits(given[wrong])}, expected {_bits(case.output[wrong])}"


def _bits(value: Any) -> str:
    return f"{int(value.view(f'u{value.dtype.itemsize}')):#0{2 + 2 * value.dtype.itemsize}x}"


def row_of(case: ZludaTest, text: str, ptxas: str | None) -> Row:
    """Run a test; a failure is not counted against the emulator if ptxas rejects the PTX."""
    why = failure_of(case, text)
    if why is None:
        return Row(case.name, EQUAL if case.output is not None else PARSED)
    error = rejection(text, ptxas)
    return Row(case.name, ILLEGAL if error else "fails", " / ".join(why.splitlines()) + verdict(error))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=Path, help="a checkout of ZLUDA")
    parser.add_argument("--only", default="", help="a regular expression for the names of tests")
    parser.add_argument("--ptxas", default=shutil.which("ptxas"), help="the ptxas to run (default: %(default)s)")
    given = parser.parse_args(argv)
    folder = given.checkout / FOLDER
    if not (folder / "mod.rs").is_file():
        parser.error(f"{folder / 'mod.rs'}: there is no such file; give a checkout of ZLUDA")
    cases = [x for x in cases_of((folder / "mod.rs").read_text()) if re.search(given.only, x.name)]
    rows = [row_of(x, (folder / f"{x.name}.ptx").read_text(), given.ptxas) for x in cases]
    return print_table("ZLUDA's spirv_run", revision(given.checkout), rows, (EQUAL, PARSED, ILLEGAL))


if __name__ == "__main__":
    sys.exit(main())
