# SPDX-License-Identifier: MIT
"""Rows of lane operations, compiled and run on many warps by a compiled loop, beside the NumPy function."""

import ctypes
import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

from tools.ptx_scalar_cases import _case
from wmma_emu.ptx.machine.value_steps import operands_of
from wmma_emu.ptx.native.operations import row_of
from wmma_emu.ptx.native.rows import LONG, POINTER, WORD, Row
from wmma_emu.ptx.native.warp_layout import WarpLayout
from wmma_emu.ptx.program.program import (
    Immediate,
    KernelProgram,
    Operand,
    PairOperand,
    Predicate,
    PtxInstruction,
    Register,
    VectorOperand,
)
from wmma_emu.ptx.state import carry_of
from wmma_emu.ptx.steps.lane_operations import CompileContext, LaneOperation
from wmma_emu.ptx.steps.operation_entries import OperationEntry
from wmma_emu.ptx.steps.values import VALUE_STEPS
from wmma_emu.ptx.widths import bits_of_type, dtype_of_bits


class Case(NamedTuple):
    """An instruction on registers of its own, with its operation, its row, and the layout of its warp."""

    name: str
    instruction: PtxInstruction
    operation: LaneOperation
    row: Row
    layout: WarpLayout


def instruction_of(entry: OperationEntry, constants: dict[int, int] | None = None) -> PtxInstruction:
    """Return an instruction of an entry, whose operands are registers of the types' widths."""
    return _case(entry, constants or {}, "").instruction


def case_of(instruction: PtxInstruction, name: str = "") -> Case:
    """Give each register of an instruction a number of its own, and make the row."""
    registers: list[Register] = []

    def numbered(operand: Operand | None) -> Any:
        match operand:
            case Register():
                registers.append(replace(operand, index=len(registers)))
                return registers[-1]
            case Predicate():
                return replace(operand, register=numbered(operand.register))
            case VectorOperand():
                return VectorOperand(tuple(numbered(x) for x in operand.elements))
            case PairOperand():
                return PairOperand(numbered(operand.first), numbered(operand.second))
        return operand

    instruction = replace(instruction, operands=tuple(numbered(x) for x in instruction.operands))
    program = KernelProgram("k", (), 0, tuple(registers), (), (), 0, None, 0, None, None, ())
    layout = WarpLayout(program)
    row = row_of(instruction, layout, CompileContext(program, "sm_90", "auto"))
    operation = VALUE_STEPS[instruction.mnemonic](instruction)
    return Case(name or instruction.opcode, instruction, operation, row, layout)


_LOOP = ir.FunctionType(ir.VoidType(), (POINTER, POINTER, LONG, LONG, POINTER, WORD))


def _loop(module: ir.Module, row: Row, name: str) -> None:
    """Define a function that runs a row on warps: (context, first warp, bytes of a warp, warps, record, mask)."""
    function = ir.Function(module, _LOOP, name)
    context, warp, stride, warps, record, mask = function.args
    entry, loop, end = (function.append_basic_block(x) for x in ("entry", "loop", "end"))
    ir.IRBuilder(entry).branch(loop)
    builder = ir.IRBuilder(loop)
    i = builder.phi(LONG)
    here = builder.gep(warp, [builder.mul(i, stride)], source_etype=ir.IntType(8))
    body = row.define(module)
    body.attributes.add("noinline")
    builder.call(body, [context, here, record, mask])
    following = builder.add(i, LONG(1))
    i.add_incoming(LONG(0), entry)
    i.add_incoming(following, loop)
    builder.cbranch(builder.icmp_unsigned("<", following, warps), loop, end)
    ir.IRBuilder(end).ret_void()


def machine(level: int = 2) -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=os.environ.get("CPU") or llvm.get_host_cpu_name(),
        features="" if os.environ.get("CPU") else llvm.get_host_cpu_features().flatten(),
        opt=level,
        jit=True,
    )


