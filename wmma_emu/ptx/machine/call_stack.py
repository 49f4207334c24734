# SPDX-License-Identifier: MIT
"""The calls that threads are in: where each returns to, its frame of local memory, and the registers that it keeps."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.ptx.cpp.demangle import plain_name
from wmma_emu.ptx.definedness.undefined import Undefined
from wmma_emu.ptx.program.program import ParameterCopy, PtxInstruction, Register
from wmma_emu.ptx.program.stack_layout import FrameLayout, StackLayout
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.collectives import note
from wmma_emu.ptx.threads import Active, Array

_Mask = NDArray[np.bool_]


class CallStack:
    """The calls that the threads of a wave are in; every function has one place in local memory."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._callers: list[NDArray[np.int32]] = []
        self.depth = np.zeros(state.shape, np.int32)

    def _participants(self, active: Active) -> _Mask:
        return np.broadcast_to(self._state.live if active is None else active, self._state.shape)

    def enter_addressed(self, instruction: PtxInstruction, active: Active, pc: int) -> NDArray[np.int32] | None:
        """Enter the functions at the addresses in a register; programs with such calls have frames."""
        raise UnsupportedInstructionError(f"line {instruction.line}: a call to an address needs frames")

    def enter(self, instruction: PtxInstruction, active: Active, pc: int) -> bool:
        """Pass the arguments, and record the pc at which the active threads call a function."""
        copy_bytes(self._state, instruction, instruction.copies_in, active)
        self._push(self._participants(active), pc)
        return True

    def _push(self, participants: _Mask, pc: int) -> list[tuple[int, _Mask]]:
        """Record the pc of a call; return the depth of the calls, with their threads."""
        pushed = []
        for depth in np.unique(self.depth[participants]).tolist():
            if depth == len(self._callers):
                self._callers.append(np.zeros(self._state.shape, np.int32))
            here = participants & (self.depth == depth)
            self._callers[depth][here] = pc
            pushed.append((depth, here))
        self.depth[participants] += 1
        return pushed

    def _pop(self, participants: _Mask) -> list[tuple[int, _Mask]]:
        """Return the depth and the threads of each call that ends."""
        self.depth[participants] -= 1
        depths = np.unique(self.depth[participants]).tolist()
        return [(x, participants & (self.depth == x)) for x in depths]

    def leave(self, active: Active) -> Iterator[tuple[int, Active]]:
        """Return from functions: pass the results, and yield the pc of each call with its threads."""
        participants = self._participants(active)
        ended = self._pop(participants)
        callers = self._callers_of(ended)
        pcs = np.unique(callers[participants]).tolist()
        for pc in pcs:
            here = active if len(pcs) == 1 else participants & (callers == pc)
            call = self._state.program.instructions[pc]
            copy_bytes(self._state, call, call.copies_out, here)
            yield pc, here

    def _callers_of(self, ended: list[tuple[int, _Mask]]) -> NDArray[np.int32]:
        if len(ended) == 1:
            return self._callers[ended[0][0]]
        callers = np.zeros(self._state.shape, np.int32)
        for depth, here in ended:
            callers[here] = self._callers[depth][here]
        return callers


