# SPDX-License-Identifier: MIT
"""Cut a small set to commit out of the published dot products of eight GPUs.

    python -m tools.sample_dot_products recorded_dot_products.npz [--rows 200] [--out tests/data/...npz]

The first rows of every array, as patterns of the formats themselves; arrays that are equal on several GPUs are stored
once. The licence of the recordings, ``recorded_dot_products.LICENCE`` next to the full file, is copied along.
"""

import argparse
import shutil
from collections.abc import Sequence
from pathlib import Path

from tools.check_dot_products import FORMATS, patterns
from tools.recordings import add_source, load_arrays, save_arrays
from wmma_emu.formats import format_of

_DEFAULT = Path(__file__).parents[1] / "tests" / "data" / "recorded_dot_products.npz"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--out", type=Path, default=_DEFAULT)
    given = parser.parse_args(arguments)
    arrays, _ = load_arrays(given.file)
    sample = {}
    for key, array in arrays.items():
        _, name, kind = key.split("|")
        fmt = {"C": "f32", "D_fp32": "f32", "D_fp16": "f16"}.get(kind) or FORMATS[name]
        sample[key] = patterns(array[: given.rows], format_of(fmt))
    save_arrays(given.out, sample, rows=given.rows)
    licence = given.file.with_suffix(".LICENCE")
    shutil.copyfile(licence, given.out.with_suffix(".LICENCE"))
    add_source(
        given.out, gpu="V100, A100, A2, Ada RTX 1000, L40S, H100, H200, B200", driver="not published",
        contents="GPU|format|A, B (rows, K), C, D_fp32, D_fp16: patterns; see tools/check_dot_products.py",
        generator=f"tools/sample_dot_products.py: the first {given.rows} rows of each array of the recordings that "
                  "F. A. Khattak and M. Mikaitis publish with MATLAB-tensor-core",
        licence=f"BSD-2-Clause, {given.out.with_suffix('.LICENCE').name}",
    )  # fmt: skip
    print(f"{given.out}: {len(sample)} arrays, {given.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
