# SPDX-License-Identifier: MIT
"""Comparisons with distances that a test chooses, without a product."""

import numpy as np

from wmma_emu.arithmetic import dot_product_of
from wmma_emu.formats.distance import ulp_distance
from wmma_emu.gemm import Comparison
from wmma_emu.instructions import lookup

ROW = lookup("m16n8k16.f32.f16.f16.f32")
ONE = 0x3F800000


def comparison_of(reference: np.ndarray, **others: np.ndarray) -> Comparison:
    """Compare patterns of float32: of sm_80, and of the chips that are named."""
    bits = {"sm_80": reference, **others}
    bits = {arch: np.asarray(x, np.uint32) for arch, x in bits.items()}
    return Comparison(
        results={arch: x.view(np.float32) for arch, x in bits.items()},
        instructions={arch: ROW.mnemonic for arch in bits},
        models={arch: dot_product_of(ROW, arch).model for arch in bits},
        format="f32",
        reference="sm_80",
        ulps={arch: ulp_distance(x, bits["sm_80"], "f32") for arch, x in bits.items()},
        differing={arch: int((x != bits["sm_80"]).sum()) for arch, x in bits.items()},
    )


def distances(steps: np.ndarray, chips: tuple[str, ...] = ("sm_90",)) -> Comparison:
    """Compare ones with numbers as many steps above one."""
    steps = np.asarray(steps, np.uint32)
    ones = np.full(steps.shape, ONE, np.uint32)
    return comparison_of(ones, **{chip: ones + steps for chip in chips})
