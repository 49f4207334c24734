# SPDX-License-Identifier: MIT
"""Matrices in ``.npy`` files, or on standard input and output: read without unpickling, written whole or not at all."""

import ast
import io
import math
import os
import stat
import struct
import sys
from types import SimpleNamespace
from typing import Any, BinaryIO, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.cli.files import check_name, write_file
from wmma_emu.cli.usage import UsageError

_STANDARD = "-"
"""Standard input, or output."""

_MAGIC = b"\x93NUMPY"
_LONGEST_HEADER = 10_000
_MOST_AXES = 32
_LARGEST_SIZE = 2**62

E5M2_DESCR = "<f1"
"""The dtype string that NumPy writes for ml_dtypes.float8_e5m2, and cannot read back."""


class _Header(NamedTuple):
    dtype: np.dtype[Any]
    is_e5m2: bool
    order: Literal["F", "C"]
    shape: tuple[int, ...]
    offset: int


def read_matrix(path: str) -> tuple[NDArray[Any], str | None]:
    """Map a ``.npy`` file into memory, read-only; ``-`` is standard input, which is read to its end.

    Elements of ml_dtypes formats are void: the file does not name their format, except ``"e5m2"``, which is returned as
    the second value.
    """
    check_name(path, "one to read, such as A.npy")
    if path == _STANDARD:
        return _from_standard_input()
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UsageError(f"{path}: not a regular file; save the matrix with numpy.save")
            size = os.fstat(file.fileno()).st_size
            header = _read_header(path, file, size)
            return _map(file, header), "e5m2" if header.is_e5m2 else None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    except ValueError as error:  # a name with a null character
        raise UsageError(f"{path!r}: {error}") from None


def _from_standard_input() -> tuple[NDArray[Any], str | None]:
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None or sys.stdin.isatty():
        raise UsageError("- is standard input, but nothing is piped into it; name a file, such as A.npy")
    data = stream.read()
    file = io.BytesIO(data)
    header = _read_header("standard input", file, len(data))
    flat = np.frombuffer(data, header.dtype, math.prod(header.shape), header.offset)
    return flat.reshape(header.shape, order=header.order), "e5m2" if header.is_e5m2 else None


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # without it, a named pipe blocks until it is written


def _map(file: BinaryIO, header: _Header) -> NDArray[Any]:
    if not all(header.shape) or not header.dtype.itemsize:
        return np.empty(header.shape, header.dtype, header.order)
    return np.asarray(np.memmap(file, header.dtype, "r", header.offset, header.shape, header.order))


def _read_header(path: str, file: BinaryIO, size: int) -> _Header:
    """Parse the header that `numpy.lib.format` defines, and check that the file contains all elements."""
    damaged = f"{path}: not a whole .npy file"
    start = file.read(8)
    if not start:
        raise UsageError(f"{path}: the file is empty; save the matrix with numpy.save")
    if start.startswith(b"PK\x03\x04"):
        raise UsageError(f"{path}: an archive (.npz) holds many arrays; save one matrix with numpy.save")
    if not start.startswith(_MAGIC):
        raise UsageError(f"{path}: not a .npy file, and nothing else is read; save the matrix with numpy.save")
    if len(start) < 8 or start[6] not in (1, 2, 3):
        raise UsageError(f"{damaged}: unknown version")
    width = 2 if start[6] == 1 else 4
    prefix = file.read(width)
    length = struct.unpack("<H" if width == 2 else "<I", prefix)[0] if len(prefix) == width else 0
    if not 0 < length <= _LONGEST_HEADER:
        raise UsageError(f"{damaged}: its header has {length} bytes")
    text = file.read(length)
    try:
        fields = ast.literal_eval(text.decode("utf-8" if start[6] == 3 else "latin-1"))
        descr, fortran_order, shape = (fields[x] for x in ("descr", "fortran_order", "shape"))
    except (ValueError, SyntaxError, TypeError, KeyError, MemoryError, RecursionError):
        raise UsageError(f"{damaged}: its header cannot be read") from None
    dtype = _dtype(path, descr)
    if type(fortran_order) is not bool:
        raise UsageError(f"{damaged}: its fortran_order is {fortran_order!r:.80}, not True or False")
    if type(shape) is not tuple or not all(type(x) is int and 0 <= x <= _LARGEST_SIZE for x in shape):
        raise UsageError(f"{damaged}: its shape is {shape!r:.80}")
    if len(shape) > _MOST_AXES:
        raise UsageError(f"{path}: it has {len(shape)} axes; save a matrix of at most {_MOST_AXES}")
    count = dtype.itemsize * math.prod(shape)
    present = size - file.tell()
    if present < count:
        raise UsageError(f"{damaged}: shape {shape} of {dtype} takes {count} bytes, but the file has {present}")
    if max(dtype.itemsize, 1) * math.prod(x or 1 for x in shape) > _LARGEST_SIZE:
        raise UsageError(f"{path}: shape {shape!r:.80} is empty, with axes too long for any array")
    return _Header(dtype, descr == E5M2_DESCR, "F" if fortran_order else "C", shape, file.tell())


def _dtype(path: str, descr: object) -> np.dtype[Any]:
    if descr == E5M2_DESCR:
        return np.dtype("V1")
    try:
        if not isinstance(descr, (list, tuple)) and not (isinstance(descr, str) and descr.isprintable()):
            raise TypeError  # NumPy reads None as float64, and a control character as a type number
        dtype: np.dtype[Any] = np.dtype(descr)
    except (TypeError, ValueError, SyntaxError):
        raise UsageError(f"{path}: NumPy has no dtype {descr!r:.80}") from None
    if dtype.hasobject:
        raise UsageError(f"{path}: it holds pickled objects, which are never read; save a matrix of numbers")
    if dtype.names is not None or dtype.subdtype is not None:
        raise UsageError(f"{path}: its elements are records ({descr!r:.80}); save one field alone")
    return dtype


def write_matrix(path: str, matrix: NDArray[Any]) -> None:
    """Write a ``.npy`` file as `write_file` does; ``-`` is standard output."""
    if path == _STANDARD:
        sys.stdout.flush()
        np.save(SimpleNamespace(write=sys.stdout.buffer.write), matrix, allow_pickle=False)
        sys.stdout.buffer.flush()
        return
    # NumPy writes real files itself, and its message for a full disk only reports how much of the matrix was written.
    write_file(path, lambda file: np.save(SimpleNamespace(write=file.write), matrix, allow_pickle=False))
