# SPDX-License-Identifier: MIT
"""Conversions: every form of `cvt`, with fast paths for common ones, and `cvt.pack`."""

from collections.abc import Callable

import numpy as np

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.ptx.program.program import PtxInstruction, Register
from wmma_emu.ptx.steps.lane_operations import LaneOperation
from wmma_emu.ptx.steps.operation_entries import Entries, builders, operation_entries
from wmma_emu.ptx.steps.patterns import UNSIGNED, Array, signed
from wmma_emu.ptx.widths import bits_of_type
from wmma_emu.scalar.cvt import STOCHASTIC, cvt
from wmma_emu.scalar.cvt_lookup import lookup_cvt
from wmma_emu.scalar.cvt_table import CVT_FORMS, CVT_TYPES, CvtForm
from wmma_emu.scalar.rounded_half import HALVES


def build_cvt(instruction: PtxInstruction) -> LaneOperation:
    """Return the lane operation of a conversion."""
    if instruction.modifiers[:1] == ("pack",):
        return builders(CONVERSION_ENTRIES)["cvt"](instruction)
    opcode = ".".join(("cvt", *instruction.modifiers))
    form = _lookup(opcode)
    if form.status == "not modelled":
        raise UnsupportedInstructionError(f"{opcode} {STOCHASTIC}")
    source, target = CVT_TYPES[form.source], CVT_TYPES[form.target]
    compute = fast_path(form) or _general_path(form, opcode)
    result = f"b{max(target.bits, 8)}" if target.count > 1 or target.name == "tf32" else target.name
    if result[0] == "s" and target.bits < 64:
        # A narrow signed result is sign-extended to its register.
        width = _register_width(instruction, target.bits)
        if width > target.bits:
            return LaneOperation((f"s{width}",), _sources(form, source.name), _extended(compute, width), form.archs[0])
    return LaneOperation((result,), _sources(form, source.name), compute, form.archs[0])


def _sources(form: CvtForm, name: str) -> tuple[str, ...]:
    kind = CVT_TYPES[name]
    scales = ("b16",) if form.is_scaled else ()
    return ((f"b{kind.bits}" if kind.count > 1 else name),) * form.num_operands + scales


def _lookup(opcode: str) -> CvtForm:
    """Return the form, from any chip that supports it."""
    *words, source = opcode.split(".")
    key = (words[-1], source, frozenset(words[1:-1]))
    return CVT_FORMS[key] if key in CVT_FORMS and len(words) >= 2 else lookup_cvt(opcode, "sm_90")


def _register_width(instruction: PtxInstruction, least: int) -> int:
    target = instruction.operands[0] if instruction.operands else None
    bits = bits_of_type(target.type) if isinstance(target, Register) and target.type != "pred" else least
    return max(least, bits) if bits in UNSIGNED else least  # other widths are refused by the operand checks


def _extended(compute: Callable[..., Array], width: int) -> Callable[..., Array]:
    wide = np.dtype(f"i{width // 8}")
    return lambda *sources: signed(compute(*sources)).astype(wide).view(UNSIGNED[width])


def _general_path(form: CvtForm, opcode: str) -> Callable[..., Array]:
    arch = "sm_90" if "sm_90" in form.archs else form.archs[-1]
    mnemonic = form.mnemonic
    if form.is_scaled:
        return lambda a, scale: cvt(a, mnemonic, scale=scale, arch=arch)
    if form.num_operands == 2:
        return lambda a, b: cvt(a, mnemonic, b, arch=arch)
    return lambda a: cvt(a, mnemonic, arch=arch)


def fast_path(form: CvtForm) -> Callable[..., Array] | None:
    """Return a fast function of a common conversion; None for other conversions.

    Examples
    --------
    >>> form = CVT_FORMS["f16", "f32", frozenset({"rn"})]
    >>> hex(fast_path(form)(np.array([0x3F800000], np.uint32))[0])
    '0x3c00'
    """
    target, source = CVT_TYPES[form.target], CVT_TYPES[form.source]
    if not target.element.is_float and not source.element.is_float and not form.modifiers:
        return _between_integers(source.name, target.bits)
    return _FAST_PATHS.get(form.mnemonic.removeprefix("cvt."))


def _between_integers(source: str, bits: int) -> Callable[[Array], Array]:
    narrow = UNSIGNED[bits]
    if source[0] == "s" and bits_of_type(source) < bits:
        wide = np.dtype(f"i{bits // 8}")
        return lambda a: signed(a).astype(wide).view(narrow)
    return lambda a: a.astype(narrow)


def _half_from_single(name: str) -> Callable[[Array], Array]:
    half = HALVES[name]

    def compute(a: Array) -> Array:
        with np.errstate(all="ignore"):
            return half.round_single(a.view(np.float32))

    return compute


