# SPDX-License-Identifier: MIT
"""What instructions of new shapes answer, as JSON: run in a copy of the package to whose table they were added."""

import json
import sys
import warnings
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import wmma_emu as we
from docs._ext.instruction_pages import instruction_pages
from wmma_emu import cli
from wmma_emu.applications.campaign.groups import group_of
from wmma_emu.applications.explorer.data import explorer_data
from wmma_emu.arithmetic import models_for
from wmma_emu.gpu import crosscheck
from wmma_emu.gpu.campaign import EmulatedBackend
from wmma_emu.gpu.ptx import module, target_of
from wmma_emu.instructions import ARCHS, OPERANDS, Instruction, lookup, lowerings, machine_instructions
from wmma_emu.instructions.reference_pages import anchor_of, document_of
from wmma_emu.layouts import layout_for, metadata_map
from wmma_emu.schedule import schedule_of


def statuses(row: Instruction, chip: str) -> list[str]:
    """How everything that the tables say of an instruction on a chip is known."""
    codes = (machine_instructions(row, chip, x) for x in lowerings(row, chip))
    layouts = (layout_for(row, x, chip) for x in OPERANDS if row.place(x) == "registers")
    metadata = (metadata_map(row),) if row.is_sparse else ()
    return [row.status, *(x.status for x in (*models_for(row, chip), *codes, *layouts, *metadata))]


def scheduled(row: Instruction, chip: str) -> list[str]:
    """The machine instructions, in their order."""
    try:
        return [step.opcode for step in schedule_of(row, chip).steps]
    except we.WmmaEmuError as error:
        return [str(error)]


def shown(row: Instruction) -> str:
    """What the command line prints of it."""
    out = StringIO()
    with redirect_stdout(out):
        assert cli.main(["show", row.mnemonic]) == 0
    return out.getvalue()


def answers(mnemonic: str, pages: dict[str, str]) -> dict[str, Any]:
    """Everything of an instruction."""
    row = lookup(mnemonic)
    found: dict[str, Any] = {"group": group_of(row), "chips": {}}
    found["shown"] = shown(row)
    found["page"] = f"({anchor_of(row)})=" in pages[document_of(row)]
    found["explorer"] = [x[0] for x in explorer_data((row,))["instructions"]] == [row.mnemonic]
    for chip in row.archs:
        text = module(row, target_of(ARCHS[chip].number))
        report = crosscheck(row, count=300, workers=0, backend=EmulatedBackend(chip))
        found["chips"][chip] = {
            "statuses": statuses(row, chip), "code": machine_instructions(row, chip).text,
            "schedule": scheduled(row, chip),
            "kernel": row.mnemonic in text and len(we.ptx.Module(text, arch=chip)) == 1,
            "compared": report.dot_products, "mismatches": report.mismatches + report.self_mismatches,
        }  # fmt: skip
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    pages = instruction_pages()
    print(json.dumps({name: answers(name, pages) for name in sys.argv[1:]}))
