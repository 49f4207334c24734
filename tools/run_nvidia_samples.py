# SPDX-License-Identifier: MIT
"""Run the tensor-core kernels of NVIDIA's CUDA Samples and of CuTe's tutorials on the emulator, and print a table.

    python -m tools.run_nvidia_samples --cuda-samples DIR --cutlass DIR [--only REGEX] [--keep DIR] [--gpu]

Each source is compiled with nvcc to PTX as it is, except for the numbers of tiles of the samples, which are smaller
in a copy. A kernel fails if its result is further from NumPy's in float64 than its arithmetic explains, or if the
emulator finds anything in it that is not known of the source. Either tree may be left out. With --gpu each runs on the
GPU too, and has to give the same bits.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools import cute_tutorials, nvidia_samples
from tools.cuda_driver import CudaError, find_nvcc
from tools.record_ptx_kernels import DriverLauncher
from tools.sample_launches import DrawnArguments, SampleLaunch, Source
from wmma_emu.errors import CompilationError, WmmaEmuError
from wmma_emu.instructions import DEFAULT_ARCH
from wmma_emu.ptx import Finding, Kernel, Module, Report, Struct
from wmma_emu.ptx.cpp.demangle import plain_name

SOURCES = nvidia_samples.SOURCES | cute_tutorials.SOURCES
LAUNCHES = nvidia_samples.LAUNCHES + cute_tutorials.LAUNCHES

_OPTIONS = {
    "cuda-samples": ("-I", "{}/Common"),
    "cutlass": ("-std=c++17", "--expt-relaxed-constexpr", "-I", "{}/include", "-I", "{}/tools/util/include"),
}

COLUMNS = ("source", "kernel", "thread-instructions", "seconds", "result", "findings", "not bit-exact")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cuda-samples", type=Path, help="a checkout of NVIDIA's CUDA Samples")
    parser.add_argument("--cutlass", type=Path, help="a checkout of CUTLASS, or the folder of its package")
    parser.add_argument("--only", default="", help="a regular expression for source or kernel")
    parser.add_argument("--arch", default=DEFAULT_ARCH, help="the chip that runs them (default: %(default)s)")
    parser.add_argument("--keep", type=Path, help="a folder for the PTX, which is read from there the next time")
    parser.add_argument("--gpu", action="store_true", help="compare with the GPU of this machine, whose row is --arch")
    parser.add_argument("--verbose", action="store_true", help="print every finding")
    given = parser.parse_args(argv)
    trees = {"cuda-samples": given.cuda_samples, "cutlass": given.cutlass}
    chosen = [x for x in LAUNCHES if trees[SOURCES[x.source].tree] and re.search(given.only, f"{x.source} {x.kernel}")]
    if not chosen:
        parser.error("nothing to run: give --cuda-samples or --cutlass, and an --only that something matches")
    for option, tree in trees.items():
        if tree is not None and given.keep is None and not tree.is_dir():
            parser.error(f"--{option} {tree}: there is no such folder")
    with tempfile.TemporaryDirectory() as folder:
        return _run_all(chosen, trees, given.keep or Path(folder), given)


def _run_all(launches: Sequence[SampleLaunch], trees: dict[str, Path], folder: Path, given: argparse.Namespace) -> int:
    failures = 0
    modules: dict[str, Module] = {}
    launcher = DriverLauncher() if given.gpu else None
    columns = [*COLUMNS, "bits of the GPU"] if given.gpu else COLUMNS
    print(_row(columns), _row(["---"] * len(columns)), sep="\n", flush=True)
    for launch in launches:
        source = SOURCES[launch.source]
        try:
            if launch.source not in modules:
                text = compiled(launch.source, source, trees[source.tree], folder)
                modules[launch.source] = Module(text, given.arch, name=launch.source)
            kernel = find_kernel(modules[launch.source], launch)
            result, report, output = run(kernel, launch)
            found, unknown = counted(report.findings, launch.known)
            cells = [f"{report.instructions:,}", f"{report.seconds:.2f}", result, found, len(report.not_bit_exact)]
            failures += result.startswith("wrong") or bool(unknown)
            if launcher is not None:
                differing = np.count_nonzero(output.view(np.uint8) != on_gpu(launcher, kernel, launch).view(np.uint8))
                cells.append(f"{differing} bytes differ" if differing else "equal")
                failures += bool(differing)
        except (WmmaEmuError, CudaError, OSError) as error:
            report, failures = None, failures + 1
            cells = ["", "", str(error).splitlines()[0], *[""] * (len(columns) - 5)]
        print(_row([launch.source, launch.kernel + _order(launch), *cells]), flush=True)
        if given.verbose and report is not None:
            print(*report.findings, sep="\n", flush=True)
    return min(failures, 1)


def _row(cells: Sequence[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _order(launch: SampleLaunch) -> str:
    """Distinguish the instances of a template."""
    return "" if not launch.mangled else ", TN" if launch.mangled.startswith("IJi") else ", NT"


def compiled(name: str, source: Source, tree: Path, folder: Path) -> str:
    """Compile a source to PTX, once.

    Raises
    ------
    CompilationError
        With nvcc's messages.
    """
    folder.mkdir(parents=True, exist_ok=True)
    ptx = folder / f"{name}.ptx"
    if not ptx.exists():
        if not (tree / source.path).is_file():
            raise CompilationError(f"{tree} has no {source.path}: another folder, or another version")
        text = (tree / source.path).read_text(encoding="utf-8")
        copy = folder / Path(source.path).name
        copy.write_text(with_tiles(text, source.tiles), encoding="utf-8")
        options = [x.format(tree) for x in ("-I", str((tree / source.path).parent), *_OPTIONS[source.tree])]
        command = [find_nvcc(), "-ptx", f"-arch={source.arch}", *options, str(copy), "-o", str(ptx)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise CompilationError(f"{name} does not compile:\n{done.stderr}")
    return ptx.read_text(encoding="utf-8")


def with_tiles(text: str, tiles: dict[str, int]) -> str:
    """Change numbers in ``#define`` lines.

    Raises
    ------
    CompilationError
        If one of them is missing: then it is another version of the source.
    """
    for name, number in tiles.items():
        text, count = re.subn(rf"^(#define {name}) \d+", rf"\1 {number}", text, flags=re.MULTILINE)
        if count != 1:
            raise CompilationError(f"the source defines {name} {count} times, not once")
    return text


def counted(findings: Sequence[Finding], known: str) -> tuple[str, int]:
    """Count the findings, and the findings of kinds that are not known for the source."""
    mine = sum(x.kind == known for x in findings)
    return (f"{len(findings)}, {mine} known: {known}" if mine else str(len(findings))), len(findings) - mine


def find_kernel(module: Module, launch: SampleLaunch) -> Kernel:
    """Find the kernel, of several instances of a template that whose name says the order of A and B."""
    names = [x for x in module if plain_name(x) == launch.kernel]
    if launch.mangled:
        names = [x for x in names if _first_strides(x) == launch.mangled]
    if len(names) != 1:
        raise CompilationError(f"{module.name} has {len(names)} kernels {launch.kernel}{_order(launch)}, not one")
    return module[names[0]]


def _first_strides(name: str) -> str | None:
    found = re.search(r"ILi1EEEiEEE|IJiNS", name)
    return found[0] if found else None


def draw(kernel: Kernel, launch: SampleLaunch) -> DrawnArguments:
    """Draw the arguments of a launch, always the same."""
    return launch.draw(np.random.Generator(np.random.PCG64(20)), kernel.parameters)


def run(kernel: Kernel, launch: SampleLaunch) -> tuple[str, Report, NDArray[Any]]:
    """Launch a kernel; say how far its result is from what was expected."""
    drawn = draw(kernel, launch)
    report = kernel[launch.grid, launch.block, launch.shared](*drawn.arguments, findings="report", max_seconds=None)
    error = np.abs(drawn.output.astype(np.float64) - drawn.expected)
    if not drawn.bound.any():
        result = f"wrong in {np.count_nonzero(error)} elements" if error.any() else "equal"
    else:
        inside = bool((error <= drawn.bound).all())
        result = f"{'within the bound' if inside else 'wrong'}, error {error.max():.1e}"
    return result, report, drawn.output


def on_gpu(launcher: DriverLauncher, kernel: Kernel, launch: SampleLaunch) -> NDArray[Any]:
    """Launch a kernel on the GPU; return its output."""
    drawn = draw(kernel, launch)
    device = launcher.device
    addresses: dict[int, int] = {}

    def upload(array: NDArray[Any]) -> int:
        return addresses.setdefault(id(array), device._upload(array))

    arguments = [x.pack(upload) if isinstance(x, Struct) else x for x in drawn.arguments]
    after = launcher.launch(kernel.module.text, kernel.name, launch.grid, launch.block, launch.shared, arguments)
    found = next((y for x, y in zip(arguments, after, strict=True) if x is drawn.output), drawn.output)
    if id(drawn.output) in addresses:
        device._call("cuMemcpyDtoH_v2", found.ctypes.data, addresses[id(drawn.output)], found.nbytes)
    for address in addresses.values():
        device._call("cuMemFree_v2", address)
    return found


if __name__ == "__main__":
    sys.exit(main())
