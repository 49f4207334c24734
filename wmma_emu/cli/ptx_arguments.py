# SPDX-License-Identifier: MIT
"""The arguments of a kernel on a command line: numbers, files, zeroed memory."""

import math
import os
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.cli.files import check_output
from wmma_emu.cli.map_arguments import MAP, map_of, read_map
from wmma_emu.cli.matrices import read_matrix
from wmma_emu.cli.output import STANDARD_OUTPUT, check_pipe
from wmma_emu.cli.usage import UsageError, did_you_mean, quoted
from wmma_emu.formats.dtypes import dtype_of
from wmma_emu.ptx import Raw, TensorMap, raw

_WIDTHS = (8, 16, 32, 64)
_DTYPES: dict[str, Any] = {
    **{f"{kind}{bits}": np.dtype(f"{'i' if kind == 's' else 'u'}{bits // 8}") for kind in "usb" for bits in _WIDTHS},
    **{name: dtype_of(name) for name in ("f16", "f32", "f64", "bf16", "e4m3", "e5m2")},
}
"""Element types of zeroed memory."""

_LEGAL = (
    "a number, FILE.npy, raw:FILE.npy, OUT.npy=FILE.npy, OUT.npy=zeros:f32:1024, zeros:f32:1024, map:8x64:FILE.npy, "
    "null or bytes:0a0b"
)
_RAW = "raw:"
"""The prefix of a file whose bytes are passed unchanged, whatever type and order the kernel reads."""


class Given(NamedTuple):
    """An argument, and the file to which its array is written after the launch."""

    value: Any
    output: str | None = None

    @property
    def array(self) -> NDArray[Any]:
        """The array that is written to the file."""
        found = self.value.tensor if isinstance(self.value, TensorMap) else self.value
        return found.array if isinstance(found, Raw) else found


def read_given(texts: Sequence[str], max_bytes: int) -> list[Given]:
    """Parse all arguments; write nothing."""
    given = []
    inputs = [_input_of(text.rpartition("=")[2]) for text in texts if text.endswith(".npy")]
    outputs: set[str] = set()
    for text in texts:
        target, equals, source = text.partition("=")
        if not equals:
            if text.endswith(".npy") and not text.startswith((_RAW, MAP)) and not os.path.lexists(text):
                raise UsageError(
                    f"--arg {quoted(text)}: there is no such file; --arg {text[:80]}=zeros:f32:1024 passes 1024 zeros, "
                    "and writes them to the file after the launch"
                )
            given.append(Given(_value(text, max_bytes)))
            continue
        if target == STANDARD_OUTPUT:
            check_pipe("a .npy file", "OUT.npy")
        elif not target.endswith(".npy"):
            raise UsageError(f"--arg {quoted(text)}: {target[:80]!r} is not a .npy file to write; expected {_LEGAL}")
        else:
            check_output(target, inputs)
        if target in outputs:
            raise UsageError(f"--arg {quoted(text)}: {target} is written twice")
        outputs.add(target)
        value = _value(source, max_bytes, written=True)
        if not isinstance(value, np.ndarray | Raw | TensorMap):
            raise UsageError(
                f"--arg {quoted(text)}: {source[:80]!r} is not an array; name a .npy file, or zeros:f32:1024"
            )
        given.append(Given(value, target))
    return given


def read_sizes(option: str, text: str) -> tuple[int, ...]:
    """Parse the size of a grid or of a block.

    Examples
    --------
    >>> read_sizes("--grid", "8,4")
    (8, 4)
    """
    parts = text.split(",")
    if not 1 <= len(parts) <= 3 or not all(re.fullmatch(r"\s*[0-9]{1,18}\s*", x) for x in parts):
        raise UsageError(f"{option} {quoted(text)} is not one to three positive integers, as in 8 or 4,4")
    return tuple(int(x) for x in parts)


def _input_of(text: str) -> str:
    """Return the file that an argument reads."""
    return read_map(text).array if text.startswith(MAP) else text.removeprefix(_RAW)


def _value(text: str, max_bytes: int, written: bool = False) -> Any:
    """Parse one argument; the array of an input file is copied if the kernel may write it."""
    if text.startswith(MAP):
        given = read_map(text)
        return map_of(text, given, _value(given.array, max_bytes, written))
    kind, _, rest = text.partition(":")
    if text.endswith(".npy"):
        array, _ = read_matrix(text.removeprefix(_RAW))
        if array.dtype.kind == "V" and array.itemsize in (1, 2, 4, 8):
            array = array.view(f"u{array.itemsize}")
        array = array.copy(order="K") if written and not array.flags.writeable else array
        return raw(array) if text.startswith(_RAW) else array
    if kind == "zeros":
        return _zeros(text, rest, max_bytes)
    if kind == "bytes":
        try:
            return bytes.fromhex(rest)
        except ValueError:
            raise UsageError(f"--arg {quoted(text)}: {rest[:80]!r} is not pairs of hexadecimal digits") from None
    if text == "null":
        return None
    try:
        return int(text, 0) if len(text) < 100 else int("")
    except ValueError:
        try:
            return float(text)
        except ValueError:
            raise UsageError(f"--arg {quoted(text)} is not one of {_LEGAL}") from None


def _zeros(text: str, rest: str, max_bytes: int) -> NDArray[Any]:
    name, _, sizes = rest.partition(":")
    if name not in _DTYPES:
        raise UsageError(
            f"--arg {quoted(text)}: {name[:80]!r} is not a type; expected one of {', '.join(_DTYPES)}"
            f"{did_you_mean(name, _DTYPES)}"
        )
    parts = sizes.split("x")
    if not 1 <= len(parts) <= 32 or not all(re.fullmatch("[0-9]{1,18}", x) for x in parts):
        raise UsageError(f"--arg {quoted(text)}: {sizes[:80]!r} is not a shape; expected a shape such as 1024 or 64x32")
    shape = tuple(int(x) for x in parts)
    if (size := math.prod(shape) * _DTYPES[name].itemsize) > max_bytes:
        raise UsageError(f"--arg {quoted(text)} takes {size} bytes; at most {max_bytes} are allowed (--max-bytes)")
    return np.zeros(shape, _DTYPES[name])
