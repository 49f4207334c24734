# SPDX-License-Identifier: MIT
"""PTX's ``cvt`` for the registers of any number of lanes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, ShapeError, UnsupportedInstructionError, shorten
from wmma_emu.formats import Format, Overflow, Rounding, format_of, round_pack, unpack
from wmma_emu.formats.arrays import is_masked, is_numpy
from wmma_emu.formats.rounding import Bits
from wmma_emu.scalar.conversion import convert, convert_scaled
from wmma_emu.scalar.cvt_integers import float_from_integer, integer_from_float, integer_from_integer, round_to_whole
from wmma_emu.scalar.cvt_lookup import lookup_cvt
from wmma_emu.scalar.cvt_table import CVT_TYPES, CvtForm, CvtType

_ROUNDINGS: dict[str, Rounding] = {"": "RNE", "rn": "RNE", "rz": "RZ", "rm": "RD", "rp": "RU", "rna": "RNA"}
_ROUNDINGS |= {f"{x}i": _ROUNDINGS[x] for x in ("rn", "rz", "rm", "rp")}

STOCHASTIC = (
    "rounds stochastically, which is not modelled: the PTX manual does not say in its text how two elements share "
    "random bits, and no recording exists"
)
"""The reason why forms with ``.rs`` are refused."""

_F32 = format_of("f32")
_F32_WITHOUT_SUBNORMALS = Format("f32", "float", 35, True, 11, 23, 1023, True, "ieee", canonical_nan=(1 << 34) - 1)
"""f32 with unbounded exponents, to find results that are too small for a normal number."""

_TF32_UNIT = 0x2000
"""The last significant bit of tf32."""


def cvt(
    a: Bits, instruction: str, b: Bits | None = None, *, scale: Bits | None = None, arch: object = "sm_90"
) -> NDArray[Any]:
    """Convert a register from one type to another, as PTX's ``cvt`` does on a chip.

    Parameters
    ----------
    a : unsigned integer array
        Patterns of the source type, in its width; integers may be in wider registers, whose upper bits are ignored.
        Packed types have their first element in the lowest bits.
    instruction : str
        The whole mnemonic, ``"cvt.rn.satfinite.e4m3x2.f32"``.
    b : unsigned integer array, optional
        The second source, if two f32 become one packed register: a goes to its upper half, b to its lower half.
    scale : unsigned integer array, optional
        Two ue8m0 scales in 16 bits, for the forms with ``.scaled::n2::ue8m0``; the lower one is the scale of the lowest
        element.
    arch : str or Arch
        The chip, by its PTX target.

    Returns
    -------
    unsigned integer array
        Patterns of the target type, in its width (tf32 and two f16: 32; two e4m3: 16; two e2m1: 8).

    Raises
    ------
    UnsupportedInstructionError
        If the chip does not support the form, or for stochastic rounding (``.rs``), which is not modelled.
    FragmentMismatchError
        If a source is missing, or has another width.

    Notes
    -----
    PTX ISA 9.0, cvt. Float to integer clamps; NaN becomes 0, but only the top bit is set if the source is f64 or the
    target has 64 bits. ``.sat`` clamps integers to their range and floats to [+0, 1], and NaN becomes +0. ``.ftz``
    flushes subnormal f32 sources and results to zeros of their sign (except from f32 to f16, where the machine code is
    the same without it); an f64 is rounded to 24 bits before it is compared with the smallest normal number.
    ``.relu`` makes negative results +0. `CvtForm.nan` defines the handling of NaN in other cases.

    Examples
    --------
    >>> one, huge = np.array([0x3F800000], np.uint32), np.array([0xC7000000], np.uint32)
    >>> [hex(x) for x in cvt(one, "cvt.rn.satfinite.e4m3x2.f32", huge)]
    ['0x38fe']
    >>> [hex(x) for x in cvt(np.array([0x3E99999A, 0x7FC00001], np.uint32), "cvt.rpi.u32.f32")]
    ['0x1', '0x0']
    """
    form = lookup_cvt(instruction, arch)
    if form.rounding == "rs":
        raise UnsupportedInstructionError(
            f"{instruction!r} {STOCHASTIC}. Use "
            f"{form.mnemonic.replace('.rs', '.rn', 1).replace('x4', 'x2')!r}, which rounds to nearest"
        )
    source, target = CVT_TYPES[form.source], CVT_TYPES[form.target]
    sources = [_register(a, source, instruction, "a")]
    if form.num_operands == 2:
        if b is None:
            raise ArgumentError(
                f"{instruction!r} has two sources: a, which goes to the upper half of the result, and b, which goes "
                "to the lower half; pass b too"
            )
        sources = [_register(b, source, instruction, "b"), *sources]
    elif b is not None:
        raise ArgumentError(f"{instruction!r} has one source; leave b out")
    elements = sources if len(sources) > 1 else _elements(sources[0], source)
    scales = _scales(scale, form, instruction)
    try:
        np.broadcast_shapes(*(x.shape for x in (*elements, *scales)))
    except ValueError:
        names = ("a",) if len(sources) == 1 else ("b", "a")
        given = [*zip(names, sources, strict=True), *(("scale", x) for x in scales[:1])]
        shapes = ", ".join(f"{name} {x.shape}" for name, x in given)
        raise ShapeError(f"the shapes of the sources do not broadcast: {shapes}") from None
    word: Any = None
    for i, bits in enumerate(elements):
        if scales:
            bits, factor = np.broadcast_arrays(bits, scales[i])
            converted = _scaled(np.atleast_1d(bits), np.atleast_1d(factor), source.element, target.element, form)
        else:
            converted = _convert(np.atleast_1d(bits), source.element, target.element, form)
        part = converted.reshape(bits.shape).astype(np.uint64)
        word = part if word is None else word | part << np.uint64(i * target.slot_bits)
    result: NDArray[Any] = word.astype(f"u{target.bits // 8}")[...]
    return result


def _scales(scale: Any, form: CvtForm, instruction: str) -> list[Bits]:
    """Unpack the scales of a form that has them, the lowest first."""
    if not form.is_scaled:
        if scale is not None:
            raise ArgumentError(f"{instruction!r} has no scales; leave scale out")
        return []
    if scale is None:
        raise ArgumentError(f"{instruction!r} multiplies by two ue8m0 scales; pass scale, an array of uint16")
    kind = CVT_TYPES["ue8m0x2"]
    return _elements(_register(scale, kind, instruction, "scale"), kind)


def _scaled(bits: Bits, scales: Bits, source: Format, target: Format, form: CvtForm) -> Bits:
    """Convert one scaled element of each register."""
    overflow: Overflow = "saturate" if "satfinite" in form.modifiers else "ieee"
    result = convert_scaled(bits, scales, source, target, _ROUNDINGS[form.rounding], overflow)
    return _relu(result, target) if "relu" in form.modifiers else result


def _register(bits: Any, source: CvtType, instruction: str, name: str) -> Bits:
    """Check a source and keep its significant bits."""
    width = source.bits
    array = is_numpy(bits) and not is_masked(bits)
    if not array or bits.dtype.kind != "u":
        given = shorten(bits.dtype, str) if array else type(bits).__name__
        raise ArgumentError(
            f"{name} of {instruction!r} holds {source.name} patterns, unsigned integers of {width} bits, not {given}; "
            "wmma_emu.formats.dtypes.to_bits converts other arrays, .view(...) signed ones"
        )
    given_bits = bits.dtype.itemsize * 8
    if given_bits < width or (source.element.is_float and given_bits != width):
        raise ArgumentError(
            f"{name} of {instruction!r} holds {source.name}, {width} bits a register, not {shorten(bits.dtype, str)}; "
            f"pass uint{width}"
        )
    word: Bits = bits[...]
    return (
        word
        if word.dtype.itemsize * 8 == width
        else (word & word.dtype.type((1 << width) - 1)).astype(f"u{width // 8}")
    )


def _elements(word: Bits, source: CvtType) -> list[Bits]:
    """Unpack a register, lowest element first."""
    if source.count == 1:
        return [word]
    mask = np.uint64(source.element.mask)
    wide = word.astype(np.uint64)
    shifts = (np.uint64(i * source.slot_bits) for i in range(source.count))
    return [((wide >> shift) & mask).astype(source.element.storage) for shift in shifts]


def _convert(bits: Bits, source: Format, target: Format, form: CvtForm) -> Bits:
    """Convert one element of each register."""
    ftz, sat = form.flushes, "sat" in form.modifiers
    if ftz and source == _F32:
        bits = _flush(bits)
    rounding = _ROUNDINGS[form.rounding]
    if not target.is_float:
        if not source.is_float:
            return integer_from_integer(bits, source, target, saturate=sat)
        return integer_from_float(bits, source, target, rounding)
    result = _to_float(bits, source, target, rounding, form)
    if ftz and target == _F32:
        result = _flush(result, _tiny(bits, source, rounding))
    if sat:
        result = _saturate(result, target)
    return _relu(result, target) if "relu" in form.modifiers else result


def _relu(bits: Bits, fmt: Format) -> Bits:
    """Replace negative numbers by +0."""
    negative = (bits & bits.dtype.type(fmt.sign_mask)) != 0
    return np.where(negative & ~_is_nan(bits, fmt), bits.dtype.type(0), bits)


def _to_float(bits: Bits, source: Format, target: Format, rounding: Rounding, form: CvtForm) -> Bits:
    if not source.is_float:
        return float_from_integer(bits, source, target, rounding)
    saturate = "satfinite" in form.modifiers
    if form.rounding.endswith("i"):
        result = round_to_whole(bits, source, rounding)
    elif source == target:
        u = unpack(bits, source)
        result = bits if form.nan == "kept" else np.where(u.is_nan, bits.dtype.type(source.canonical_nan), bits)
    else:
        result = convert(bits, source, target, rounding, "saturate" if saturate else "ieee")
    if form.nan == "moved":
        result = np.where(_is_nan(bits, source), _moved_nan(bits, source, target, form), result)
    if form.nan == "kept" and source != target:
        moved = bits.astype(target.storage) << target.storage.type(target.bits - source.bits)
        result = np.where(_is_nan(bits, source), moved, result)
    if form.nan == "cut" and saturate:
        # Numbers that are infinite after truncation, and NaN, lose the last significant bit.
        nan = _is_nan(bits, source)
        result = np.where(nan, result - target.storage.type(_TF32_UNIT), result)
    return result.astype(target.storage, copy=False)


def _moved_nan(bits: Bits, source: Format, target: Format, form: CvtForm) -> Bits:
    """Return a quiet NaN with the sign and the upper bits of the payload; .ftz first makes an f32 NaN canonical."""
    if form.flushes and source == _F32:
        bits = np.full_like(bits, _F32.canonical_nan)
    payload = (bits & bits.dtype.type((1 << source.fraction_bits) - 1)).astype(np.uint64)
    up = target.fraction_bits - source.fraction_bits
    payload = payload << np.uint64(up) if up >= 0 else payload >> np.uint64(-up)
    sign = ((bits & bits.dtype.type(source.sign_mask)) != 0) * np.uint64(target.sign_mask)
    quiet = np.uint64(target.infinity | 1 << (target.fraction_bits - 1))
    word: Bits = (sign | quiet | payload).astype(target.storage)
    return word


def _flush(bits: Bits, tiny: NDArray[np.bool_] | None = None) -> Bits:
    """Flush subnormal f32, and the results marked as ``tiny``, to zeros of their sign."""
    sign = bits & np.uint32(_F32.sign_mask)
    small = (bits ^ sign) < np.uint32(1 << _F32.fraction_bits)
    return np.where(small if tiny is None else small | tiny, sign, bits)


def _tiny(bits: Bits, source: Format, rounding: Rounding) -> NDArray[np.bool_] | None:
    """Return which f64 are below the smallest normal f32 even after rounding to its significand."""
    if source.name != "f64":
        return None
    u = unpack(bits, source)
    word = round_pack(u.sign, u.significand, u.exponent - source.fraction_bits, _F32_WITHOUT_SUBNORMALS, rounding)
    magnitude = word & np.uint64(_F32_WITHOUT_SUBNORMALS.sign_mask - 1)
    smallest = (_F32.emin + _F32_WITHOUT_SUBNORMALS.bias) << _F32.fraction_bits
    below: NDArray[np.bool_] = (magnitude < np.uint64(smallest)) & ~(u.is_nan | u.is_infinity)
    return below


def _saturate(bits: Bits, fmt: Format) -> Bits:
    """Clamp to [+0, 1]; NaN becomes +0."""
    one = bits.dtype.type(fmt.bias << fmt.fraction_bits)
    zero = bits.dtype.type(0)
    negative = (bits & bits.dtype.type(fmt.sign_mask)) != 0
    return np.where(negative | _is_nan(bits, fmt), zero, np.minimum(bits, one))


def _is_nan(bits: Bits, fmt: Format) -> NDArray[np.bool_]:
    return unpack(bits, fmt).is_nan
