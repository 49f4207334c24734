# SPDX-License-Identifier: MIT
"""Correctly rounded quotients, reciprocals and square roots: ``div``, ``rcp`` and ``sqrt`` with a rounding."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, OptionError, ShapeError
from wmma_emu.formats import Format, Rounding, format_of
from wmma_emu.formats.rounding import Bits
from wmma_emu.formats.spec import check_modes
from wmma_emu.scalar import rounded_double, rounded_single
from wmma_emu.scalar.digits import quotient, root
from wmma_emu.scalar.environment import in_ieee_arithmetic

_FAST = ("RNE", "RZ", "RD", "RU")


def div(a: Bits, b: Bits, fmt: Format | str, rounding: Rounding = "RNE", *, ftz: bool = False) -> Bits:
    """Compute ``a / b`` and round once, like PTX's ``div.rn``, ``div.rz``, ``div.rm`` and ``div.rp``.

    Parameters
    ----------
    a, b : unsigned integer arrays that broadcast together
        Patterns of the format.
    fmt : Format or str
        A floating-point format with infinities; PTX divides f32 and f64.
    rounding : {"RNE", "RZ", "RD", "RU", "RNA", "odd"}
    ftz : bool
        Whether to flush subnormal operands and results to zeros of their sign; f32 only. A result is subnormal if it
        is too small after rounding with an unbounded exponent.

    Returns
    -------
    unsigned integer array of ``fmt.storage``

    Raises
    ------
    FragmentMismatchError, UnsupportedInstructionError
        If a dtype is not legal, shapes do not broadcast, the format has no infinities, or ``ftz`` is used with a
        format other than f32.

    Notes
    -----
    PTX ISA 9.0, div. NaN results are canonical; in f64 the first NaN operand, made quiet. Measured on an NVIDIA H200,
    driver 580.159.04, 2026-11-21. The specification is `wmma_emu.scalar.reference_division`.

    Examples
    --------
    >>> one, three = np.array([0x3F800000], np.uint32), np.array([0x40400000], np.uint32)
    >>> [hex(div(one, three, "f32", x)[0]) for x in ("RNE", "RD")]
    ['0x3eaaaaab', '0x3eaaaaaa']
    """
    fmt = _check(fmt, rounding, ftz, {"a": a, "b": b})
    return _apply(_div, fmt, rounding, ftz, a, b)


def rcp(a: Bits, fmt: Format | str, rounding: Rounding = "RNE", *, ftz: bool = False) -> Bits:
    """Compute ``1 / a`` and round once; see `div`.

    Examples
    --------
    >>> hex(rcp(np.array([0x4008 << 48], np.uint64), "f64", "RU")[0])
    '0x3fd5555555555556'
    """
    fmt = _check(fmt, rounding, ftz, {"a": a})
    one = np.array(fmt.bias << fmt.fraction_bits, fmt.storage)
    return _apply(_div, fmt, rounding, ftz, one, a)


def sqrt(a: Bits, fmt: Format | str, rounding: Rounding = "RNE", *, ftz: bool = False) -> Bits:
    """Compute the square root and round once; see `div`. The root of -0 is -0; negative numbers give NaN.

    Examples
    --------
    >>> [hex(sqrt(np.array([0x40000000], np.uint32), "f32", x)[0]) for x in ("RNE", "RU")]
    ['0x3fb504f3', '0x3fb504f4']
    """
    fmt = _check(fmt, rounding, ftz, {"a": a})
    return _apply(_sqrt, fmt, rounding, ftz, a)


_Core = Callable[[Format, Rounding, bool, tuple[Bits, ...]], Bits]


def _div(fmt: Format, rounding: Rounding, ftz: bool, operands: tuple[Bits, ...]) -> Bits:
    a, b = operands
    if rounding in _FAST and fmt.name == "f32":
        return rounded_single.div(a, b, rounding, ftz)
    if rounding in _FAST and fmt.name == "f64":
        return rounded_double.div(a, b, rounding)
    return quotient(a, b, fmt, rounding, "propagate" if fmt.name == "f64" else "canonical")


def _sqrt(fmt: Format, rounding: Rounding, ftz: bool, operands: tuple[Bits, ...]) -> Bits:
    (a,) = operands
    if rounding in _FAST and fmt.name == "f32":
        return rounded_single.sqrt(a, rounding, ftz)
    if rounding in _FAST and fmt.name == "f64":
        return rounded_double.sqrt(a, rounding)
    return root(a, fmt, rounding, "propagate" if fmt.name == "f64" else "canonical")


@in_ieee_arithmetic
def _apply(core: _Core, fmt: Format, rounding: Rounding, ftz: bool, *operands: Bits) -> Bits:
    try:
        shape = np.broadcast_shapes(*(x.shape for x in operands))
    except ValueError:
        shapes = ", ".join(str(x.shape) for x in operands)
        raise ShapeError(f"the shapes do not broadcast together: {shapes}") from None
    result: NDArray[np.unsignedinteger] = core(fmt, rounding, ftz, tuple(np.atleast_1d(x) for x in operands))
    return result.reshape(shape)


def _check(fmt: Format | str, rounding: str, ftz: bool, operands: dict[str, Bits]) -> Format:
    fmt = format_of(fmt)
    fmt.require_float()
    check_modes(rounding, "ieee")
    if not fmt.has_infinity or fmt.ignored_low_bits:
        raise OptionError(f"{fmt} has no division, it is for matrix products; use f16, bf16, f32, f64")
    if ftz and (fmt.name != "f32" or rounding not in _FAST):
        raise OptionError(f"ftz applies to f32 with RNE, RZ, RD and RU, not to {fmt} with {rounding}; omit it")
    for name, array in operands.items():
        dtype = getattr(array, "dtype", None)
        if dtype != fmt.storage:
            given = type(array).__name__ if dtype is None else f"an array of {dtype}"
            raise ArgumentError(
                f"{name} holds {fmt} patterns as unsigned integers of {fmt.storage}, not {given}; "
                "wmma_emu.formats.dtypes.to_bits converts other arrays"
            )
    return fmt
