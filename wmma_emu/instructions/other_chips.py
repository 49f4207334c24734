# SPDX-License-Identifier: MIT
"""Names of chips that are not modelled, and the reasons."""

import re
from typing import NamedTuple


class _Unmodelled(NamedTuple):
    """A regular expression for reduced names of chips that are not modelled, and the reason."""

    names: str
    reason: str


def _made_by(whose: str, names: str) -> _Unmodelled:
    return _Unmodelled(names, f"it is {whose}, and only NVIDIA's chips are modelled.")


_NO_TENSOR_CORES = "it has no tensor cores; the first chip with tensor cores is sm_70 (Volta)."

_UNMODELLED = (
    _made_by("AMD's", r"amd.*|instinct.*|mi\d{2,3}[a-z]*|gfx\d.*|[cr]dna\d?|radeon.*|rx\d{3,4}.*|navi.*|strix.*"),
    _made_by("Intel's", r"intel.*|arc[ab]?\d*.*|gaudi\d?|pontevecchio|pvc|xe\w*|battlemage|max1\d{3}|amx"),
    _made_by("Apple's", r"apple.*|m[1-9](?:pro|max|ultra)?|metal|mps"),
    _made_by("Google's", r"google.*|tpu.*|v[2-7][ep]?|trillium|ironwood"),
    _made_by("Amazon's", r"trainium\d?|inferentia\d?|trn\d|inf\d"),
    _made_by("Huawei's", r"ascend.*|910[bc]?"),
    _made_by("no GPU", r"cpu|x86.*|avx.*|arm(?:64)?|aarch64"),
    _Unmodelled(r"gp10x|fermi|kepler|maxwell|pascal|gtx.*|k[248]0|m40|m60|p4|p6|p40|p100|titanxp?|(?:9|10|16)[5-8]0(?:ti|super)*",
            _NO_TENSOR_CORES),
    _Unmodelled(r"(?:jetson)?(?:agx)?orin.*", "it is sm_87, which is not modelled; the nearest modelled chip is "
                     "sm_86 (Ampere, GA10x)."),
    _Unmodelled(r"(?:jetson)?(?:agx)?thor.*", "it is sm_110, which is not modelled."),
    _Unmodelled(r"(?:vera)?rubin.*|vr\d{3}.*|r100", "nothing is recorded of it yet."),
)  # fmt: skip


def why_not(plain: str) -> str:
    """Return the reason why a chip is not modelled, as a sentence; an empty string for unknown names.

    ``plain`` is in lower case, without spaces and dashes.

    Examples
    --------
    >>> why_not("mi300x")
    "it is AMD's, and only NVIDIA's chips are modelled."
    >>> why_not("gtx1080")
    'it has no tensor cores; the first chip with tensor cores is sm_70 (Volta).'
    >>> why_not("hoper")
    ''
    """
    return next((x.reason for x in _UNMODELLED if re.fullmatch(x.names, plain, re.ASCII)), "")
