# SPDX-License-Identifier: MIT
"""Small textures and surfaces, and the coordinates at which a GPU fetches from them, to settle each fact."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.recording_inputs import random_words
from wmma_emu import ptx

KERNELS = Path(__file__).parents[1] / "tests/ptx/textures/data/fetches.ptx"  # compiled from fetches.cu

Array = NDArray[Any]
Words = NDArray[np.uint32]

_NONE = np.zeros(0, np.uint32)


@dataclass(frozen=True, eq=False)
class TextureCase:
    """A launch of one of the kernels of fetches.cu.

    Attributes
    ----------
    name, fact, kernel : str
        ``fact`` is the name of the fact that the case tests.
    array : array
        The texels.
    options : dict
        The keywords of `texture` or `surface`.
    x, y, z, layer : arrays of uint32
        The coordinates as bits of registers.
    kind : {"texture", "surface", "written"}
        "written": the array that the kernel leaves is recorded.
    every : int
        The stored results: 1 for every one, 2 for every second, and so on.
    """

    name: str
    fact: str
    kernel: str
    array: Array
    x: Words
    y: Words = field(default_factory=_NONE.copy)
    z: Words = field(default_factory=_NONE.copy)
    layer: Words = field(default_factory=_NONE.copy)
    options: dict[str, Any] = field(default_factory=dict)
    kind: str = "texture"
    every: int = 1

    @property
    def count(self) -> int:
        """The number of fetches."""
        return len(self.x)

    @property
    def inputs(self) -> tuple[Words, ...]:
        """The coordinates, those that the kernel does not read as zeros."""
        return tuple(x if len(x) else np.zeros(self.count, np.uint32) for x in (self.x, self.y, self.z, self.layer))

    def object(self) -> ptx.Texture | ptx.Surface:
        """Make the texture or the surface, on a copy of the array."""
        made = ptx.texture if self.kind == "texture" else ptx.surface
        return made(self.array.copy(), **self.options)


def bits(values: Any) -> Words:
    """Return numbers as the bits of f32, rounded once."""
    return np.asarray(values, np.float32).view(np.uint32)


def integers(values: Any) -> Words:
    """Return integers as the bits of s32."""
    return np.asarray(values, np.int32).view(np.uint32)


def drawn(key: str, count: int, low: float, high: float) -> Array:
    """Return multiples of 2**-20 of the range."""
    words = random_words(f"textures 1|{key}", count) >> np.uint64(44)
    return low + (high - low) * words.astype(np.float64) * 2.0**-20


def texels(key: str, shape: tuple[int, ...], dtype: str) -> Array:
    """Return an array of any bits; floats are finite and of different exponents."""
    count = int(np.prod(shape))
    words = random_words(f"textures 1|{key}|{dtype}", count)
    if dtype.startswith("float"):
        fraction = (words >> np.uint64(40)).astype(np.float64) * 2.0**-24 - 0.5
        return np.ldexp(fraction, (words % np.uint64(9)).astype(np.int64) - 4).astype(dtype).reshape(shape)
    return words.astype(f"u{np.dtype(dtype).itemsize}").view(dtype).reshape(shape)


def cases() -> Iterator[TextureCase]:
    """Yield every case."""
    yield from _points()
    yield from _addresses()
    yield from _weights()
    yield from _sums()
    yield from _fractions()
    yield from _shapes()
    yield from _surfaces()
    yield from _normalised()
    yield from _sums_of_any_axes()
    yield from _sums_of_edges()


def _near(edges: Array) -> Words:
    """Return coordinates at, just below and above edges, and up to some fractions of a texel away."""
    exact = bits(edges).view(np.float32)
    steps = [exact, np.nextafter(exact, np.float32(-9e9)), np.nextafter(exact, np.float32(9e9))]
    steps += [bits(edges + s * 2.0**-k).view(np.float32) for k in (7, 8, 9, 10, 12, 16, 20) for s in (-1, 1)]
    return bits(np.concatenate(steps))


def _points() -> Iterator[TextureCase]:
    for size in (4, 7, 300, 5000):
        edges = np.unique(np.linspace(0, size, 24).round())
        array = np.arange(size, dtype=np.float32)
        yield TextureCase(f"nearest texel of {size}", "nearest", "tex1d_f", array, _near(edges))
        yield TextureCase(
            f"nearest texel of {size}, normalised", "scaled", "tex1d_f", array, _near(edges / size),
            options={"coordinates": "normalised"},
        )  # fmt: skip
    special = bits([np.nan, np.inf, -np.inf, -0.0, 1e-40, -1e-40, 3e38, -3e38, 2.0**31, -(2.0**31), 2.0**32])
    array = np.arange(1, 9, dtype=np.float32)
    for mode in ("clamp", "border", "wrap", "mirror"):
        yield TextureCase(
            f"special numbers, {mode}", "nearest", "tex1d_f", array, special,
            options={"coordinates": "normalised", "address": mode},
        )  # fmt: skip


def _addresses() -> Iterator[TextureCase]:
    for mode in ("clamp", "border", "wrap", "mirror"):
        for coordinates in ("texels", "normalised"):
            for way in ("point", "linear"):
                for size in (4, 5):
                    scale = size if coordinates == "texels" else 1
                    yield TextureCase(
                        f"{mode} of {size} {coordinates}, {way}", _fact_of_mode(mode, coordinates), "tex1d_f",
                        np.arange(1, size + 1, dtype=np.float32) ** 2, bits(np.arange(-160, 240) / 64 * scale),
                        options={"address": mode, "coordinates": coordinates, "filter": way},
                    )  # fmt: skip
    x, y = drawn("modes x", 256, -2, 3), drawn("modes y", 256, -2, 3)
    yield TextureCase(
        "a mode for each axis", "addresses", "tex2d_f", texels("modes", (5, 7), "float32"), bits(x), bits(y),
        options={"address": ("wrap", "mirror"), "coordinates": "normalised"},
    )  # fmt: skip
    for mode in ("clamp", "border"):
        yield TextureCase(
            f"linear memory, {mode}", "outside", "linear_f", np.arange(1, 9, dtype=np.float32),
            integers([*range(-4, 12), -(2**31), 2**31 - 1]), options={"linear": True, "address": mode},
        )  # fmt: skip
        yield TextureCase(
            f"integers, {mode}", "outside", "integers_f", np.arange(1, 13, dtype=np.float32).reshape(3, 4),
            integers([-1, 0, 3, 4, 2, 2, 2]), integers([1, 0, 2, 1, -1, 3, 2]), options={"address": mode},
        )  # fmt: skip


def _fact_of_mode(mode: str, coordinates: str) -> str:
    return "texels repeat" if coordinates == "texels" and mode in ("wrap", "mirror") else "addresses"


def _weights() -> Iterator[TextureCase]:
    step = np.array([0, 1], np.float32)
    yield TextureCase(
        "weights between 0 and 1", "weights", "tex1d_f", step, bits(0.5 + np.arange(4097) / 4096),
        options={"filter": "linear"},
    )  # fmt: skip
    for size in (3, 100, 1000, 16384):
        ramp = (np.arange(size) % 2).astype(np.float32)
        at = drawn(f"weights {size}", 1024, 0, size)
        yield TextureCase(
            f"weights along {size}", "weights", "tex1d_f", ramp, bits(at), options={"filter": "linear"}
        )  # fmt: skip
        yield TextureCase(
            f"weights along {size}, normalised", "weights", "tex1d_f", ramp, bits(at / size),
            options={"filter": "linear", "coordinates": "normalised"},
        )  # fmt: skip
    grid = (np.arange(64) + 0.37) / 64
    x, y = (g.ravel() for g in np.meshgrid(grid, grid))
    corner = np.array([[0, 0], [0, 1]], np.float32)
    yield TextureCase(
        "weights of two axes", "products", "tex2d_f", corner, bits(0.5 + x), bits(0.5 + y), options={"filter": "linear"}
    )  # fmt: skip


def _sums() -> Iterator[TextureCase]:
    where = [bits(drawn(f"sums {axis}", 1024, -1, 9)) for axis in "xyz"]
    for dtype in ("float32", "float16", "uint8", "int8", "uint16", "int16"):
        options = {"filter": "linear", **({} if dtype.startswith("float") else {"read": "normalised"})}
        for axes in (1, 2, 3):
            x, y, z = (*where[:axes], _NONE, _NONE)[:3]
            yield TextureCase(
                f"sums of {dtype}, {axes} axes", _fact_of_sum(dtype), f"tex{axes}d_f",
                texels(f"sums {axes}", (8,) * axes, dtype), x, y, z, options=options,
            )  # fmt: skip
    edges = [0, -0.0, 1, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3e38, 3.4e38, -3.4e38, 1 + 2**-23, 1, 1e-20, 1e20, 1]
    yield TextureCase(
        "sums of extreme numbers", "sum", "tex1d_f", np.array(edges, np.float32), bits(np.arange(0, 16, 1 / 16)),
        options={"filter": "linear"},
    )  # fmt: skip


def _fact_of_sum(dtype: str) -> str:
    return "sum" if dtype.startswith("float") else "sum of fractions"


def _fractions() -> Iterator[TextureCase]:
    for dtype in ("uint8", "int8", "uint16", "int16"):
        size = np.dtype(dtype).itemsize
        rows = 1 if size == 1 else 256
        array = np.arange(256 * rows, dtype=f"u{size}").view(dtype).reshape(rows, 256)
        y, x = np.divmod(np.arange(array.size), 256)
        yield TextureCase(
            f"fractions of {dtype}", "fractions", "tex2d_f", array, bits(x + 0.5), bits(y + 0.5),
            options={"read": "normalised"}, every=1 if size == 1 else 32,
        )  # fmt: skip
    halves = np.arange(65536, dtype=np.uint16).view(np.float16).reshape(256, 256)
    y, x = np.divmod(np.arange(65536), 256)
    yield TextureCase("every float16", "nearest", "tex2d_f", halves, bits(x + 0.5), bits(y + 0.5), every=32)
    nans = np.array([0x7F800001, 0xFFC12345, 0x00000001, 0x80000000, 0xFF800000], np.uint32).view(np.float32)
    yield TextureCase("bits of float32", "nearest", "tex1d_f", nans, bits(np.arange(5) + 0.5))


def _shapes() -> Iterator[TextureCase]:
    for suffix, dtypes in {
        "f": ("float32", "float16"), "u": ("uint8", "uint16", "uint32"), "s": ("int8", "int16", "int32")
    }.items():  # fmt: skip
        for dtype in dtypes:
            for channels in (1, 2, 4):
                array = texels(f"channels {channels}", (3, 5, channels), dtype)
                yield TextureCase(
                    f"{channels} channels of {dtype}", "missing", f"tex2d_{suffix}", array,
                    bits(drawn("channels x", 64, -1, 6)), bits(drawn("channels y", 64, -1, 4)),
                    options={"channels": channels},
                )  # fmt: skip
    layer = integers([0, 1, 2, 3, 4, -1, 2**31 - 1, -(2**31)])
    x = bits(np.arange(8) / 2)
    yield TextureCase(
        "layers of one axis", "layers", "tex1dl_f", texels("layers", (3, 4), "float32"), x, layer=layer,
        options={"layers": True},
    )  # fmt: skip
    yield TextureCase(
        "layers of two axes", "layers", "tex2dl_f", texels("layers", (3, 2, 4), "float32"), x, x[::-1].copy(),
        layer=layer, options={"layers": True},
    )  # fmt: skip
    box = texels("box", (3, 4, 5), "float32")
    where = [bits(drawn(f"box {axis}", 128, -1, 6)) for axis in "xyz"]
    yield TextureCase("three axes", "nearest", "tex3d_f", box, *where)
    for kernel in ("level_f", "grad_f"):
        z = bits(drawn("levels", 128, -3, 9))
        yield TextureCase(kernel, "levels", kernel, box[0], where[0], where[1], z, options={"filter": "linear"})
    near = _near(np.arange(6) - 0.5), _near(np.arange(6)[::-1] - 0.5)
    for kernel, dtype in (("gather0_f", "float32"), ("gather3_f", "float32"), ("gather0_u", "uint8")):
        for mode in ("clamp", "border"):
            yield TextureCase(
                f"{kernel}, {mode}", "gather", kernel, texels("gather", (4, 5, 4), dtype), *near,
                options={"channels": 4, "address": mode},
            )  # fmt: skip


def _surfaces() -> Iterator[TextureCase]:
    x, y = (g.ravel() for g in np.meshgrid(np.arange(-8, 28, 4), np.arange(-2, 5)))
    box = texels("surface", (3, 3, 5), "uint32")
    z = np.arange(len(x)) % 6 - 1
    for mode in ("clamp", "zero"):
        for kernel, array, options in (
            ("read1d", box[0, 0], {}), ("read2d", box[0], {}), ("read3d", box, {}), ("read2dl", box, {"layers": True}),
        ):  # fmt: skip
            yield TextureCase(
                f"{kernel}, {mode}", "clamped surface", f"{kernel}_{mode}", array, integers(x), integers(y),
                integers(z), integers(np.maximum(z, 0)), options=options, kind="surface",
            )  # fmt: skip
        wide = texels("wide surface", (3, 6), "uint32")
        yield TextureCase(
            f"16 bytes, {mode}", "clamped surface", f"read16_{mode}", wide, integers(np.arange(-32, 48, 16)),
            integers([0, 1, 2, 0, 1]), kind="surface",
        )  # fmt: skip
        yield TextureCase(
            f"stores, {mode}", "clamped surface", f"write2d_{mode}", box[0], integers(x), integers(y), kind="written"
        )  # fmt: skip
    yield TextureCase("atomic sums", "clamped surface", "add2d", box[0], integers(x), integers(y), kind="written")
    numbers = [0, 1, 0.5, -0.5, -1, 2, 0.1, 254.5, 255, 256, 300, -200, 65504, 65520, 1e30, 2**-14 + 2**-25]
    numbers += [np.nan, np.inf, -np.inf]
    words = np.concatenate([bits(numbers), np.array([1, 127, 128, 255, 256, 65535, 65536, 0xFFFFFFFF], np.uint32)])
    for dtype in ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float16", "float32"):
        for channels in (1, 2, 4):
            array = np.zeros((1, len(words), channels), dtype)
            yield TextureCase(
                f"formatted stores to {channels} {dtype}", "formatted", "formatted", array, words,
                options={"channels": channels}, kind="written",
            )  # fmt: skip
    halves = np.ldexp(1 + drawn("halves", 512, 0, 1), np.arange(512) % 44 - 27) * (-1.0) ** np.arange(512)
    ties = np.array([1 + 2**-11, 1 + 3 * 2**-11, 65504 + 16, 65504 + 15, 2**-24, 2**-25, 3 * 2**-26, 2**-14 - 2**-25])
    yield TextureCase(
        "formatted stores of halves", "formatted", "formatted", np.zeros((1, 528), np.float16),
        np.concatenate([bits(halves), bits(ties), bits(-ties)]), kind="written",
    )  # fmt: skip


def _normalised() -> Iterator[TextureCase]:
    """Yield fetches at coordinates with more bits than a GPU keeps, and at negative ones."""
    tiny = [1e-40, 2.0**-126, 2.0**-100, 2.0**-40, 2.0**-24, 2.0**-22, 2.0**-21, 2.0**-20, 2.0**-9, 2.0**-8]
    for coordinates in ("texels", "normalised"):
        for way in ("point", "linear"):
            yield TextureCase(
                f"tiny coordinates, {coordinates}, {way}", "scaled", "tex1d_f", np.arange(1, 9, dtype=np.float32),
                bits([*tiny, *(-x for x in tiny)]),
                options={"address": "border", "coordinates": coordinates, "filter": way},
            )  # fmt: skip
    for mode in ("clamp", "border", "wrap", "mirror"):
        for size in (7, 300):
            edges = np.unique(np.linspace(-size, 2 * size, 24).round()) / size
            yield TextureCase(
                f"{mode} of {size}, any bits", "scaled", "tex1d_f", np.arange(1, size + 1, dtype=np.float32),
                _near(edges), options={"coordinates": "normalised", "address": mode},
            )  # fmt: skip
        for size in (3, 100, 1000, 16384):
            words = random_words(f"textures 2|{mode}|{size}", 1024).astype(np.uint32)
            yield TextureCase(
                f"weights along {size}, {mode}, any bits", "scaled", "tex1d_f",
                (np.arange(size) % 2).astype(np.float32), _within_two(words),
                options={"filter": "linear", "coordinates": "normalised", "address": mode},
            )  # fmt: skip


def _within_two(words: Words) -> Words:
    """Return f32 from -2 to 2, of the signs and significands of words."""
    exponents = 127 - np.minimum(words >> np.uint32(23) & np.uint32(7), np.uint32(6))
    return np.asarray(words & np.uint32(0x807FFFFF) | exponents << np.uint32(23), np.uint32)


def _sums_of_any_axes() -> Iterator[TextureCase]:
    """Yield sums with weights that are ties, with every address mode, and of texels of different exponents."""
    for mode in ("clamp", "border", "wrap", "mirror"):
        for axes in (1, 2, 3):
            where = [bits(np.round(drawn(f"ties {a}", 1024, -1, 2) * 2048) / 2048) for a in "xyz"[:axes]]
            yield TextureCase(
                f"ties of {axes} axes, {mode}", "products", f"tex{axes}d_f",
                texels(f"ties {axes}", (4,) * axes, "float32"), *where,
                options={"filter": "linear", "coordinates": "normalised", "address": mode},
            )  # fmt: skip
    for dtype, most in (("float32", 60), ("float16", 14)):
        for axes in (1, 2, 3):
            where = [bits(drawn(f"wide {a}", 2048, -1, 9)) for a in "xyz"[:axes]]
            array = texels(f"wide {axes}", (8,) * axes, "float32").astype(np.float64)
            steps = random_words(f"textures 2|exponents {axes}", array.size).reshape(array.shape) % np.uint64(2 * most)
            wide = np.ldexp(array, steps.astype(np.int64) - most).astype(dtype)
            yield TextureCase(
                f"wide sums of {dtype}, {axes} axes", "sum", f"tex{axes}d_f", wide, *where, options={"filter": "linear"}
            )  # fmt: skip


def _sums_of_edges() -> Iterator[TextureCase]:
    """Yield sums of the extreme numbers of each format."""
    where = bits(np.arange(0, 16, 1 / 64))
    tiny = 2.0**-126
    numbers = [tiny, 0, tiny, -tiny, 3 * tiny, -0.0, -0.0, 0, tiny * 1.5, 0, 2.0**-120, -(2.0**-140), tiny, 0, 1, 0]
    yield TextureCase(
        "sums of tiny float32", "sum", "tex1d_f", np.array(numbers, np.float32), where, options={"filter": "linear"}
    )  # fmt: skip
    numbers = [1, np.inf, -np.inf, np.nan, 65504, -65504, 2.0**-24, 0, -(2.0**-24), 2.0**-14, 3 * 2.0**-24, -0.0, -0.0]
    yield TextureCase(
        "sums of extreme float16", "sum", "tex1d_f", np.array([*numbers, 1, 2.0**-20, 1], np.float16), where,
        options={"filter": "linear"},
    )  # fmt: skip
    for dtype in ("int8", "int16"):
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        numbers = [low, low, low + 1, 0, high, low, high, high, -1, 1, 0, low, 1, -1, low + 1, low + 1]
        yield TextureCase(
            f"sums of extreme {dtype}", "sum of fractions", "tex1d_f", np.array(numbers, dtype), where,
            options={"filter": "linear", "read": "normalised"},
        )  # fmt: skip
