# SPDX-License-Identifier: MIT
"""The cases of lane arithmetic to record on a GPU: every spelling of the emulator, as a kernel and an operation."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from tools.ptx_scalar_inputs import COUNT, inputs_of
from wmma_emu.chip_sets import chips_since
from wmma_emu.evidence import Evidence
from wmma_emu.ptx.program.program import Immediate, Operand, PairOperand, PtxInstruction, Register, VectorOperand
from wmma_emu.ptx.steps.lane_operations import LaneOperation
from wmma_emu.ptx.steps.operation_entries import CARRY, OperationEntry
from wmma_emu.ptx.steps.values import VALUE_ENTRIES, VALUE_STEPS
from wmma_emu.ptx.widths import bits_of_type

__all__ = ["ScalarCase", "emulated", "modules", "scalar_cases"]

_LOP3_TABLES = (0x00, 0x01, 0x1B, 0x3C, 0x80, 0x96, 0xC0, 0xCA, 0xE8, 0xEA, 0xFE, 0xFF)
_NARROWED = ("s8.s32", "u8.s32", "s16.s32", "u16.s32", "s8.u64", "sat.s8.s32", "sat.u8.s32", "rni.s8.f32",
             "rzi.s16.f16", "rzi.u8.f32", "rmi.sat.s8.f64", "s16.s8", "u16.s8", "s32.s64")  # fmt: skip


@dataclass(frozen=True)
class ScalarCase:
    """One instruction, with the operands that it is recorded with.

    Parameters
    ----------
    name : str
        The opcode, followed by a constant if it has one.
    entry : OperationEntry
    instruction : PtxInstruction
    operation : LaneOperation
    text : str
        Its operands in PTX: registers d0, d1 and a0, a1, ...
    """

    name: str
    entry: OperationEntry
    instruction: PtxInstruction
    operation: LaneOperation
    text: str


def scalar_cases(chip: str = "sm_90") -> Iterator[ScalarCase]:
    """Yield every case that a chip supports, in the order of the entries."""
    for entry in VALUE_ENTRIES.values():
        if chip not in chips_since(entry.first):
            continue
        mnemonic = entry.opcode.split(".")[0]
        if mnemonic == "lop3":
            for table in _LOP3_TABLES:
                yield _case(entry, {3: table}, f" {table:#04x}")
        else:
            yield _case(entry, {}, "")
        if entry.opcode in ("mov.b16", "mov.b32", "mov.b64"):
            yield from _packs(entry)
    for words, width in product(_NARROWED, (16, 32, 64)):
        yield from _into_wider(words, width)


def _register(name: str, kind: str, index: int = 0) -> Register:
    return Register(index, f"%{name}", "pred" if kind in ("pred", CARRY) else f"b{bits_of_type(kind)}")


def _case(entry: OperationEntry, constants: dict[int, int], suffix: str) -> ScalarCase:
    mnemonic, *modifiers = entry.opcode.split(".")

    def instruction(*operands: Operand | None) -> PtxInstruction:
        return PtxInstruction(entry.opcode, mnemonic, tuple(modifiers), operands, None, 1, 1)

    # The types first, with too many operands; then the instruction as it is.
    bare = tuple(Immediate("int", constants.get(i - 1, 0)) for i in range(6))
    operation = entry.make(instruction(*bare), *entry.words)
    named = [x for x in operation.destinations if x != CARRY]
    targets = [_register(f"d{i}", kind) for i, kind in enumerate(named)]
    sources: list[Operand] = [
        Immediate("int", constants[i]) if i in constants else _register(f"a{i}", kind)
        for i, kind in enumerate(operation.sources)
        if kind != CARRY
    ]
    first = PairOperand(targets[0], targets[1]) if len(targets) == 2 else targets[0]
    whole = instruction(first, *sources)
    words = ["|".join(x.name for x in targets)]
    words += [str(x.value) if isinstance(x, Immediate) else x.name for x in sources]  # type: ignore[union-attr]
    return ScalarCase(entry.opcode + suffix, entry, whole, VALUE_STEPS[mnemonic](whole), ", ".join(words))


def _into_wider(words: str, width: int) -> Iterator[ScalarCase]:
    """Return a conversion to a narrow integer whose result is in a wider register."""
    *_, target, source = words.split(".")
    if bits_of_type(target) < width:
        operands = Register(0, "%d0", f"b{width}"), _register("a0", source)
        whole = PtxInstruction(f"cvt.{words}", "cvt", tuple(words.split(".")), operands, None, 1, 1)
        evidence = Evidence("documented", "PTX ISA 9.1, 9.4.1")
        entry = OperationEntry(whole.opcode, whole.modifiers, LaneOperation, evidence)
        operation = VALUE_STEPS["cvt"](whole)
        # What the result's type leaves of the register is zero, unless the form says otherwise.
        operation = operation._replace(destinations=(f"b{width}",))
        yield ScalarCase(f"{whole.opcode} into b{width}", entry, whole, operation, "%d0, %a0")


def _packs(entry: OperationEntry) -> Iterator[ScalarCase]:
    kind = entry.words[0]
    for count in (2, 4):
        part = bits_of_type(kind) // count
        if part < 8 or (kind == "b64" and part < 16):
            continue
        parts = tuple(_register(f"a{i}", f"b{part}") for i in range(count))
        outs = tuple(_register(f"d{i}", f"b{part}") for i in range(count))
        for targets, sources in (
            (_register("d0", kind), VectorOperand(parts)),
            (VectorOperand(outs), _register("a0", kind)),
        ):
            whole = PtxInstruction(entry.opcode, "mov", (kind,), (targets, sources), None, 1, 1)
            text = ", ".join(
                "{" + ", ".join(x.name for x in operand.elements) + "}"  # type: ignore[union-attr]
                if isinstance(operand, VectorOperand)
                else operand.name
                for operand in (targets, sources)
            )
            way = "pack" if isinstance(sources, VectorOperand) else "unpack"
            yield ScalarCase(f"{entry.opcode} {way} {count}", entry, whole, VALUE_STEPS["mov"](whole), text)


def inputs(case: ScalarCase) -> list[NDArray[np.generic]]:
    """Return patterns for each source of the form, the carry included; of a constant, itself."""
    return [
        np.full(1, constant.value, np.uint32)
        if isinstance(constant := _source(case, i), Immediate)
        else inputs_of(kind, i)
        for i, kind in enumerate(case.operation.sources)
    ]


def _source(case: ScalarCase, i: int) -> Operand | None:
    """Return an operand that is a source of the lane operation; None if it is an element of a vector."""
    operands = case.instruction.operands[1:]
    return operands[i] if i < len(operands) else None


def emulated(case: ScalarCase) -> NDArray[np.uint64]:
    """Return results as uint64, (destinations, `COUNT`); predicates and carries are 0 and 1."""
    sources = [x.reshape(1, 1, 1) if x.size == 1 else x.reshape(-1, 4, 32) for x in inputs(case)]
    results = case.operation.compute(*sources)
    results = results if isinstance(results, tuple) else (results,)
    shape = (COUNT // 128, 4, 32)
    return np.stack([np.broadcast_to(x, shape).astype(np.uint64).reshape(-1) for x in results])


_HEADER = ".version 9.0\n.target sm_90a\n.address_size 64\n"


def modules(cases: list[ScalarCase], count: int) -> dict[str, str]:
    """Return PTX sources by file name, with one kernel for each case: k0, k1, ..."""
    texts: dict[str, list[str]] = {}
    for i, case in enumerate(cases):
        texts.setdefault(f"scalars{i % count}.ptx", [_HEADER]).append(kernel(case, f"k{i}"))
    return {name: "\n".join(parts) for name, parts in texts.items()}


def input_arrays(case: ScalarCase) -> list[NDArray[np.generic]]:
    """Return the arrays to upload: the sources except constants, with predicates and carries as uint32."""
    return [x.astype(np.uint32) if x.dtype == bool else x for x in inputs(case) if x.size > 1]


def kernel(case: ScalarCase, name: str) -> str:
    """Return PTX of a kernel: pointers to the inputs, then one to the results, uint64[destinations][threads]."""
    loaded = [(i, kind) for i, kind in enumerate(case.operation.sources) if not isinstance(_source(case, i), Immediate)]
    parameters = ", ".join(f".param .u64 p{i}" for i in range(len(loaded) + 1))
    lines = [f".visible .entry {name}({parameters}) {{", ".reg .b32 %t<6>;", ".reg .b64 %x<4>;", ".reg .pred %c<2>;"]
    lines += [
        "mov.u32 %t0, %ctaid.x;",
        "mov.u32 %t1, %ntid.x;",
        "mov.u32 %t2, %tid.x;",
        "mad.lo.s32 %t0, %t0, %t1, %t2;",
    ]
    for slot, (i, kind) in enumerate(loaded):
        lines += _load(slot, i, kind)
    for i, kind in enumerate(case.operation.destinations):
        lines += [f".reg .{'pred' if kind == 'pred' else f'b{_bits_in_memory(kind)}'} %d{i};"]
    for i, kind in loaded:
        if kind == CARRY:
            # A separate carry: from 1 + (2**32 - 1).
            lines += [f"add.cc.u32 %t3, %a{i}w, 0xffffffff;"]
    lines += [f"{case.entry.opcode} {case.text};", *_store(case, len(loaded))]
    return "\n".join([*lines, "ret;", "}"])


def _bits_in_memory(kind: str) -> int:
    """Convert predicates and carries to uint32."""
    return 32 if kind in ("pred", CARRY) else bits_of_type(kind)


def _load(slot: int, i: int, kind: str) -> list[str]:
    """Load source ``i``, whose pointer is parameter ``slot``; a predicate or a carry as a separate word."""
    bits = _bits_in_memory(kind)
    name = f"%a{i}w" if kind in ("pred", CARRY) else f"%a{i}"
    lines = [f".reg .b{bits} {name};", f"ld.param.u64 %x0, [p{slot}];", f"mul.wide.u32 %x1, %t0, {bits // 8};"]
    lines += ["add.s64 %x0, %x0, %x1;", f"ld.global.b{bits} {name}, [%x0];"]
    if kind == "pred":
        lines += [f".reg .pred %a{i};", f"setp.ne.u32 %a{i}, {name}, 0;"]
    return lines


def _store(case: ScalarCase, slot: int) -> list[str]:
    """Store every result as uint64; the carry flag is read before anything else may change it."""
    targets = list(enumerate(case.operation.destinations))
    lines = [f"ld.param.u64 %x0, [p{slot}];", "mul.wide.u32 %x1, %t0, 8;", "add.s64 %x0, %x0, %x1;"]
    lines += [f"addc.u32 %d{i}, 0, 0;" for i, kind in targets if kind == CARRY]
    for i, kind in targets:
        if kind == "pred":
            lines += [f"selp.u64 %x2, 1, 0, %d{i};"]
        elif _bits_in_memory(kind) == 64:
            lines += [f"mov.b64 %x2, %d{i};"]
        else:
            lines += [f"cvt.u64.u{_bits_in_memory(kind)} %x2, %d{i};"]
        lines += [f"st.global.u64 [%x0+{8 * COUNT * i}], %x2;"]
    return lines
