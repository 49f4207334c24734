# SPDX-License-Identifier: MIT
"""The executable form of a kernel: one list of instructions, with names resolved to registers, indices and offsets."""

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
    """A variable and its offset in its state space ("global", "const", "shared", "local" or "param").

    ``offset`` counts bytes from the start of the module's global or constant memory, of the block's shared memory, of
    the thread's local memory (or, in a kernel with `KernelProgram.frames`, of the function's part of it), or of the
    kernel's parameters. ``.param`` variables in functions are "local", with ``is_parameter`` set. A function is a
    symbol of the space "code".
    """

    space: str
    offset: int
    name: str
    bytes: int
    is_parameter: bool = field(default=False, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class LabelTarget:
    """A label: the index of the instruction after it."""

    index: int
    name: str


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate register, or its complement, as an operand or a guard."""

    register: Register
    negated: bool


@dataclass(frozen=True, slots=True)
class PairOperand:
    """``p|q``, or ``{a, b}|q`` of a texture fetch; the sink ``_`` is None."""

    first: "Register | VectorOperand | None"
    second: Register | None


@dataclass(frozen=True, slots=True)
class VectorOperand:
    """``{a, b}``; the sink ``_`` is None."""

    elements: "tuple[Register | Immediate | SpecialRegister | Symbol | None, ...]"


@dataclass(frozen=True, slots=True)
class AddressOperand:
    """``[base + offset]``."""

    base: Register | Symbol | Immediate
    offset: int = 0
    coordinates: "tuple[Operand, ...]" = ()


@dataclass(frozen=True, slots=True)
class ParameterCopy:
    """A copy in the thread's local memory for a call: an argument to a parameter, or a result to the caller."""

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
"""An operand; the sink ``_`` is None in `PtxInstruction.operands`."""


@dataclass(frozen=True, slots=True)
class SourceLine:
    """The source line of an instruction, from ``.loc``.

    ``inlined_at`` is the call of the function that contains the line, if it was inlined. The column is counted from 1,
    0 if unknown; positions in the same line compare equal.
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

    ``opcode`` is the full opcode, ``"add.rn.f32"``; ``modifiers`` are the words after the first point. A negated source
    predicate is a `Predicate`. A ``call`` has a ``callee`` (the index of the function's first instruction; None for a
    function of the driver, whose results and arguments, in this order, are the operands), a ``callee_name`` and the
    copies before and after it. A ``call`` to an address has the register as its only operand, and as ``targets`` the
    first instructions of the functions that it may call; ``brx.idx`` has ``targets``, and its index as the only
    operand. ``used_bytes`` has a bit for each byte of a load that the kernel uses (``.pragma "used_bytes_mask"``); 0
    means all of them.
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
    used_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a kernel: PTX type, bytes, offset from the first one.

    ``is_pointer`` is set by ``.ptr``, which may also give ``pointee_space`` and ``pointee_alignment``.
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
"""The most lines of a statement that are shown."""


class Missing(NamedTuple):
    """An instruction, or a variable by its state space, that is not modelled, with the reason and the alternative."""

    opcode: str
    line: int
    reason: str


class NotBitExact(NamedTuple):
    """An instruction whose results are not proved to be bit-exact, with the reason."""

    opcode: str
    line: int
    reason: str


class FunctionFrame(NamedTuple):
    """The local memory that each call of a function takes, in bytes, and the part that ``.local`` variables take."""

    name: str
    bytes: int
    array_bytes: int


@dataclass(frozen=True, slots=True)
class KernelProgram:
    """A kernel and every function that it calls, as one list of instructions; the kernel begins at index 0.

    Each function ends in an instruction that does not fall through: if execution can reach the end of a body, or a
    label follows its last instruction, a ``ret`` is added with the line of the last brace. ``functions`` contains the
    range of each function: (name, first index, index after the last). ``registers`` are the used registers in order of
    first use; ``symbols`` are the used variables of shared, local and parameter memory.

    ``shared_bytes`` is the size of the declared shared memory on a GPU, and ``dynamic_offset`` the offset of dynamic
    shared memory (``.extern .shared``) there, None if it is not declared; both count from ``shared_begin``, the address
    at which shared variables begin. The emulator separates shared variables by gaps, which must not be accessed:
    `Symbol.offset` is an address and includes them, and dynamic memory begins at ``shared_span``; None means no gaps.
    ``local_bytes`` is the size of a thread's local memory, including parameters of calls.

    ``specials`` are the names of the special registers that the kernel reads. ``refusals`` are the reasons why the
    kernel cannot be executed; an instruction that is refused for its operands is not in ``instructions``.

    ``frames`` has the local memory of each function, in the order of ``functions``, if each call needs its own: the
    kernel calls functions through addresses or recursively, or allocates local memory. Without it, each function has
    one place in the thread's local memory. ``code`` has the offset of each function whose address may be called.
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
    frames: tuple[FunctionFrame, ...] = ()
    code: tuple[tuple[str, int], ...] = ()
    specials: frozenset[str] = frozenset()
    shared_begin: int = 0

    def text(self, line: int) -> str:
        """Return the source of the statement that begins in a line, for display; calls may span several lines."""
        found: list[str] = []
        for one in self.lines[max(line - 1, 0) : line - 1 + _MOST_LINES]:
            found.append(one.strip())
            if ";" in one or not found[-1]:
                break
        return printable(" ".join(" ".join(found).split()))


@dataclass(frozen=True, slots=True)
class ModuleProgram:
    """All kernels of a module, and the initial contents of its global and constant memory.

    ``global_relocations`` and ``const_relocations`` are the positions to which the address of a variable has to be
    written: (offset of the eight bytes, symbol, addend, whether it is the generic address). If an initial value is an
    address that does not exist, the bytes are zeros, and kernels that use the variable are refused. ``file_sizes`` are
    the known sizes of source files in bytes. ``uses_device_heap`` is whether the source declares ``malloc`` or
    ``free``.
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
    uses_device_heap: bool = False
