# SPDX-License-Identifier: MIT
"""Print the README's support matrix from the tables: chips by families, with the status of the arithmetic.

python tools/support_matrix.py
"""

from collections.abc import Iterator
from functools import cache

from wmma_emu.arithmetic import models_for
from wmma_emu.instructions import ARCHS, INSTRUCTIONS, Instruction
from wmma_emu.instructions.tensor import TENSOR_KINDS, tensor_instruction, tensor_sizes

_FP8 = {"e4m3", "e5m2"}

FAMILIES = {
    "f16 (`mma`, `wmma`)": lambda i: _is_dense(i) and i.a == "f16" and i.shape != "m8n8k4",
    "f16 m8n8k4 (`mma`)": lambda i: _is_dense(i) and i.a == "f16" and i.shape == "m8n8k4",
    "bf16": lambda i: _is_dense(i) and i.a == "bf16",
    "tf32": lambda i: _is_dense(i) and i.a == "tf32",
    "FP8 (e4m3, e5m2)": lambda i: _is_dense(i) and {i.a, i.b} <= _FP8,
    "FP6, FP4 (`kind::f8f6f4`)": lambda i: _is_dense(i) and i.a[0] == "e" and not {i.a, i.b} <= _FP8,
    "block scales: FP8, FP6, FP4 (`mma`, `mma.sp`)": lambda i: i.is_block_scaled and not i.is_tensor,
    "f64": lambda i: _is_dense(i) and i.a == "f64",
    "s8, u8": lambda i: _is_dense(i) and i.a in ("s8", "u8"),
    "s4, u4": lambda i: _is_dense(i) and i.a in ("s4", "u4"),
    "b1": lambda i: _is_dense(i) and i.a == "b1",
    "sparse, floating point (`mma.sp`)": lambda i: _is_sparse(i) and i.format("a").is_float,
    "sparse, integers (`mma.sp`)": lambda i: _is_sparse(i) and not i.format("a").is_float,
    "`wgmma`, dense and sparse": lambda i: i.is_warpgroup,
    "`tcgen05.mma`, floating point": lambda i: i.is_tensor and i.format("a").is_float and not i.is_block_scaled,
    "`tcgen05.mma`, integers": lambda i: i.is_tensor and not i.format("a").is_float,
    "`tcgen05.mma`, block scales": lambda i: i.is_tensor and i.is_block_scaled,
}


def _is_dense(entry: Instruction) -> bool:
    return not (entry.is_sparse or entry.is_warpgroup or entry.is_tensor or entry.is_block_scaled)


def _is_sparse(entry: Instruction) -> bool:
    return entry.is_sparse and not (entry.is_warpgroup or entry.is_tensor or entry.is_block_scaled)


@cache
def _rows() -> tuple[Instruction, ...]:
    return *INSTRUCTIONS.values(), *tensor_rows()


def tensor_rows() -> Iterator[Instruction]:
    """Return every kind of `tcgen05.mma` with all its types and scales; sizes matter to nothing here."""
    for kind in TENSOR_KINDS.values():
        m = tensor_sizes(kind.name)[0].m[-1]
        scales = [(scale, vec) for scale, several in kind.scales for vec in several] or [("", 0)]
        for d, formats in kind.types:
            for a in formats:
                for scale, vec in scales:
                    yield tensor_instruction(kind.name, m, 128, d, a, a, scale=scale, scale_vec=vec)


def status(family: str, arch: str) -> str:
    """Return status of the default models of a family on a chip; a dash where the chip lacks it."""
    rows = [i for i in _rows() if FAMILIES[family](i) and arch in i.archs]
    found = {models_for(i, arch)[0].status for i in rows}
    return " / ".join(sorted(found)) or "–"


def matrix() -> str:
    """Return the whole table as Markdown."""
    lines = ["| | " + " | ".join(ARCHS) + " |", "|---" * (len(ARCHS) + 1) + "|"]
    lines += [f"| {family} | " + " | ".join(status(family, arch) for arch in ARCHS) + " |" for family in FAMILIES]
    return "\n".join(lines)


if __name__ == "__main__":
    print(matrix())
