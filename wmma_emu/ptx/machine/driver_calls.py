# SPDX-License-Identifier: MIT
"""Functions that the driver provides and a kernel may call: ``vprintf`` and ``__assertfail``."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.ptx.program.program import Instruction, Symbol
from wmma_emu.ptx.state import State
from wmma_emu.ptx.threads import Active, Array

if TYPE_CHECKING:
    from wmma_emu.ptx.machine.execution import Execution

__all__ = ["DRIVER_CALLS", "driver_call"]

_LONGEST_TEXT = 1024
_MOST_LINES = 1000
_CONVERSION = re.compile(r"%([-+ #0]*)(\d*)(\.\d+)?(hh|h|ll|l|z|j|t)?([diouxXeEfFgGaAcsp%])")


def driver_call(instruction: Instruction, place: int) -> "Callable[[Execution, Active], None]":
    """Make the end of a fragment that calls one of the driver's functions.

    Raises
    ------
    UnsupportedInstructionError
        For functions that are not modelled.
    """
    name = instruction.callee_name
    if name not in DRIVER_CALLS:
        raise UnsupportedInstructionError(
            f"line {instruction.line}: {name or instruction.opcode} is no function of this text; of the driver's there "
            f"are {' and '.join(DRIVER_CALLS)}"
        )
    act = DRIVER_CALLS[name]

    def call(execution: "Execution", active: Active) -> None:
        if act(execution.state, instruction, active):
            execution.positions.go(active, place + 1)
        else:
            execution.leave(active)

    return call


def _arguments(state: State, instruction: Instruction, active: Active, count: int) -> list[Array]:
    """Read the last arguments of a call, 64-bit each, of every thread."""
    symbols = [x for x in instruction.operands if isinstance(x, Symbol)][-count:]
    found = []
    for symbol in symbols:
        address = np.full((1, 1, 1), symbol.offset, np.uint64)
        values, _ = state.memory.load(instruction, "local", address, min(symbol.bytes, 8), 1, active)
        found.append(np.broadcast_to(values[0], state.shape).astype(np.uint64))
    return found


def _text(state: State, instruction: Instruction, address: int, who: Any) -> str:
    """Read a string that ends with a zero byte."""
    letters = bytearray()
    for i in range(_LONGEST_TEXT):
        values, _ = state.memory.load(instruction, "", np.full((1, 1, 1), address + i, np.uint64), 1, 1, who)
        letter = int(np.broadcast_to(values[0], state.shape)[who][0])
        if letter == 0:
            break
        letters.append(letter)
    return letters.decode("utf-8", "replace")


def _print(state: State, instruction: Instruction, active: Active) -> bool:
    """``vprintf``: a line of text for each thread."""
    formats, buffers = _arguments(state, instruction, active, 2)
    who = np.broadcast_to(state.live if active is None else active, state.shape)
    for g, w, lane in np.argwhere(who)[: max(0, _MOST_LINES - len(state.output))]:
        one = np.zeros(state.shape, np.bool_)
        one[g, w, lane] = True
        text = _text(state, instruction, int(formats[g, w, lane]), one)
        state.output.append(_formatted(state, instruction, text, int(buffers[g, w, lane]), one))
    return True


def _formatted(state: State, instruction: Instruction, text: str, buffer: int, one: Any) -> str:
    """Fill in the arguments of a format, each of which lies at a multiple of its size."""
    position = 0

    def fill(found: "re.Match[str]") -> str:
        nonlocal position
        flags, width, precision, length, kind = found.groups()
        if kind == "%":
            return "%"
        size = 8 if kind in "eEfFgGaAsp" or length in ("l", "ll", "z", "j", "t") else 4
        position += -position % size
        address = np.full((1, 1, 1), buffer + position, np.uint64)
        position += size
        values, _ = state.memory.load(instruction, "", address, size, 1, one)
        word = np.broadcast_to(values[0], state.shape)[one]
        if kind == "s":
            return str(f"%{flags}{width}{precision or ''}s" % _text(state, instruction, int(word[0]), one))
        value: Any = int(word[0])
        if kind in "eEfFgGaA":
            value = float(word.view(np.float64)[0])
        elif kind in "di":
            value = int(word.view(f"i{size}")[0])
        elif kind == "c":
            value, kind = chr(value & 0xFF), "s"
        elif kind == "p":
            return f"0x{value:x}"
        if kind in "aA":
            return str(value.hex())
        text = f"%{flags}{width}{precision or ''}{'d' if kind == 'u' else kind}"
        return str(text % value)

    return _CONVERSION.sub(fill, text)


def _fail(state: State, instruction: Instruction, active: Active) -> bool:
    """``__assertfail``: an assertion of the kernel does not hold."""
    who = np.broadcast_to(state.live if active is None else active, state.shape)
    block, thread, count = state.threads.first(who)
    symbols = [x for x in instruction.operands if isinstance(x, Symbol)]

    def message() -> str:
        g, w, lane = np.argwhere(who)[0]
        one = np.zeros(state.shape, np.bool_)
        one[g, w, lane] = True
        words = []
        for symbol in symbols[:4]:
            address = np.full((1, 1, 1), symbol.offset, np.uint64)
            values, _ = state.memory.load(instruction, "local", address, symbol.bytes, 1, one)
            words.append(int(np.broadcast_to(values[0], state.shape)[one][0]))
        if len(words) < 4:
            return "an assertion does not hold"
        text, file, line, function = words
        return (
            f"assertion {_text(state, instruction, text, one)!r} does not hold, in "
            f"{_text(state, instruction, function, one)}, {_text(state, instruction, file, one)}:{line}"
        )

    state.findings.add("trap", instruction, message, block=block, thread=thread, count=count)
    return False


DRIVER_CALLS: dict[str, Callable[[State, Instruction, Active], bool]] = {"vprintf": _print, "__assertfail": _fail}
"""Functions of the driver by name (CUDA C++ Programming Guide, formatted output and assertions).

Each says whether the threads that called it go on.
"""
