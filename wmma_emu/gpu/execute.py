# SPDX-License-Identifier: MIT
"""The same registers as the emulator takes, through the same instruction on the GPU at hand."""

from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wmma_emu.errors import ArgumentError, ArgumentValueError, FragmentMismatchError, OptionError, ShapeError, shorten
from wmma_emu.formats.arrays import as_numpy, integer_of
from wmma_emu.formats.libraries import takes_tensors
from wmma_emu.gpu.batches import LaunchPlan, Tiles, run
from wmma_emu.gpu.device import Gpu, open_gpu
from wmma_emu.gpu.kernel_body import Immediates, inputs_of, lanes_of
from wmma_emu.gpu.ptx import kernel_name, module
from wmma_emu.gpu.shared import shared_operand
from wmma_emu.instructions import Instruction, Operand, lookup
from wmma_emu.layouts.block_scales import SCALED
from wmma_emu.layouts.spec import LANES
from wmma_emu.warp import BoundInstruction, BoundMatrixInstruction
from wmma_emu.warp.block_scales import Selectors
from wmma_emu.warp.options import ExecuteOptions, check_flag, check_options
from wmma_emu.warp.shared_operand import is_in_shared_memory


@takes_tensors
def execute(
    ins: "BoundInstruction | Instruction | str",
    a: Any,
    b: Any,
    c: NDArray[Any] | None,
    *,
    metadata: NDArray[Any] | None = None,
    selector: int = 0,
    scale_a: NDArray[Any] | None = None,
    scale_b: NDArray[Any] | None = None,
    byte_id_a: int = 0,
    thread_id_a: int = 0,
    byte_id_b: int = 0,
    thread_id_b: int = 0,
    scale_d: int = 1,
    negate_a: bool = False,
    negate_b: bool = False,
    max_bytes: int | None = None,
    checked: bool = True,
) -> NDArray[Any]:
    """Execute an instruction on the GPU, on the registers of one or many warps.

    The shapes are those of `BoundInstruction.execute`. What broadcasts is not expanded: each operand lies on the GPU
    with as many tiles as it has, and each result names the ones that it takes.

    Parameters
    ----------
    ins : BoundInstruction, Instruction or str
        One bound to a chip must be bound to the GPU's own.
    a, b, c : uint32 arrays, shape (num_registers, *warps, 32)
        Registers of every lane (uint64 for f64). `wgmma`: (num_registers, *batch, 4, 32), B as a matrix
        (..., K, N) or a `SharedOperand`, A as any of the three, and C may be None where ``scale_d`` is 0.
    metadata : uint32 array, shape (*warps, 32), optional
        Of a sparse instruction.
    selector : int
        Which lanes' metadata it reads.
    scale_a, scale_b : uint32 arrays, shape (*warps, 32), optional
        Block scales, where the instruction has them.
    byte_id_a, thread_id_a, byte_id_b, thread_id_b : int
        Which bytes of which lanes hold them.
    scale_d : {0, 1}
        `wgmma`: 0 leaves C out.
    negate_a, negate_b : bool
        `wgmma` of floating point: multiply by -A, -B.
    max_bytes : int, optional
        Memory of the GPU that is used at most; the work is cut accordingly. 1 GiB or a quarter of what is free,
        whichever is less.
    checked : bool
        False lets descriptors through that the emulator refuses, to find out what the chip makes of them.

    Returns
    -------
    uint32 array, shape (num_registers, *warps, 32)
        Registers of D.

    Raises
    ------
    BackendUnavailableError
        If cuda-core, a driver or a GPU is missing; if the assembler does not know the instruction; if the GPU has too
        little memory; if it fails while the instruction runs.
    UnsupportedInstructionError
        If this chip lacks the instruction, or if it is bound to another chip; for options that it has not, and for
        a ``max_bytes`` that one result does not fit into.
    FragmentMismatchError
        If the registers are not the instruction's; if metadata or block scales are missing or superfluous.
    OutOfBoundsError, AlignmentError
        If a descriptor leads out of the shared memory, or does not fit its swizzle.

    Notes
    -----
    PTX is assembled when an instruction is first executed, by what `wmma_emu.gpu.device` names under ``toolkit``.

    Examples
    --------
    >>> import numpy as np, wmma_emu as we, wmma_emu.gpu
    >>> ins = we.instruction("m16n8k16.f32.f16.f16.f32", arch="sm_90")
    >>> a, b, c = (np.full((x.num_registers, 32), 0x3C003C00, np.uint32) for x in (ins.a, ins.b, ins.c))
    >>> hex(ins.execute(a, b, c)[0, 0])                                      # 16 + 0x3C003C00
    '0x41801007'
    >>> if we.gpu.available() and we.gpu.device().arch == "sm_90":
    ...     assert np.array_equal(we.gpu.execute(ins, a, b, c), ins.execute(a, b, c))
    """
    gpu = open_gpu()
    row = _row(ins, gpu)
    scales = Selectors(byte_id_a, thread_id_a, byte_id_b, thread_id_b)
    given = ExecuteOptions(metadata, selector, scale_a, scale_b, scales, scale_d, negate_a, negate_b)
    adds_c = check_options(row, given)
    is_checked, most = check_flag("checked", checked), integer_of(max_bytes)
    if max_bytes is not None and most is None:
        raise OptionError(f"max_bytes is a number of bytes, or None, not {shorten(max_bytes)}")
    if c is None and adds_c:
        raise ArgumentError(f"c is None: {row.mnemonic} adds C; give its registers")
    if c is None:  # scale_d is 0: any C will do
        c = np.zeros((row.registers("c"), *_lanes_shape(row)), np.uint32)
    inputs = {"a": a, "b": b, "c": c, "metadata": metadata, "scale_a": scale_a, "scale_b": scale_b}
    operands = [_operand(row, name, inputs[name], is_checked) for name in inputs_of(row)]
    batch = _batch(operands)
    options = Immediates(
        selector=int(selector),
        negate_a=bool(negate_a),
        negate_b=bool(negate_b),
        transpose_a=operands[0].transpose,
        transpose_b=operands[1].transpose,
        a_shared=operands[0].descriptor is not None,
        scales=Selectors(*(int(x) for operand in SCALED for x in scales.of(operand))),
    )
    work = LaunchPlan(row, operands, batch, (np.uint32(adds_c),) if row.is_warpgroup else ())
    if work.shared_bytes > gpu.shared_bytes:
        raise ArgumentValueError(
            f"A and B take {work.shared_bytes} bytes of shared memory, and a block of this GPU has {gpu.shared_bytes}"
        )
    d = np.empty((row.registers("d"), work.count, work.lanes), np.uint64 if row.d == "f64" else np.uint32)
    with gpu.lock:  # nobody unloads the kernel meanwhile
        kernel = gpu.kernel(module(row, gpu.target, options), kernel_name(row))
        if work.count:
            run(gpu, kernel, work, d, gpu.default_max_bytes() if most is None else most)
    return d.reshape(row.registers("d"), *batch, *_lanes_shape(row))


