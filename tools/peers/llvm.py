# SPDX-License-Identifier: MIT
"""Compile LLVM's tests of its NVPTX target to PTX, load the PTX in the emulator, and print a table.

    python -m tools.peers.llvm CHECKOUT [--only REGEX] [--ptxas PATH] [--keep DIR]

CHECKOUT is a checkout of https://github.com/llvm/llvm-project (Apache-2.0 with LLVM exceptions), or another folder with
its `llvm/test/CodeGen/NVPTX`. The compiler is the LLVM in the wheel of llvmlite, and the tests have to be of about the
same release. PTX counts as complete if the emulator has every instruction of every function; what it lacks is
listed, with the answer of ptxas. Nothing is launched: the tests have no values.
"""

import argparse
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import llvmlite
import llvmlite.binding

from tools.peers.llvm_compile import RunLine, compiled, runs_of
from tools.peers.ptxas import rejection
from tools.peers.table import Row, print_table, revision
from wmma_emu.chips import ARCHS
from wmma_emu.errors import WmmaEmuError
from wmma_emu.ptx import Module
from wmma_emu.ptx.syntax.parser import parse
from wmma_emu.ptx.syntax.tree import FunctionText, VariableText

FOLDER = Path("llvm/test/CodeGen/NVPTX")

COMPLETE, UNDEFINED, REFUSED, ILLEGAL, OLD, NO_CODE, FAULT = (
    "complete", "complete, but calls functions that it only declares", "refused", "ptxas rejects it too",
    "32-bit addresses", "not compiled by this LLVM", "fault of the emulator",
)  # fmt: skip

_MOST_REASONS = 3

_DECLARED = ("is not defined in this PTX source", "which is a function without a body")
"""The words of refusals of calls, and of addresses, for functions that the text only declares."""

_OLDEST = "sm_90"
"""The chip that runs the code for chips before Volta."""


def with_calls(text: str) -> str:
    """Append a kernel for each function that returns or is called by none, so that all of them are compiled.

    Examples
    --------
    >>> text = ".version 8.0\\n.target sm_90\\n.address_size 64\\n.func (.param .b32 r) f(.param .b64 x) { ret; }\\n"
    >>> print(with_calls(text).splitlines()[-1])
    .entry call_0() { .param .b32 r0; .param .b64 p0; call.uni (r0), f, (p0); ret; }
    """
    kernels: list[str] = []
    for function in parse(text).functions:
        if not function.is_kernel and function.body is not None:
            kernels.append(f".entry call_{len(kernels)}() {{ {_call(function)} ret; }}")
    return "\n".join([text.rstrip("\0 \n"), *kernels, ""])


def _call(function: FunctionText) -> str:
    results, parameters = _declared(function.results, "r"), _declared(function.parameters, "p")
    names = [f"({', '.join(x)})" if x else "" for x in (results, parameters)]
    words = [x for x in (names[0], function.name, names[1]) if x]
    return " ".join([*results.values(), *parameters.values(), f"call.uni {', '.join(words)};"])


def _declared(variables: Sequence[VariableText], letter: str) -> dict[str, str]:
    declared = {}
    for i, variable in enumerate(variables):
        alignment = f".align {variable.alignment} " if variable.alignment else ""
        sizes = "".join(f"[{x}]" if x else "[]" for x in variable.sizes)
        declared[f"{letter}{i}"] = f".param {alignment}.{variable.type} {letter}{i}{sizes};"
    return declared


def chip_of(text: str) -> str:
    """Return the chip to load PTX for: its target, without the suffix, or a newer chip if it is older.

    Examples
    --------
    >>> chip_of(".target sm_100a"), chip_of(".target sm_20"), chip_of(".target sm_110a")
    ('sm_100', 'sm_90', 'sm_110')
    """
    found = re.search(r"\.target\s+sm_(\d+)", text)
    number = int(found[1]) if found else 0
    return f"sm_{number}" if f"sm_{number}" in ARCHS or number >= 70 else _OLDEST


def refusals_of(text: str) -> Iterator[str]:
    """Yield what the emulator lacks for PTX: families of instructions, and reasons without names and numbers."""
    try:
        kernels = Module(with_calls(text), arch=chip_of(text)).explain().kernels
    except WmmaEmuError as error:
        yield general_reason("", str(error).splitlines()[0])
    else:
        for missing in (x for kernel in kernels for x in kernel.missing):
            yield general_reason(missing.opcode, missing.reason)


