# SPDX-License-Identifier: MIT
"""The stack of a thread: the size of each function's frame, and the registers that a call keeps in it."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from wmma_emu.ptx.program.flow import Blocks, reads, writes
from wmma_emu.ptx.program.frames import components, cyclic
from wmma_emu.ptx.program.program import FunctionFrame, KernelProgram, Register
from wmma_emu.ptx.program.sizes import align
from wmma_emu.ptx.widths import bits_of_type

_KEPT_BYTES = 8
"""The bytes of the frame for each register that a call keeps."""

_RETURN_ADDRESS = 8
"""The bytes of a return address on a GPU."""

FRAME_ALIGNMENT = 16


@dataclass(frozen=True, slots=True)
class FrameLayout:
    """The frame of a function: the variables, then the registers that its calls keep.

    ``bytes`` is its size, ``kept_at`` the offset of the registers. ``counted`` is the size that counts towards the
    stack limit: on a GPU parameters are passed in registers, and only ``.local`` variables, the return address and the
    registers that a call keeps take memory.
    """

    name: str
    bytes: int
    kept_at: int
    counted: int


@dataclass(frozen=True, slots=True)
class StackLayout:
    """The frames of a kernel and its functions.

    ``frames`` are keyed by the first instruction of the function, and ``starts`` are these in order. ``kept`` are the
    registers that each call of a function that may call itself has to keep, by the index of the call; ``addresses`` the
    first instruction of each function by its offset in code. ``bytes`` is the stack that calls take if no function
    calls itself, ``counted`` the same as counted for the limit; without such calls they are the most that is needed.
    """

    frames: Mapping[int, FrameLayout]
    starts: Sequence[int]
    kept: Mapping[int, tuple[Register, ...]]
    addresses: Mapping[int, int]
    bytes: int
    counted: int
    repeated: frozenset[int] = field(default_factory=frozenset)
    allocates: bool = False

    def frame_at(self, pc: int) -> FrameLayout:
        """Return the frame of the function that contains an instruction."""
        return self.frames[self.starts[bisect_right(self.starts, pc) - 1]]

    def bytes_for(self, limit: int) -> int:
        """Return the local memory of a thread whose stack has a limit."""
        ratio = max((-(-self.frames[x].bytes // max(self.frames[x].counted, 1)) for x in self.repeated), default=0)
        return self.bytes + (max(ratio, 1) * limit if self.repeated or self.allocates else 0)

    def limit(self, given: int) -> int:
        """Return the most bytes that may be counted: a larger need that is known in advance is provided for."""
        return max(given, self.counted)


def stack_layout(program: KernelProgram) -> StackLayout | None:
    """Lay out the frames of a program; None if its functions have one place each.

    Examples
    --------
    >>> stack_layout(KernelProgram("k", (), 0, (), (), (), 0, None, 16, None, None, ())) is None
    True
    """
    if not program.frames:
        return None
    starts = [first for _, first, _ in program.functions]
    calls = _calls(program, starts)
    names = {first: name for name, first, _ in program.functions}
    repeated = cyclic({str(x): [str(y) for y in called] for x, called in calls.items()})
    again = frozenset(int(x) for x in repeated)
    kept = _kept(program, again) if again else {}
    locals_ = {x.name: x for x in program.frames}
    frames = {
        first: _frame(locals_[name], [kept[pc] for pc in range(first, behind) if pc in kept], bool(calls[first]))
        for name, first, behind in program.functions
    }
    most: dict[int, tuple[int, int]] = {}
    for group in components({str(x): [str(y) for y in called] for x, called in calls.items()}):
        members = [int(x) for x in group]
        below = [most[y] for x in members for y in calls[x] if y in most]
        size = sum(frames[x].bytes for x in members) + max((x for x, _ in below), default=0)
        counted = sum(frames[x].counted for x in members) + max((x for _, x in below), default=0)
        most.update(dict.fromkeys(members, (size, counted)))
    code, first_of = dict(program.code), {name: first for first, name in names.items()}
    return StackLayout(
        frames, starts, kept, {code[x]: first_of[x] for x in code}, *most[starts[0]], again,
        any(x.mnemonic == "alloca" for x in program.instructions),
    )  # fmt: skip


def _calls(program: KernelProgram, starts: Sequence[int]) -> dict[int, list[int]]:
    """Return the functions that each function calls, all by their first instruction."""
    calls: dict[int, list[int]] = {x: [] for x in starts}
    for pc, instruction in enumerate(program.instructions):
        if instruction.mnemonic == "call":
            called = instruction.targets if instruction.callee is None else (instruction.callee,)
            calls[starts[bisect_right(starts, pc) - 1]] += called
    return {x: list(dict.fromkeys(called)) for x, called in calls.items()}


def _kept(program: KernelProgram, repeated: frozenset[int]) -> dict[int, tuple[Register, ...]]:
    """Return the registers of each repeated function that are read after one of its calls."""
    code = program.instructions
    blocks = Blocks(code)
    live = {span[-1]: x for span, x in zip(blocks.spans, blocks.live, strict=True)}
    found = {}
    for _, first, behind in program.functions:
        if first not in repeated:
            continue
        own = {x for pc in range(first, behind) for x in (*reads(code[pc]), *writes(code[pc]))}
        for pc in range(first, behind):
            if code[pc].mnemonic == "call" and (code[pc].callee is not None or code[pc].targets):
                found[pc] = tuple(program.registers[x] for x in sorted(own) if live[pc] >> x & 1)
    return found


def _frame(frame: FunctionFrame, kept: Sequence[tuple[Register, ...]], calls: bool) -> FrameLayout:
    kept_at = align(frame.bytes, _KEPT_BYTES)
    size = align(kept_at + _KEPT_BYTES * max(map(len, kept), default=0), FRAME_ALIGNMENT)
    sizes = [sum(bits_of_type(x.type) // 8 for x in registers if x.type != "pred") for registers in kept]
    on_gpu = max(sizes, default=0)
    counted = align(frame.array_bytes + on_gpu, 4) + _RETURN_ADDRESS * calls
    return FrameLayout(frame.name, size, kept_at, counted)
