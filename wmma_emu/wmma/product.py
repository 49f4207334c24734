# SPDX-License-Identifier: MIT
"""`mma_sync` and `bmma_sync`: D = A B + C on fragments."""

from functools import cache
from typing import Literal, NamedTuple

import numpy as np

from wmma_emu.display import warn_caller
from wmma_emu.errors import (
    FragmentMismatchError,
    OptionError,
    UnspecifiedBehaviourWarning,
    UnsupportedInstructionError,
    UnverifiedModelWarning,
    shorten,
)
from wmma_emu.formats.codec import Bits
from wmma_emu.instructions import INSTRUCTIONS, Instruction
from wmma_emu.instructions.refusals import unsupported_on
from wmma_emu.scalar import convert
from wmma_emu.suggestions import listed
from wmma_emu.warp import BoundInstruction
from wmma_emu.wmma.fragments import Fragment, require_fragment
from wmma_emu.wmma.names import AccumulateOp, BitOp, FragmentUse, element_type_of_format
from wmma_emu.wmma.saturation import Effect, hardware_effect, saturate_as_documented


def mma_sync(
    d: Fragment,
    a: Fragment,
    b: Fragment,
    c: Fragment,
    satf: bool | Literal["hardware"] = False,
    engine: str = "auto",
) -> None:
    """Multiply two fragments and add a third: D = A B + C, bit for bit as on the chip.

    Parameters
    ----------
    d : Fragment
        It receives the result, in place if its batch of warps is unchanged; may be ``c``.
    a, b, c : Fragment
        The operands. Batches of warps broadcast.
    satf : bool or "hardware"
        Whether to saturate. Integers are clamped to 32 bits, instead of wrapped. With f16 products, True replaces
        infinities of D by the largest finite numbers and NaN by +0, as documented in the CUDA C++ Programming Guide,
        with a warning: chips since sm_80 do not. ``"hardware"`` does what the chip does: on sm_90 nothing, except that
        with C in float and D in half the sums are rounded toward zero, so that finite sums stay finite.
    engine : {"auto", "reference", "numpy", "native", "cupy"}

    Raises
    ------
    FragmentMismatchError
        If the fragments do not match, or one that is read is uninitialised.
    UnsupportedInstructionError
        If the types have no ``satf`` (bf16, tf32, f64), or the chip's behaviour is not known.

    Examples
    --------
    >>> from wmma_emu import wmma
    >>> a = wmma.fragment(wmma.matrix_a, 16, 16, 16, wmma.int8, wmma.row_major)
    >>> b = wmma.fragment(wmma.matrix_b, 16, 16, 16, wmma.int8, wmma.col_major)
    >>> c = wmma.fragment(wmma.accumulator, 16, 16, 16, wmma.int32)
    >>> for frag, value in (a, 100), (b, 100), (c, 2**31 - 1): wmma.fill_fragment(frag, value)
    >>> wmma.mma_sync(c, a, b, c, satf=True)
    >>> hex(c.x[0, 0])
    '0x7fffffff'
    """
    _require_operands(d, a, b, c)
    if a.format.name == "b1":
        raise FragmentMismatchError("single bits are multiplied by bmma_sync(d, a, b, c, op), not by mma_sync")
    modifiers = ("satfinite",) if _saturates_integers(satf, a) else ()
    effect = _effect_on_floats(satf, d, a, c)
    entry = _row(d, a, b, c, modifiers)
    if effect == "truncated":
        wide = _execute(_overloads()[_key(entry)._replace(d="f32")], a, b, c, engine)
        d.write_bits(convert(wide, "f32", d.format, "RZ"))
        return
    result = _execute(entry, a, b, c, engine)
    d.write_bits(saturate_as_documented(result, d.format) if effect == "documented" else result)


def bmma_sync(
    d: Fragment,
    a: Fragment,
    b: Fragment,
    c: Fragment,
    op: BitOp = BitOp.bmmaBitOpXOR,
    accumulate: AccumulateOp = AccumulateOp.bmmaAccumulateOpPOPC,
    engine: str = "auto",
) -> None:
    """Multiply matrices of single bits: D = C + the number of ones in (a op b).

    Parameters
    ----------
    d, a, b, c : Fragment
        As for `mma_sync`.
    op : {bmmaBitOpXOR, bmmaBitOpAND}
        The operation; AND exists since sm_80.
    accumulate : {bmmaAccumulateOpPOPC}
    engine : {"auto", "reference", "numpy", "native", "cupy"}

    Raises
    ------
    FragmentMismatchError
        If the fragments do not match, or one that is read is uninitialised.
    UnsupportedInstructionError
        If the operation does not exist, or the chip does not support it.

    Examples
    --------
    >>> from wmma_emu import wmma
    >>> b1 = wmma.experimental.precision.b1
    >>> a = wmma.fragment(wmma.matrix_a, 8, 8, 128, b1, wmma.row_major)
    >>> b = wmma.fragment(wmma.matrix_b, 8, 8, 128, b1, wmma.col_major)
    >>> c = wmma.fragment(wmma.accumulator, 8, 8, 128, wmma.int32)
    >>> for frag, value in (a, 1), (b, 1), (c, 0): wmma.fill_fragment(frag, value)
    >>> wmma.bmma_sync(c, a, b, c, wmma.experimental.bmmaBitOpAND)
    >>> c.x[0, 0]
    np.int32(128)
    """
    _require_operands(d, a, b, c)
    if a.format.name != "b1":
        raise FragmentMismatchError(f"bmma_sync multiplies single bits; a is a {a.cpp_type}: use mma_sync")
    if not isinstance(op, BitOp):
        raise OptionError(f"there is no operation {shorten(op)}; the operations are {' and '.join(map(repr, BitOp))}")
    if not isinstance(accumulate, AccumulateOp):
        raise OptionError(
            f"there is no accumulation {shorten(accumulate)}; the only one is {AccumulateOp.bmmaAccumulateOpPOPC}"
        )
    d.write_bits(_execute(_row(d, a, b, c, (op.value,)), a, b, c, engine))