class FramedCallStack(CallStack):
    """The calls that the threads of a wave are in; every call has a frame of local memory.

    ``limit`` is the most bytes of the stack that a thread may use, as `FrameLayout.counted` counts them.
    """

    def __init__(self, state: State, layout: StackLayout, limit: int) -> None:
        super().__init__(state)
        self._layout, self._limit = layout, layout.limit(limit)
        kernel = layout.frames[layout.starts[0]]
        self._stack = state.memory.stack
        self._stack.top[...] = kernel.bytes
        self._stack.counted[...] = kernel.counted
        self._stack.limit = self._limit
        self._saved: list[tuple[Array, Array, Array]] = []
        self._functions = [layout.frames[x] for x in layout.starts]
        self._sizes = np.array([x.bytes for x in self._functions], np.uint64)
        self._counted = np.array([x.counted for x in self._functions], np.uint64)
        self._position = {x: i for i, x in enumerate(layout.starts)}
        self._starts = np.array(layout.starts, np.int32)

    def enter(self, instruction: PtxInstruction, active: Active, pc: int) -> bool:
        """Make a frame, pass the arguments, and keep registers; return False if the stack overflows."""
        chosen = np.full((1, 1, 1), self._position[instruction.callee or 0])
        return self._enter(instruction, self._participants(active), pc, chosen)

    def enter_addressed(self, instruction: PtxInstruction, active: Active, pc: int) -> NDArray[np.int32] | None:
        """Enter the functions at the addresses in a register; return their first instructions, None on an error."""
        state, participants = self._state, self._participants(active)
        register = instruction.operands[0]
        state.require_defined(instruction, register, active, "the address of the called function")
        addresses = np.broadcast_to(state.read(register, "b64"), state.shape)
        chosen = np.full(state.shape, -1)
        for offset, first in self._layout.addresses.items():
            if first in instruction.targets:
                chosen[addresses == np.uint64(state.memory.code_address(offset))] = self._position[first]
        wrong = participants & (chosen < 0)
        if wrong.any():
            note(
                state, instruction, "illegal operand", wrong,
                lambda *thread: f"the call goes to the address {int(addresses[thread]):#x}, which is not the address "
                "of a function with these parameters",
            )  # fmt: skip
            return None
        chosen = np.maximum(chosen, 0)
        return self._starts[chosen] if self._enter(instruction, participants, pc, chosen) else None

    def _enter(self, instruction: PtxInstruction, participants: _Mask, pc: int, chosen: NDArray[np.int_]) -> bool:
        state, stack = self._state, self._stack
        used = stack.counted + self._counted[chosen]
        over = participants & (used > self._limit)
        if over.any():
            self._overflow(instruction, over, used, np.broadcast_to(chosen, state.shape))
            return False
        frame = stack.top.copy()
        stack.begin(participants, frame, self._sizes[chosen])
        copy_bytes(state, instruction, instruction.copies_in, participants, stack.frame, frame)
        self._keep(instruction, participants, pc)
        for depth, here in self._push(participants, pc):
            if depth == len(self._saved):
                self._saved.append(tuple(np.zeros(state.shape, np.uint64) for _ in range(3)))  # type: ignore[arg-type]
            for saved, now in zip(self._saved[depth], (stack.frame, stack.top, stack.counted), strict=True):
                saved[here] = now[here]
        stack.frame[participants] = frame[participants]
        stack.top[participants] = (frame + self._sizes[chosen])[participants]
        stack.counted[participants] = used[participants]
        return True

    def _overflow(
        self, instruction: PtxInstruction, over: _Mask, used: Array, chosen: NDArray[np.int_]
    ) -> None:  # fmt: skip
        note(
            self._state, instruction, "out of bounds", over,
            lambda *thread: f"the stack overflows: the call of {_called(self._functions[int(chosen[thread])].name)} at "
            f"depth {int(self.depth[thread]) + 1} needs {int(used[thread])} bytes; the limit is {self._limit} bytes "
            "(cudaLimitStackSize), which stack_bytes of the launch sets",
        )  # fmt: skip

    def leave(self, active: Active) -> Iterator[tuple[int, Active]]:
        """Return from functions: pass the results, and restore the frame and the registers of each caller."""
        state, stack = self._state, self._stack
        participants = self._participants(active)
        ended = self._pop(participants)
        callers = self._callers_of(ended)
        left = stack.frame.copy()
        for depth, here in ended:
            for saved, now in zip(self._saved[depth], (stack.frame, stack.top, stack.counted), strict=True):
                now[here] = saved[here]
        for pc in np.unique(callers[participants]).tolist():
            here = participants & (callers == pc)
            call = state.program.instructions[pc]
            copy_bytes(state, call, call.copies_out, here, left, stack.frame)
            self._restore(call, here, pc)
            yield pc, here

    def _places(self, pc: int) -> Iterator[tuple[Register, Array]]:
        """Yield the registers that a call keeps, and the address of each in local memory."""
        frame: FrameLayout | None = None
        for i, register in enumerate(self._layout.kept.get(pc, ())):
            frame = frame or self._layout.frame_at(pc)
            yield register, self._stack.frame + np.uint64(frame.kept_at + 8 * i)

    def _keep(self, call: PtxInstruction, participants: _Mask, pc: int) -> None:
        state = self._state
        for register, address in self._places(pc):
            value = state.read(register, register.type)
            value = value.astype(np.uint8) if register.type == "pred" else value
            undefined = state.undefined_of((register,), value.dtype, participants)
            state.memory.store(call, "local", address, value[None], participants, undefined=undefined)

    def _restore(self, call: PtxInstruction, participants: _Mask, pc: int) -> None:
        state = self._state
        for register, address in self._places(pc):
            size = max(state.uninitialised[register.index].dtype.itemsize, 1)
            values, undefined = state.memory.load(call, "local", address, size, 1, participants)
            lost = None if undefined is None else Undefined(undefined.bits[0], undefined.origin[0])
            value = values[0]
            if register.type == "pred":
                value, lost = value != 0, lost and lost._replace(bits=lost.bits != 0)
            state.write(register, value, participants, lost)


def copy_bytes(
    state: State, instruction: PtxInstruction, copies: tuple[ParameterCopy, ...], active: Active,
    source: Array | int = 0, target: Array | int = 0,
) -> None:  # fmt: skip
    """Copy arguments or results in the local memory of each thread, between two frames that begin at addresses."""
    for copy in copies:
        first = np.arange(copy.bytes, dtype=np.uint64).reshape(-1, 1, 1, 1)
        from_, to = np.uint64(copy.source) + np.uint64(source), np.uint64(copy.target) + np.uint64(target)
        values, undefined = state.memory.load(instruction, "local", first + from_, 1, 1, active)
        state.memory.store(instruction, "local", first + to, values, active, undefined=undefined)


def _called(name: str) -> str:
    return plain_name(name) or name
