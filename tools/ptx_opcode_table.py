# SPDX-License-Identifier: MIT
"""Write docs/reference/ptx-opcodes.md from ptx-opcodes.csv and the emulator's support of each row.

    python -m tools.ptx_opcode_table          # writes the page
    python -m tools.collect_ptx_opcodes ...   # adds rows to the table

Each row becomes a line of PTX, with registers and variables of the kinds in the row; the emulator either builds a step
for the line or refuses it with a reason.
"""

import itertools
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from tools.collect_ptx_opcodes import TABLE, TypedOpcode, read_table
from wmma_emu.ptx import Module
from wmma_emu.ptx.machine.control import CONTROL
from wmma_emu.ptx.machine.warp_sync import is_bar_warp
from wmma_emu.ptx.steps.floats import FLOAT_ENTRIES
from wmma_emu.ptx.steps.not_modelled import reason_not_modelled
from wmma_emu.ptx.steps.table import MACHINE_STEPS, NOTHING
from wmma_emu.ptx.steps.values import ALL_VIDEO_ENTRIES, VALUE_ENTRIES

__all__ = ["PAGE", "page", "refusals", "step_of", "text_of"]

PAGE = TABLE.with_suffix(".md")

TITLES = {
    "steps/memory_steps.py": "Loads, stores and fences",
    "steps/stack_steps.py": "The stack of a thread",
    "steps/async_copies.py": "Asynchronous copies",
    "steps/mbarrier_steps.py": "Barriers in memory",
    "steps/atomics.py": "Atomic operations",
    "steps/integers.py": "Integer arithmetic",
    "steps/floats.py": "Arithmetic of f32 and f64",
    "steps/halves.py": "Arithmetic of f16 and bf16",
    "steps/approximations.py": "Approximate functions",
    "steps/compare.py": "Comparisons",
    "steps/conversions.py": "Conversions",
    "steps/bits.py": "Logic, shifts and permutations",
    "steps/bit_fields.py": "Bit fields",
    "steps/moves.py": "Moves",
    "steps/mma_steps.py": "mma and mma.sp",
    "steps/wmma_steps.py": "wmma",
    "steps/wgmma_steps.py": "wgmma",
    "steps/matrix_moves.py": "ldmatrix, stmatrix, movmatrix",
    "steps/votes.py": "Votes and reductions of a warp",
    "steps/shuffles.py": "Shuffles",
    "steps/table.py": "Instructions without an effect",
    "machine/warp_sync.py": "Barriers of a warp",
    "machine/control.py": "Branches, calls, barriers of a block, exits",
}
"""The title of each module's opcodes, in the order of the sections on the page."""

SURVEYED = 34
"""The number of files in the survey that `Row.files` counts."""

REGISTERS = 400
"""The number of registers of each type; the largest instruction needs about a hundred."""

_VARIABLES = {
    "shared": ".shared .align 16 .b8 a_shared[4096];", "local": ".local .align 16 .b8 a_local[256];",
}  # fmt: skip
_MODULE_VARIABLES = ".global .align 16 .b8 a_global[256]; .const .align 16 .b8 a_const[256];"
_TYPES = ("pred", "b8", "b16", "u16", "s16", "f16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64")


def text_of(entries: Iterable[TypedOpcode], target: str) -> tuple[str, dict[int, str]]:
    """Write a kernel with one instruction for each row; also return the opcode of each line."""
    head = f""".version 9.0 .target {target} .address_size 64
{_MODULE_VARIABLES}
.func (.param .b32 result) callee(.param .align 16 .b8 argument[64]) {{ ret; }}
.visible .entry opcodes(.param .align 16 .b8 a_param[256])
{{
{" ".join(f".reg .{x} %{x}_<{REGISTERS}>;" for x in _TYPES)}
{" ".join(_VARIABLES.values())}
.param .b32 result; .param .align 16 .b8 a_argument[64];
targets: .branchtargets label;
"""
    lines, places = head.splitlines(), {}
    for entry in entries:
        lines.append(f"{entry.opcode} {_operands(entry.operands)};")
        places[len(lines)] = entry.opcode
    return "\n".join([*lines, "label: ret;", "}"]), places


def _operands(form: str) -> str:
    """Return the operands of a row with names: every register is different."""
    numbers = itertools.count()
    form = re.sub(r"\b(\d+) (%\w+)", lambda x: ", ".join([x[2]] * int(x[1])), form)
    form = re.sub(rf"%({'|'.join(_TYPES)})\b", lambda x: f"%{x[1]}_{next(numbers)}", form)
    form = form.replace("@call", "(result), callee, (a_argument)")
    form = form.replace("@branchtargets", "targets").replace("@label", "label")
    return re.sub(r"@(\w+)", r"a_\1", form)


