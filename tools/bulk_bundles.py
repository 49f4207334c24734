# SPDX-License-Identifier: MIT
"""Write the kernels of bulk copies and reductions that the tests have as bundles, to record them on a GPU.

python -m tools.bulk_bundles write BUNDLES            # then: python -m tools.bundle_launcher BUNDLES OUT
python -m tools.bulk_bundles collect OUT              # writes tests/ptx/tensor_maps/data/bulk.txt
"""

import gzip
import json
import re
import sys
from pathlib import Path

import numpy as np

from tests.ptx.tensor_maps.bulk_cases import all_cases
from tools.launch_bundles import digest

RECORDED = Path(__file__).parent.parent / "tests/ptx/tensor_maps/data/bulk.txt"


def write(folder: Path) -> None:
    """Write a bundle for each case."""
    for case in all_cases():
        bundle = folder / case.name
        bundle.mkdir(parents=True, exist_ok=True)
        pointer = "00" * 8
        launch = {
            "kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "arch": "sm_90a",
            "arguments": [
                {"bytes": pointer, "pointers": [[0, "a", 0]]}, {"bytes": pointer, "pointers": [[0, "b", 0]]},
                {"bytes": case.sent.to_bytes(4, "little").hex(), "pointers": []},
                {"bytes": case.b.nbytes.to_bytes(4, "little").hex(), "pointers": []},
            ],
        }  # fmt: skip
        (bundle / "launch.json").write_text(json.dumps(launch))
        (bundle / "module.ptx.gz").write_bytes(gzip.compress(case.text.encode(), mtime=0))
        np.savez_compressed(bundle / "arrays.npz", a=case.a, b=case.b)


def collect(out: Path) -> None:
    """Write the hash of the array ``a`` that the GPU left in each case, or the number of its error."""
    lines = []
    for case in all_cases():
        path = out / f"{case.name}--module.ptx.gz.npz"
        if path.exists():
            with np.load(path) as file:
                found = digest(file["a"] if "a" in file.files else case.a)
        else:
            error = re.search(r"returned (\d+)", path.with_suffix(".txt").read_text())
            found = f"fault {error[1] if error else '?'}"
        lines.append(f"{case.name} {found}\n")
    RECORDED.write_text("".join(lines))


def main() -> int:
    match sys.argv[1:]:
        case ["write", folder]:
            write(Path(folder))
        case ["collect", out]:
            collect(Path(out))
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
