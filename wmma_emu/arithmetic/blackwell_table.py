# SPDX-License-Identifier: MIT
"""What Blackwell computes beyond the chips before it: FP6 and FP4, block scales, `tcgen05.mma`; one row a chip.

No GPU has checked these rows here. Where sources disagree, or where nobody says, the alternatives are rows with a name,
which ``model=`` selects. What is known, and of whom:

- MMA-Sim (arXiv 2511.10909, releases of November 2025 and later) has all of these arithmetics for e4m3, e5m2 and
  e2m1, dense; e3m2 and e2m3 it leaves out, and so does everybody.
- MATLAB-tensor-core (arXiv 2512.07004) has FP8 of Blackwell, without scales.
- DeepGEMM, issue 176: somebody's measurements on a B200, 25 bits for kind::f8f6f4; 34 to 37 for kind::mxf4 and
  kind::mxf4nvf4, undecided.
"""

from collections.abc import Iterator
from typing import Any

from wmma_emu.arithmetic.model import DotModel
from wmma_emu.arithmetic.table_rows import FP8, LIKE_DENSE, LITERATURE, SIM, Evidence, aligned, rows

__all__ = ["BLACKWELL"]

_NARROW = ("e3m2", "e2m3", "e2m1")
_ORDERED = ("mma.sp::ordered_metadata",)
_DENSE_TENSOR = ("tcgen05.mma", "tcgen05.mma.ws")
_SPARSE_TENSOR = ("tcgen05.mma.sp", "tcgen05.mma.ws.sp")

_KNOWN = (
    ((*FP8, "e2m1"), "literature", SIM, "e3m2 or e2m3 as the other operand: inferred"),
    (("e3m2", "e2m3"), "inferred", "the unit of e4m3, e5m2 and e2m1 (MMA-Sim, arXiv 2511.10909)", ""),
)
"""Operands of eight bits and fewer, and what is known of them: no source has e3m2 and e2m3."""

_NAN_SCALE = "a NaN scale makes NaN of zero operands too"
_FLOOR = "min_exponent as of other units of F = 25, -126 in MMA-Sim"


def _narrow_operands() -> Iterator[DotModel]:
    """`mma.sync` and `mma.sp` of kind::f8f6f4 whose A has FP6 or FP4: FP8 has rows of its own."""
    for accumulator in ("f32", "f16"):
        for known, status, source, note in _KNOWN:
            yield from aligned({"sm_120": (status, source, note)}, accumulator, families=("mma.sync",),
                               shapes=("m16n8k32",), inputs=tuple(x for x in known if x not in FP8),
                               terms_per_step=32, fraction_bits=25)  # fmt: skip
        yield from aligned({"sm_120": LIKE_DENSE}, accumulator, families=_ORDERED, shapes=("m16n8k64",),
                           inputs=_NARROW, terms_per_step=32, fraction_bits=25)  # fmt: skip


def _scaled_exponents() -> Iterator[DotModel]:
    """kind::mxf8f6f4: one step of 32 products, to whose exponents those of the scales are added."""
    for arch, families, shapes, is_sparse in (
        ("sm_120", ("mma.sync",), ("m16n8k32",), False), ("sm_120", _ORDERED, ("m16n8k64",), True),
        ("sm_100", ("tcgen05.mma",), ("k32",), False), ("sm_100", ("tcgen05.mma.sp",), ("k64",), True),
    ):  # fmt: skip
        for inputs, status, source, note in _KNOWN:
            notes = "; ".join(filter(None, (note, _NAN_SCALE, _FLOOR)))
            evidence = {arch: LIKE_DENSE if is_sparse else (status, source, notes)}
            same = {"families": families, "shapes": shapes, "inputs": inputs, "scaling": "exponents",
                    "terms_per_step": 32, "fraction_bits": 25}  # fmt: skip
            yield from aligned(evidence, "f32", **same)
            sim = {
                arch: (
                    "inferred" if is_sparse else "literature",
                    SIM,
                    "where a term is zero, its exponent counts, and is -126",
                )
            }
            yield from aligned(sim, "f32", **same, min_exponent=-126, name="min_exponent=-126")


_GROUPS = (
    "the min_exponent is that of MMA-Sim, whose zeros have the exponent -126; c = infinity: as elsewhere, MMA-Sim of "
    f"2025 stops there; a scale's top bit (ue4m3) is not read; {_NAN_SCALE}"
)
_LATER_SIM = "in MMA-Sim of 2026 a zero term does not count where the largest exponent is found"
_BITS = "DeepGEMM, issue 176: 34, 35, 36 and 37 bits were seen on a B200 (kind::mxf4, kind::mxf4nvf4), undecided"
_FIRST_SIM = "MMA-Sim (arXiv 2511.10909), releases of 2025"
_ONE_TERM = "no source: a block of 32 as one term, as its scales are"
_RULE = "no source: the rule by which the min_exponent of other units follows from F"

