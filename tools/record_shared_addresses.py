# SPDX-License-Identifier: MIT
"""Record on a GPU where shared memory begins: the addresses of variables, and which accesses around them fault.

``python -m tools.record_shared_addresses OUT.json`` needs only the driver and NumPy. Each access that may fault runs
in a separate process.
"""

import ctypes
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tools.cuda_driver import CudaError, Device, driver_version

_REGISTERS = (
    "total_smem_size", "dynamic_smem_size", "aggr_smem_size",
    *(f"reserved_smem_offset_{x}" for x in ("begin", "end", "cap", "0", "1")),
)  # fmt: skip

LAYOUTS = {
    "none": (),
    "4 bytes": (".shared .align 4 .b8 a[4];",),
    "100 bytes, then 8": (".shared .align 4 .b8 a[100];", ".shared .align 8 .b64 b;"),
    "4 bytes, then 16 aligned to 1024": (".shared .align 4 .b8 a[4];", ".shared .align 1024 .b8 b[16];"),
    "dynamic": (".extern .shared .align 16 .b8 d[];",),
    "4 bytes, dynamic aligned to 1024": (".shared .align 4 .b8 a[4];", ".extern .shared .align 1024 .b8 d[];"),
    "20 bytes, dynamic aligned to 128": (".shared .align 4 .b8 a[20];", ".extern .shared .align 128 .b8 d[];"),
}
"""Declarations of shared memory; 64 bytes of it are dynamic in each launch of a layout with `d`."""

TARGETS = ("sm_80", "sm_90")

TOUCHED = (0, 512, 1020, 1024, 1120, 1124, 1148, 1152, 2044, 2048, 0x10000, 0x40000, 0x1000000)
"""Addresses that a kernel with 100 bytes of shared memory loads from, and stores to."""

_HEAD = ".version 8.1\n.target {target}\n.address_size 64\n"


def addresses_kernel(layout: str, target: str) -> tuple[str, list[str]]:
    """Return a kernel that writes the addresses of its variables and some registers, and their names."""
    variables = [x.split("[")[0].rstrip(";").split()[-1] for x in LAYOUTS[layout]]
    registers = [x for x in _REGISTERS if target != "sm_80" or x != "aggr_smem_size"]
    reads = [*(f"mov.u32 %r, {x};" for x in variables), *(f"mov.u32 %r, %{x};" for x in registers)]
    names = [*variables, *registers, *(f"generic {x}" for x in variables[:1])]
    body = "".join(f"{x} cvt.u64.u32 %v, %r; st.global.u64 [%o+{8 * i}], %v;\n" for i, x in enumerate(reads))
    for x in variables[:1]:
        body += f"mov.u64 %v, {x}; cvta.shared.u64 %v, %v; st.global.u64 [%o+{8 * len(reads)}], %v;\n"
    declared = "\n".join(x for x in LAYOUTS[layout])
    text = f"""{_HEAD.format(target=target)}{declared}
.visible .entry k(.param .u64 out) {{ .reg .b64 %o, %v; .reg .b32 %r;
ld.param.u64 %o, [out];
{body}ret; }}
"""
    return text, names


def touching_kernel(is_store: bool) -> str:
    """Return a kernel that accesses an address in shared memory."""
    access = "st.shared.u32 [%r], %n;" if is_store else "ld.shared.u32 %n, [%r];"
    return f"""{_HEAD.format(target="sm_80")}.shared .align 4 .b8 a[100];
.visible .entry k(.param .u64 out, .param .u32 at) {{ .reg .b64 %o; .reg .b32 %r, %n;
ld.param.u64 %o, [out]; ld.param.u32 %r, [at]; mov.u32 %n, 7; st.shared.u32 [a], %n;
{access}
ld.shared.u32 %r, [a]; add.u32 %n, %n, %r; st.global.u32 [%o], %n; ret; }}
"""


def record(out: Path) -> None:
    """Record all layouts and accesses."""
    found: dict[str, Any] = {"gpu": Device().name, "driver": driver_version(), "layouts": {}, "accesses": {}}
    for target in TARGETS:
        for layout in LAYOUTS:
            found["layouts"][f"{layout}, {target}"] = _in_process("layout", layout, target)
    for is_store in (0, 1):
        for address in TOUCHED:
            found["accesses"][f"{'store' if is_store else 'load'} {address:#x}"] = _in_process(
                "touch", str(is_store), str(address)
            )
    out.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))


def _in_process(*arguments: str) -> object:
    command = [sys.executable, "-m", "tools.record_shared_addresses", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    lines = done.stdout.splitlines()
    return json.loads(lines[-1]) if lines else done.stderr.strip().splitlines()[-1:]


def _layout(layout: str, target: str) -> dict[str, str]:
    text, names = addresses_kernel(layout, target)
    values = _launch(text, len(names), 64 if "dynamic" in layout else 0)
    return {name: hex(value) for name, value in zip(names, values, strict=True)}


def _launch(text: str, count: int, dynamic: int, *more: int) -> list[int]:
    device, out = Device(), np.zeros(count, np.uint64)
    device.load(text.encode() + b"\0")
    place = ctypes.c_uint64(device._upload(out))
    values = [place, *(ctypes.c_uint32(x) for x in more)]
    pointers = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
    device._call("cuLaunchKernel", device._function("k"), 1, 1, 1, 1, 1, 1, dynamic, None, pointers, None)
    device._call("cuCtxSynchronize")
    device._call("cuMemcpyDtoH_v2", out.ctypes.data, place, out.nbytes)
    return [int(x) for x in out]


def main() -> int:
    try:
        match sys.argv[1:]:
            case ["layout", layout, target]:
                print(json.dumps(_layout(layout, target)))
            case ["touch", is_store, address]:
                print(json.dumps(_launch(touching_kernel(is_store == "1"), 1, 0, int(address))))
            case [out]:
                record(Path(out))
            case _:
                print(__doc__)
                return 2
    except CudaError as error:
        print(json.dumps(str(error)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