def _execute(instruction: Instruction, a: Fragment, b: Fragment, c: Fragment, engine: str) -> Bits:
    elements = [frag.bits(name) for name, frag in (("a", a), ("b", b), ("c", c))]
    return BoundInstruction(instruction, a.arch).execute_elements(*elements, engine=engine)


def _require_operands(d: object, a: object, b: object, c: object) -> None:
    """Reject fragments whose use, shape or chip is not the product's."""
    uses = FragmentUse.accumulator, FragmentUse.matrix_a, FragmentUse.matrix_b, FragmentUse.accumulator
    frags = [require_fragment(x, name, use) for x, name, use in zip((d, a, b, c), "dabc", uses, strict=True)]
    shapes = {name: f"{x.m} x {x.n} x {x.k}" for name, x in zip("dabc", frags, strict=True)}
    if len(set(shapes.values())) > 1:
        raise FragmentMismatchError(f"the fragments are of different products, m x n x k: {_listed(shapes)}")
    chips = {name: str(x.arch) for name, x in zip("dabc", frags, strict=True)}
    if len(set(chips.values())) > 1:
        raise FragmentMismatchError(
            f"the fragments are of different chips, whose registers differ: {_listed(chips)}; pass one arch= to all"
        )


def _listed(values: dict[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


class _Key(NamedTuple):
    """The properties of an instruction that the types of the fragments determine."""

    shape: str
    d: str
    a: str
    b: str
    c: str
    a_layout: str | None
    b_layout: str | None
    modifiers: tuple[str, ...]


def _key(x: Instruction) -> _Key:
    return _Key(x.shape, x.d, x.a, x.b, x.c, x.a_layout, x.b_layout, x.modifiers)


@cache
def _overloads() -> dict[_Key, Instruction]:
    """Return every WMMA instruction, keyed by the types of its fragments."""
    return {_key(x): x for x in INSTRUCTIONS.values() if x.family == "wmma.mma"}


def _row(d: Fragment, a: Fragment, b: Fragment, c: Fragment, modifiers: tuple[str, ...]) -> Instruction:
    shape = f"m{a.m}n{a.n}k{a.k}"
    formats = (d.format.name, a.format.name, b.format.name, c.format.name)
    a_order, b_order = (None if x.layout is None else x.layout.order for x in (a, b))
    entry = _overloads().get(_Key(shape, *formats, a_order, b_order, modifiers))
    if entry is None:
        raise FragmentMismatchError(_no_overload(shape, formats))
    if a.arch.name not in entry.archs:
        raise UnsupportedInstructionError(unsupported_on(a.arch, entry.mnemonic, entry.archs))
    return entry


def _no_overload(shape: str, given: tuple[str, ...]) -> str:
    """Return the message for formats of d, a, b and c that are not multiplied: the nearest fix, and the legal ones."""
    legal = list(dict.fromkeys((x.d, x.a, x.b, x.c) for x in _overloads() if x.shape == shape))
    near = max(legal, key=lambda formats: sum(map(str.__eq__, formats, given)))
    changed = [x for x in zip("dabc", given, near, strict=True) if x[1] != x[2]]
    changes = [f"{name} {element_type_of_format(new)}" for name, _, new in changed]
    same = [_names(formats) for formats in legal if formats[1] == given[1]]
    return (
        f"{'bmma_sync' if given[1] == 'b1' else 'mma_sync'}(d, a, b, c) cannot multiply fragments of {_names(given)}; "
        f"the nearest fix is to make {listed(changes)}; with this a, the types are {listed(same, 'or')}"
    )


def _names(formats: tuple[str, ...]) -> str:
    return f"({', '.join(element_type_of_format(x).name for x in formats)})"


def _saturates_integers(satf: object, a: Fragment) -> bool:
    """Return whether the instruction's own ``.satfinite`` is requested, after checking ``satf``."""
    if not isinstance(satf, bool | np.bool_) and not (isinstance(satf, str) and satf == "hardware"):
        raise OptionError(f"satf is True, False or 'hardware', not {shorten(satf)}")
    return a.format.kind == "integer" and bool(satf)


def _effect_on_floats(satf: object, d: Fragment, a: Fragment, c: Fragment) -> Effect:
    """Return the effect on a floating-point D: as documented for f16 products, or as on the chip."""
    if not satf or a.format.kind == "integer":
        return "none"
    if a.format.name != "f16":
        raise OptionError(
            f"mma_sync of {a.type} has no satf, {shorten(satf)} was given; integers and half have it: omit it"
        )
    if satf == "hardware":
        entry = hardware_effect(a.arch.name, d.format.name, c.format.name)
        if entry.status == "inferred":
            warn_caller(f"the effect of satf on {a.arch} is inferred: {entry.source}", UnverifiedModelWarning)
        return entry.effect
    warn_caller(
        "satf=True on f16 products has the effect described in the CUDA C++ Programming Guide; mma.h of CUDA 13 has no "
        "such overload, and satf='hardware' has the effect of the chip",
        UnspecifiedBehaviourWarning,
    )
    return "documented"
