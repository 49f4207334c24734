# SPDX-License-Identifier: MIT
"""What a chip named on the command line answers, as JSON: run in a copy of the package to which the chip was added."""

import json
import sys
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import ml_dtypes
import numpy as np

import wmma_emu as we
from wmma_emu import cli
from wmma_emu.applications.explorer.data import explorer_data
from wmma_emu.arithmetic import models_for
from wmma_emu.arithmetic.lookup import alternatives_for
from wmma_emu.errors import WmmaEmuError
from wmma_emu.gpu.ptx import module, target_of
from wmma_emu.instructions import ARCHS, INSTRUCTIONS, OPERANDS, instructions_of, lowerings, machine_instructions
from wmma_emu.layouts import layout_for
from wmma_emu.ptx.program.special import SPECIAL
from wmma_emu.ptx.steps.availability import FIRST_CHIPS, require_since
from wmma_emu.scalar.approx_status import APPROX_STATUS
from wmma_emu.scalar.cvt_table import CVT_FORMS
from wmma_emu.schedule import schedule_of
from wmma_emu.tcgen05.data_movement import DATA_MOVEMENTS
from wmma_emu.warp.matrix_moves_table import MATRIX_MOVES
from wmma_emu.wmma.saturation import HARDWARE

KERNEL = """
.version 9.0
.target sm_80
.address_size 64
.visible .entry add(.param .u64 out) {
.reg .b64 %rd<4>; .reg .b32 %r<4>;
ld.param.u64 %rd1, [out];
mov.u32 %r1, %tid.x;
redux.sync.add.s32 %r2, %r1, 0xffffffff;
mul.wide.u32 %rd2, %r1, 4;
add.u64 %rd3, %rd1, %rd2;
st.global.u32 [%rd3], %r2;
ret;
}
"""


def commands(chip: str, *arguments: str) -> str:
    """What a command prints."""
    out = StringIO()
    with redirect_stdout(out):
        assert cli.main([*arguments]) == 0
    return out.getvalue().replace(chip, "CHIP")


def instructions(chip: str) -> list[str]:
    """Rows of the table of instructions."""
    return [row.mnemonic for row in instructions_of(chip)]


def machine_code(chip: str) -> list[Any]:
    """Machine code and schedule of each instruction, and the text of its kernel for a GPU."""
    found: list[Any] = []
    for row in instructions_of(chip):
        for lowering in lowerings(row, chip):
            code = machine_instructions(row, chip, lowering)
            try:
                schedule = [step.opcode for step in schedule_of(row, chip, lowering).steps]
            except WmmaEmuError as error:
                schedule = [str(error).partition(" on ")[0]]
            found.append((row.mnemonic, lowering, code.text, code.note, schedule, code.status))
        assert f".target {target_of(ARCHS[chip].number)}" in module(row, target_of(ARCHS[chip].number))
    return found


def layouts(chip: str) -> list[Any]:
    """Where each element lies."""
    found = ((row, x, layout_for(row, x, chip)) for row in instructions_of(chip) for x in OPERANDS)
    return [(row.mnemonic, x, layout.coords.tolist(), layout.status) for row, x, layout in found]


def models(chip: str) -> list[Any]:
    """What each instruction computes."""
    found = []
    for row in instructions_of(chip):
        for model in (*models_for(row, chip), *alternatives_for(row, chip)):
            found.append((row.mnemonic, model.name, model.lowering, model.describe(), model.status))
    return found


def conversions(chip: str) -> list[Any]:
    """Conversions, approximations, moves of matrices and special registers that the chip has."""
    return [
        [row.mnemonic for row in CVT_FORMS.values() if chip in row.archs],
        sorted((name, fmt, row.status) for (name, fmt, arch), row in APPROX_STATUS.items() if arch == chip),
        [row.mnemonic for row in (*MATRIX_MOVES.values(), *DATA_MOVEMENTS.values()) if chip in row.archs],
        sorted((d, c, row.effect, row.status) for (arch, d, c), row in HARDWARE.items() if arch == chip),
        [row.first for row in (*FIRST_CHIPS, *SPECIAL.values()) if _has(chip, row.first)],
    ]


def _has(chip: str, first: str) -> bool:
    try:
        require_since("it", ARCHS[chip], first)
    except WmmaEmuError:
        return False
    return True


def products(chip: str) -> list[Any]:
    """Bits of matrix products by the default instructions, and of one with block scales."""
    values = np.random.default_rng(130).normal(size=(16, 64)).astype(np.float32)
    found = [we.gemm(x, x.T, arch=chip) for x in (values.astype(np.float16), values.astype(ml_dtypes.float8_e4m3fn))]
    for fmt in ("mxfp8_e4m3", "nvfp4"):
        a, b = we.quantise.quantise(values, fmt), we.quantise.quantise(values.T, fmt, axis=0)
        found.append(we.gemm(a, b, arch=chip))
    return [x.tobytes().hex() for x in found]


def kernels(chip: str) -> list[Any]:
    """Return the results of a PTX kernel and of a Python kernel."""
    out = np.zeros(32, np.uint32)
    we.ptx.Module(KERNEL, arch=chip)["add"][1, 32](out)

    @we.kernel(arch=chip)
    def python_kernel(t, result):  # type: ignore[no-untyped-def]
        result[t.lane] = t.reduce_add_sync(0xFFFFFFFF, t.lane.astype(np.int32))

    result = np.zeros(32, np.uint32)
    python_kernel[1, 32](result)
    return [out.tolist(), result.tolist()]


def pages(chip: str) -> list[Any]:
    """The page of the explorer, the support matrix, and the pages of the reference."""
    from docs._ext.table_pages import table_pages
    from tools.support_matrix import FAMILIES, status

    data = explorer_data()
    bit = list(ARCHS).index(chip)
    bound = [[binding[1:-1] for binding in data["bindings"][row[2]] if binding[0] >> bit & 1]
             for row in data["instructions"]]  # fmt: skip
    assert [name for name, *_ in data["chips"]][bit] == chip
    assert all(f"`{chip}`" in text or chip in text for page, text in table_pages().items() if "formats" not in page)
    return [bound, {family: status(family, chip) for family in FAMILIES}]


def refusals(chip: str) -> list[str]:
    """Return the messages for instructions that the chip does not support."""
    lacking = [row for row in INSTRUCTIONS.values() if chip not in row.archs][::97]
    said = []
    for name in (*lacking, "tcgen05.mma.kind::f16.m128n64.f32.f16.f16"):
        try:
            we.instruction(name, arch=chip)
        except WmmaEmuError as error:
            said.append(type(error).__name__)
    return said


TOPICS: dict[str, Callable[[str], Any]] = {
    "instructions": instructions, "machine code": machine_code, "layouts": layouts, "models": models,
    "conversions": conversions, "products": products, "kernels": kernels, "pages": pages, "refusals": refusals,
    "list": lambda chip: commands(chip, "list", chip, "--format", "csv"),
    "show": lambda chip: commands(chip, "show", "m16n8k16.f32.f16.f16.f32", chip),
    "layout": lambda chip: commands(chip, "layout", "m16n8k16.f32.f16.f16.f32", "a", "--arch", chip, "--format", "csv"),
}  # fmt: skip

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps({topic: {chip: ask(chip) for chip in sys.argv[1:]} for topic, ask in TOPICS.items()}))
