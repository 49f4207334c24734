# SPDX-License-Identifier: MIT
"""Record kernels of public libraries for Hopper on a GPU, and compare the emulator with what the chip did.

    python -m tools.hopper_libraries build OUT --work WORK --checkout LIBRARY=FOLDER ... [--only TEXT]
    OUT/record.sh RECORDED                                      # on the machine with the GPU: OUT has everything
    python -m tools.hopper_libraries unpack RECORDED BUNDLES --work WORK
    python -m tools.hopper_libraries compare BUNDLES [--asynchrony late] [--only TEXT]

`libraries.py` lists the kernels of FlashAttention-3, DeepGEMM, ThunderKittens and TileLang, with clusters of one block.
Host programs of this project include the library's headers, fill the inputs with fixed pseudo-random values and
launch; no file of the checkouts is part of this project. The folder of TileLang is its installed package,
ENV/lib/python3.11/site-packages/tilelang; it generates its kernel.
"""

import argparse
import sys
from pathlib import Path

from tools.hopper_libraries.building import build_all
from tools.hopper_libraries.libraries import LIBRARIES, PROGRAMS, LibraryProgram
from tools.hopper_programs.command_line import Listed, run


def main(argv: list[str] | None = None) -> int:
    return run(Listed(__doc__.splitlines()[0], PROGRAMS, _origin, _add_arguments, _build), argv)


def _origin(program: LibraryProgram) -> dict[str, str]:
    return {"repository": f"https://github.com/{LIBRARIES[program.library].repository}"}


def _add_arguments(build: argparse.ArgumentParser) -> None:
    build.add_argument(
        "--checkout", action="append", default=[], type=_checkout, metavar="LIBRARY=FOLDER", help=", ".join(LIBRARIES)
    )


def _checkout(text: str) -> tuple[str, Path]:
    library, _, folder = text.partition("=")
    if library not in LIBRARIES or not folder:
        raise argparse.ArgumentTypeError(f"{text} is not LIBRARY=FOLDER; the libraries are {', '.join(LIBRARIES)}")
    return library, Path(folder)


def _build(chosen: tuple[LibraryProgram, ...], given: argparse.Namespace) -> int:
    return build_all(chosen, dict(given.checkout), given.work, given.out, given.nvcc, given.jobs)


if __name__ == "__main__":
    sys.exit(main())
