# SPDX-License-Identifier: MIT
"""The models of Blackwell's own instructions: FP6 and FP4, block scales, `tcgen05.mma`; one entry per chip.

This project has not checked these entries on a GPU. If sources disagree, or do not exist, the alternatives are entries
with a name, which ``model=`` selects. The sources:

- MMA-Sim (arXiv 2511.10909, releases of November 2025 and later) has all of these arithmetics for e4m3, e5m2 and
  e2m1, dense; no source has e3m2 and e2m3.
- MATLAB-tensor-core (arXiv 2512.07004) has Blackwell's FP8, without scales.
- DeepGEMM, issue 176: a user's measurements on a B200, 25 bits for kind::f8f6f4; 34 to 37 for kind::mxf4 and
  kind::mxf4nvf4, undecided.
"""

from collections.abc import Iterator
from typing import Any

from wmma_emu.arithmetic.model import DotModel
from wmma_emu.arithmetic.table_entries import (
    FP8,
    LIKE_DENSE,
    LITERATURE,
    SIM,
    Claim,
    Claims,
    aligned,
    entries,
    shapes_of,
)
from wmma_emu.evidence import Status
from wmma_emu.instructions.table import INSTRUCTIONS
from wmma_emu.instructions.tensor import TENSOR_KINDS

_FP4 = ("e2m1",)
_KNOWN = (*FP8, *_FP4)
"""The formats in MMA-Sim."""

_FP6 = tuple(dict.fromkeys(
    x.a for x in INSTRUCTIONS.values() if x.kind == "kind::f8f6f4" and x.a not in _KNOWN
))  # fmt: skip
"""The other formats of the kind, e3m2 and e2m3, which no source has for either operand."""

_ORDERED = ("mma.sp::ordered_metadata",)
_DENSE_TENSOR = ("tcgen05.mma", "tcgen05.mma.ws")
_SPARSE_TENSOR = ("tcgen05.mma.sp", "tcgen05.mma.ws.sp")

_Pairs = tuple[tuple[tuple[str, ...], tuple[str, ...], Status, str], ...]
"""The formats of A, the formats of B (empty: any), status and source."""

_WITH_FP6: _Pairs = tuple(
    (a, b, "inferred", "the unit of e4m3, e5m2 and e2m1 (MMA-Sim, arXiv 2511.10909)")
    for a, b in ((_KNOWN, _FP6), (_FP6, ()))
)
_WITH_FP4: _Pairs = ((FP8, _FP4, "literature", SIM), (_FP4, _KNOWN, "literature", SIM))

_NAN_SCALE = "a NaN scale makes NaN of zero operands too"
_FLOOR = "min_exponent as of other units of F = 25, -126 in MMA-Sim"
_ZEROS = (
    "in MMA-Sim a c of zero has the exponent -126; zero products count there too, by the exponents of their other "
    "factor and their scales, and do not here"
)
_SCALED_PAIRS: _Pairs = ((_KNOWN, _KNOWN, "literature", SIM), *_WITH_FP6)
_SCALED_SPARSE: _Pairs = (((*_KNOWN, *_FP6), (), *LIKE_DENSE[:2]),)


def _narrow_operands() -> Iterator[DotModel]:
    """Yield `mma.sync` and `mma.sp` of kind::f8f6f4 with FP6 or FP4; products of FP8, and sparse FP8, are elsewhere."""
    for accumulator in ("f32", "f16"):
        for a, b, status, source in (*_WITH_FP4, *_WITH_FP6):
            yield from aligned({"sm_120": (status, source, "")}, accumulator, families=("mma.sync",),
                               shapes=shapes_of(("mma.sync",), *a, kind="kind::f8f6f4"), inputs=a, b_inputs=b,
                               terms_per_step=32, fraction_bits=25)  # fmt: skip
        yield from aligned({"sm_120": LIKE_DENSE}, accumulator, families=_ORDERED,
                           shapes=shapes_of(_ORDERED, *_FP6, *_FP4, kind="kind::f8f6f4"), inputs=(*_FP6, *_FP4),
                           terms_per_step=32, fraction_bits=25)  # fmt: skip


def _scaled_exponents() -> Iterator[DotModel]:
    """Yield kind::mxf8f6f4: one step of 32 products, with the scales' exponents added to the products' exponents."""
    for arch, families, shapes, is_sparse in (
        ("sm_120", ("mma.sync",), shapes_of(("mma.sync",), *_KNOWN, kind="kind::mxf8f6f4"), False),
        ("sm_120", _ORDERED, shapes_of(_ORDERED, *_KNOWN, kind="kind::mxf8f6f4"), True),
        ("sm_100", ("tcgen05.mma",), ("k32",), False), ("sm_100", ("tcgen05.mma.sp",), ("k64",), True),
    ):  # fmt: skip
        pairs = _SCALED_SPARSE if is_sparse else _SCALED_PAIRS
        for a, b, status, source in pairs:
            same = {"families": families, "shapes": shapes, "inputs": a, "b_inputs": b, "scaling": "exponents",
                    "terms_per_step": 32, "fraction_bits": 25}  # fmt: skip
            note = "" if is_sparse else f"{_NAN_SCALE}; {_FLOOR}"
            yield from aligned({arch: (status, source, note)}, "f32", **same)
            zeros = {arch: (status, SIM if status == "literature" else source, _ZEROS)}
            yield from aligned(zeros, "f32", **same, min_exponent=-126, name="min_exponent=-126")


