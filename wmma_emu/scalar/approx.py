# SPDX-License-Identifier: MIT
"""The approximate functions of a Hopper GPU, bit for bit: ``ex2 lg2 rcp rsqrt sqrt sin cos tanh`` and division."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, OptionError, ShapeError, UnsupportedInstructionError, shorten
from wmma_emu.formats.arrays import is_masked, is_numpy
from wmma_emu.scalar.approx_datapath import namespace
from wmma_emu.scalar.approx_double import rcp64h, rsqrt64h, rsqrt_f64, upper
from wmma_emu.scalar.approx_narrow import NARROW, pairs
from wmma_emu.scalar.approx_sequences import FACTORS, SEQUENCES, divide

APPROX_NAMES = ("ex2", "lg2", "rcp", "rsqrt", "sqrt", "sin", "cos", "tanh")

_FORMATS = {"f32": (np.uint32,), "f16": (np.uint16, np.uint32), "bf16": (np.uint16, np.uint32), "f64": (np.uint64,)}
_NAMES = {"f32": APPROX_NAMES, "f16": ("ex2", "tanh"), "bf16": ("ex2", "tanh"), "f64": ("rcp", "rsqrt")}
_DIVISIONS = ("approx", "full")

_BLOCK = 1 << 13
"""The number of elements per step, so that intermediate results stay in a cache."""


def approx(
    name: str, bits: Any, ftz: bool = False, *, format: str = "f32"
) -> Any:  # fmt: skip
    """Compute the instruction ``name.approx`` as a Hopper GPU does, with the errors of the approximation.

    Parameters
    ----------
    name : {"ex2", "lg2", "rcp", "rsqrt", "sqrt", "sin", "cos", "tanh"}
        f16 and bf16 support only ``ex2`` and ``tanh``; f64 only ``rcp`` and ``rsqrt``.
    bits : unsigned integer array of any shape
        Patterns: uint32 for f32, uint64 for f64, uint16 for f16 and bf16, or uint32 for two of them in a word
        (``f16x2``, ``bf16x2``). CuPy arrays are computed on their GPU, except for ``rsqrt`` in f64 without ``ftz``.
    ftz : bool
        Whether subnormal operands and results are zero. It makes no difference if PTX has only one of the two:
        ``tanh`` and ``ex2`` in f16 keep subnormal numbers, ``ex2`` in bf16 and ``rcp`` in f64 do not; and the results
        of ``sin`` and ``cos`` are the same with and without ``ftz``.
    format : {"f32", "f16", "bf16", "f64"}

    Returns
    -------
    array of the shape and dtype of ``bits``
        A NaN is 0x7fffffff, 0x7fff or 0x7fffffff00000000 for every operand; but ``rsqrt`` in f64 without ``ftz``
        returns the operand's NaN, made quiet, and 0xfff8000000000000 for a negative number.

    Raises
    ------
    UnsupportedInstructionError
        If PTX does not have the function, or not in this format.
    FragmentMismatchError
        If the array has another dtype.

    Notes
    -----
    PTX ISA 9.0 gives only error bounds; this function computes the bits. They were compared with an NVIDIA H200 on
    every word of f32, f16 and bf16 and every upper word of f64: `APPROX_STATUS` has the evidence for each function on
    each chip. ``docs/explanation/approximate-functions.md`` explains the algorithm.

    Examples
    --------
    >>> x = np.array([0x3F800000, 0x40000000, 0xBF800000], np.uint32)                    # 1, 2, -1
    >>> [hex(y) for y in approx("rsqrt", x, ftz=True)]
    ['0x3f800000', '0x3f3504f2', '0x7fffffff']
    >>> [hex(y) for y in approx("ex2", np.array([0x3C003800], np.uint32), format="f16")]  # 0.5 and 1 in a word
    ['0x40003da8']
    """
    if not isinstance(format, str) or format not in _FORMATS:
        raise OptionError(f"format is one of {_list(_FORMATS)}, not {shorten(format)}")
    if not isinstance(name, str) or name not in _NAMES[format]:
        elsewhere = ", ".join(x for x, names in _NAMES.items() if name in names) if isinstance(name, str) else ""
        raise OptionError(
            f"{format} has {_list(_NAMES[format])}, not {shorten(name)}"
            + (f", which exists in {elsewhere}" if elsewhere else "")
        )
    _check_ftz(ftz)
    _check(bits, name, _FORMATS[format], format)
    if format == "f64" and name == "rsqrt" and not ftz:
        if namespace(bits) is not np:
            raise ArgumentError("rsqrt in f64 without ftz requires host arrays; pass bits.get()")
        return _apply(rsqrt_f64, bits)
    if format == "f64":
        return _apply(partial(upper, rcp64h if name == "rcp" else rsqrt64h), bits)
    if format == "f32":
        return _apply(_of_words(SEQUENCES[name, bool(ftz)]), bits)
    scalar = NARROW[name, format]
    return _apply(_of_words(pairs(scalar) if bits.dtype == np.uint32 else scalar), bits)


def approx_div(a: Any, b: Any, *, kind: str = "full", ftz: bool = False) -> Any:
    """Compute ``div.approx.f32`` or ``div.full.f32`` as a Hopper GPU does: a times an approximation of 1/b.

    Parameters
    ----------
    a, b : uint32 arrays that broadcast together
        f32 patterns.
    kind : {"full", "approx"}
        ``approx`` returns zero or NaN if b exceeds 2**126; ``full`` avoids this by dividing both operands by 4.
    ftz : bool
        Whether subnormal operands and results are zero.

    Returns
    -------
    uint32 array

    Raises
    ------
    UnsupportedInstructionError, FragmentMismatchError

    Examples
    --------
    >>> a, b = np.array([[0x3F800000], [0x7E800001]], np.uint32)                          # 1 and above 2**126
    >>> hex(approx_div(a, b)[0]), hex(approx_div(a, b, kind="approx")[0])
    ('0x7fffff', '0x0')
    """
    if not isinstance(kind, str) or kind not in _DIVISIONS:
        raise OptionError(f"kind is one of {_list(_DIVISIONS)}, not {shorten(kind)}")
    _check_ftz(ftz)
    for x in (a, b):
        _check(x, "div", (np.uint32,), "f32")
    result = _apply(_of_words(lambda x, y: divide(kind, x, y, bool(ftz))), *_broadcast(a, b))
    return result[()] if isinstance(a, np.generic) and isinstance(b, np.generic) else result


def approx_factors(name: str, *operands: Any, ftz: bool = False) -> tuple[Any, Any]:
    """Compute the two factors of the multiplication that ends a Hopper GPU's ``div`` or ``rcp``.

    The assembler may fuse that multiplication with a following addition, like any other multiplication.

    ``name`` is ``div.full`` or ``div.approx``, with dividend and divisor, or ``rcp.approx``; operands broadcast
    together. With ``ftz`` subnormal operands and results are zero; ``rcp.approx.ftz`` does not end in a multiplication.

    Examples
    --------
    >>> a, b = np.array([[0x3F800000], [0x40400000]], np.uint32)                          # 1 and 3
    >>> [hex(x[0]) for x in approx_factors("div.full", a, b)]
    ['0x3f800000', '0x3eaaaaab']
    """
    _check_ftz(ftz)
    if (name, bool(ftz)) not in FACTORS:
        raise UnsupportedInstructionError(
            f"{shorten(name)}{' with ftz' * bool(ftz)} does not end in a multiplication; "
            f"{_list([x + '.ftz' * y for x, y in FACTORS])} do"
        )
    for x in operands:
        _check(x, name, (np.uint32,), "f32")
    function = FACTORS[name, bool(ftz)]
    wide = [x.astype(np.int64) for x in _broadcast(*operands)]
    xp = namespace(wide[0])
    one, other = function(*wide)
    return one.astype(np.uint32), xp.broadcast_to(
        xp.full_like(one, other) if isinstance(other, int) else other, one.shape
    ).astype(np.uint32)


def _broadcast(*operands: Any) -> list[Any]:
    try:
        shape = np.broadcast_shapes(*(x.shape for x in operands))
    except ValueError:
        raise ShapeError(
            f"the shapes {' and '.join(str(x.shape) for x in operands)} of the operands do not broadcast"
        ) from None
    xp = namespace(operands[0])
    if any(namespace(x) is not xp for x in operands):
        raise ArgumentError("the operands are on different devices: bring all to the host, or all to the GPU")
    return [xp.broadcast_to(x, shape) for x in operands]


def _of_words(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function of int64 words accept and return patterns."""
    return lambda *bits: function(*(x.astype(np.int64) for x in bits)).astype(bits[0].dtype)


