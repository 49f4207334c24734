# SPDX-License-Identifier: MIT
"""Tensor maps among the arguments of a kernel on a command line: ``map:8x64:swizzle:128B:x.npy``."""

import inspect
import os
import re
from typing import Any, NamedTuple

from numpy.typing import NDArray

from wmma_emu.cli.usage import UsageError, did_you_mean, quoted
from wmma_emu.errors import WmmaEmuError
from wmma_emu.ptx import TensorMap, tensor_map

MAP = "map:"
"""The prefix of a tensor map of an array."""

_SIZES = re.compile("[0-9]{1,18}(x[0-9]{1,18}){0,4}")
_LISTS = ("element_strides",)
_WORDS = tuple(
    name for name, x in inspect.signature(tensor_map).parameters.items()
    if x.kind is x.KEYWORD_ONLY and name != "im2col"
)  # fmt: skip
"""The keywords of `tensor_map` that a word on the command line can give."""


class MapText(NamedTuple):
    """A map on the command line: the box, the keywords of `tensor_map`, and the text of the array."""

    box: tuple[int, ...]
    keywords: dict[str, Any]
    array: str


def read_map(text: str) -> MapText:
    """Parse ``map:BOX[:KEYWORD:VALUE...]:ARRAY``; the box has the order of the array's axes.

    Examples
    --------
    >>> read_map("map:8x64:swizzle:128B:zeros:f16:64x128")
    MapText(box=(8, 64), keywords={'swizzle': '128B'}, array='zeros:f16:64x128')
    """
    box, _, rest = text.removeprefix(MAP).partition(":")
    keywords: dict[str, Any] = {}
    while (parts := rest.split(":", 2))[0] in _WORDS and len(parts) == 3:
        name, value, rest = parts
        keywords[name] = _sizes(text, value) if name in _LISTS else value
    if not rest:
        raise UsageError(f"--arg {quoted(text)} names no array; expected map:8x64:x.npy, or map:8x64:zeros:f16:64x128")
    if not rest.startswith("zeros:") and (not rest.endswith(".npy") or (":" in rest and not os.path.exists(rest))):
        raise UsageError(
            f"--arg {quoted(text)}: {rest[:80]!r} is neither a .npy file nor zeros:f16:64x128; words before it, with "
            f"their values, are {', '.join(_WORDS)}{did_you_mean(rest.partition(':')[0], _WORDS)}"
        )
    return MapText(_sizes(text, box), keywords, rest)


def map_of(text: str, given: MapText, array: NDArray[Any]) -> TensorMap:
    """Return the tensor map of an array."""
    try:
        return tensor_map(array, given.box, **given.keywords)
    except WmmaEmuError as error:
        raise UsageError(f"--arg {quoted(text)}: {error}") from None


def _sizes(text: str, given: str) -> tuple[int, ...]:
    if not _SIZES.fullmatch(given):
        raise UsageError(f"--arg {quoted(text)}: {given[:80]!r} is not one to five sizes, such as 8x64")
    return tuple(int(x) for x in given.split("x"))
