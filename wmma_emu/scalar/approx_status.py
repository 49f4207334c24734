# SPDX-License-Identifier: MIT
"""The evidence that an approximate function is bit-exact on a chip."""

from dataclasses import dataclass

from wmma_emu.chip_sets import chips_since
from wmma_emu.evidence import Evidence, Run, Sourced


@dataclass(frozen=True, slots=True)
class ApproxStatus(Sourced):
    """The evidence for a function in a format on a chip.

    Parameters
    ----------
    name, format : str
        The arguments of `wmma_emu.scalar.approx`; ``"div"`` is `wmma_emu.scalar.approx_div`.
    chip : str
    evidence : Evidence
        Measured: compared with a GPU's results; inferred: adopted from another chip.
    """

    name: str
    format: str
    chip: str
    evidence: Evidence


_H200 = "NVIDIA H200, driver 580.159.04, 2026-11-21: "
_ALL = _H200 + "all 2**32 words, with and without .ftz; none differs"
_SOURCES = {
    ("rsqrt", "f64"): _H200 + "all 2**32 upper words with .ftz, 2**24 numbers without; none differs",
    ("rcp", "f64"): _H200 + "all 2**32 upper words; none differs",
    ("tanh", "f32"): _H200 + "all 2**32 words; none differs",
    ("div", "f32"): _H200 + "2**32 pairs of each of the four; none differs",
    **{(name, x): _H200 + "all 2**16 words; none differs" for name in ("ex2", "tanh") for x in ("f16", "bf16")},
}
_INFERRED = "taken over from sm_90, not recorded"
_SAME_CODE = "; ptxas 13.0 makes the same machine instructions for both"

_FIRST = {("tanh", "f32"): "sm_75"} | {
    (name, fmt): chip for name in ("ex2", "tanh") for fmt, chip in (("f16", "sm_75"), ("bf16", "sm_90"))
}
"""The first chip that supports a function, if it is not the oldest chip (PTX ISA 9.1)."""

_FUNCTIONS = (
    *((name, "f32") for name in ("ex2", "lg2", "rcp", "rsqrt", "sqrt", "sin", "cos", "tanh", "div")),
    *((name, fmt) for name in ("ex2", "tanh") for fmt in ("f16", "bf16")),
    ("rcp", "f64"),
    ("rsqrt", "f64"),
)


_FLUSHING_ALONE = (("rcp", "f64"), ("ex2", "bf16"))
"""The functions that do not exist without .ftz."""


def _mnemonic(name: str, element: str) -> str:
    return f"{name}.approx{'.ftz' if (name, element) in _FLUSHING_ALONE else ''}.{element}"


def _row(function: tuple[str, str], chip: str) -> ApproxStatus:
    same_code = "" if chip in ("sm_70", "sm_72") else _SAME_CODE
    otherwise = Evidence("inferred", _INFERRED + same_code)
    seen = Evidence("measured", _SOURCES.get(function, _ALL), Run("approximations", chip), otherwise)
    return ApproxStatus(*function, chip, seen.of(_mnemonic(*function)))


APPROX_STATUS: dict[tuple[str, str, str], ApproxStatus] = {
    (*function, chip): _row(function, chip)
    for function in _FUNCTIONS
    for chip in chips_since(_FIRST.get(function, "sm_70"))
}
"""The status by (name, format, chip). Functions that a chip lacks have no entry."""
