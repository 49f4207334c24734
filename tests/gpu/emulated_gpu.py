# SPDX-License-Identifier: MIT
"""A stand-in for `wmma_emu.gpu.device.Gpu`: memory is NumPy's, and kernels are emulated by what their text says."""

import re
import threading
from contextlib import contextmanager

import numpy as np

from wmma_emu.warp import SharedOperand


class EmulatedGpu:
    """A GPU that runs the kernels of one instruction, and records allocations, launches and releases."""

    multiprocessors, shared_bytes = 2, 232448

    def __init__(self, ins):
        self.arch, self.number, self.target = ins.arch.name, ins.arch.number, f"{ins.arch.name}a"
        self.ins, self.launches, self.live, self.peak, self.uploaded = ins, [], 0, 0, 0
        self.fails, self.lock = False, threading.RLock()

    def default_max_bytes(self):
        return 1 << 20

    def kernel(self, ptx, name):
        assert f".visible .entry {name}(" in ptx
        return ptx

    @contextmanager
    def memory(self):
        memory = _Memory(self)
        try:
            yield memory
        finally:
            self.live -= memory.bytes

    def launch(self, kernel, blocks, threads, shared_bytes, *arguments):
        if self.fails:
            raise RuntimeError("the launch failed")
        names = re.findall(r"\.param \.(u32|u64) (\w+)", kernel)
        assert len(names) == len(arguments)
        given = {name: value for (_, name), value in zip(names, arguments, strict=True)}
        results = int(given["results"])
        self.launches.append((blocks, threads, results))
        assert 0 < blocks <= 8 * self.multiprocessors
        row, keywords = self.ins.instruction, {}
        operands = [_operand(row, x, given, results, kernel) for x in "abc"]
        if row.is_warpgroup:
            keywords = {"scale_d": int(given["scale_d"])}
            if row.format("a").is_float:
                negated = re.search(r"%scale_d, (-?1), (-?1)", kernel).groups()
                keywords |= {f"negate_{x}": sign == "-1" for x, sign in zip("ab", negated, strict=True)}
            images = [int(given[f"{x}_bytes"]) for x in "ab" if f"{x}_bytes" in given]
            assert shared_bytes >= sum(images) + 1024
        if row.is_sparse:
            metadata = _registers(row, "metadata", given, results)
            selector = int(re.search(r"%metadata0, (0x[0-9a-f]+)[;,]", kernel)[1], 16)
            keywords |= {"metadata": metadata[0], "selector": selector}
        for side in "ab" if row.is_block_scaled else "":
            byte, thread = re.search(rf"{{%scale_{side}0}}, {{(\d), (\d)}}[;,]", kernel).groups()
            keywords |= {f"byte_id_{side}": int(byte), f"thread_id_{side}": int(thread)}
            keywords[f"scale_{side}"] = _registers(row, f"scale_{side}", given, results)[0]
        d = self.ins.execute(*operands, **keywords)
        given["d"][: d.nbytes] = d.view(np.uint8).reshape(-1)


class _Memory:
    def __init__(self, gpu):
        self.gpu, self.bytes = gpu, 0

    def allocate(self, nbytes):
        self.bytes += nbytes
        self.gpu.live += nbytes
        self.gpu.peak = max(self.gpu.peak, self.gpu.live)
        return np.full(nbytes, 0xA5, np.uint8)

    def upload(self, array, buffer=None):
        buffer = self.allocate(array.nbytes) if buffer is None else buffer
        self.gpu.uploaded += array.nbytes
        buffer[: array.nbytes] = np.ascontiguousarray(array).view(np.uint8).reshape(-1)
        return buffer

    def download(self, buffer, array):
        assert array.flags.c_contiguous
        array.view(np.uint8).reshape(-1)[:] = buffer[: array.nbytes]


def _operand(row, name, given, results, kernel):
    """What each result takes: registers, or shared memory with a descriptor."""
    if f"{name}_bytes" not in given:
        return _registers(row, name, given, results)
    nbytes, numbers = int(given[f"{name}_bytes"]), given[f"{name}_of"][: 4 * results].view(np.uint32)
    images = given[name][: given[name].size // nbytes * nbytes].reshape(-1, nbytes)
    transposed = re.search(r"%scale_d, -?1, -?1, ([01, ]+);", kernel)
    bits = {} if transposed is None else dict(zip("ba", transposed[1].split(", ")[::-1], strict=False))
    return SharedOperand(images[numbers], int(given[f"{name}_descriptor"]), bits.get(name) == "1")


def _registers(row, name, given, results):
    """The registers that each result takes: (registers, results, 32), or (registers, results, 4, 32)."""
    tiles, lanes = int(given[f"{name}_tiles"]), (32,) if row.warps == 1 else (4, 32)
    of_matrix = name in ("a", "b", "c")
    count = row.registers(name) if of_matrix else 1
    dtype = np.uint64 if of_matrix and row.format(name).bits == 64 else np.uint32
    size = count * tiles * 32 * row.warps * np.dtype(dtype).itemsize
    registers = given[name][:size].view(dtype).reshape(count, tiles, *lanes)
    return registers[:, given[f"{name}_of"][: 4 * results].view(np.uint32)]
