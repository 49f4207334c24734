# SPDX-License-Identifier: MIT
"""The rules that a tensor map obeys: those of ``cuTensorMapEncodeTiled`` and ``cuTensorMapEncodeIm2col``.

The source is the CUDA driver API 13.0, tensor map object access, and where it is silent or the driver does otherwise,
the driver: of 200,000 random maps, an H200 (driver 580.159.04, 2026-11-28) refused exactly those that break a rule here
(``tests/ptx/tensor_maps``). So the limit of the bytes is measured, the arithmetic of 32 bits in the check for an empty
window, and that the interleaved layout 32B is accepted with every swizzle, although the document demands 32B.
"""

from collections.abc import Iterator

from wmma_emu.errors import ArgumentValueError
from wmma_emu.ptx.tensor_maps.encoding import CORNER_BITS, FILLS, INTERLEAVES, SWIZZLES, TensorMapFields, Window

_LARGEST_BOX = 256
_LARGEST_STEP = 8
_LARGEST_STRIDE = 1 << 40
_LARGEST_DIM = 1 << 32
_LARGEST_BYTES = 228 << 10
_MOST_CHANNELS, _MOST_PIXELS = 256, 1024
_UNIT = 16


def require_legal(fields: TensorMapFields) -> None:
    """Raise an error that names the first rule that a map breaks.

    Examples
    --------
    >>> from wmma_emu.ptx.tensor_maps.element_types import element_type_of
    >>> require_legal(TensorMapFields(0, element_type_of("f16"), (64, 8), (128,), (1, 1), box=(12, 8)))
    Traceback (most recent call last):
        ...
    wmma_emu.errors.ArgumentValueError: the tensor map breaks a rule: a row of the box has 24 bytes; it needs a multiple
    of 16
    """
    for broken in _broken(fields):
        raise ArgumentValueError(f"the tensor map breaks a rule: {broken}")


def _broken(fields: TensorMapFields) -> Iterator[str]:
    yield from _of_tensor(fields)
    if fields.window is None:
        yield from _of_box(fields)
    else:
        yield from _of_window(fields, fields.window)
    yield from _of_layout(fields)


def _of_tensor(fields: TensorMapFields) -> Iterator[str]:
    least = 1 if fields.window is None and not fields.interleave else 3
    if not least <= fields.rank <= 5:
        yield f"the tensor has {fields.rank} dimensions; it needs {least} to 5"
    multiple = 2 * _UNIT if INTERLEAVES[fields.interleave] == "32B" else _UNIT
    if fields.address % multiple:
        yield f"the address {fields.address:#x} is not a multiple of {multiple}"
    for size in fields.dims:
        if not 1 <= size <= _LARGEST_DIM:
            yield f"a dimension has {size} elements; it needs 1 to 2**32"
    for stride in fields.strides:
        if stride % multiple or not 0 <= stride < _LARGEST_STRIDE:
            yield f"a stride has {stride} bytes; it needs a multiple of {multiple} below 2**40"
    for step in fields.element_strides:
        if not 1 <= step <= _LARGEST_STEP:
            yield f"an element stride is {step}; it must be 1 to {_LARGEST_STEP}"


def _of_box(fields: TensorMapFields) -> Iterator[str]:
    if len(fields.box) != fields.rank:
        yield f"the box has {len(fields.box)} dimensions, and the tensor {fields.rank}"
    for size in fields.box:
        if not 1 <= size <= _LARGEST_BOX:
            yield f"the box has {size} elements in a dimension; it needs 1 to {_LARGEST_BOX}"
    yield from _of_row(fields, fields.box[0] * fields.element.bytes)


def _of_window(fields: TensorMapFields, window: Window) -> Iterator[str]:
    bits = CORNER_BITS[fields.rank]
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    for name, corner in (("lower", window.lower), ("upper", window.upper)):
        if len(corner) != fields.rank - 2:
            yield f"the {name} corner has {len(corner)} dimensions; a tensor of {fields.rank} needs {fields.rank - 2}"
        for x in corner:
            if not low <= x <= high:
                yield f"the {name} corner has the offset {x}; with {fields.rank} dimensions it must be {low} to {high}"
    first = 0 if fields.interleave else 1  # the driver compares these dimensions, whatever the layout's are
    for dim, lower, upper in zip(fields.dims[first:], window.lower, window.upper, strict=False):
        end = _signed(dim + upper)
        if end <= lower:
            yield f"the window is empty: from {lower} to {end - 1} in a dimension"
    if not 1 <= window.channels <= _MOST_CHANNELS:
        yield f"a copy has {window.channels} channels; it needs 1 to {_MOST_CHANNELS}"
    if not 1 <= window.pixels <= _MOST_PIXELS:
        yield f"a copy has {window.pixels} pixels; it needs 1 to {_MOST_PIXELS}"
    yield from _of_row(fields, window.channels * fields.element.bytes)


def _signed(value: int) -> int:
    """Return 32 bits as a signed number, as the driver computes."""
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def _of_row(fields: TensorMapFields, row: int) -> Iterator[str]:
    if row % _UNIT:
        yield f"a row of the box has {row} bytes; it needs a multiple of {_UNIT}"
    if fields.encoded_bytes > _LARGEST_BYTES:
        yield f"the box has {fields.encoded_bytes} bytes; the most are {_LARGEST_BYTES}"
    span = _UNIT << fields.swizzle
    if fields.swizzle and not fields.interleave and row > span:
        yield f"a row of {row} bytes does not fit the swizzle {SWIZZLES[fields.swizzle]}, which needs at most {span}"


def _of_layout(fields: TensorMapFields) -> Iterator[str]:
    if FILLS[fields.fill] == "nan" and not fields.element.is_float:
        yield f"the fill nan needs a floating-point type, not {fields.element.name}"
