# SPDX-License-Identifier: MIT
"""Execution of an instruction on this machine's GPU, on the same registers as in the emulator."""

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

    The shapes are the same as for `BoundInstruction.execute`. Broadcasts are not expanded: each operand is stored on
    the GPU with its own number of tiles, and each result refers to its tiles.

    Parameters
    ----------
    ins : BoundInstruction, Instruction or str
        A bound instruction must be bound to the GPU's own chip.
    a, b, c : uint32 arrays, shape (num_registers, *warps, 32)
        Registers of every lane (uint64 for f64). `wgmma`: (num_registers, *batch, 4, 32), B as a matrix (..., K, N) or
        a `SharedOperand`, A as any of the three, and C may be None if ``scale_d`` is 0.
    metadata : uint32 array, shape (*warps, 32), optional
        The metadata of a sparse instruction.
    selector : int
        The sparsity selector: the lanes whose metadata it reads.
    scale_a, scale_b : uint32 arrays, shape (*warps, 32), optional
        Block scales, if the instruction has them.
    byte_id_a, thread_id_a, byte_id_b, thread_id_b : int
        The bytes and lanes that contain the block scales.
    scale_d : {0, 1}
        `wgmma`: 0 omits C.
    negate_a, negate_b : bool
        `wgmma` of floating point: multiply by -A, -B.
    max_bytes : int, optional
        The limit on the memory of the GPU; the work is divided accordingly. By default 1 GiB or a quarter of the free
        memory, whichever is less.
    checked : bool
        False accepts descriptors that the emulator rejects, to determine the chip's behaviour.

    Returns
    -------
    uint32 array, shape (num_registers, *warps, 32)
        The registers of D.

    Raises
    ------
    BackendUnavailableError
        If cuda-core, a driver or a GPU is missing; if the assembler does not support the instruction; if the GPU has
        too little memory; if it fails while the instruction runs.
    UnsupportedInstructionError
        If this chip lacks the instruction, or if it is bound to another chip; if the instruction does not have an
        option, or one result does not fit into ``max_bytes``.
    FragmentMismatchError
        If the registers do not match the instruction; if metadata or block scales are missing or superfluous.
    OutOfBoundsError, AlignmentError
        If a descriptor addresses bytes outside the shared memory, or does not match its swizzle.

    Notes
    -----
    PTX is assembled when an instruction is first executed, by the assembler that `wmma_emu.gpu.device` returns as
    ``toolkit``.

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
    entry = _row(ins, gpu)
    scales = Selectors(byte_id_a, thread_id_a, byte_id_b, thread_id_b)
    given = ExecuteOptions(metadata, selector, scale_a, scale_b, scales, scale_d, negate_a, negate_b)
    adds_c = check_options(entry, given)
    is_checked, most = check_flag("checked", checked), integer_of(max_bytes)
    if max_bytes is not None and most is None:
        raise OptionError(f"max_bytes must be a number of bytes, or None, not {shorten(max_bytes)}")
    if c is None and adds_c:
        raise ArgumentError(f"c is None, but {entry.mnemonic} adds C; pass its registers")
    if c is None:  # scale_d is 0: any C will do
        c = np.zeros((entry.registers("c"), *_lanes_shape(entry)), np.uint32)
    inputs = {"a": a, "b": b, "c": c, "metadata": metadata, "scale_a": scale_a, "scale_b": scale_b}
    operands = [_operand(entry, name, inputs[name], is_checked) for name in inputs_of(entry)]
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
    work = LaunchPlan(entry, operands, batch, (np.uint32(adds_c),) if entry.is_warpgroup else ())
    if work.shared_bytes > gpu.shared_bytes:
        raise ArgumentValueError(
            f"A and B take {work.shared_bytes} bytes of shared memory, but a block of this GPU has {gpu.shared_bytes}"
        )
    d = np.empty((entry.registers("d"), work.count, work.lanes), np.uint64 if entry.d == "f64" else np.uint32)
    with gpu.lock:  # the kernel must not be unloaded meanwhile
        kernel = gpu.kernel(module(entry, gpu.target, options), kernel_name(entry))
        if work.count:
            run(gpu, kernel, work, d, gpu.default_max_bytes() if most is None else most)
    return d.reshape(entry.registers("d"), *batch, *_lanes_shape(entry))


def _row(ins: "BoundInstruction | Instruction | str", gpu: Gpu) -> Instruction:
    """Return the table entry, and reject a comparison of different chips."""
    if isinstance(ins, BoundMatrixInstruction):
        if ins.arch.name != gpu.arch:
            raise OptionError(
                f"{ins.mnemonic} is bound to {ins.arch}, but this GPU is {gpu.arch}, whose results say nothing "
                f"about {ins.arch}; bind it to the GPU's chip: "
                f"wmma_emu.instruction({ins.instruction.short_mnemonic!r}, arch={gpu.arch!r})"
            )
        return ins.instruction
    return lookup(ins, gpu.arch)


def _operand(entry: Instruction, name: str, given: Any, checked: bool) -> Tiles:
    if is_in_shared_memory(entry, name, given):
        shared = shared_operand(entry, "a" if name == "a" else "b", given, checked)
        images = np.ascontiguousarray(shared.memory).reshape(-1, shared.memory.shape[-1])
        return Tiles(name, images, shared.memory.shape[:-1], shared.descriptor, shared.transpose)
    if name in ("metadata", "scale_a", "scale_b"):
        registers = _registers(entry, name, given, 1, np.dtype(np.uint32), leading=False)[np.newaxis]
    else:
        operand: Operand = "a" if name == "a" else "b" if name == "b" else "c"
        dtype = np.dtype(np.uint64 if entry.format(operand).bits == 64 else np.uint32)
        registers = _registers(entry, name, given, entry.registers(operand), dtype)
    lanes = _lanes_shape(entry)
    batch = registers.shape[1 : -len(lanes)]
    tiles = np.ascontiguousarray(registers).reshape(registers.shape[0], prod(batch), lanes_of(entry))
    return Tiles(name, tiles, batch)


def _registers(
    entry: Instruction, name: str, given: ArrayLike, count: int, dtype: np.dtype[Any], leading: bool = True
) -> NDArray[Any]:
    """Check registers: dtype, number, and the lanes as the last axis."""
    registers = as_numpy(given, name)
    lanes = _lanes_shape(entry)
    legal = registers.dtype == dtype and registers.ndim >= len(lanes) + leading
    legal = legal and registers.shape[-len(lanes) :] == lanes and (not leading or registers.shape[0] == count)
    if not legal:
        wanted = ", ".join([*([str(count)] if leading else []), "*warps", *map(str, lanes)])
        what = f"registers of {name.upper()}" if leading else name
        raise FragmentMismatchError(
            f"{what}: {shorten(registers.dtype, str)} of shape {registers.shape}; {entry.mnemonic} takes {dtype} of "
            f"shape ({wanted})"
        )
    return registers


def _lanes_shape(entry: Instruction) -> tuple[int, ...]:
    return (4, LANES) if entry.is_warpgroup else (LANES,)


def _batch(operands: list[Tiles]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*(x.batch for x in operands))
    except ValueError:
        warps = ", ".join(f"{x.name} {x.batch}" for x in operands)
        raise ShapeError(f"the warps' axes of the operands do not broadcast: {warps}; make them equal, or 1") from None
