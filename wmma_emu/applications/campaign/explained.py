# SPDX-License-Identifier: MIT
"""A mismatch in words: both results, why the emulator gives its own, and which model would give the other."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from wmma_emu.applications.campaign.alterations import explaining
from wmma_emu.applications.campaign.mismatches import Mismatch
from wmma_emu.applications.campaign.registers import Variant
from wmma_emu.applications.campaign.rows import row_of
from wmma_emu.arithmetic.explanation import explain_dot
from wmma_emu.arithmetic.explanation.notation import decimal
from wmma_emu.warp import BoundInstruction

_KINDS = {
    "bits": "the bits differ",
    "registers": "the emulator disagrees with itself: registers through ins.execute, and the product of matrices",
    "reference": "the emulator disagrees with itself: the reference engine, and the product of matrices",
}
_UNREAD = "registers differ, but only in bits that hold no element of D, which counts as one for the tile"
_ALONE = "alone in its tile the element does not differ: it depends on what is beside it; not shrunk"


def explained(
    instructions: Sequence[BoundInstruction], findings: Sequence[Mismatch], device: dict[str, Any]
) -> list[dict[str, Any]]:
    """Explain every mismatch. A hint holds for all mismatches of its instruction, if one model explains them all."""
    own = {
        i: explaining(instructions[x.instruction], [x.found, x.smallest])
        for i, x in enumerate(findings)
        if x.kind == "bits" and x.reproduced
    }
    entries = []
    for i, finding in enumerate(findings):
        alike = [own[j] for j in own if findings[j].instruction == finding.instruction]
        common = [name for name in own.get(i, []) if all(name in names for names in alike)]
        hints, kept = (common, len(alike)) if common else (own.get(i, []), 1)
        entries.append(_one(instructions[finding.instruction], finding, hints, kept, device))
    return entries


def _one(
    ins: BoundInstruction, finding: Mismatch, hints: list[str], kept: int, device: dict[str, Any]
) -> dict[str, Any]:
    """One mismatch in words: both results, why the emulator gives its own, and what would explain the other."""
    case, fmt = finding.smallest, ins.product.d
    a, b, c = case.dot_operands(ins)
    explanation = explain_dot(
        ins.product, a, b, c, instruction=ins.mnemonic, arch=ins.arch.name, row=case.row, column=case.column,
        **case.dot_scales(ins),
    )  # fmt: skip
    other = device.get("name", "the other side") if finding.kind == "bits" else "its other engine"
    digits = -(-fmt.bits // 4)
    what = _UNREAD if finding.unread else _KINDS[finding.kind]
    lines = [
        f"{ins.mnemonic} on {ins.arch}{_model(ins)}, input generator {finding.generator}:",
        f"  {what}",
        f"  {other} gives 0x{case.theirs:0{digits}x} = {decimal(case.theirs, fmt)}",
        f"  the emulator gives 0x{case.ours:0{digits}x} = {decimal(case.ours, fmt)}",
    ]
    if not finding.reproduced:
        lines.append("  below is the tile's first element" if finding.unread else f"  {_ALONE}")
    elif finding.kind == "bits":
        lines += _hint(hints, kept)
    lines += [*_execution(case.variant, case.indices), "", str(explanation)]
    return {
        "mnemonic": ins.mnemonic, "lowering": ins.model.lowering, "model": ins.model.name,
        "family": finding.generator, "kind": finding.kind,
        "reproduced": finding.reproduced, "unread": finding.unread, "hints": hints, "text": "\n".join(lines),
        "test_row": row_of(ins, finding, device),
    }  # fmt: skip


def _model(ins: BoundInstruction) -> str:
    return f" (model={ins.model.name!r})" if ins.model.name else ""


def _hint(hints: Sequence[str], kept: int) -> list[str]:
    if not hints:
        return ["  no model near to the emulator's explains it"]
    these = f"this and the instruction's other mismatches, {kept} in all" if kept > 1 else "it"
    return [f"  a model that would explain {these}:", *(f"    {'or ' if i else ''}{x}" for i, x in enumerate(hints))]


def _execution(variant: Variant, indices: tuple[int, ...] | None) -> list[str]:
    lines = []
    said = [f"{x.name}={getattr(variant, x.name)}" for x in fields(Variant) if getattr(variant, x.name) != x.default]
    if said:
        lines.append(f"  executed with {', '.join(said)}")
    if indices is not None:
        lines.append(f"  the packed elements of A stand at k = {', '.join(map(str, indices))}")
    return lines