_GROUPS = (
    "the min_exponent is that of MMA-Sim, whose zeros have the exponent -126; c = infinity: as elsewhere, MMA-Sim of "
    f"2025 stops there; a scale's top bit (ue4m3) is not read; {_NAN_SCALE}"
)
_LATER_SIM = "in MMA-Sim of 2026 a zero term does not count where the largest exponent is found"
_BITS = "DeepGEMM, issue 176: 34, 35, 36 and 37 bits were seen on a B200 (kind::mxf4, kind::mxf4nvf4), undecided"
_FIRST_SIM = "MMA-Sim (arXiv 2511.10909), releases of 2025"
_ONE_TERM = "no source: a block of 32 as one term, as its scales are"
_RULE = "no source: the rule by which the min_exponent of other units follows from F"

_OTHER_GROUPS: tuple[tuple[str, dict[str, Any], tuple[str, ...], str, str], ...] = (
    *((f"F={bits}", {"fraction_bits": bits}, ("sm_100",), _BITS, "") for bits in (34, 36, 37)),
    ("zero groups aligned", {"zero_groups": "aligned"}, ("sm_100", "sm_120"), _FIRST_SIM, _LATER_SIM),
    ("groups of 32", {"group_terms": 32}, (), _ONE_TERM, ""),
    ("min_exponent=-143", {"min_exponent": -143}, (), _RULE, ""),
)
"""The alternatives: name, differences from the default, the chips that the source covers, source, note."""


def _scaled_groups() -> Iterator[DotModel]:
    """Yield kind::mxf4 and kind::mxf4nvf4: exact sums of groups of 16 products, times the scales, in one step."""
    literature: Claim = ("literature", SIM, f"{_GROUPS}; {_LATER_SIM}, in that of 2025 a zero group does")
    longer: Claim = (
        "inferred",
        "the arithmetic of k = 64 (MMA-Sim, arXiv 2511.10909), six groups in one step",
        _GROUPS,
    )
    for arch, families, shapes, terms, known in (
        ("sm_120", ("mma.sync",), shapes_of(("mma.sync",), *_FP4, kind="kind::mxf4"), 64, literature),
        ("sm_120", _ORDERED, shapes_of(_ORDERED, *_FP4, kind="kind::mxf4"), 64, LIKE_DENSE),
        ("sm_100", ("tcgen05.mma",), ("k64",), 64, literature), ("sm_103", ("tcgen05.mma",), ("k96",), 96, longer),
        ("sm_100", ("tcgen05.mma.sp",), ("k128",), 64, LIKE_DENSE),
    ):  # fmt: skip
        default = {"families": families, "shapes": shapes, "inputs": ("e2m1",), "scaling": "groups",
                   "terms_per_step": terms, "group_terms": 16, "fraction_bits": 35, "min_exponent": -126}  # fmt: skip
        yield from aligned({arch: known}, "f32", **default)
        for name, changes, chips, source, note in _OTHER_GROUPS:
            status = known[0] if arch in chips else "inferred"
            yield from aligned({arch: (status, source, note)}, "f32", **{**default, **changes}, name=name)


def _tensor() -> Iterator[DotModel]:
    """Yield `tcgen05.mma` without scales: f16, bf16, tf32, kind::f8f6f4, kind::i8."""
    sparse: Claims = {"sm_100": LIKE_DENSE}
    dense: Claims = {"sm_100": ("literature", SIM, "without .cta_group::2, to which it is carried over")}
    fp8: Claims = {
        "sm_100": ("literature", LITERATURE + "; DeepGEMM, issue 176: 25 bits on a B200", "f16 results: MMA-Sim alone")
    }
    carried: Claims = {"sm_100": ("inferred", "the arithmetic of tcgen05.mma without .ws", "")}
    narrow = [(a, b, ("f32", "f16"), 32, {"sm_100": (status, source, "")})
              for a, b, status, source in (*_WITH_FP4, *_WITH_FP6)]  # fmt: skip
    for a, b, accumulators, terms, evidence in (
        (("f16",), (), ("f32", "f16"), 16, dense), (("bf16",), (), ("f32",), 16, dense),
        (("tf32",), (), ("f32",), 8, dense), (FP8, FP8, ("f32", "f16"), 32, fp8), *narrow,
    ):  # fmt: skip
        for accumulator in accumulators:
            same = {"inputs": a, "b_inputs": b, "terms_per_step": terms, "fraction_bits": 25}
            for families, known in ((("tcgen05.mma",), evidence), (("tcgen05.mma.ws",), carried)):
                yield from aligned(known, accumulator, families=families, shapes=(f"k{terms}",), **same)
            yield from aligned(sparse, accumulator, families=_SPARSE_TENSOR, shapes=(f"k{2 * terms}",), **same)
    text = "PTX ISA 9.1: kind::i8 multiplies integers into 32-bit ones, .satfinite clamps"
    integers: Claims = {"sm_100": ("documented", text, "one clamp of the exact total: inferred from mma.sync")}
    for entry in (*entries(integers, arithmetic="integer", families=_DENSE_TENSOR, shapes=("k32",), inputs=("s8", "u8"),
                      accumulator="s32"),
                *entries(integers, arithmetic="integer", families=_SPARSE_TENSOR, shapes=("k64",), inputs=("s8", "u8"),
                      accumulator="s32")):  # fmt: skip
        if entry.arch in TENSOR_KINDS["i8"].archs:
            yield entry


BLACKWELL: tuple[DotModel, ...] = (*_narrow_operands(), *_scaled_exponents(), *_scaled_groups(), *_tensor())
"""The models of Blackwell's own instructions; instructions of other chips too are in `wmma_emu.arithmetic.table`."""
