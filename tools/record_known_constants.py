# SPDX-License-Identifier: MIT
"""A driver's results for functions of constants: PTX sources, the inputs of their kernels, and an H200's outputs.

    python -m tools.record_known_constants          # on a machine with a GPU: runs the sources of the file again
    python -m tools.record_known_constants --check  # anywhere: compares the emulator with the file

For each case the file holds ``case|text``, the arrays by their names, ``case|in|x``, in the order of the parameters in
``case|order``, and those that the kernel changed, ``case|out|x``. All run one block of one thread.
"""

import argparse
import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tools.bundle_launcher import BundleLauncher
from tools.cuda_driver import driver_version
from tools.recordings import add_source
from wmma_emu.ptx import Module

Array = NDArray[Any]

RECORDING = Path(__file__).parents[1] / "tests" / "data" / "sm90_known_constants.npz"


class KnownCase(NamedTuple):
    """A PTX source, the arguments of its kernel ``k``, and the arrays that it changes."""

    text: str
    given: dict[str, Array]
    left: dict[str, Array]

    def emulated(self) -> dict[str, Array]:
        """Run the kernel on the emulator: the arrays as it leaves them."""
        arrays = {name: x.copy() for name, x in self.given.items()}
        Module(self.text, "sm_90", findings="report")["k"][1, 1](*arrays.values())
        return {name: arrays[name] for name in self.left}

    def recorded(self) -> dict[str, Array]:
        """Run the kernel on this machine's GPU."""
        arguments = [{"bytes": "00" * 8, "pointers": [[0, name, 0]]} for name in self.given]
        launch = {"kernel": "k", "grid": [1, 1, 1], "block": [1, 1, 1], "shared": 0, "arguments": arguments}
        after = BundleLauncher(self.text.encode() + b"\0", launch).launch(self.given)
        return {name: after[name] for name in self.left}


def cases(path: Path = RECORDING) -> Iterator[tuple[str, KnownCase]]:
    """Read a file of recordings."""
    with np.load(path, allow_pickle=False) as file:
        for key in file.files:
            name, kind = key.split("|")[:2]
            if kind == "text":
                order = [str(x) for x in file[f"{name}|order"]]
                given = {x: file[f"{name}|in|{x}"] for x in order}
                left = {x: file[f"{name}|out|{x}"] for x in order if f"{name}|out|{x}" in file.files}
                yield name, KnownCase(file[key].tobytes().decode(), given, left)


def save(path: Path, found: dict[str, KnownCase]) -> None:
    """Write a file of recordings."""
    arrays: dict[str, Array] = {}
    for name, case in found.items():
        arrays[f"{name}|text"] = np.frombuffer(case.text.encode(), np.uint8)
        arrays[f"{name}|order"] = np.array(list(case.given))
        arrays |= {f"{name}|in|{x}": y for x, y in case.given.items()}
        arrays |= {f"{name}|out|{x}": y for x, y in case.left.items()}
    np.savez_compressed(path, **arrays)  # type: ignore[arg-type]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare the emulator with the file; needs no GPU")
    parser.add_argument("--out", type=Path, default=RECORDING, help="file to write (default: %(default)s)")
    given = parser.parse_args(argv)
    found = dict(cases())
    if given.check:
        different = [n for n, x in found.items() if any((x.left[k] != y).any() for k, y in x.emulated().items())]
        print(f"{len(found)} cases, {len(different)} differ: {', '.join(different) or 'none'}")
        return int(bool(different))
    save(given.out, {name: case._replace(left=case.recorded()) for name, case in found.items()})
    add_source(
        given.out, gpu="NVIDIA H200", driver=driver_version(), date=datetime.date.today().isoformat(),
        generator="tools/record_known_constants.py, sources of the file; PTX compiled by the driver",
        contents="case|text, case|in|array, case|out|array: functions of constants, ties, scaled products",
    )  # fmt: skip
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
