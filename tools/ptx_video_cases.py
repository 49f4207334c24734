# SPDX-License-Identifier: MIT
"""Probe cases of video instructions: every spelling without selectors and negated operands.

The emulator supports the spellings whose results agree with the PTX ISA.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from tools.ptx_scalar_inputs import inputs_of
from tools.ptx_text_recording import NAME, Array, TextCase, results_of
from wmma_emu.ptx.steps.values import ALL_VIDEO_ENTRIES

__all__ = ["emulated_rows", "spellings", "video_cases"]

COUNT = 5120
"""Inputs of each spelling."""

_THREADS = 128
_ROWS = 16


def spellings() -> list[str]:
    """Spell every video instruction that ptxas takes."""
    kinds, second, comparisons = "u32|s32", "-|add|min|max", "eq|ne|lt|le|gt|ge"
    types = f"{kinds} {kinds} {kinds}"
    simd = "|".join(f"{x}{i}" for x in ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax") for i in (2, 4))
    syntax = {
        simd: f"{types} -|sat|add",
        "vset2|vset4": f"{kinds} {kinds} {comparisons} -|add",
        "vadd|vsub|vabsdiff|vmin|vmax": f"{types} -|sat {second}",
        "vshl|vshr": f"{kinds} {kinds} u32 -|sat clamp|wrap {second}",
        "vset": f"{kinds} {kinds} {comparisons} {second}",
        "vmad": f"{types} -|po -|sat -|shr7|shr15",
    }
    return [x for mnemonics, slots in syntax.items() for x in _opcodes(mnemonics, slots)]


def _opcodes(mnemonics: str, slots: str) -> list[str]:
    choices = [[x.strip("-") for x in slot.split("|")] for slot in slots.split()]
    return [".".join(filter(None, words)) for words in product(mnemonics.split("|"), *choices)]


def emulated_rows(case: TextCase) -> dict[str, Array]:
    """Return the results of the spellings that the emulator supports."""
    rows = tuple(x for x in case.rows if x in ALL_VIDEO_ENTRIES)
    return results_of(replace(case, rows=rows, text=_text(rows))) if rows else {}


def video_cases() -> Iterator[TextCase]:
    """Yield kernels of a few spellings each."""
    names = spellings()
    inputs = tuple(inputs_of("b32", place)[:COUNT] for place in range(3))
    for first in range(0, len(names), _ROWS):
        rows = tuple(names[first : first + _ROWS])
        yield TextCase(rows, _text(rows), inputs, COUNT, "u4", COUNT // _THREADS, _THREADS)


def operands_of(opcode: str) -> int:
    """Count the sources: two of an instruction on words without a second operation, else three."""
    mnemonic, *words = opcode.split(".")
    has_second = words[-1] in ("add", "min", "max")
    return 3 if mnemonic[-1] in "24" or mnemonic == "vmad" or has_second else 2


def _text(rows: tuple[str, ...]) -> str:
    lines = [
        f".visible .entry {NAME}(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 out) {{",
        ".reg .b32 %r<8>; .reg .b64 %a<4>;",
        "mov.u32 %r0, %tid.x;",
        "mov.u32 %r1, %ctaid.x;",
        f"mad.lo.u32 %r1, %r1, {_THREADS}, %r0;",
        "mul.wide.u32 %a0, %r1, 4;",
    ]
    for i, name in enumerate("abc"):
        lines += [f"ld.param.u64 %a1, [{name}];", "add.s64 %a1, %a1, %a0;", f"ld.global.b32 %r{i + 2}, [%a1];"]
    lines += ["ld.param.u64 %a1, [out];", "add.s64 %a1, %a1, %a0;"]
    for i, opcode in enumerate(rows):
        sources = ", ".join(f"%r{k + 2}" for k in range(operands_of(opcode)))
        lines += [f"{opcode} %r5, {sources};", f"st.global.b32 [%a1+{4 * COUNT * i}], %r5;"]
    return "\n".join([*lines, "ret;", "}", ""])