def refusals(rows: Iterable[TypedOpcode], target: str) -> dict[str, str]:
    """Return the opcodes without a step on a chip, with the emulator's reasons."""
    text, places = text_of(rows, target)
    kernel = Module(text, re.sub("[af]$", "", target), contraction="never")["opcodes"]
    return {places[x.line]: x.reason for x in kernel.compiled.missing}


def target_of(row: TypedOpcode) -> str:
    """Return the oldest chip of a row as a target with its architecture-specific features."""
    first = row.chips.split()[0]
    return first + "a" * (int(first[3:]) >= 90)


def all_refusals(rows: Mapping[str, TypedOpcode]) -> dict[str, str]:
    """Return the refusals of every row on its oldest chip."""
    ordered = sorted(rows.values(), key=target_of)
    found: dict[str, str] = {}
    for target, group in itertools.groupby(ordered, target_of):
        found |= refusals(group, target)
    return found


def step_of(opcode: str) -> str:
    """Return the module whose step executes an opcode."""
    mnemonic = opcode.split(".")[0]
    if mnemonic in NOTHING:
        return "`steps/table.py`, without an effect"
    if opcode == "bar.warp.sync":
        return f"`{_file(is_bar_warp.__module__)}`"
    if mnemonic == "cvt":
        return "`steps/conversions.py`"
    if opcode in FLOAT_ENTRIES:  # some are built by functions of the f16 module
        return "`steps/floats.py`"
    entry = VALUE_ENTRIES.get(opcode) or ALL_VIDEO_ENTRIES.get(opcode)
    made = entry.make if entry else CONTROL.get(mnemonic) or MACHINE_STEPS[mnemonic]
    return f"`{_file(getattr(made, 'func', made).__module__)}`"


def _file(module: str) -> str:
    return f"{module.removeprefix('wmma_emu.ptx.').replace('.', '/')}.py"


def page(rows: Mapping[str, TypedOpcode]) -> str:
    """Return the page."""
    refused = all_refusals(rows)
    wide = [x for x in rows.values() if set(x.chips.split()) & {"sm_80", "sm_89"}]
    here = sum(x.opcode not in refused for x in wide)
    left = sorted(refused)
    lines = [
        f"""# PTX opcodes written by compilers, and the modules that execute them

<!-- Written by python -m tools.ptx_opcode_table; the rows come from ptx-opcodes.csv. -->

{len(rows)} typed opcodes as compilers spell them, of which {len(rows) - len(left)} are modelled: {here} of the
{len(wide)} that kernels for sm_80 and sm_89 use. The tests convert each row to a line of PTX, which the emulator has to
execute, or refuse with a reason. It models more spellings than these; for your own PTX,
`wmma-emu ptx explain FILE` lists missing instructions. Other missing features are listed in
[Test a kernel without a GPU](../how-to/test-a-kernel-without-a-gpu.md#what-is-not-supported).

- **survey**: the number of files that contain it, of {SURVEYED} files with 45 kernels: NVIDIA's five tensor-core
  samples, CuTe's tutorials `sgemm_1`, `sgemm_sm80`, `tiled_copy`, `wgmma_sm90` and `wgmma_tma_sm90`, six WMMA and `mma`
  kernels of public repositories, and 18 files of Triton: matrix products in all its types and flash attention, for
  sm_80, sm_89, sm_90 and sm_100 (2026-11-20).
- **chips**: the targets of the kernels.
- **compilers**: the current compilers that write it in the kernels of `examples/ptx/` and `tests/ptx/planted/` and in
  [NVIDIA's samples](../how-to/run-nvidia-samples.md).

Each section names the module of `wmma_emu/ptx/` that executes its opcodes.

## Not modelled

| opcode | survey | why |
|---|---|---|""",
        *(f"| `{x}` | {rows[x].files or ''} | {reason_not_modelled(x) or refused[x].splitlines()[0]} |" for x in left),
        "\n## Modelled",
        *_sections([x for x in rows.values() if x.opcode not in refused]),
    ]
    return "\n".join(lines) + "\n"


def _sections(entries: Iterable[TypedOpcode]) -> Iterable[str]:
    """Write a section for each module that executes some of the opcodes."""
    by_module: dict[str, list[TypedOpcode]] = {title: [] for title in TITLES}
    for entry in entries:
        by_module[step_of(entry.opcode).split("`")[1]].append(entry)
    for module, members in by_module.items():
        if members:
            yield f"\n### {TITLES[module]}\n\nExecuted by `{module}`.\n"
            yield "| opcode | survey | chips | compilers |\n|---|---|---|---|"
            yield from (
                f"| `{x.opcode}` | {x.files or ''} | {x.chips.replace(' ', ', ')} | {x.writers.replace(';', ',')} |"
                for x in members
            )


def main() -> int:
    Path(PAGE).write_text(page(read_table()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
