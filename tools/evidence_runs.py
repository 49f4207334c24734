# SPDX-License-Identifier: MIT
"""Write the runs of each chip, from the results of campaigns and recordings: wmma_emu/evidence/runs.txt.

    python -m tools.evidence_runs

The runs, by the names that `wmma_emu.evidence.Run` takes:

- ``assembled``: mnemonics that ptxas accepts for a chip and whose machine code was read (tests/instructions/data);
- ``campaign``: those of the cross-check's report (docs/evidence);
- ``recordings``: those of the published dot products, and every other that consists of the same machine instructions;
- ``literature``: those that the public model MMA-Sim lists, with the same machine instructions likewise;
- ``conversions``, ``approximations``, ``bank conflicts``, ``wmma fragments``, ``wmma satfinite``, ``wgmma operands``,
  ``atomics``, ``scaled products``, ``cublas``, ``torchao``, ``textures``: names in the files of tests/data and of
  tests/quantise, and in the cases of the probe of `wgmma` and of textures.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path

import numpy as np

from tools.check_dot_products import ARCHS as CHIP_OF_GPU
from tools.check_dot_products import FORMATS, instructions
from tools.ptx_atomic_cases import atomic_cases
from tools.texture_cases import cases as texture_cases
from tools.wgmma_probe_cases import cases as operand_cases
from wmma_emu.instructions import INSTRUCTIONS, lookup

ROOT = Path(__file__).parents[1]
FILE = ROOT / "wmma_emu" / "evidence" / "runs.txt"
DATA = ROOT / "tests" / "data"
REPORT = ROOT / "docs" / "evidence" / "h200-2026-11-21-crosscheck.html"
MACHINE_CODE = ROOT / "tests" / "instructions" / "data" / "machine_code.txt"

Names = dict[tuple[str, str], set[str]]
"""The mnemonics of each (run, chip)."""


def _typed(shape: str, types: str, pairs: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(f"{shape}.{types.format(a=a, b=b)}" for a, b in pairs)


_NARROW = tuple(product(("e5m2", "e4m3"), repeat=2))
_WITH_FP4 = tuple(product(("e5m2", "e4m3", "e2m1"), repeat=2))
_FP4 = (("e2m1", "e2m1"),)
_VOLTA = tuple(f"m8n8k4.row.col.{types}" for types in ("f32.f16.f16.f16", "f32.f16.f16.f32", "f16.f16.f16.f16"))
_TURING = ("m16n8k8.f32.f16.f16.f32", "m16n8k8.f16.f16.f16.f16")
_AMPERE = (
    *_TURING, "m8n8k4.f64.f64.f64.f64", "m16n8k8.f32.tf32.tf32.f32", "m16n8k4.f32.tf32.tf32.f32",
    "m16n8k16.f32.f16.f16.f32", "m16n8k16.f16.f16.f16.f16", "m16n8k16.f32.bf16.bf16.f32", "m16n8k8.f32.bf16.bf16.f32",
)  # fmt: skip
_ADA = (
    *_AMPERE,
    *(x for shape in ("m16n8k32", "m16n8k16") for d in ("f32", "f16")
      for x in _typed(shape, f"{d}.{{a}}.{{b}}.{d}", _NARROW)),
)  # fmt: skip
_RTX_BLACKWELL = (
    *_ADA,
    *(x for d in ("f32", "f16") for x in _typed("m16n8k32.kind::f8f6f4", f"{d}.{{a}}.{{b}}.{d}", _WITH_FP4)),
    *_typed("m16n8k32.kind::mxf8f6f4.block_scale", "f32.{a}.{b}.f32.ue8m0", _WITH_FP4),
    *_typed("m16n8k64.kind::mxf4.block_scale", "f32.{a}.{b}.f32.ue8m0", _FP4),
    *_typed("m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::2X", "f32.{a}.{b}.f32.ue8m0", _FP4),
    *_typed("m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X", "f32.{a}.{b}.f32.ue8m0", _FP4),
    *_typed("m16n8k64.kind::mxf4nvf4.block_scale.scale_vec::4X", "f32.{a}.{b}.f32.ue4m3", _FP4),
)
LITERATURE = {
    "sm_70": _VOLTA, "sm_75": (*_TURING, *_VOLTA), "sm_80": _AMPERE, "sm_86": _AMPERE, "sm_89": _ADA, "sm_100": _AMPERE,
    "sm_120": _RTX_BLACKWELL,
}  # fmt: skip
"""The instructions that MMA-Sim lists (nv_ptx/isa_mma.py, arch_mma_shape_and_type) for chips without a campaign."""


def machine_code() -> dict[tuple[str, str], frozenset[str]]:
    """Return opcodes of the machine instructions of every mnemonic on every chip."""
    found = {}
    for line in MACHINE_CODE.read_text().splitlines():
        if not line.startswith("#"):
            mnemonic, *groups = line.split()
            for chips, code in (group.split("=") for group in groups):
                opcodes = frozenset(re.sub(r"^\d+x", "", part) for part in code.split("+"))
                found |= {(mnemonic, chip): opcodes for chip in chips.split(",")}
    return found


def alike(run: set[str], chip: str, code: Mapping[tuple[str, str], frozenset[str]]) -> set[str]:
    """Return every mnemonic whose machine instructions and formats occur in a run on a chip, except software."""
    seen = frozenset[str]().union(*(code[x, chip] for x in run))
    seen = frozenset(x for x in seen if not x.startswith("software"))
    formats = {INSTRUCTIONS[x].a for x in run}
    return run | {
        mnemonic
        for (mnemonic, on), opcodes in code.items()
        if on == chip and opcodes <= seen and INSTRUCTIONS[mnemonic].a in formats
    }


def campaign() -> set[str]:
    """Return mnemonics of the cross-check's report."""
    rows = re.findall(r'<tr><td class="word">(\S+?)(?: \(\S+\))?</td><td>([\d,]+)</td><td>0</td>', REPORT.read_text())
    return {mnemonic for mnemonic, _ in rows if mnemonic in INSTRUCTIONS}