_OTHER_GROUPS: tuple[tuple[str, dict[str, Any], str, str], ...] = (
    *((f"F={bits}", {"fraction_bits": bits}, _BITS, "") for bits in (34, 36, 37)),
    ("zero groups aligned", {"zero_groups": "aligned"}, _FIRST_SIM, _LATER_SIM),
    ("groups of 32", {"group_terms": 32}, _ONE_TERM, ""),
    ("min_exponent=-143", {"min_exponent": -143}, _RULE, ""),
)
"""Alternatives: name, what differs from the default, source, note."""


def _scaled_groups() -> Iterator[DotModel]:
    """kind::mxf4 and kind::mxf4nvf4: exact sums of groups of 16 products, times the scales, in one step."""
    literature = ("literature", SIM, f"{_GROUPS}; {_LATER_SIM}, in that of 2025 a zero group does")
    longer = ("inferred", "the arithmetic of k = 64 (MMA-Sim, arXiv 2511.10909), six groups in one step", _GROUPS)
    for arch, families, shapes, terms, known in (
        ("sm_120", ("mma.sync",), ("m16n8k64",), 64, literature), ("sm_120", _ORDERED, ("m16n8k128",), 64, LIKE_DENSE),
        ("sm_100", ("tcgen05.mma",), ("k64",), 64, literature), ("sm_103", ("tcgen05.mma",), ("k96",), 96, longer),
        ("sm_100", ("tcgen05.mma.sp",), ("k128",), 64, LIKE_DENSE),
    ):  # fmt: skip
        default = {"families": families, "shapes": shapes, "inputs": ("e2m1",), "scaling": "groups",
                   "terms_per_step": terms, "group_terms": 16, "fraction_bits": 35, "min_exponent": -126}  # fmt: skip
        yield from aligned({arch: known}, "f32", **default)
        for name, changes, source, note in _OTHER_GROUPS:
            status = "inferred" if source.startswith("no source") else known[0]
            yield from aligned({arch: (status, source, note)}, "f32", **{**default, **changes}, name=name)


def _tensor() -> Iterator[DotModel]:
    """`tcgen05.mma` without scales: f16, bf16, tf32, kind::f8f6f4, kind::i8."""
    sparse: Evidence = {"sm_100": LIKE_DENSE}
    dense: Evidence = {"sm_100": ("literature", SIM, "without .ws and .cta_group::2, which are carried over")}
    fp8: Evidence = {
        "sm_100": ("literature", LITERATURE + "; DeepGEMM, issue 176: 25 bits on a B200", "f16 results: MMA-Sim alone")
    }
    fp4, fp6 = ({"sm_100": known[1:]} for known in _KNOWN)
    for inputs, accumulators, terms, evidence in (
        (("f16",), ("f32", "f16"), 16, dense), (("bf16",), ("f32",), 16, dense), (("tf32",), ("f32",), 8, dense),
        (FP8, ("f32", "f16"), 32, fp8), (("e2m1",), ("f32", "f16"), 32, fp4),
        (("e3m2", "e2m3"), ("f32", "f16"), 32, fp6),
    ):  # fmt: skip
        for accumulator in accumulators:
            same = {"inputs": inputs, "terms_per_step": terms, "fraction_bits": 25}
            yield from aligned(evidence, accumulator, families=_DENSE_TENSOR, shapes=(f"k{terms}",), **same)
            yield from aligned(sparse, accumulator, families=_SPARSE_TENSOR, shapes=(f"k{2 * terms}",), **same)
    text = "PTX ISA 9.1: kind::i8 multiplies integers into 32-bit ones, .satfinite clamps"
    integers: Evidence = {"sm_100": ("documented", text, "one clamp of the exact total: inferred from mma.sync")}
    for row in (*rows(integers, arithmetic="integer", families=_DENSE_TENSOR, shapes=("k32",), inputs=("s8", "u8"),
                      accumulator="s32"),
                *rows(integers, arithmetic="integer", families=_SPARSE_TENSOR, shapes=("k64",), inputs=("s8", "u8"),
                      accumulator="s32")):  # fmt: skip
        if row.arch == "sm_100":  # sm_103 has no kind::i8
            yield row


BLACKWELL: tuple[DotModel, ...] = (*_narrow_operands(), *_scaled_exponents(), *_scaled_groups(), *_tensor())
"""Rows of Blackwell's own instructions; those that it shares with other chips are in `wmma_emu.arithmetic.table`."""
