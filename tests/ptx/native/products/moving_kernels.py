# SPDX-License-Identifier: MIT
"""Kernels that move one matrix between memory and registers, and launches of them on both machines."""

import numpy as np

import wmma_emu as we

HEAD = ".version 8.8\n.target {target}\n.address_size 64\n.visible .entry k({parameters}) {{\n"
REGISTERS = ".reg .b32 %r<80>; .reg .b64 %d<80>;\n"


def vector(prefix, first, count):
    return "{" + ", ".join(f"{prefix}{first + i}" for i in range(count)) + "}"


def both_machines(text, arch, arguments, outputs):
    """The arrays that a kernel writes on the NumPy machine and on the native machine, which has to run it."""
    kernel = we.ptx.Module(text, arch=arch)["k"]
    results = []
    for machine in ("numpy", "native"):
        written = [np.zeros(x.size, x.dtype) for x in outputs]
        report = kernel[1, 32](*arguments[0], *written, *arguments[1], machine=machine)
        assert report.machine == machine
        results.append(written)
    return results


def move_of_rows(move, target):
    """A kernel with an ldmatrix or stmatrix, whose rows are given by numbers of rows in shared memory."""
    count = move.num_registers
    text = HEAD.format(target=target, parameters=".param .u64 a, .param .u64 b, .param .u64 o") + REGISTERS
    text += """.shared .align 16 .b8 s[512];
    ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; ld.param.u64 %d3, [o]; mov.u32 %r1, %tid.x; mov.u32 %r2, s;
    mul.wide.u32 %d4, %r1, 16; add.u64 %d5, %d1, %d4; ld.global.v4.u32 {%r3, %r4, %r5, %r6}, [%d5];
    shl.b32 %r7, %r1, 4; add.u32 %r8, %r2, %r7; st.shared.v4.u32 [%r8], {%r3, %r4, %r5, %r6}; bar.sync 0;
    mul.wide.u32 %d6, %r1, 4; add.u64 %d7, %d2, %d6; ld.global.u32 %r9, [%d7]; mad.lo.u32 %r9, %r9, 16, %r2;
    """
    if move.family == "ldmatrix":
        text += f"{move.mnemonic} {vector('%r', 10, count)}, [%r9]; add.u64 %d9, %d3, %d6;\n"
        return text + "".join(f"st.global.u32 [%d9+{128 * i}], %r{10 + i};\n" for i in range(count)) + "ret; }"
    text += "".join(f"mov.u32 %r{10 + i}, %r{3 + i % 4};\n" for i in range(count))
    text += f"bar.sync 0; {move.mnemonic} [%r9], {vector('%r', 10, count)}; bar.sync 0;\n"
    return (
        text
        + "ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r8]; add.u64 %d9, %d3, %d4;\n"
        + ("st.global.v4.u32 [%d9], {%r3, %r4, %r5, %r6}; ret; }")
    )


def move_of_tile(shape, letter, kind, order, layout, target, space):
    """A kernel with a wmma.load, and, for accumulators, a wmma.store of the same fragment."""
    wide = layout.register_bits == 64
    prefix, bits = ("%d", 64) if wide else ("%r", 32)
    fragment = vector(prefix, 20, layout.num_registers)
    parameters = ".param .u64 a, .param .u64 o, .param .u64 q, .param .u32 st"
    text = HEAD.format(target=target, parameters=parameters) + REGISTERS
    text += f"""ld.param.u64 %d1, [a]; ld.param.u64 %d2, [o]; ld.param.u64 %d3, [q]; ld.param.u32 %r1, [st];
    mov.u32 %r2, %tid.x; mul.wide.u32 %d4, %r2, {bits // 8}; add.u64 %d5, %d2, %d4;
    wmma.load.{letter}.sync.aligned.{order}.{shape}{space}.{kind} {fragment}, [%d1], %r1;
    """
    text += "".join(f"st.global.b{bits} [%d5+{i * bits * 4}], {prefix}{20 + i};\n" for i in range(layout.num_registers))
    if letter == "c":
        text += f"wmma.store.d.sync.aligned.{order}.{shape}{space}.{kind} [%d3], {fragment}, %r1;\n"
    return text + "ret; }"
