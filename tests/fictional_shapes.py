# SPDX-License-Identifier: MIT
"""What instructions of new shapes answer, as JSON: run in a copy of the package to whose table they were added."""

import json
import sys
import warnings
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import numpy as np

import wmma_emu as we
from docs._ext.instruction_pages import instruction_pages
from wmma_emu import cli
from wmma_emu.applications.campaign.groups import group_of
from wmma_emu.applications.explorer.data import explorer_data
from wmma_emu.arithmetic import models_for
from wmma_emu.gpu import crosscheck
from wmma_emu.gpu.campaign import EmulatedBackend
from wmma_emu.gpu.kernel_body import inputs_of
from wmma_emu.gpu.ptx import module, target_of
from wmma_emu.instructions import ARCHS, OPERANDS, Instruction, lookup, lowerings, machine_instructions
from wmma_emu.instructions.reference_pages import anchor_of, document_of
from wmma_emu.layouts import granularity_of, layout_for, metadata_map
from wmma_emu.schedule import schedule_of, undivided

DRAWN = {"float": ("normal", "raw"), "integer": ("integer_raw",), "bit": ("bit_raw",)}
"""Input generators, by the kind of the format of A."""


def statuses(row: Instruction, chip: str) -> list[str]:
    """Return the status of every fact in the tables about an instruction on a chip."""
    codes = (machine_instructions(row, chip, x) for x in lowerings(row, chip))
    layouts = (layout_for(row, x, chip) for x in OPERANDS if row.place(x) == "registers")
    metadata = (metadata_map(row),) if row.is_sparse else ()
    divided = () if undivided(row, chip) else (schedule_of(row, chip),)
    return [row.status, *(x.status for x in (*models_for(row, chip), *codes, *layouts, *metadata, *divided))]


def scheduled(row: Instruction, chip: str) -> list[str]:
    """The machine instructions, in their order."""
    try:
        return [step.opcode for step in schedule_of(row, chip).steps]
    except we.WmmaEmuError as error:
        return [str(error)]


def in_a_kernel(row: Instruction, chip: str, text: str) -> bool:
    """Whether a kernel of PTX leaves what the instruction leaves in registers; `wgmma` is parsed alone."""
    kernels = we.ptx.Module(text, arch=chip)
    if row.is_warpgroup:
        return len(kernels) == 1
    ins, rng = we.instruction(row, arch=chip), np.random.default_rng(23)
    word = np.uint64 if row.a == "f64" else np.uint32
    given = {x: rng.integers(0, 2**31, (row.registers(x), 1, 32)).astype(word) for x in ("a", "b", "c")}
    others = {x: np.zeros((1, 32), np.uint32) for x in ("scale_a", "scale_b") if row.is_block_scaled}
    if row.is_sparse:
        places = next(iter(granularity_of(row).nibbles))
        others["metadata"] = np.full((1, 32), sum(places << 4 * i for i in range(8)), np.uint32)
    first = np.zeros(1, np.uint32)
    d = np.zeros((row.registers("d"), 1, 32), word)
    arguments = [x for name in inputs_of(row) for x in ({**given, **others}[name], first, 1)]
    kernels.kernel[1, 256](*arguments, d, 1)
    return np.array_equal(d, ins.execute(*given.values(), **others))


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
        drawn = DRAWN[row.format("a").kind]
        report = crosscheck(row, count=300, generators=drawn, workers=0, backend=EmulatedBackend(chip))
        found["chips"][chip] = {
            "statuses": statuses(row, chip), "code": machine_instructions(row, chip).text,
            "schedule": scheduled(row, chip),
            "kernel": row.mnemonic in text and in_a_kernel(row, chip, text),
            "compared": report.dot_products, "mismatches": report.mismatches + report.self_mismatches,
        }  # fmt: skip
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    pages = instruction_pages()
    print(json.dumps({name: answers(name, pages) for name in sys.argv[1:]}))
