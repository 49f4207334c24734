# SPDX-License-Identifier: MIT
"""A row of threaded code: the native function of one operation, and its record for one instruction.

Every native function has the type ``void (ptr context, ptr warp, ptr record, i32 mask)``:

- ``context`` points to the words of `wmma_emu.ptx.native.context.Word`;
- ``warp`` points to the memory of the warp (`WarpLayout`);
- ``record`` points to 32-bit words: offsets into ``warp``, and numbers;
- ``mask`` has a bit for each lane that executes the instruction, its guard included; it is never zero.

A function writes nothing of lanes outside of the mask. It raises flags in the context and does not stop.
"""

from collections.abc import Callable
from typing import NamedTuple

from llvmlite import ir

POINTER = ir.PointerType()
WORD = ir.IntType(32)
LONG = ir.IntType(64)
FUNCTION = ir.FunctionType(ir.VoidType(), (POINTER, POINTER, POINTER, WORD))
"""The type of every native function."""


class Row(NamedTuple):
    """The code and the record of one instruction.

    ``name`` identifies the code: equal names have equal code, in every process of this version. ``define`` adds the
    function with this name, of the type `FUNCTION`, to a module. ``record`` has the words of this instruction.
    """

    name: str
    define: Callable[[ir.Module], ir.Function]
    record: tuple[int, ...]


class NotNativeError(Exception):
    """An instruction has no native row; the message is the reason, which the report of the launch gives."""
