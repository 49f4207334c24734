# SPDX-License-Identifier: MIT
"""Probe cases of atomic operations: every operation of every type in every space, with inputs that distinguish
rules."""

from collections.abc import Iterator
from itertools import product

import numpy as np

from tools.ptx_scalar_inputs import COUNT, inputs_of
from tools.ptx_text_recording import NAME, Array, TextCase
from wmma_emu.ptx.steps.atomic_table import TYPES
from wmma_emu.ptx.widths import bits_of_type

__all__ = ["atomic_cases"]

SPACES = ("global", "shared", "generic to global", "generic to shared")

VECTORS = {"f32": (2, 4), "f16": (2, 4, 8), "bf16": (2, 4, 8), "f16x2": (2, 4), "bf16x2": (2, 4)}
"""Lengths of the vectors that are added in global memory (PTX ISA 9.1, atom and red)."""

_MEETING = ("add", "and", "or", "xor", "min", "max")
_THREADS = 128
_WARP = 32


def atomic_cases() -> Iterator[TextCase]:
    """Yield every case: single elements, vectors, and a warp that meets at one element."""
    for mnemonic, (name, kinds), space in product(("atom", "red"), TYPES.items(), SPACES):
        if mnemonic == "red" and name in ("exch", "cas"):
            continue
        for kind in kinds:
            yield _case(mnemonic, name, kind, space)
    for mnemonic, space, (kind, lengths) in product(("atom", "red"), SPACES[::2], VECTORS.items()):
        for length in lengths:
            yield _case(mnemonic, "add", kind, space, length)
    for name, space in product(_MEETING, SPACES[:2]):
        for kind in TYPES[name]:
            if kind[0] in "bus" and kind[:2] != "bf":
                yield _case("red", name, kind, space, meeting=True)


def inputs(name: str, kind: str) -> tuple[Array, ...]:
    """Draw what the memory holds, and the operands."""
    drawn = tuple(inputs_of(kind, place) for place in range(3 if name == "cas" else 2))
    if name != "cas":
        return drawn
    # Every other expected value equals the stored one.
    equal = np.arange(COUNT) % 2 == 0
    return drawn[0], np.where(equal, drawn[0], drawn[1]), drawn[2]


def opcode_of(mnemonic: str, name: str, kind: str, space: str, length: int = 1) -> str:
    """Spell an operation."""
    words = [mnemonic, *([] if space.startswith("generic") else [space]), name]
    words += ["noftz"] if "f16" in kind else []
    words += [f"v{length}"] if length > 1 else []
    return ".".join([*words, kind])


def _case(mnemonic: str, name: str, kind: str, space: str, length: int = 1, meeting: bool = False) -> TextCase:
    opcode = opcode_of(mnemonic, name, kind, space, length)
    row = opcode + f" {space}" * space.startswith("generic") + " by a warp" * meeting
    given, bits = inputs(name, kind), bits_of_type(kind)
    returns = mnemonic == "atom"
    count = (COUNT // _WARP if meeting else COUNT) * (1 + returns)
    return TextCase(
        (row,), _text(opcode, bits, space, length, len(given), returns, meeting), given, count, f"u{bits // 8}",
        COUNT // length // _THREADS, _THREADS,
    )  # fmt: skip


def _text(opcode: str, bits: int, space: str, length: int, inputs: int, returns: bool, meeting: bool) -> str:
    """Write the kernel: fill the memory, wait, operate, wait, and store what is left and what was returned."""
    size, shared = bits // 8, space.endswith("shared")
    step = size * length
    names = [f"in{i}" for i in range(inputs)]
    lines = [
        f".visible .entry {NAME}({', '.join(f'.param .u64 {x}' for x in [*names, 'out'])}) {{",
        f".reg .b32 %r<6>; .reg .b64 %a<9>; .reg .pred %p; .reg .b{bits} %old<8>, "
        + ", ".join(f"%{x}_<8>" for x in names) + ";",
        "mov.u32 %r0, %tid.x;",
        "mov.u32 %r1, %ctaid.x;",
        f"mad.lo.u32 %r1, %r1, {_THREADS}, %r0;",
        f"mul.wide.u32 %a0, %r1, {step};",
        "ld.param.u64 %a1, [out];",
    ]  # fmt: skip
    for x in names:
        lines += [f"ld.param.u64 %a2, [{x}];", "add.s64 %a2, %a2, %a0;"]
        lines += [f"ld.global.b{bits} %{x}_{k}, [%a2+{k * size}];" for k in range(length)]
    guard = "@%p " if meeting else ""
    if meeting:
        # The first thread of each warp fills its element, from its own input.
        lines += ["and.b32 %r2, %r0, 31;", "setp.eq.u32 %p, %r2, 0;"]
        lines += ["shr.u32 %r0, %r0, 5;", "shr.u32 %r1, %r1, 5;", f"mul.wide.u32 %a0, %r1, {step};"]
    lines += ["add.s64 %a3, %a1, %a0;"]
    if shared:
        lines += [
            f".shared .align 16 .b8 tile[{_THREADS * step}];", "mov.u64 %a4, tile;", f"mul.wide.u32 %a5, %r0, {step};",
            "add.s64 %a4, %a4, %a5;",
        ]  # fmt: skip
    else:
        lines += ["mov.u64 %a4, %a3;"]
    kind = "shared" if shared else "global"
    lines += [f"{guard}st.{kind}.b{bits} [%a4+{k * size}], %in0_{k};" for k in range(length)]
    lines += ["bar.sync 0;", "mov.u64 %a6, %a4;"]
    if space.startswith("generic"):
        lines += [f"cvta.{kind}.u64 %a6, %a4;"]
    operands = ["[%a6]", *(_vector(x + "_", length) for x in names[1:])]
    lines += [f"{opcode} {', '.join(([_vector('old', length)] if returns else []) + operands)};", "bar.sync 0;"]
    for k in range(length):
        if shared:
            lines += [f"{guard}ld.shared.b{bits} %in0_{k}, [%a4+{k * size}];"]
            lines += [f"{guard}st.global.b{bits} [%a3+{k * size}], %in0_{k};"]
        if returns:
            lines += [f"st.global.b{bits} [%a3+{COUNT * size + k * size}], %old{k};"]
    return "\n".join([*lines, "ret;", "}", ""])


def _vector(name: str, length: int) -> str:
    registers = [f"%{name}{k}" for k in range(length)]
    return registers[0] if length == 1 else "{" + ", ".join(registers) + "}"