def compiled(cases: Sequence[Case], level: int = 2, passes: int = 1) -> tuple[Any, list[int]]:
    """Compile the loops of cases in one module; return the engine, which has to be kept, and the addresses."""
    host = machine(level)
    module = ir.Module()
    module.triple, module.data_layout = host.triple, str(host.target_data)
    done: dict[str, str] = {}
    for case in cases:
        if case.row.name not in done:
            done[case.row.name] = f"loop{len(done)}"
            _loop(module, case.row, done[case.row.name])
    parsed = llvm.parse_assembly(str(module))
    options = llvm.create_pipeline_tuning_options(speed_level=passes)
    if passes:
        builder = llvm.create_pass_builder(host, options)
        builder.getModulePassManager().run(parsed, builder)
    engine = llvm.create_mcjit_compiler(parsed, host)
    engine.finalize_object()
    return engine, [engine.get_function_address(done[x.row.name]) for x in cases]


_RUN = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint32
)


def native_results(case: Case, address: int, sources: Sequence[Any], mask: int = 0xFFFF_FFFF) -> list[Any]:
    """Run a compiled loop on source arrays whose length is a multiple of 32; bools are predicates.

    The destinations contain ones before.
    """
    lanes = next(x.size for x in sources if x.size > 1)
    warps, stride = lanes // 32, case.layout.bytes
    memory = _aligned(warps, stride)
    for (value, bits), offset in case.layout.constants.items():
        _part(memory, offset, bits)[:] = -(value & 1) & 0xFFFF_FFFF if bits == 1 else value
    targets, given = _registers(case)
    for register in targets:
        _part(memory, case.layout.offset_of(register), bits_of_type(register.type))[:] = _ONES[
            bits_of_type(register.type)
        ]
    for register, values in zip(given, (x for x in sources if x.size > 1), strict=True):
        words = values.reshape(warps, -1)
        if values.dtype == bool:
            words = np.packbits(words, axis=1, bitorder="little").view(np.uint32)
        _part(memory, case.layout.offset_of(register), bits_of_type(register.type))[:] = words
    record = np.array(case.row.record, np.uint32)
    _RUN(address)(None, memory.ctypes.data, stride, warps, record.ctypes.data, mask)
    results = []
    for register in targets:
        bits = bits_of_type(register.type)
        words = np.ascontiguousarray(_part(memory, case.layout.offset_of(register), bits))
        if bits == 1:
            words = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little").view(bool)
        results.append(words.reshape(-1))
    return results


def _aligned(warps: int, stride: int) -> Any:
    """Return the memory of warps, zeros, which begins at a multiple of 64 bytes."""
    room = np.zeros(warps * stride + 64, np.uint8)
    start = -room.ctypes.data % 64
    return room[start : start + warps * stride].reshape(warps, stride)


_ONES = {1: 0xFFFF_FFFF, 8: 0xFF, 16: 0xFFFF, 32: 0xFFFF_FFFF, 64: 0xFFFF_FFFF_FFFF_FFFF}


def _part(memory: Any, offset: int, bits: int) -> Any:
    """Return the words of a value in each warp, as a view."""
    dtype = np.dtype(np.uint32) if bits == 1 else dtype_of_bits(bits)
    count = 1 if bits == 1 else 32
    return memory[:, offset : offset + count * dtype.itemsize].view(dtype)


def _registers(case: Case) -> tuple[list[Register], list[Register]]:
    """Return the destinations and the sources that are registers, the carry flag included."""
    carry = carry_of(case.layout.program)
    targets, sources = operands_of(case.instruction, case.operation, carry)
    given = [x.register if isinstance(x, Predicate) else x for x in sources]
    return [x for x in targets if x is not None], [x for x in given if isinstance(x, Register)]


def numpy_results(case: Case, sources: Sequence[Any]) -> list[Any]:
    """Compute the results of the NumPy machine, in the width of the destinations' registers."""
    lanes = next(x.size for x in sources if x.size > 1)
    shaped = [x.reshape(1, 1, 1) if x.size == 1 else x.reshape(-1, 1, 32) for x in sources]
    targets, operands = operands_of(case.instruction, case.operation, carry_of(case.layout.program))
    for i, operand in enumerate(operands):
        if isinstance(operand, Predicate) and operand.negated:
            shaped[i] = ~shaped[i]
    results = case.operation.compute(*shaped)
    results = results if isinstance(results, tuple) else (results,)
    return [
        np.broadcast_to(x, (lanes // 32, 1, 32)).astype(dtype_of_bits(bits_of_type(target.type))).reshape(-1)
        for x, target in zip(results, targets, strict=True)
        if target is not None
    ]