def recordings() -> Names:
    """Return mnemonics whose dot products others recorded and published."""
    found: Names = {}
    with np.load(DATA / "recorded_dot_products.npz") as arrays:
        for gpu, fmt, d in (key.split("|") for key in arrays.files if "|D_" in key):
            names = instructions(gpu, FORMATS[fmt], {"D_fp32": "f32", "D_fp16": "f16"}[d])
            # The first one is that which was recorded; what its mma.sync has in common with it, machine code says.
            found.setdefault(("recordings", CHIP_OF_GPU[gpu]), set()).update(
                lookup(name).mnemonic for name in names[:1]
            )
    return found


def matrix_instructions() -> Names:
    """Return the runs of matrix products."""
    code = machine_code()
    found: Names = {("campaign", "sm_90"): campaign()}
    for mnemonic, chip in code:
        found.setdefault(("assembled", chip), set()).add(mnemonic)
    listed = {
        ("literature", chip): {lookup(name, chip).mnemonic for name in names} for chip, names in LITERATURE.items()
    }
    found |= {(run, chip): alike(names, chip, code) for (run, chip), names in (recordings() | listed).items()}
    return found


def other_runs() -> Names:
    """Return the runs on one H200: conversions, approximations, fragments, shared operands, sums, libraries."""
    with np.load(ROOT / "tests" / "quantise" / "torchao.npz") as arrays:
        scaled = [key.removeprefix("cuda ") for key in arrays.files if key.startswith("cuda scales ")]
        on_a_processor = [key for key in arrays.files if key.startswith("scales ")]
    textures = _keys("sm90_textures")
    return {("torchao", "cpu"): _rules(on_a_processor)} | {(run, "sm_90"): set(names) for run, names in {
        "torchao": _rules(scaled),
        "conversions": _array("sm90_conversions", "mnemonics"),
        "approximations": {key.split("|")[0] for key in _keys("sm90_approx")},
        "bank conflicts": _keys("sm90_bank_conflicts"),
        "wmma fragments": map(_fragment, _keys("sm90_wmma_layouts")),
        "wmma satfinite": {key.split("|")[1] for key in _keys("sm90_wmma_products") if key.startswith("satfinite|")},
        "wgmma operands": {" swizzle ".join(case.name.split()[2:4]) for case in operand_cases((8,))},
        "atomics": {row for case in atomic_cases() for row in case.rows},
        "scaled products": {"-".join(key.split("-")[:2]) for key in _keys("sm90_scaled_mm")},
        "cublas": {"|".join(key.split("|")[:2]) for key in _keys("sm90_cublas") | _keys("sm90_cublas_models")},
        "textures": {case.fact for case in texture_cases() if case.name in textures},
    }.items()}  # fmt: skip


def _rules(keys: list[str]) -> set[str]:
    """Format and rule, after the name of the inputs."""
    return {key.split(maxsplit=2)[2] for key in keys}


def _keys(file: str) -> set[str]:
    """Return the names of the arrays of a recording, including equal ones."""
    with np.load(DATA / f"{file}.npz") as arrays:
        also = [name for name in ("same", "same_as_row_major") if name in arrays.files]
        same = {str(row[0] if row.ndim else row) for name in also for row in arrays[name]}
        return {key for key in {*arrays.files, *same} - {"metadata", *also} if not key.endswith("|num_elements")}


def _array(file: str, name: str) -> set[str]:
    with np.load(DATA / f"{file}.npz") as arrays:
        return {str(x) for x in arrays[name]}


def _fragment(key: str) -> str:
    """Use, shape, format and memory layout, which an accumulator does not have."""
    _, use, shape, multiplicands, accumulator, memory_layout = key.split("|")
    return " ".join(
        (use, shape, accumulator or multiplicands, "" if accumulator else memory_layout.removesuffix("_major"))
    ).strip()


def text() -> str:
    """Return the file: a line for each name, under a line with all runs that have it."""
    runs_of: dict[str, dict[str, list[str]]] = {}
    for (run, chip), names in (matrix_instructions() | other_runs()).items():
        for name in names:
            runs_of.setdefault(name, {}).setdefault(run, []).append(chip)
    sections: dict[str, set[str]] = {}
    for name, runs in runs_of.items():
        number = sorted((run, sorted(chips, key=lambda chip: (len(chip), chip))) for run, chips in runs.items())
        sections.setdefault("; ".join(f"{run}={','.join(chips)}" for run, chips in number), set()).add(name)
    lines = ["# What was run or read, on which chips; n* is every n from 8 to 256. By tools/evidence_runs.py."]
    for section, names in sorted(sections.items()):
        lines += [f"[{section}]", *sorted(_with_all_n(names))]
    return "\n".join(lines) + "\n"


def _with_all_n(names: set[str]) -> Iterator[str]:
    """Return one name for the instructions of `wgmma` that are listed with every n."""
    starred: dict[str, set[str]] = {}
    for name in names:
        starred.setdefault(re.sub(r"(?<=m64)n\d+(?=k)", "n*", name), set()).add(name)
    for name, all_n in starred.items():
        yield from [name] if len(all_n) == 32 else all_n


if __name__ == "__main__":
    FILE.write_text(text(), encoding="ascii")
