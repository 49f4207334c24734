# SPDX-License-Identifier: MIT
"""The state of a linker: a kernel and its functions, while their instructions become one list."""

from dataclasses import dataclass, field

from wmma_emu.ptx.program.frames import Frame
from wmma_emu.ptx.program.module_symbols import ModuleSymbols
from wmma_emu.ptx.program.program import Missing, Operand, PtxInstruction, Symbol
from wmma_emu.ptx.program.resolve import Resolver
from wmma_emu.ptx.program.scopes import ScopeStack
from wmma_emu.ptx.program.storage import Storage
from wmma_emu.ptx.syntax.tree import FunctionText


@dataclass(slots=True)
class Callee:
    """A called function: the scope of its parameters, and the index of its first instruction once it is known.

    ``frame`` is its local memory, and ``calls`` the names of the functions that it calls.
    """

    function: FunctionText
    frame: Frame
    scopes: ScopeStack = field(default_factory=ScopeStack)
    results: list[Operand] = field(default_factory=list)
    parameters: list[Operand] = field(default_factory=list)
    first: int | None = None
    calls: list[str] = field(default_factory=list)


class LinkState:
    """The instructions of one kernel that have been read; None for a jump or a call without a target yet.

    ``callees`` are in the order of their first call, ``bodies`` are the callees whose instructions belong to the
    kernel, and ``caller`` is the function that is being read. ``calls`` are the calls, by index, whose function has no
    first instruction yet, and ``indirect_calls`` those to an address, with the functions that they may call.
    ``variadic`` are the parameters that contain the address of variable arguments.
    ``refusals`` are valid statements that the emulator cannot run; they are left out.

    If it ``has_frames``, each call of a function has its own local memory, else each function; ``needs_frames`` is set
    by a statement that requires the former.
    """

    def __init__(
        self, module: ModuleSymbols, shared_begin: int, dynamic_offset: int, has_frames: bool = False
    ) -> None:  # fmt: skip
        self.module = module
        self.has_frames, self.needs_frames = has_frames, False
        self.storage = Storage(shared_begin, dynamic_offset)
        self.resolver = Resolver(module, self.storage)
        self.instructions: list[PtxInstruction | None] = []
        self.callees: dict[str, Callee] = {}
        self.bodies: list[Callee] = []
        self.refusals: list[Missing] = []
        self.calls: list[tuple[int, Callee]] = []
        self.indirect_calls: list[tuple[int, list[Callee]]] = []
        self.variadic: set[Symbol] = set()
        self.caller: Callee

    def callee(self, function: FunctionText) -> Callee:
        """Return a function that is about to be read, with its own local memory or a part of the kernel's."""
        return Callee(function, Frame() if self.has_frames else self.storage.frame)