def _apply(function: Callable[..., Any], *operands: Any) -> Any:
    """Apply a function element by element; NumPy arrays are processed in blocks."""
    if not isinstance(operands[0], np.ndarray | np.generic):
        return function(*operands)
    flat = [np.ascontiguousarray(x).reshape(-1) for x in operands]
    result: NDArray[Any] = np.empty_like(flat[0])
    for start in range(0, result.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        result[block] = function(*(x[block] for x in flat))
    shaped = result.reshape(operands[0].shape)
    return shaped[()] if isinstance(operands[0], np.generic) else shaped


def _check(bits: Any, name: str, dtypes: tuple[Any, ...], format: str) -> None:
    if not is_numpy(bits) and not hasattr(bits, "__cuda_array_interface__"):
        given = shorten(bits)
    elif is_masked(bits):
        given = "a masked array; pass x.filled(value)"
    elif bits.dtype in dtypes:
        return
    else:
        given = shorten(bits.dtype, str)
    wanted = " or ".join(np.dtype(x).name for x in dtypes)
    raise ArgumentError(f"{name} in {format} takes an array of patterns, {wanted}, not {given}; "
                                f"for numbers pass x.view(numpy.{np.dtype(dtypes[0]).name})")  # fmt: skip


def _check_ftz(ftz: object) -> None:
    if not isinstance(ftz, bool | np.bool_):
        raise OptionError(f"ftz is True or False, not {shorten(ftz)}")


def _list(names: Any) -> str:
    return ", ".join(names)
