# SPDX-License-Identifier: MIT
"""Construction of the table of models: entries for each chip with evidence, and for the chips that inherit from it."""

from collections.abc import Iterator
from typing import Any

from wmma_emu.arithmetic.model import DotModel
from wmma_emu.chip_sets import chips_since, describe_inheritance, lineage
from wmma_emu.chips import ARCHS
from wmma_emu.evidence import Evidence, Run, Status
from wmma_emu.instructions.spec import TENSOR_FAMILIES
from wmma_emu.instructions.table import TABLE

H200 = (
    "NVIDIA H200, driver 580.159.04, CUDA 13.0, 2026-11-21: no mismatch in 1.03e10 dot products of 1410 instructions, "
    "at least 1.6e6 of each"
)
DATA = "published recordings of MATLAB-tensor-core (BSD-2-Clause), no mismatch: "
LITERATURE = "MMA-Sim (arXiv 2511.10909) and MATLAB-tensor-core agree"
SIM = "MMA-Sim (arXiv 2511.10909) alone"
UNSEEN = "; specials, zero sums and min_exponent: literature"

Claim = tuple[Status, str, str]
"""The status, the source and a note."""

Claims = dict[str, Claim]
"""By chip."""

_RUNS = {"measured": "campaign", "recorded": "recordings", "literature": "literature"}
"""The instructions that were run or are listed, by status. Other statuses cover what an assembler accepts."""

LIKE_DENSE: Claim = (
    "inferred",
    "the unit of the dense instruction of this chip, half of the products left out",
    "",
)

SPARSE = ("mma.sp", "mma.sp::ordered_metadata")
BOTH = ("mma.sync", "wmma.mma")
FP8 = ("e4m3", "e5m2")


def shapes_of(
    families: tuple[str, ...], *formats: str, but: tuple[str, ...] = (), chip: str = "", kind: str = ""
) -> tuple[str, ...]:
    """Return the shapes of families in the table of instructions, with A in one of the formats.

    They are limited to one chip if it is given. ``kind`` is a prefix of kinds; without it, block scales are excluded.

    Examples
    --------
    >>> shapes_of(("mma.sync",), "f16", but=("m8n8k4",)), shapes_of(("mma.sync",), "e2m1", kind="kind::mxf4")
    (('m16n8k8', 'm16n8k16'), ('m16n8k64',))
    """
    having = (
        shape
        for entry in TABLE
        if entry.family in families and (not chip or chip in chips_since(entry.since))
        and (entry.modifiers[0].startswith(kind) if kind else not entry.scale)
        and any(types.split(".")[1] in formats for types in entry.types.split())
        for shape in entry.shapes.split()
    )  # fmt: skip
    return tuple(dict.fromkeys(x for x in having if x not in but))


def entries(evidence: Claims, **parameters: Any) -> Iterator[DotModel]:
    """Yield one model per chip, and per chip that inherits from it without separate evidence."""
    known = dict(evidence)
    for heir in ARCHS:
        arch = next((x for x in lineage(heir) if x in evidence), heir)
        if arch != heir:
            status, _, note = evidence[arch]
            source = f"the arithmetic of {arch}, {describe_inheritance(heir, arch)}"
            known[heir] = ("inferred", source, note if status == "literature" else "")
    for arch, (status, source, note) in known.items():
        listed = parameters["families"][0] not in TENSOR_FAMILIES  # a list cannot have all of their shapes
        said_of = next(x for x in lineage(arch) if x in evidence)
        found = _of_chip(said_of, status, source) if listed else Evidence(status, source)
        yield DotModel(arch=arch, evidence=found, note=note, **parameters)


def _of_chip(arch: str, status: Status, source: str) -> Evidence:
    """Return the evidence for instructions that were run on a chip; MMA-Sim lists some that were not recorded."""
    otherwise = Evidence("literature", SIM, Run("literature", arch)) if status == "recorded" else None
    return Evidence(status, source, Run(_RUNS.get(status, "assembled"), arch), otherwise)


def aligned(evidence: Claims, accumulator: str, **parameters: Any) -> Iterator[DotModel]:
    """Yield models of aligned sums: f32 results are truncated, f16 results rounded to nearest, on every chip."""
    rounding = "RZ" if accumulator == "f32" else "RNE"
    fraction_bits = parameters["fraction_bits"]
    # All measured and fitted values equal emin - 5 - (F - 23) of the accumulator; below F = 23 they are not observable.
    emin = -126 if accumulator == "f32" else -14
    min_exponent = emin - 5 - max(fraction_bits - 23, 0)
    yield from entries(evidence, arithmetic="aligned_sum", accumulator=accumulator, rounding=rounding,
                    **{"min_exponent": min_exponent, **parameters})  # fmt: skip