def _row(ins: "BoundInstruction | Instruction | str", gpu: Gpu) -> Instruction:
    """Find the row, and refuse to compare a chip with another one."""
    if isinstance(ins, BoundMatrixInstruction):
        if ins.arch.name != gpu.arch:
            raise OptionError(
                f"{ins.mnemonic} is bound to {ins.arch}, but this GPU is {gpu.arch}, and what it computes says nothing "
                f"about {ins.arch}; bind it to the GPU's chip: "
                f"wmma_emu.instruction({ins.instruction.short_mnemonic!r}, arch={gpu.arch!r})"
            )
        return ins.instruction
    return lookup(ins, gpu.arch)


def _operand(row: Instruction, name: str, given: Any, checked: bool) -> Tiles:
    if is_in_shared_memory(row, name, given):
        shared = shared_operand(row, "a" if name == "a" else "b", given, checked)
        images = np.ascontiguousarray(shared.memory).reshape(-1, shared.memory.shape[-1])
        return Tiles(name, images, shared.memory.shape[:-1], shared.descriptor, shared.transpose)
    if name in ("metadata", "scale_a", "scale_b"):
        registers = _registers(row, name, given, 1, np.dtype(np.uint32), leading=False)[np.newaxis]
    else:
        operand: Operand = "a" if name == "a" else "b" if name == "b" else "c"
        dtype = np.dtype(np.uint64 if row.format(operand).bits == 64 else np.uint32)
        registers = _registers(row, name, given, row.registers(operand), dtype)
    lanes = _lanes_shape(row)
    batch = registers.shape[1 : -len(lanes)]
    tiles = np.ascontiguousarray(registers).reshape(registers.shape[0], prod(batch), lanes_of(row))
    return Tiles(name, tiles, batch)


def _registers(
    row: Instruction, name: str, given: ArrayLike, count: int, dtype: np.dtype[Any], leading: bool = True
) -> NDArray[Any]:
    """Check registers: dtype, how many, and the lanes last."""
    registers = as_numpy(given, name)
    lanes = _lanes_shape(row)
    legal = registers.dtype == dtype and registers.ndim >= len(lanes) + leading
    legal = legal and registers.shape[-len(lanes) :] == lanes and (not leading or registers.shape[0] == count)
    if not legal:
        wanted = ", ".join([*([str(count)] if leading else []), "*warps", *map(str, lanes)])
        what = f"registers of {name.upper()}" if leading else name
        raise FragmentMismatchError(
            f"{what}: {shorten(registers.dtype, str)} of shape {registers.shape}; {row.mnemonic} takes {dtype} of "
            f"shape ({wanted})"
        )
    return registers


def _lanes_shape(row: Instruction) -> tuple[int, ...]:
    return (4, LANES) if row.is_warpgroup else (LANES,)


def _batch(operands: list[Tiles]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*(x.batch for x in operands))
    except ValueError:
        warps = ", ".join(f"{x.name} {x.batch}" for x in operands)
        raise ShapeError(
            f"the warps' axes of the operands do not broadcast: {warps}; give each as many, or 1"
        ) from None
