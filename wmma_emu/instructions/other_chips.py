# SPDX-License-Identifier: MIT
"""Chips that people ask for and that have no row: whose they are, or why they have none."""

import re
from typing import NamedTuple


class _UnmodelledChips(NamedTuple):
    """Names of chips, reduced as those of the rows are, and what is to be said of them."""

    names: str
    reason: str


def _made_by_others(whose: str, names: str) -> _UnmodelledChips:
    return _UnmodelledChips(names, f"it is {whose}, and only NVIDIA's chips are modelled.")


_NO_TENSOR_CORES = "it has no tensor cores; the first chip that has them is sm_70 (Volta)."

_UNMODELLED = (
    _made_by_others("AMD's", r"amd.*|instinct.*|mi\d{2,3}[a-z]*|gfx\d.*|[cr]dna\d?|radeon.*|rx\d{3,4}.*|navi.*|strix.*"),
    _made_by_others("Intel's", r"intel.*|arc[ab]?\d*.*|gaudi\d?|pontevecchio|pvc|xe\w*|battlemage|max1\d{3}|amx"),
    _made_by_others("Apple's", r"apple.*|m[1-9](?:pro|max|ultra)?|metal|mps"),
    _made_by_others("Google's", r"google.*|tpu.*|v[2-7][ep]?|trillium|ironwood"),
    _made_by_others("Amazon's", r"trainium\d?|inferentia\d?|trn\d|inf\d"),
    _made_by_others("Huawei's", r"ascend.*|910[bc]?"),
    _made_by_others("no GPU", r"cpu|x86.*|avx.*|arm(?:64)?|aarch64"),
    _UnmodelledChips(r"gp10x|fermi|kepler|maxwell|pascal|gtx.*|k[248]0|m40|m60|p4|p6|p40|p100|titanxp?|(?:9|10|16)[5-8]0(?:ti|super)*",
            _NO_TENSOR_CORES),
    _UnmodelledChips(r"(?:jetson)?(?:agx)?orin.*", "it is sm_87, which has no row; the nearest that has one is sm_86 (Ampere, "
            "GA10x)."),
    _UnmodelledChips(r"(?:jetson)?(?:agx)?thor.*", "it is sm_110, which has no row."),
    _UnmodelledChips(r"(?:vera)?rubin.*|vr\d{3}.*|r100", "nothing is recorded of it yet."),
)  # fmt: skip


def why_not(plain: str) -> str:
    """Say why a chip has no row, as a sentence; nothing of names that nobody gives to a chip.

    ``plain`` is in lower case, without blanks and dashes.

    Examples
    --------
    >>> why_not("mi300x")
    "it is AMD's, and only NVIDIA's chips are modelled."
    >>> why_not("gtx1080")
    'it has no tensor cores; the first chip that has them is sm_70 (Volta).'
    >>> why_not("hoper")
    ''
    """
    return next((x.reason for x in _UNMODELLED if re.fullmatch(x.names, plain, re.ASCII)), "")