def _halves_from_singles(name: str) -> Callable[[Array, Array], Array]:
    one = _half_from_single(name)
    sixteen = np.uint32(16)
    return lambda a, b: one(a).astype(np.uint32) << sixteen | one(b)


def single_from_half(a: Array) -> Array:
    """Convert f16 to f32; a NaN becomes the canonical NaN."""
    with np.errstate(all="ignore"):
        number = a.view(np.float16).astype(np.float32)
    nan = number != number
    bits = number.view(np.uint32)
    return np.where(nan, np.uint32(0x7FFF_FFFF), bits) if nan.any() else bits


def single_from_bf16(a: Array) -> Array:
    """Convert bf16 to f32, which only appends zero bits."""
    return a.astype(np.uint32) << np.uint32(16)


def _float_from_integer(bits: int, source: str) -> Callable[[Array], Array]:
    number, pattern = np.dtype(f"f{bits // 8}"), UNSIGNED[bits]
    if source[0] == "s":
        return lambda a: signed(a).astype(number).view(pattern)
    return lambda a: a.astype(number).view(pattern)


def _between_floats(source: int, target: int) -> Callable[[Array], Array]:
    """Convert as the processor does: a NaN becomes quiet and keeps its sign and the upper bits of its payload."""
    number, wanted, pattern = np.dtype(f"f{source // 8}"), np.dtype(f"f{target // 8}"), UNSIGNED[target]

    def compute(a: Array) -> Array:
        with np.errstate(all="ignore"):
            return a.view(number).astype(wanted).view(pattern)

    return compute


def _word_from_single(kind: str, rounding: str) -> Callable[[Array], Array]:
    """Round f32 to an integer of 32 bits and clamp it; NaN becomes 0."""
    function: Callable[..., Array] = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}[rounding]
    least, most = (-(2.0**31), 2.0**31 - 1) if kind[0] == "s" else (0.0, 2.0**32 - 1)

    def compute(a: Array) -> Array:
        with np.errstate(all="ignore"):
            whole = function(a.view(np.float32)).astype(np.float64)
            # The comparisons are false for NaN.
            above = np.where(whole >= least, whole, np.where(whole < least, least, 0.0))
            return np.where(above <= most, above, most).astype(np.int64).astype(np.uint32)

    return compute


_INTEGERS = tuple(f"{sign}{bits}" for bits in (8, 16, 32, 64) for sign in "us")

_FAST_PATHS: dict[str, Callable[..., Array]] = {
    "rn.f16.f32": _half_from_single("f16"),
    "rn.bf16.f32": _half_from_single("bf16"),
    "rn.f16x2.f32": _halves_from_singles("f16"),
    "rn.bf16x2.f32": _halves_from_singles("bf16"),
    "f32.f16": single_from_half,
    "f32.bf16": single_from_bf16,
    "f64.f32": _between_floats(32, 64),
    "rn.f32.f64": _between_floats(64, 32),
    **{f"rn.f{bits}.{kind}": _float_from_integer(bits, kind) for bits in (32, 64) for kind in _INTEGERS},
    **{
        f"{rounding}.{kind}.f32": _word_from_single(kind, rounding)
        for rounding in ("rni", "rzi", "rmi", "rpi")
        for kind in ("s32", "u32")
    },
}


def _pack(instruction: PtxInstruction, sat: str, narrow: str, wide: str, rest: str = "") -> LaneOperation:
    clamp, bits = _clamped(narrow), bits_of_type(narrow)
    width, both = np.uint32(bits), np.uint32(2 * bits)
    if not rest:
        return LaneOperation(("u32",), (wide, wide), lambda a, b: clamp(a) << width | clamp(b))
    return LaneOperation(("u32",), (wide, wide, rest), lambda a, b, c: clamp(a) << width | clamp(b) | c << both)


def _clamped(narrow: str) -> Callable[[Array], Array]:
    bits = bits_of_type(narrow)
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if narrow[0] == "s" else (0, (1 << bits) - 1)
    mask = np.uint32((1 << bits) - 1)
    least, most = np.int32(low), np.int32(high)
    return lambda a: np.minimum(np.maximum(signed(a), least), most).view(np.uint32) & mask


CONVERSION_ENTRIES: Entries = {
    **operation_entries("cvt", "pack.sat u16|s16 s32", _pack, "9.7.9.22", first="sm_72"),
    **operation_entries("cvt", "pack.sat u8|s8 s32 b32", _pack, "9.7.9.22", first="sm_72"),
    **operation_entries("cvt", "pack.sat u4|s4|u2|s2 s32 b32", _pack, "9.7.9.22", first="sm_75"),
}
"""The forms of `cvt.pack`; other forms of `cvt` are in `wmma_emu.scalar.cvt_table`."""
