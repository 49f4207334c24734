# SPDX-License-Identifier: MIT
"""Functions that the driver provides and a kernel may call: ``vprintf``, ``__assertfail``, ``malloc`` and ``free``."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.ptx.cpp.demangle import plain_name
from wmma_emu.ptx.machine.control_state import ControlState
from wmma_emu.ptx.machine.driver_arguments import read_argument, write_result
from wmma_emu.ptx.machine.heap_calls import allocate, release
from wmma_emu.ptx.machine.printing import Printed, count_of, fields_of, print_texts, read_texts
from wmma_emu.ptx.program.device_runtime import FUNCTIONS
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.program.undefined_functions import what_defines
from wmma_emu.ptx.state import State
from wmma_emu.ptx.threads import Active

_GRID_GROUPS = "cudaCG"
"""The beginning of the names of the device runtime's functions for groups of a grid, or of grids on several GPUs."""


def driver_call(instruction: PtxInstruction, pc: int) -> Callable[[ControlState, Active], None]:
    """Make the terminator of a call of one of the driver's functions."""
    name = instruction.callee_name
    if name in FUNCTIONS:
        raise UnsupportedInstructionError(
            f"line {instruction.line}: {name} is a function of the device runtime (cudadevrt): module.link() links the "
            "emulator's own; groups of several GPUs (this_multi_grid), which CUDA 13 no longer has, are not modelled"
        )
    if name.startswith(_GRID_GROUPS):
        raise UnsupportedInstructionError(
            f"line {instruction.line}: {name} belongs to multi-grid groups (this_multi_grid), of grids on several "
            "GPUs, which are not modelled; CUDA 13 no longer has them: use this_grid() on one GPU"
        )
    if name not in DRIVER_CALLS:
        missing = f"the function {_shown(name)} is not defined in this PTX source"
        raise UnsupportedInstructionError(f"line {instruction.line}: {missing}: {what_defines(name)}")
    act = DRIVER_CALLS[name]
    if len(instruction.operands) < _LEAST_OPERANDS.get(name, 0):
        raise UnsupportedInstructionError(
            f"line {instruction.line}: {name} is called with {len(instruction.operands)} results and arguments; "
            f"expected {_DECLARED[name]}"
        )

    def call(execution: ControlState, active: Active) -> None:
        if act(execution.state, instruction, active):
            execution.scheduler.jump(active, pc + 1)
        else:
            execution.abort()

    return call


def _shown(name: str) -> str:
    plain = plain_name(name)
    return name if plain is None else f"{plain} ({name})"


def _print(state: State, instruction: PtxInstruction, active: Active) -> bool:
    """Execute ``vprintf``: print a string for each thread, and return the number of its arguments; -1 without a
    format.
    """
    formats, buffers = (read_argument(state, instruction, x, active) for x in instruction.operands[-2:])
    participants = np.broadcast_to(state.live if active is None else active, state.shape)
    printed = _printed(state)
    counts = np.full(state.shape, 0xFFFFFFFF, np.uint32)
    texts: dict[tuple[int, ...], str] = {}
    for address in np.unique(formats[participants & (formats != 0)]).tolist():
        same = participants & (formats == address)
        (text,) = read_texts(state, instruction, formats, _first(same, 1))
        fields = list(fields_of(text))
        counts[same] = count_of(fields)
        kept = _first(same, printed.capacity)
        indices = map(tuple, np.argwhere(kept).tolist())
        texts.update(zip(indices, print_texts(state, instruction, fields, buffers, kept), strict=True))
        printed.left_out += int(np.count_nonzero(same & ~kept))
    for position in sorted(texts):
        printed.keep(texts[position])
    if len(instruction.operands) > 2:
        write_result(state, instruction, instruction.operands[0], counts, active)
    return True


def _first(participants: NDArray[np.bool_], count: int) -> NDArray[np.bool_]:
    return participants & (np.cumsum(participants).reshape(participants.shape) <= count)


def _fail(state: State, instruction: PtxInstruction, active: Active) -> bool:
    participants = np.broadcast_to(state.live if active is None else active, state.shape)
    block, thread, count = state.threads.first(participants)

    message = "an assertion failed"
    one = _first(participants, 1)
    words = [read_argument(state, instruction, x, one) for x in instruction.operands[:4]]
    if len(words) == 4:
        text, file, function = (read_texts(state, instruction, words[i], one)[0] for i in (0, 1, 3))
        position = f"{file}:{int(words[2][one][0])}"
        message = f"the assertion {text!r} failed in {function}, {position}"
        position_text = f"block: {_triple(block)}, thread: {_triple(thread)}"
        more = f" (and {count - 1} more thread{'s' * (count > 2)})" if count > 1 else ""
        _printed(state).keep(f"{position}: {function}: {position_text} Assertion `{text}` failed.{more}\n")
    state.findings.add("trap", instruction, message, block=block, thread=thread, count=count)
    return False


def _triple(position: Sequence[int] | None) -> str:
    return f"[{','.join(map(str, position or ()))}]"


def _printed(state: State) -> Printed:
    if not isinstance(state.output, Printed):
        state.output = Printed()
    return state.output


_DECLARED = {
    "vprintf": "a format and the address of the arguments", "malloc": "a result and a size", "free": "an address",
}  # fmt: skip
_LEAST_OPERANDS = {"vprintf": 2, "malloc": 2, "free": 1}

DRIVER_CALLS: dict[str, Callable[[State, PtxInstruction, Active], bool]] = {
    "vprintf": _print, "__assertfail": _fail, "malloc": allocate, "free": release,
}  # fmt: skip
"""Functions of the driver by name (CUDA C++ Programming Guide: formatted output, assertions, dynamic global memory).

Each returns whether the launch continues.
"""
