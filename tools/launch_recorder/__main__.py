# SPDX-License-Identifier: MIT
"""Record the launches of unmodified CUDA programs, and make bundles of them.

    python -m tools.launch_recorder build LIBRARY                       # where the toolkit is: liblaunch_recorder.so
    LAUNCH_RECORDER_OUT=RAW/NAME LD_PRELOAD=LIBRARY ./PROGRAM ...       # where the GPU is; nothing else is needed
    python -m tools.launch_recorder pack RAW/NAME BUNDLES/NAME OUT --ptx PROGRAM.ptx [--source '{"repository": ...}']
    python -m tools.launch_bundles compare BUNDLES OUT                  # anywhere: the emulator against the recording

The program calls the library instead of the CUDA runtime and the driver. It remembers allocations, and before each
launch it copies all of them and the ``__device__`` and ``__constant__`` variables of the module, launches, waits, and
copies them again; then it restores them and launches again, so that results that are not the same twice are
known. `launch_recorder.cpp` lists the environment variables, which limit what is recorded: names of kernels, launches,
sizes of allocations. An 8-byte word of a parameter that holds an address in an allocation is a pointer, in a
structure too, and in a tensor map, whose first 8 bytes are its address.

Compile the program with a shared runtime, and keep the PTX from which its machine code is made::

    nvcc -gencode arch=compute_90a,code=sm_90a -cudart shared -keep -keep-dir DIR PROGRAM.cu -o PROGRAM

``cudaLaunchKernel``, ``<<<>>>``, ``cudaLaunchKernelExC``, ``cuLaunchKernel`` and ``cuLaunchKernelEx`` are recorded,
whether linked or found with ``cudaGetDriverEntryPointByVersion``; graphs and launches during capture are not. Several
PTX files may be given: a bundle gets the one that has its kernel, without the other kernels of it. BUNDLES/NAME
becomes the first part of the names of recordings, so that several programs can share OUT.
"""

import argparse
import json
import sys
from pathlib import Path

from tools.launch_recorder.building import build_recorder, toolkit
from tools.launch_recorder.packing import TextOfKernels, launches_in, pack


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    actions = parser.add_subparsers(dest="action", required=True)
    build = actions.add_parser("build", help="compile the library")
    build.add_argument("library", type=Path)
    build.add_argument("--nvcc", default="nvcc", help="the compiler whose toolkit is used (default: %(default)s)")
    make = actions.add_parser("pack", help="make bundles and recordings of the library's folders")
    make.add_argument("raw", type=Path, help="a folder that the library wrote")
    make.add_argument("bundles", type=Path, help="where bundles are written: a folder of this program")
    make.add_argument("out", type=Path, help="where recordings are written")
    make.add_argument("--ptx", type=Path, nargs="+", required=True, help="the PTX from which the program was made")
    make.add_argument("--arch", default="sm_90a", help="the target of the emulator (default: %(default)s)")
    make.add_argument("--source", default="{}", help="JSON that says where the program is from")
    given = parser.parse_args(argv)
    if given.action == "build":
        build_recorder(given.library, toolkit(given.nvcc))
        return 0
    found = launches_in(given.raw)
    if not found:
        parser.error(f"{given.raw} holds no launch: a folder with a launch.json")
    texts = TextOfKernels(x.read_text() for x in given.ptx)
    for launch in found:
        kernel = json.loads((launch / "launch.json").read_text())["kernel"]
        recording = given.out / f"{given.bundles.name}__{launch.name}"
        text, source = texts[kernel], json.loads(given.source)
        pack(launch, given.bundles / launch.name, recording, text, given.arch, source)
    print(f"{len(found)} bundles in {given.bundles}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
