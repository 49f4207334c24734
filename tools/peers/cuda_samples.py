# SPDX-License-Identifier: MIT
"""Compile every source of NVIDIA's CUDA Samples, unmodified, load its kernels, and print which of them can run.

    python -m tools.peers.cuda_samples CHECKOUT [--only REGEX] [--include DIR ...] [--keep DIR] [--arch CHIP]

CHECKOUT is a checkout of https://github.com/NVIDIA/cuda-samples (BSD). A sample counts as complete if the emulator has
every instruction of each kernel that its own host code uses. Nothing is launched: `tools.run_nvidia_samples` launches
the samples with tensor cores, and compares their results with NumPy.
"""

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tools.peers.table import Row, print_table, revision
from wmma_emu.errors import CompilationError, WmmaEmuError
from wmma_emu.instructions import DEFAULT_ARCH
from wmma_emu.ptx import Module

COMPLETE, NO_KERNEL, REFUSED, NOT_COMPILED = "complete", "no kernel", "refused", "not compiled"

_WORST = (NOT_COMPILED, REFUSED, COMPLETE, NO_KERNEL)
"""The outcome of a sample is the first of these that one of its files has."""


class Sample(NamedTuple):
    """A sample: its name, its folder, and its sources that no other of its sources includes."""

    name: str
    folder: Path
    sources: tuple[Path, ...]


def samples_of(checkout: Path) -> Iterator[Sample]:
    """Yield the samples that have CUDA sources, by the folder of their build file."""
    for build in sorted(checkout.glob("Samples/*/**/CMakeLists.txt")):
        folder = build.parent
        nested = [x.parent for x in folder.glob("*/**/CMakeLists.txt")]
        files = [x for x in sorted(folder.rglob("*.cu")) if not any(x.is_relative_to(y) for y in nested)]
        words = "\n".join(_text(x) for x in folder.rglob("*") if x.suffix in (".cu", ".cuh", ".cpp", ".h"))
        included = {Path(x).name for x in re.findall(r'#\s*include\s*[<"]([^>"]+\.cu)[>"]', words)}
        sources = tuple(x for x in files if x.name not in included)
        if sources:
            yield Sample(str(folder.relative_to(checkout / "Samples")), folder, sources)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def ptx_of(source: Path, include: Sequence[Path], arch: str) -> str:
    """Compile a source as it is; if its host code does not compile, only its device part.

    Raises
    ------
    CompilationError
        If neither compiles: the message is about the whole source.
    """
    text = _text(source)
    linked = {"options": ("-rdc=true",), "compiler": "nvcc"}
    try:
        module = Module.from_cuda(text, arch, include=include, name=source.name)
    except CompilationError as error:
        # Launches from kernels are linked later; other host code may lack its headers.
        choice = linked if "separate compilation" in str(error) else {"compiler": "device part"}
        try:
            return Module.from_cuda(text, arch, include=include, name=source.name, **choice).text
        except CompilationError:
            raise error from None
    if not module and "__global__" in text:  # a template that the device part alone does not instantiate
        return Module.from_cuda(text, arch, include=include, name=source.name, **linked).text
    return module.text


def judged(text: str, arch: str) -> tuple[str, str]:
    """Return the outcome of PTX, and the first refusal of each kernel that has one."""
    module = Module(text, arch)
    kernels = module.explain().kernels
    refusals = dict.fromkeys(f"{x.missing[0].opcode}: {x.missing[0].reason}" for x in kernels if x.missing)
    if refusals:
        return REFUSED, "; ".join(dict.fromkeys(_general(x) for x in refusals))
    return (COMPLETE, "") if kernels else (NO_KERNEL, "")


def _general(reason: str) -> str:
    """Return a reason without the line and the opcode, which it repeats."""
    opcode, _, rest = reason.splitlines()[0].partition(": ")
    rest = re.sub(r"^line \d+: ", "", rest).removeprefix(f"{opcode}: ").removeprefix(f"{opcode} ")
    return re.sub(r"%\w+", "%r", f"{opcode}: {rest}")[:240]


def _file(sample: Sample, source: Path, given: argparse.Namespace) -> tuple[str, str]:
    kept = given.keep and given.keep / (f"{sample.name}-{source.name}.ptx".replace("/", "-"))
    folders = {x.parent for x in sample.folder.rglob("*.h")} | {x.parent for x in sample.folder.rglob("*.cuh")}
    include = [given.checkout / "Common", source.parent, *sorted(folders), *given.include]
    try:
        if kept and kept.is_file():
            text = _text(kept)
        else:
            text = ptx_of(source, include, given.arch)
            if kept:
                given.keep.mkdir(parents=True, exist_ok=True)
                kept.write_text(text, encoding="utf-8")
        return judged(text, given.arch)
    except CompilationError as error:
        return NOT_COMPILED, _first_error(str(error))
    except WmmaEmuError as error:
        return REFUSED, _general(str(error))


def _first_error(message: str) -> str:
    """Return the compiler's first error, without the folder of the file."""
    line = next((x for x in message.splitlines() if re.search(r"\berror\b", x)), message.splitlines()[0])
    return re.sub(r"^.*?(?:error|Error)\s*(?:#[\w-]+)?\s*:\s*", "", line)[:160]


def row_of(sample: Sample, given: argparse.Namespace) -> Row:
    """Return the worst outcome of a sample's files, with its reasons."""
    outcomes = [_file(sample, x, given) for x in sample.sources]
    worst = min((x for x, _ in outcomes), key=_WORST.index)
    return Row(sample.name, worst, "; ".join(dict.fromkeys(why for x, why in outcomes if x == worst and why)))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.peers.cuda_samples", description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=Path, help="a checkout of NVIDIA's CUDA Samples")
    parser.add_argument("--only", default="", help="a regular expression for the names of samples")
    parser.add_argument("--include", type=Path, nargs="+", default=[], help="more folders of headers")
    parser.add_argument("--arch", default=DEFAULT_ARCH, help="the chip (default: %(default)s)")
    parser.add_argument("--keep", type=Path, help="a folder for the PTX, which is read from there the next time")
    given = parser.parse_args(argv)
    if not (given.checkout / "Samples").is_dir():
        parser.error(f"{given.checkout} has no folder Samples; give a checkout of NVIDIA's CUDA Samples")
    samples = [x for x in samples_of(given.checkout) if re.search(given.only, x.name)]
    rows = []
    for sample in samples:
        rows.append(row_of(sample, given))
        print(*rows[-1], sep=": ", file=sys.stderr, flush=True)
    print_table("NVIDIA's CUDA Samples, compiled unchanged", revision(given.checkout), rows, ())
    return int(any(x.outcome == REFUSED for x in rows))


if __name__ == "__main__":
    sys.exit(main())
