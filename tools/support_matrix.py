# SPDX-License-Identifier: MIT
"""Print the README's support matrix from the tables: chips by families, with the status of the arithmetic.

python tools/support_matrix.py
"""

from wmma_emu.arithmetic import models_for
from wmma_emu.instructions import ARCHS, INSTRUCTIONS, Instruction

FAMILIES = {
    "f16 (`mma`, `wmma`)": lambda i: _is_dense(i) and i.a == "f16" and i.shape != "m8n8k4",
    "f16 m8n8k4 (`mma`)": lambda i: _is_dense(i) and i.a == "f16" and i.shape == "m8n8k4",
    "bf16": lambda i: _is_dense(i) and i.a == "bf16",
    "tf32": lambda i: _is_dense(i) and i.a == "tf32",
    "FP8 (e4m3, e5m2)": lambda i: _is_dense(i) and i.a in ("e4m3", "e5m2"),
    "f64": lambda i: _is_dense(i) and i.a == "f64",
    "s8, u8": lambda i: _is_dense(i) and i.a in ("s8", "u8"),
    "s4, u4": lambda i: _is_dense(i) and i.a in ("s4", "u4"),
    "b1": lambda i: _is_dense(i) and i.a == "b1",
    "sparse, floating point (`mma.sp`)": lambda i: i.is_sparse and not i.is_warpgroup and i.format("a").is_float,
    "sparse, integers (`mma.sp`)": lambda i: i.is_sparse and not i.is_warpgroup and not i.format("a").is_float,
    "`wgmma`, dense and sparse": lambda i: i.is_warpgroup,
}


def _is_dense(row: Instruction) -> bool:
    return not row.is_sparse and not row.is_warpgroup


def status(family: str, arch: str) -> str:
    """Status of the default models of a family on a chip; a dash where the chip lacks it."""
    rows = [i for i in INSTRUCTIONS.values() if FAMILIES[family](i) and arch in i.archs]
    found = {models_for(i, arch)[0].status for i in rows}
    return " / ".join(sorted(found)) or "–"


def matrix() -> str:
    """Return the whole table as Markdown."""
    lines = ["| | " + " | ".join(ARCHS) + " |", "|---" * (len(ARCHS) + 1) + "|"]
    lines += [f"| {family} | " + " | ".join(status(family, arch) for arch in ARCHS) + " |" for family in FAMILIES]
    return "\n".join(lines)


if __name__ == "__main__":
    print(matrix())
