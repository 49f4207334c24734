# SPDX-License-Identifier: MIT
"""Record public C++ programs for Hopper on a GPU, and compare the emulator with what the chip did.

    python -m tools.hopper_programs build OUT --work WORK --cutlass DIR --googletest DIR [--headers DIR] [--only TEXT]
    OUT/record.sh RECORDED                                      # on the machine with the GPU: OUT is all that it needs
    python -m tools.hopper_programs unpack RECORDED BUNDLES --work WORK
    python -m tools.hopper_programs compare BUNDLES [--asynchrony late] [--only TEXT]

The programs are CuTe's tutorials, CUTLASS's examples and its unit tests, as `programs.py` lists them, with small
problems; clusters become clusters of one block. `build` compiles them with nvcc and puts binaries, the recorder of
`tools.launch_recorder` and the CUDA runtime into OUT; WORK keeps the PTX. `unpack` makes bundles; `compare` runs the
emulator on them and prints a table. Nothing of the checkouts is part of this project.
"""

import argparse
import io
import json
import sys
import tarfile
import tempfile
from pathlib import Path

from tools.hopper_programs.building import Checkouts, build_all, ptx_of
from tools.hopper_programs.programs import PROGRAMS, REPOSITORIES
from tools.hopper_programs.table import print_table
from tools.launch_recorder.packing import TextOfKernels, launches_in, pack


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    actions = parser.add_subparsers(dest="action", required=True)
    build, unpack = actions.add_parser("build"), actions.add_parser("unpack")
    build.add_argument("out", type=Path, help="the folder that is carried to the GPU")
    build.add_argument("--cutlass", type=Path, required=True, help="a checkout of NVIDIA/cutlass")
    build.add_argument("--googletest", type=Path, required=True, help="a checkout of google/googletest")
    build.add_argument("--headers", type=Path, action="append", default=[], help="a folder with curand_kernel.h")
    build.add_argument("--nvcc", default="nvcc")
    build.add_argument("--jobs", type=int, default=1, help="compilers at a time (default: %(default)s)")
    unpack.add_argument("recorded", type=Path, help="the folder with hopper.tar.xz.00 and so on")
    unpack.add_argument("bundles", type=Path, help="where bundles and recordings are written")
    compare = actions.add_parser("compare")
    compare.add_argument("bundles", type=Path, help="the folder that `unpack` made")
    compare.add_argument("--asynchrony", default="", help="of the launches, as we.ptx.Module takes it")
    for one in (build, unpack):
        one.add_argument("--work", type=Path, required=True, help="the folder that keeps the PTX")
    for one in (build, compare):
        one.add_argument("--only", default="", help="programs whose name holds this")
    given = parser.parse_args(argv)
    if given.action == "unpack":
        return _unpack(given.recorded, given.bundles, given.work)
    chosen = tuple(x for x in PROGRAMS if given.only in x.name)
    if given.action == "build":
        checkouts = Checkouts(given.cutlass, given.googletest, tuple(given.headers))
        return min(1, build_all(chosen, checkouts, given.work, given.out, given.nvcc, given.jobs))
    return print_table(chosen, given.bundles, {"asynchrony": given.asynchrony} if given.asynchrony else {})


def _unpack(recorded: Path, bundles: Path, work: Path) -> int:
    pieces = sorted(recorded.glob("hopper.tar.xz.*"))
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(b"".join(x.read_bytes() for x in pieces)), mode="r:xz") as archive:
            archive.extractall(folder, filter="data")
        raw = Path(folder)
        for program in PROGRAMS:
            found = launches_in(raw / program.name)
            if not found:
                continue
            texts = TextOfKernels([ptx_of(work, program).read_text()])
            source = {"repository": REPOSITORIES["cutlass"], "file": program.file}
            for launch in found:
                text = texts[json.loads((launch / "launch.json").read_text())["kernel"]]
                recording = bundles / "recorded" / f"{program.name}__{launch.name}"
                pack(launch, bundles / "bundles" / program.name / launch.name, recording, text, "sm_90a", source)
            print(f"{program.name}: {len(found)} launches")
        for log in [raw / "machine.txt", *raw.glob("*/log.txt")]:
            name = log.parent.name if log.name == "log.txt" else "machine"
            (bundles / f"{name}.log").write_bytes(log.read_bytes())
    return 0


if __name__ == "__main__":
    sys.exit(main())