def general_reason(opcode: str, reason: str) -> str:
    """Return a reason that is the same for all instructions of a family.

    Examples
    --------
    >>> general_reason("tcgen05.alloc.cta_group::1.b32", "line 21: tcgen05.alloc.cta_group::1.b32 is not modelled")
    'tcgen05.alloc.cta_group: is not modelled'
    """
    family = _FAMILY.match(opcode)
    reason = re.sub(r"^line \d+(?:, column \d+)?: ", "", reason)
    if family:
        word = rf"\b{re.escape(family[0])}\b[\w.:]*"
        reason = re.sub(rf"^(?:{word}:? )+", "", reason)
        return f"{family[0]}: " + re.sub(rf"%?{word}", family[0], _shorter(reason))
    return _shorter(reason)


_FAMILY = re.compile(r"(?:cp|tcgen05|tensormap|clusterlaunchcontrol)(?:\.[a-z_]+\b)*|\w+")
"""The words of an opcode that name its family: for most, the mnemonic."""


def _shorter(reason: str) -> str:
    """Return the first clause, with a name for all registers, variables and functions."""
    reason = re.sub(r"%\w+", "%r", reason.split("; ")[0])
    reason = re.sub(r"(the function |recursion: |variables up to |of the function )[\w$]+", r"\1...", reason)
    return re.sub(r"\d{4,}", "N", reason)[:160]


def row_of(name: str, text: str, ptxas: str | None) -> Row:
    """Load PTX; if anything is refused, ask ptxas."""
    if ".address_size 32" in text:
        return Row(name, OLD)
    try:
        everything = dict.fromkeys(refusals_of(text))
    except Exception as error:
        return Row(name, FAULT, f"{type(error).__name__}: {error}")
    refusals = [x for x in everything if not any(y in x for y in _DECLARED)]
    if not refusals:
        return Row(name, UNDEFINED if everything else COMPLETE)
    reason = "; ".join(refusals[:_MOST_REASONS]) + (" ..." if len(refusals) > _MOST_REASONS else "")
    rejected = rejection(text, ptxas)
    return Row(name, ILLEGAL if rejected else REFUSED, f"{reason}; ptxas: {rejected}" if rejected else reason)


def _rows(folder: Path, given: argparse.Namespace) -> Iterator[Row]:
    for path in sorted(folder.rglob("*.ll")):
        source = path.read_text(encoding="utf-8", errors="replace")
        name = str(path.relative_to(folder))
        if not re.search(given.only, name):
            continue
        for number, run in enumerate(runs_of(source)):
            yield _row(f"{name} {run}", f"{path.stem}.{number}.ptx", source, run, given)


def _row(case: str, file: str, source: str, run: RunLine, given: argparse.Namespace) -> Row:
    kept = given.keep and given.keep / file
    if kept and kept.is_file():
        return row_of(case, kept.read_text(encoding="utf-8"), given.ptxas)
    text, why = compiled(source, run)
    if not text:
        return Row(case, NO_CODE, why)
    if kept:
        given.keep.mkdir(parents=True, exist_ok=True)
        kept.write_text(text, encoding="utf-8")
    return row_of(case, text, given.ptxas)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.peers.llvm", description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=Path, help="a checkout of LLVM")
    parser.add_argument("--only", default="", help="a regular expression for the names of files")
    parser.add_argument("--ptxas", default=shutil.which("ptxas"), help="the ptxas to run (default: %(default)s)")
    parser.add_argument("--keep", type=Path, help="a folder for the PTX, which is read from there the next time")
    given = parser.parse_args(argv)
    folder = given.checkout / FOLDER
    if not folder.is_dir():
        parser.error(f"{folder}: there is no such folder; give a checkout of LLVM")
    version = ".".join(map(str, llvmlite.binding.llvm_version_info))
    suite = f"LLVM's NVPTX tests, compiled by LLVM {version} of llvmlite {llvmlite.__version__}"
    rows = list(_rows(folder, given))
    return print_table(suite, revision(given.checkout), rows, (COMPLETE, UNDEFINED, ILLEGAL, OLD, NO_CODE))


if __name__ == "__main__":
    sys.exit(main())
