# SPDX-License-Identifier: MIT
"""The bundle that a machine with a GPU measures: cubins, launches and data."""

import json
import re
import shutil
import struct
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from tools.profile_kernels.launches import TARGET, Launched, all_launches, sizes_of, text_of
from tools.profile_kernels.metrics import METRICS, OTHERS
from tools.record_ptx_kernels import parameter_types

_FORMATS = {"f32": "<f", "f64": "<d", "u64": "<Q", "b64": "<Q", "s64": "<q"}

_MACHINE = {
    "ld.shared": "LDS", "st.shared": "STS", "ld.global": "LDG", "st.global": "STG", "ldmatrix": "LDSM",
    "stmatrix": "STSM", "cp.async.c": "LDGSTS", "mma.sync": "MMA",
}  # fmt: skip
"""The machine instruction of each access."""


def build(folder: Path, disassembler: str, parts: list[str]) -> int:
    """Write a bundle of some parts, or of all, and print what differs between the PTX and the machine code."""
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    for file in ("launch.py", "measure.py"):
        shutil.copy(Path(__file__).parent / "on_gpu" / file, folder / file)
    data, places, launches = bytearray(), dict[bytes, int](), []
    modules = dict[str, str]()
    for launch in all_launches():
        if parts and launch.part not in parts:
            continue
        if launch.module not in modules:
            modules[launch.module] = text_of(launch.module)
            _assemble(modules[launch.module], folder / f"{launch.module}.cubin")
        launches.append(_described(launch, modules[launch.module], data, places))
    (folder / "data.bin").write_bytes(data)
    (folder / "launches.json").write_text(json.dumps(launches))
    (folder / "metrics.json").write_text(json.dumps(sorted({*(y for x in METRICS for y in x.names), *OTHERS})))
    kernels = {(x["module"].removesuffix(".cubin"), x["kernel"]) for x in launches}
    print(
        f"{len(launches)} launches of {len(kernels)} kernels, {sum(x.stat().st_size for x in folder.iterdir())} bytes"
    )
    for module, kernel in sorted(kernels):
        differs = _differences(modules[module], folder / f"{module}.cubin", kernel, disassembler)
        if differs:
            print(f"{module} {kernel}: {differs}")
    return 0


def _assemble(text: str, cubin: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "module.ptx"
        path.write_text(text)
        done = subprocess.run(["ptxas", f"-arch={TARGET}", "-o", str(cubin), str(path)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{cubin.stem}: {done.stdout}{done.stderr}")


def _described(launch: Launched, text: str, data: bytearray, places: dict[bytes, int]) -> dict[str, Any]:
    """Return a launch as JSON; its arrays are added to the data, unless they are zeros."""
    grid, block = sizes_of(launch)
    arguments: list[list[Any]] = []
    for x, kind in zip(launch.arguments, parameter_types(text, launch.kernel), strict=True):
        if not isinstance(x, np.ndarray):
            arguments.append(["value", packed(x, kind).hex()])
            continue
        content = np.ascontiguousarray(x).tobytes()
        stored = content if any(content) else b""
        if stored not in places:
            places[stored] = len(data)
            data += stored
        arguments.append(["buffer", places[stored], len(stored), len(content)])
    return {
        "name": launch.name, "part": launch.part, "module": f"{launch.module}.cubin", "kernel": launch.kernel,
        "grid": grid, "block": block, "shared": launch.shared, "arguments": arguments,
    }  # fmt: skip


def packed(value: Any, kind: str) -> bytes:
    """Return the bytes of a scalar parameter."""
    if isinstance(value, bytes):
        return value
    return struct.pack(_FORMATS.get(kind, "<i" if value < 0 else "<I"), value)


def _differences(text: str, cubin: Path, kernel: str, disassembler: str) -> str:
    """Compare the numbers of accesses in the PTX of a kernel and in its machine code."""
    body = re.search(rf"\.entry\s+{kernel}\s*\(.*?^\}}", text, re.DOTALL | re.MULTILINE)
    if body is None:
        return "not found"
    listing = subprocess.run([disassembler, "-c", "-fun", kernel, str(cubin)], capture_output=True, text=True).stdout
    if not listing:
        listing = subprocess.run([disassembler, "-c", str(cubin)], capture_output=True, text=True).stdout
        found = re.search(rf"^\.text\.{kernel}:.*?(?=^\.text\.|\Z)", listing, re.DOTALL | re.MULTILINE)
        listing = found[0] if found else ""
    code = Counter(re.findall(r"\s([A-Z]+)(?=[. ])", re.sub(r"@!PT LDS RZ.*", "", listing)))
    differs = []
    for opcode, machine in _MACHINE.items():
        inside = len(re.findall(rf"(?<![\w.]){re.escape(opcode)}", body[0]))
        there = sum(n for name, n in code.items() if (name.endswith("MMA") if machine == "MMA" else name == machine))
        if inside != there:
            differs.append(f"{inside} {opcode}, {there} {machine}")
    return "; ".join(differs)
