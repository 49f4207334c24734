# SPDX-License-Identifier: MIT
"""Lookup of instructions: by mnemonic, by properties, and the default for given operands."""

from collections.abc import Iterable
from functools import cache

from wmma_emu.errors import UnknownNameError, UnsupportedInstructionError
from wmma_emu.formats import Format, format_of
from wmma_emu.instructions.arch import ARCHS, arch_of
from wmma_emu.instructions.parse import MnemonicParts, parse
from wmma_emu.instructions.refusals import unsupported_on
from wmma_emu.instructions.spec import Arch, Instruction
from wmma_emu.instructions.suggest import absence, refusal, shapes_in_words
from wmma_emu.instructions.table import INSTRUCTIONS
from wmma_emu.instructions.tensor import TENSOR_KINDS, tensor_instruction_named

_Key = tuple[str, str, tuple[str, ...], tuple[str, ...], frozenset[str]]


@cache
def _entries(shape: str) -> dict[_Key, Instruction]:
    """Return every instruction of a shape, keyed by the parts of its mnemonic in any order."""
    return {_key(parse(name)): entry for name, entry in INSTRUCTIONS.items() if entry.shape == shape}


def _key(parts: MnemonicParts) -> _Key:
    layouts = parts.layouts or (() if parts.family.startswith("wgmma") else ("row", "col"))
    return parts.family, ".".join(parts.shapes), layouts, parts.types, frozenset(parts.modifiers)


def lookup(mnemonic: "str | Instruction", arch: "str | Arch | None" = None) -> Instruction:
    """Return an instruction, given its PTX mnemonic.

    Parameters
    ----------
    mnemonic : str
        The full mnemonic, in upper or lower case. ``sync``, ``aligned``, ``mma_async`` and ``row.col`` may be omitted,
        and for `mma.sync` the whole prefix. Modifiers may be anywhere, as the assembler allows. An `Instruction`
        is returned unchanged.
    arch : str or Arch, optional
        A chip that must support it.

    Raises
    ------
    UnsupportedInstructionError
        If the instruction does not exist, or not on this chip; the message names the error and the three nearest
        instructions that exist.

    Examples
    --------
    >>> print(lookup("m16n8k16.f32.bf16.bf16.f32", arch="sm_80"))
    mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
    >>> print(lookup("wmma.mma.m16n16k16.f32.f16"))
    wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16
    >>> lookup("m16n8k16.f16.bf16.bf16.f16")
    Traceback (most recent call last):
        ...
    wmma_emu.errors.UnsupportedInstructionError: there is no 'm16n8k16.f16.bf16.bf16.f16': no mma.sync
    combines f16.bf16.bf16.f16 (d.a.b.c); with bf16 operands there is f32.bf16.bf16.f32. Nearest:
    m16n8k16.f32.bf16.bf16.f32, m16n8k8.f32.bf16.bf16.f32, wmma.mma.m16n16k16.f32.bf16.bf16.f32
    """
    chip = None if arch is None else arch_of(arch)
    if isinstance(mnemonic, str) and mnemonic.strip().lower().startswith("tcgen05.mma"):
        return _of_tensor_memory(tensor_instruction_named(mnemonic), chip)
    if isinstance(mnemonic, Instruction):
        if mnemonic.is_tensor:
            return _of_tensor_memory(mnemonic, chip)
        entry, parts = mnemonic, None
    else:
        parts = parse(mnemonic)
        is_odd = parts.unknown or _repeats(parts.modifiers) or len(parts.shapes) != 1
        found = None if is_odd else _entries(parts.shapes[0]).get(_key(parts))
        if found is None:
            raise UnsupportedInstructionError(refusal(parts, chip))
        entry = found
    if chip is not None and chip.name not in entry.archs:
        raise UnsupportedInstructionError(absence(parts or parse(entry.mnemonic), entry, chip))
    return entry


def _of_tensor_memory(instruction: Instruction, chip: Arch | None) -> Instruction:
    if chip is not None and chip.name not in instruction.archs:
        has_others = any(chip.name in kind.archs for kind in TENSOR_KINDS.values())
        scaled = any(x.is_block_scaled and chip.name in x.archs for x in INSTRUCTIONS.values())
        instead = f"; {chip.name} multiplies with mma.sync" + ", which has block scales too" * scaled
        raise UnsupportedInstructionError(
            unsupported_on(chip, repr(instruction.mnemonic), instruction.archs) + ("" if has_others else instead)
        )
    return instruction


def _repeats(words: Iterable[str]) -> bool:
    words = tuple(words)
    return len(set(words)) != len(words)


