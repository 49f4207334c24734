# SPDX-License-Identifier: MIT
"""What a kernel is to the machine: instructions in one list, names resolved to registers, places and offsets."""

from dataclasses import dataclass, field
from typing import NamedTuple

from wmma_emu.errors import printable


@dataclass(frozen=True, slots=True)
class Register:
    """A register of the kernel: ``index`` counts all of them, ``type`` is as declared ("b32", "pred", "f64")."""

    index: int
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Immediate:
    """A constant: ``kind`` "int" (value: the number), "f32" or "f64" (value: the bit pattern)."""

    kind: str
    value: int


@dataclass(frozen=True, slots=True)
class SpecialRegister:
    """A special register without its percent sign: ``tid.x``, ``laneid``, ``clock64``."""

    name: str


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable: where it begins in its space ("global", "const", "shared", "local", "param"); ``name`` for messages.

    ``offset`` counts bytes from the start of the module's global or constant memory, of the block's shared memory, of
    the thread's local memory, or of the kernel's parameters. Variables of ``.param`` inside functions are "local", and
    ``is_parameter`` tells them from those of ``.local``.
    """

    space: str
    offset: int
    name: str
    bytes: int
    is_parameter: bool = field(default=False, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class LabelTarget:
    """A label: the index of the instruction behind it."""

    index: int
    name: str


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate register, or its complement, as an operand or a guard."""

    register: Register
    negated: bool


@dataclass(frozen=True, slots=True)
class PairOperand:
    """``p|q``; None is the sink ``_``."""

    first: Register | None
    second: Register | None


@dataclass(frozen=True, slots=True)
class VectorOperand:
    """``{a, b}``; None is the sink ``_``."""

    elements: "tuple[Register | Immediate | SpecialRegister | Symbol | None, ...]"


@dataclass(frozen=True, slots=True)
class AddressOperand:
    """``[base + offset]``."""

    base: Register | Symbol | Immediate
    offset: int = 0
    coordinates: "tuple[Operand, ...]" = ()


@dataclass(frozen=True, slots=True)
class ParameterCopy:
    """Bytes of the thread's local memory that a call hands over: an argument to a parameter, or a result back."""

    source: int
    target: int
    bytes: int


Operand = (
    Register
    | Immediate
    | SpecialRegister
    | Symbol
    | LabelTarget
    | Predicate
    | PairOperand
    | VectorOperand
    | AddressOperand
)
"""An operand; the sink ``_`` where a register is written is None in `Instruction.operands`."""


@dataclass(frozen=True, slots=True)
class SourceLine:
    """Where the compiler's source says the instruction comes from, by ``.loc``.

    ``inlined_at`` is where the function was called that the line belongs to, if it was inlined. The column is counted
    from 1, and 0 where the compiler does not say it; two places in one line are the same one.
    """

    file: str
    line: int
    inlined_at: "SourceLine | None" = None
    column: int = field(default=0, compare=False)

    def __str__(self) -> str:
        here = f"{printable(self.file)}:{self.line}"
        return here if self.inlined_at is None else f"{self.inlined_at}, inlined from {here}"


@dataclass(frozen=True, slots=True)
class PtxInstruction:
    """One instruction of a program.

    ``opcode`` is the text, ``"add.rn.f32"``; ``modifiers`` what stands behind the first point. A negated source
    predicate is a `Predicate`. A ``call`` has ``callee`` (index of the function's first instruction, None for one of
    the driver's, whose results and arguments, in this order, are the operands), ``callee_name`` and the copies before
    and after it; ``brx.idx`` has ``targets``, and its index as the only operand.
    """

    opcode: str
    mnemonic: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand | None, ...]
    guard: Predicate | None
    line: int
    column: int
    source: SourceLine | None = None
    callee: int | None = None
    callee_name: str = ""
    copies_in: tuple[ParameterCopy, ...] = ()
    copies_out: tuple[ParameterCopy, ...] = ()
    targets: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a kernel: PTX type, bytes, offset from the first one.

    ``is_pointer`` where ``.ptr`` says so; ``pointee_space`` and ``pointee_alignment`` are what stands behind it.
    """

    name: str
    type: str
    bytes: int
    alignment: int
    offset: int
    is_pointer: bool = False
    pointee_space: str = ""
    pointee_alignment: int = 0


_MOST_LINES = 8
"""Lines of a statement that are shown."""


class Missing(NamedTuple):
    """An instruction that is not modelled, and what there is instead; or a variable, by its space, of such a kind."""

    opcode: str
    line: int
    reason: str


class NotBitExact(NamedTuple):
    """An instruction whose bits are not proved to be the chip's, and why."""

    opcode: str
    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class KernelProgram:
    """A kernel and every function that it calls, as one list of instructions; the kernel begins at index 0.

    Each of them ends in an instruction that goes elsewhere: where the text falls off the end of a body, or has a label
    there, a ``ret`` of the line of its last brace stands. ``functions`` says which instructions are whose: (name,
    first, behind the last). ``registers`` are those that occur, in order of first use; ``symbols`` the variables of
    shared, local and parameter memory that occur.

    ``shared_bytes`` is what it declares; dynamic shared memory (``.extern .shared``) begins at ``dynamic_offset``, None
    where none is declared: so a GPU has it. Here there are gaps between the variables, which nobody may access: the
    symbols say where each is, and dynamic memory begins at ``shared_span``; None is without gaps. ``local_bytes`` is
    what a thread has for local memory and the parameters of calls.

    ``refusals`` say why the kernel is not to be executed, if it is not; an instruction that is refused for its operands
    is left out of ``instructions``.
    """

    name: str
    parameters: tuple[Parameter, ...]
    parameter_bytes: int
    registers: tuple[Register, ...]
    instructions: tuple[PtxInstruction, ...]
    symbols: tuple[Symbol, ...]
    shared_bytes: int
    dynamic_offset: int | None
    local_bytes: int
    required_block: tuple[int, int, int] | None
    max_block: tuple[int, int, int] | None
    lines: tuple[str, ...] = field(repr=False)
    functions: tuple[tuple[str, int, int], ...] = ()
    required_cluster: tuple[int, int, int] | None = None
    refusals: tuple[Missing, ...] = ()
    shared_span: int | None = None
    caveats: tuple[NotBitExact, ...] = ()

    def text(self, line: int) -> str:
        """Text of the statement that begins in a line of PTX, to be shown: compilers write calls over several."""
        found: list[str] = []
        for one in self.lines[max(line - 1, 0) : line - 1 + _MOST_LINES]:
            found.append(one.strip())
            if ";" in one or not found[-1]:
                break
        return printable(" ".join(" ".join(found).split()))


@dataclass(frozen=True, slots=True)
class ModuleProgram:
    """All kernels of a text, and the variables that they share: initial bytes of global and constant memory.

    ``global_relocations`` and ``const_relocations`` are places where the address of a variable has to be written:
    (offset of the eight bytes, symbol meant, addend, whether the generic address is meant). Where an initial value is
    the address of a function, the bytes are zeros, and the kernels that use the variable are refused. ``file_sizes``
    are the bytes of sources, of those of which the text says them.
    """

    kernels: dict[str, KernelProgram]
    target: str
    version: str
    global_bytes: bytes
    const_bytes: bytes
    global_symbols: tuple[Symbol, ...]
    const_symbols: tuple[Symbol, ...]
    global_relocations: tuple[tuple[int, Symbol, int, bool], ...]
    const_relocations: tuple[tuple[int, Symbol, int, bool], ...]
    file_sizes: dict[str, int] = field(default_factory=dict)
