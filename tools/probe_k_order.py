# SPDX-License-Identifier: MIT
"""Ask a library's matrix product in which order it adds: which ranges of k meet before which.

    python -m tools.probe_k_order --out probes.npz

Row r of A has a huge number at one k, the pivot, and its negative at another; the other products are units. While a
huge partial sum lasts, units that are added to it are lost; those that meet the sum after the two have cancelled
survive. Column n of B keeps the units of one range of k alone. D[r, n] counts the units of range n that survive, that
is, those outside the smallest part of the sum that holds both huge terms.
"""

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.cublas_cases import CASES, CublasProduct
from tools.record_cublas import launch, to_device
from wmma_emu.formats import decode, encode, format_of

_HUGE = {
    "f16": (2.0**15, 1.0),
    "bf16": (2.0**60, 1.0),
    "e4m3": (256.0, 256.0),
    "f32": (2.0**60, 1.0),
    "tf32": (2.0**60, 1.0),
}
_UNIT = {
    "f16": (2.0**-14, 2.0**-10),
    "bf16": (1.0, 1.0),
    "e4m3": (2.0**-9, 2.0**-9),
    "f32": (1.0, 1.0),
    "tf32": (1.0, 1.0),
}


def probe_inputs(case: CublasProduct, pivot: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return A, B, and the k of each row's huge term."""
    fmt, (huge_a, huge_b), (unit_a, unit_b) = format_of(case.fmt), _HUGE[case.fmt], _UNIT[case.fmt]
    places = (np.arange(case.m) * case.k // case.m + 1) % case.k
    a, b = np.full((case.m, case.k), unit_a), np.zeros((case.k, case.n))
    b[np.arange(case.k), np.arange(case.k) * case.n // case.k] = unit_b
    ends = np.append(places, pivot)
    a[:, ends] = 0
    b[ends] = huge_b
    a[:, pivot] = -huge_a
    a[np.arange(case.m), places] = huge_a
    return encode(a, fmt), encode(b, fmt), places


def survivors(case: CublasProduct, d: NDArray[Any]) -> NDArray[np.float64]:
    """Return counts of units from the patterns of D."""
    unit_a, unit_b = _UNIT[case.fmt]
    return np.asarray(decode(d, format_of(case.out_format))) / (unit_a * unit_b)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", default="", help="regular expression that keys must contain")
    given = parser.parse_args(arguments)
    import torch

    found = {}
    for case in CASES:
        if (
            case.fmt not in _HUGE
            or (case.adds_c or case.call == "linear" or case.alpha != 1)
            or not re.search(given.only, case.key)
        ):
            continue
        for pivot in (0, case.k - 1):
            a, b, _ = probe_inputs(case, pivot)
            x, y = (to_device(v, case.fmt) if letter == "N" else to_device(v.T.copy(), case.fmt).t()
                    for v, letter in zip((a, b), case.transposed, strict=True))  # fmt: skip
            try:
                d = launch(case, x, y)
            except RuntimeError:
                continue
            wide = {1: torch.int8, 2: torch.int16, 4: torch.int32}[d.element_size()]
            bits = d.view(wide).cpu().numpy()
            found[f"{case.key}|{pivot}"] = bits.view(f"u{bits.itemsize}")
    np.savez_compressed(given.out, **found)
    print(f"{len(found)} probes, {given.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