def instructions_of(
    arch: "str | Arch | None" = None,
    family: str | None = None,
    shape: str | None = None,
    a: "str | Format | None" = None,
    b: "str | Format | None" = None,
    c: "str | Format | None" = None,
    d: "str | Format | None" = None,
) -> tuple[Instruction, ...]:
    """List the instructions that have all given properties, in the order of the table.

    Raises
    ------
    UnsupportedInstructionError
        If a chip, family, shape or format does not occur in the table.

    Examples
    --------
    >>> [x.shape for x in instructions_of("sm_90", family="mma.sync", a="f16", d="f16", shape="m16n8k16")]
    ['m16n8k16']
    """
    entries: Iterable[Instruction] = INSTRUCTIONS.values()
    if arch is not None:
        chip = arch_of(arch)
        entries = [entry for entry in entries if chip.name in entry.archs]
    if family is not None:
        _known("family", family, {entry.family: None for entry in INSTRUCTIONS.values()})
        entries = [entry for entry in entries if entry.family == family]
    if shape is not None:
        _known("shape", shape, {entry.shape: None for entry in INSTRUCTIONS.values()}, _shapes())
        entries = [entry for entry in entries if entry.shape == shape]
    for operand, wanted in (("a", a), ("b", b), ("c", c), ("d", d)):
        if wanted is not None:
            name = format_of(wanted).name
            entries = [entry for entry in entries if getattr(entry, operand) == name]
    return tuple(entries)


def _known(what: str, given: object, legal: Iterable[str], in_words: str = "") -> None:
    legal = tuple(legal)
    if given not in legal:
        shown = repr(given)[:80]
        raise UnknownNameError(f"there is no {what} {shown}; there is {in_words or ', '.join(legal)}")


@cache
def _shapes() -> str:
    """List all shapes, those of `wgmma` by their rule."""
    entries = INSTRUCTIONS.values()
    return "; ".join(
        shapes_in_words(entry for entry in entries if entry.is_warpgroup == group) for group in (False, True)
    )


def default_instruction(a: "str | Format", b: "str | Format", arch: "str | Arch") -> Instruction:
    """Choose the instruction for operands without a named instruction.

    It is the `mma.sync` of the chip with the largest m, then the largest k, then the widest accumulator, without
    modifiers, among those known to exist; for b1 the one with xor; for FP6 and FP4, which need a kind, the one without
    block scales.

    Raises
    ------
    UnsupportedInstructionError
        For float32, which has no default; for formats that no `mma.sync` multiplies, or none on this chip.

    Examples
    --------
    >>> print(default_instruction("e4m3", "e5m2", "sm_89"))
    mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32
    >>> print(default_instruction("f64", "f64", "sm_80"))
    mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64
    """
    chip, a_format, b_format = arch_of(arch), format_of(a), format_of(b)
    names = f"{a_format.name} times {b_format.name}"
    if "f32" in (a_format.name, b_format.name):
        raise UnsupportedInstructionError(_why_not_float32(chip, a_format, b_format))
    everywhere = [
        entry
        for entry in instructions_of(family="mma.sync", a=a_format, b=b_format)
        if entry.modifiers in ((), ("xor.popc",), ("kind::f8f6f4",))
        and (entry.a_layout, entry.b_layout) == ("row", "col")
    ]
    on_chip = [entry for entry in everywhere if chip.name in entry.archs]
    if on_chip:
        return max(on_chip, key=_rank)
    if everywhere:
        first = next(name for name in ARCHS if any(name in entry.archs for entry in everywhere))
        others = instructions_of(chip, a=a_format, b=b_format)
        hint = f"; on {chip} name instr={others[0].short_mnemonic!r}" if others else ""
        raise UnsupportedInstructionError(
            f"{chip} has no mma.sync that multiplies {names}; the first chip that has one is {first}{hint}"
        )
    partners = sorted({entry.b for entry in instructions_of(family="mma.sync", a=a_format)})
    legal = " or ".join(partners) if partners else "nothing in any instruction of the table"
    raise UnsupportedInstructionError(f"no mma.sync multiplies {names}; {a_format.name} multiplies {legal}")


def _rank(instruction: Instruction) -> tuple[bool, int, int, int, int]:
    return (
        instruction.status != "inferred",
        instruction.m,
        instruction.k,
        instruction.format("d").bits,
        instruction.format("c").bits,
    )


def _why_not_float32(chip: Arch, a: Format, b: Format) -> str:
    """Return the message for float32 matrices, which libraries multiply in two ways but no instruction multiplies."""
    if a != b:
        return f"no instruction multiplies {a} by {b}; bring both matrices to one format, such as bf16"
    fma = (
        "by default PyTorch multiplies float32 tensors with float32 multiply-adds (precision 'highest'), which is "
        "instr='fma.f32'"
    )
    if not instructions_of(chip, a=format_of("tf32")):
        return f"no matrix instruction multiplies f32 by f32; {fma}; {chip} has no TF32"
    return (
        f"no matrix instruction multiplies f32 by f32; {fma}; after torch.set_float32_matmul_precision('high') it is "
        "TF32 on tensor cores, which is instr='m16n8k8.f32.tf32.tf32.f32' and reads 19 of the 32 bits"
    )
