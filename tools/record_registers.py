# SPDX-License-Identifier: MIT
"""Record what every dense `mma.sync` and `wmma.mma` of this GPU does: raw registers in, raw registers out.

    python -m tools.record_registers --out tests/data/sm90_registers.npz

One PTX kernel for each instruction; each warp loads the registers of its tile, executes the instruction once, and
stores D. Only D is stored: `tools.recording_inputs` draws A, B and C again from the seed.
"""

import argparse
import re
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tools.cuda_driver import Device, compile_cubins, target_of, versions
from tools.recording_inputs import FLOAT_GENERATORS, INTEGER_GENERATORS, VERSION, generators_of
from tools.recordings import add_source, all_inputs, save_registers
from wmma_emu.instructions import Instruction, arch_of, instructions_of

GENERATORS = tuple(dict.fromkeys((*FLOAT_GENERATORS, *INTEGER_GENERATORS)))

FILES = 16
"""Source files that the kernels are spread over, to be assembled in parallel."""

Run = Callable[..., NDArray[Any]]


def is_dense(entry: Instruction) -> bool:
    """Return whether this records it; `tools.record_instructions` has every instruction, through `wmma_emu.gpu`."""
    return entry.family in ("mma.sync", "wmma.mma")


def kernel_name(entry: Instruction) -> str:
    """Return the name of an instruction's kernel: its mnemonic with underscores for other characters."""
    return re.sub(r"\W+", "_", entry.mnemonic)


def _register_type(format_name: str) -> str:
    return {"f32": "f32", "f64": "f64"}.get(format_name, "b32")


def kernel(entry: Instruction) -> str:
    """Return PTX of an instruction's kernel: parameters a, b, c, d, and the number of tiles; one warp a tile."""
    declared, loads = [], []
    for operand in "abcd":
        count, fmt = entry.registers(operand), entry.format(operand).name
        declared.append(f"  .reg .{_register_type(fmt)} %{operand}<{count}>;")
        size = 8 if fmt == "f64" else 4
        bits = 8 * size
        loads.append(f"""  ld.param.u64 %at, [{operand}];
  mad.wide.u32 %at, %index, {size}, %at;
  mul.wide.u32 %step, %tiles, {32 * size};""")
        for i in range(count):
            if operand == "d":
                loads.append(f"  st.global.b{bits} [%at], %d{i};")
            else:
                loads.append(f"  ld.global.b{bits} %{operand}{i}, [%at];")
            loads.append("  add.u64 %at, %at, %step;")
        if operand == "c":
            names = (", ".join(f"%{x}{i}" for i in range(entry.registers(x))) for x in "dabc")
            loads.append(f"  {entry.mnemonic} " + ", ".join(f"{{{x}}}" for x in names) + ";")
    parameters = ", ".join(f".param .u64 {x}" for x in "abcd")
    return f"""
.visible .entry {kernel_name(entry)}({parameters}, .param .u32 tiles) .maxntid 32, 1, 1
{{
{chr(10).join(declared)}
  .reg .b64 %at, %step;
  .reg .b32 %tile, %lane, %tiles, %index;
  ld.param.u32 %tiles, [tiles];
  mov.u32 %tile, %ctaid.x;
  mov.u32 %lane, %tid.x;
  mad.lo.u32 %index, %tile, 32, %lane;
{chr(10).join(loads)}
  ret;
}}
"""


def sources(entries: Sequence[Instruction], target: str, ptx_version: str = "9.0") -> dict[str, str]:
    """Return PTX files with the kernels of all rows."""
    head = f"// SPDX-License-Identifier: MIT\n.version {ptx_version}\n.target {target}\n.address_size 64\n"
    parts = [entries[i::FILES] for i in range(FILES)]
    return {f"part{i}.ptx": head + "".join(map(kernel, part)) for i, part in enumerate(parts) if part}


def record(
    entries: Sequence[Instruction], generators: tuple[str, ...], seed: int, tiles: int, run: Run
) -> dict[str, NDArray[Any]]:
    """Run every instruction on all input generators at once; returns its D registers by mnemonic."""
    results = {}
    for entry in entries:
        a, b, c = all_inputs(entry.mnemonic, generators, seed, tiles)
        count = a.shape[1]
        shape = (entry.registers("d"), count, 32)
        dtype = "u8" if entry.d == "f64" else "u4"
        results[entry.mnemonic] = run(kernel_name(entry), (a, b, c), shape, dtype, count, blocks=count)
    return results


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--out", type=Path, required=True, help="npz file to write; sources.json in its folder is updated"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tiles", type=int, default=2, help="warps for each input generator")
    parser.add_argument("--generators", nargs="+", choices=GENERATORS, default=GENERATORS)
    parser.add_argument("--only", default="", help="regular expression that mnemonics must contain")
    parser.add_argument("--ptx-version", default="9.0", help="older for an older toolkit")
    given = parser.parse_args(arguments)
    generators = tuple(x for x in GENERATORS if x in given.generators)

    started = time.monotonic()
    device = Device()
    arch = arch_of(f"sm_{device.capability}")
    entries = [entry for entry in instructions_of(arch) if is_dense(entry) and re.search(given.only, entry.mnemonic)]
    entries = [entry for entry in entries if set(generators) & set(generators_of(entry))]
    if not entries:
        raise SystemExit(f"no instruction of {arch} contains {given.only!r}")
    print(f"{device.name}, {arch}: {len(entries)} instructions", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        target = target_of(device.capability)
        for cubin in compile_cubins(sources(entries, target, given.ptx_version), Path(folder), target):
            device.load(cubin)
    print(f"assembled after {time.monotonic() - started:.1f} s", flush=True)
    results = record(entries, generators, given.seed, given.tiles, device.run)
    gpu = {"gpu": device.name, **versions()}
    device.close()
    given.out.parent.mkdir(parents=True, exist_ok=True)
    save_registers(given.out, results, generators, given.seed, given.tiles, arch=arch.name, **gpu)
    add_source(
        given.out, **gpu, contents="D registers of every dense mma.sync and wmma.mma; see tools/recordings.py",
        generator=f"tools/record_registers.py, inputs version {VERSION}", seed=given.seed, tiles=given.tiles,
    )  # fmt: skip
    outputs = sum(x.size for x in results.values())
    print(f"{given.out}: {outputs} registers, {given.out.stat().st_size} bytes, {time.monotonic() - started:.1f} s")


if __name__ == "__main__":
    main()
