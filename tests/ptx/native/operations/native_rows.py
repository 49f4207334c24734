# SPDX-License-Identifier: MIT
"""Rows of lane operations, compiled and run on many warps by a compiled loop, next to the NumPy function."""

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from tests.ptx.native.operations.instructions import registers_of
from wmma_emu.llvm.compile import load, object_code
from wmma_emu.ptx.machine.value_steps import operands_of
from wmma_emu.ptx.native.operations import row_of
from wmma_emu.ptx.native.rows import LONG, POINTER, WORD, Row
from wmma_emu.ptx.native.warp_layout import WarpLayout
from wmma_emu.ptx.program.program import KernelProgram, Operand, Predicate, PtxInstruction, Register
from wmma_emu.ptx.state import carry_of
from wmma_emu.ptx.steps.lane_operations import CompileContext, LaneOperation
from wmma_emu.ptx.steps.values import VALUE_STEPS
from wmma_emu.ptx.widths import bits_of_type, dtype_of_bits


class RowCase(NamedTuple):
    """An instruction with its operation, its row, and the layout of its warp."""

    instruction: PtxInstruction
    operation: LaneOperation
    row: Row
    layout: WarpLayout

    @property
    def targets(self) -> list[Register]:
        """The registers that the instruction writes, the carry flag included."""
        return [x for x in self._operands()[0] if x is not None]

    @property
    def sources(self) -> list[Operand]:
        """The sources, the carry flag included."""
        return self._operands()[1]

    def _operands(self) -> Any:
        return operands_of(self.instruction, self.operation, carry_of(self.layout.program))


def case_of(instruction: PtxInstruction) -> RowCase:
    """Make the row of an instruction whose registers are all of its program."""
    program = KernelProgram("k", (), 0, registers_of(instruction), (), (), 0, None, 0, None, None, ())
    layout = WarpLayout(program)
    row = row_of(instruction, layout, CompileContext(program, "sm_90"))
    return RowCase(instruction, VALUE_STEPS[instruction.mnemonic](instruction), row, layout)


_LOOP = ir.FunctionType(ir.VoidType(), (POINTER, LONG, LONG, POINTER, WORD))
_Run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint32)


def compiled(cases: Sequence[RowCase]) -> list[Any]:
    """Compile a function for each case: of the first warp, the bytes of a warp, the warps, record and mask."""
    module, names = ir.Module(), {}
    for case in cases:
        if case.row.name not in names:
            names[case.row.name] = f"loop {len(names)}"
            _define_loop(module, case.row, names[case.row.name])
    addresses = load(object_code(module), list(names.values()))
    return [_Run(addresses[names[x.row.name]]) for x in cases]


def _define_loop(module: ir.Module, row: Row, name: str) -> None:
    function = ir.Function(module, _LOOP, name)
    warp, stride, warps, record, mask = function.args
    entry, loop, end = (function.append_basic_block(x) for x in ("entry", "loop", "end"))
    ir.IRBuilder(entry).branch(loop)
    builder = ir.IRBuilder(loop)
    i = builder.phi(LONG)
    here = builder.gep(warp, [builder.mul(i, stride)], source_etype=ir.IntType(8))
    body = row.define(module)
    body.attributes.add("noinline")
    builder.call(body, [POINTER(None), here, record, mask])
    following = builder.add(i, LONG(1))
    i.add_incoming(LONG(0), entry)
    i.add_incoming(following, loop)
    builder.cbranch(builder.icmp_unsigned("<", following, warps), loop, end)
    ir.IRBuilder(end).ret_void()


def native_results(case: RowCase, run: Any, sources: Sequence[Any], mask: int = 0xFFFF_FFFF) -> list[Any]:
    """Run a case on values of its sources, (lanes,) each; those that are not registers are ignored.

    The bits of the destinations are ones before.
    """
    warps, stride = sources[0].size // 32, case.layout.bytes
    memory = _aligned(warps, stride)
    for (value, bits), offset in case.layout.constants.items():
        _part(memory, offset, bits)[:] = -(value & 1) & 0xFFFF_FFFF if bits == 1 else value
    for register in case.targets:
        words = _register(memory, case, register)
        words[:] = ~words
    for operand, values in zip(case.sources, sources, strict=True):
        register = operand.register if isinstance(operand, Predicate) else operand
        if isinstance(register, Register):
            words = values.reshape(warps, 32)
            if values.dtype == bool:
                words = np.packbits(words, axis=1, bitorder="little").view(np.uint32)
            _register(memory, case, register)[:] = words
    record = np.array(case.row.record, np.uint32)
    run(memory.ctypes.data, stride, warps, record.ctypes.data, mask)
    results = []
    for register in case.targets:
        words = np.ascontiguousarray(_register(memory, case, register))
        if register.type == "pred":
            words = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little").view(bool)
        results.append(words.reshape(-1))
    return results


def numpy_results(case: RowCase, sources: Sequence[Any]) -> list[Any]:
    """Compute the results of the NumPy machine, in the widths of the destinations' registers."""
    lanes = sources[0].size
    shaped = []
    for operand, kind, values in zip(case.sources, case.operation.sources, sources, strict=True):
        bits = 1 if kind == "cc" else bits_of_type(kind)
        words = ~values if isinstance(operand, Predicate) and operand.negated else values
        if not isinstance(operand, Predicate | Register):
            words = np.broadcast_to(dtype_of_bits(bits).type(operand.value % (1 << bits)), 1)
        shaped.append(words.astype(dtype_of_bits(bits)).reshape(-1, 1, min(words.size, 32)))
    results: Any = case.operation.compute(*shaped)
    results = results if isinstance(results, tuple) else (results,)
    pairs = zip(results, operands_of(case.instruction, case.operation, carry_of(case.layout.program))[0], strict=True)
    return [
        np.broadcast_to(x, (lanes // 32, 1, 32)).astype(dtype_of_bits(bits_of_type(target.type))).reshape(-1)
        for x, target in pairs
        if target is not None
    ]


def _aligned(warps: int, stride: int) -> Any:
    """Return the memory of warps, zeros, which begins at a multiple of 64 bytes."""
    room = np.zeros(warps * stride + 64, np.uint8)
    start = -room.ctypes.data % 64
    return room[start : start + warps * stride].reshape(warps, stride)


def _register(memory: Any, case: RowCase, register: Register) -> Any:
    return _part(memory, case.layout.offset_of(register), bits_of_type(register.type))


def _part(memory: Any, offset: int, bits: int) -> Any:
    """Return the words of a value in each warp, as a view; the word of a predicate."""
    dtype = np.dtype(np.uint32) if bits == 1 else dtype_of_bits(bits)
    count = 1 if bits == 1 else 32
    return memory[:, offset : offset + count * dtype.itemsize].view(dtype)
