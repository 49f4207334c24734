# SPDX-License-Identifier: MIT
"""PTX sources around a few instructions: a kernel with pointer parameters, launched on arrays."""

import numpy as np

import wmma_emu as we

HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n"


def text_of(body: str, parameters: int = 1, before: str = "") -> str:
    """Write a kernel `k`: %rd1, %rd2, ... hold its pointers, %r0 the thread, %r1 the block, %rd0 the thread times 4."""
    names = ",".join(f".param .u64 p{i + 1}" for i in range(parameters))
    loads = "".join(
        f"ld.param.u64 %rd{i + 1}, [p{i + 1}];\ncvta.to.global.u64 %rd{i + 1}, %rd{i + 1};\n" for i in range(parameters)
    )
    return (
        f"{HEADER}{before}\n.visible .entry k({names})\n{{\n.reg .pred %p<8>;\n.reg .b32 %r<32>;\n.reg .b64 %rd<32>;\n"
        f"{loads}mov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\nmul.wide.u32 %rd0, %r0, 4;\n{body}\n}}\n"
    )


def launch(body: str, *arrays: np.ndarray, grid=1, block=32, shared=0, before="", **options):
    """Run a kernel with a body; findings are only in the report."""
    options.setdefault("findings", "report")
    module = we.ptx.Module(text_of(body, len(arrays), before))
    return module["k"][grid, block, shared](*arrays, **options)


def numbers(count: int = 32) -> np.ndarray:
    return np.zeros(count, np.uint32)


def put(register: str, pointer: str = "%rd1") -> str:
    """Store a register of each thread to the thread's element of an array."""
    return f"add.s64 %rd31, {pointer}, %rd0;\nst.global.u32 [%rd31], {register};\n"
