# SPDX-License-Identifier: MIT
"""The state of a linker: a kernel and its functions, while their instructions become one list."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from wmma_emu.ptx.program.faults import short_name
from wmma_emu.ptx.program.module_symbols import ModuleSymbols
from wmma_emu.ptx.program.program import Missing, Operand, PtxInstruction
from wmma_emu.ptx.program.resolve import Resolver
from wmma_emu.ptx.program.scopes import ScopeStack
from wmma_emu.ptx.program.storage import Storage
from wmma_emu.ptx.syntax.tree import FunctionText, InstructionText


@dataclass(slots=True)
class Callee:
    """A called function: the scope of its parameters, and the index of its first instruction once it is known."""

    function: FunctionText
    scopes: ScopeStack = field(default_factory=ScopeStack)
    results: list[Operand] = field(default_factory=list)
    parameters: list[Operand] = field(default_factory=list)
    first: int | None = None
    calls: list[tuple[str, InstructionText]] = field(default_factory=list)


def recursions(functions: list[Callee]) -> Iterator[Missing]:
    """Yield the direct and indirect recursive calls; they are refused because each function has one frame."""
    callees = {x.function.name: x for x in functions}
    finished: dict[str, bool] = {}
    for function in functions:
        path = [(function.function.name, iter(function.calls))] if function.function.name not in finished else []
        finished.setdefault(function.function.name, False)
        while path:
            name, calls = path[-1]
            for called, text in calls:
                if called not in finished:
                    finished[called] = False
                    path.append((called, iter(callees[called].calls)))
                    break
                if not finished[called]:
                    opcode = ".".join((text.mnemonic, *text.modifiers))
                    reason = f"recursion: {short_name(called)} is called while it is running, which is not supported"
                    yield Missing(opcode, text.line, reason)
            else:
                finished[name] = True
                path.pop()


class LinkState:
    """The instructions of one kernel that have been read; None for a jump or a call without a target yet.

    ``callees`` are in the order of their first call, ``bodies`` are the callees whose instructions belong to the
    kernel, and ``caller`` is the function that is being read. ``calls`` are the calls, by index, whose function has no
    first instruction yet. ``refusals`` are valid statements that the emulator cannot run; they are left out.
    """

    def __init__(self, module: ModuleSymbols, dynamic_offset: int) -> None:
        self.module = module
        self.storage = Storage(dynamic_offset)
        self.resolver = Resolver(module, self.storage)
        self.instructions: list[PtxInstruction | None] = []
        self.callees: dict[str, Callee] = {}
        self.bodies: list[Callee] = []
        self.refusals: list[Missing] = []
        self.calls: list[tuple[int, Callee]] = []
        self.caller: Callee
