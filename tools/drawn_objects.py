# SPDX-License-Identifier: MIT
"""Draw a texture or a surface that fits the instructions of a kernel which fetches from it, for a drawn launch."""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_TEXTURE = re.compile(r"(?:tex|tld4)(?:\.level|\.base|\.[rgba])*\.(?P<axes>a?[123]d)\.v4\.(?P<type>\w+)\.(?P<at>\w+)")
_SURFACE = re.compile(r"(?:suld|sust)\.b\.(?P<axes>a?[123]d)\.(?:v(?P<channels>[24])\.)?b(?P<bits>8|16|32)\.")
_SIDES = (64, 32, 128)


class DrawnObject(NamedTuple):
    """The texels of an object, and the options of `wmma_emu.ptx.texture` or `surface`."""

    kind: str
    array: NDArray[Any]
    options: dict[str, Any]


def drawn_object(opcodes: Iterable[str], rng: np.random.Generator) -> DrawnObject | None:
    """Draw an object for one of the instructions; return None if none of them fetches from an object."""
    found = [x for opcode in sorted(set(opcodes)) for x in (_TEXTURE.match(opcode), _SURFACE.match(opcode)) if x]
    if not found:
        return None
    chosen = found[rng.integers(len(found))]
    return _texture(chosen, rng) if chosen.re is _TEXTURE else _surface(chosen, rng)


def _shape(axes: str, rng: np.random.Generator) -> tuple[int, ...]:
    side = int(_SIDES[rng.integers(len(_SIDES))])
    sides = (side,) if axes.endswith("1d") else (side, side) if axes.endswith("2d") else (8, 32, 32)
    return (4, *sides) if axes.startswith("a") else sides


def _texels(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> NDArray[Any]:
    if dtype.startswith("float"):
        return rng.standard_normal(shape).astype(np.float32)
    return rng.integers(0, 256, shape).astype(dtype)


def _texture(instruction: re.Match[str], rng: np.random.Generator) -> DrawnObject:
    axes, is_float = instruction["axes"], instruction["type"] == "f32"
    is_linear = axes == "1d" and instruction["at"] == "s32"
    read = "normalised" if is_float and rng.random() < 0.4 else "element"
    dtype = "float32" if is_float and read == "element" else ("uint8" if rng.random() < 0.7 or is_float else "uint32")
    channels = None if rng.random() < 0.5 else 4
    options: dict[str, Any] = {"channels": channels, "layers": axes.startswith("a"), "linear": is_linear, "read": read}
    if not is_linear:
        options["filter"] = "linear" if is_float and rng.random() < 0.6 else "point"
        options["coordinates"] = "normalised" if rng.random() < 0.5 else "texels"
        options["address"] = ("clamp", "wrap")[rng.integers(2)]
    shape = _shape(axes, rng) + (() if channels is None else (channels,))
    return DrawnObject("texture", _texels(shape, dtype, rng), options)


def _surface(instruction: re.Match[str], rng: np.random.Generator) -> DrawnObject:
    axes = instruction["axes"]
    channels = None if instruction["channels"] is None else int(instruction["channels"])
    dtype = {"8": "uint8", "16": "uint16", "32": "float32"}[instruction["bits"]]
    shape = _shape(axes, rng) + (() if channels is None else (channels,))
    options = {"channels": channels, "layers": axes.startswith("a")}
    return DrawnObject("surface", _texels(shape, dtype, rng), options)
