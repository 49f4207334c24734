# SPDX-License-Identifier: MIT
"""Which rounding of weights and sums explains a recording of filtered textures.

    python -m tools.fit_textures sm90_textures.npz

For every case with filtering, and each combination of a rounding of weights and a way to add, the number of results
that differ is printed, the best first. What agrees everywhere can become the entries "weights" and "sum" of
`wmma_emu.ptx.textures.facts`, and the code of `coordinates.neighbours` and `values.filtered`.
"""

import argparse
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.recordings import load_arrays
from tools.texture_cases import TextureCase, cases
from wmma_emu.formats import encode
from wmma_emu.ptx.textures.coordinates import placed, scaled
from wmma_emu.ptx.textures.fetches import axes_of
from wmma_emu.ptx.textures.objects import Texture
from wmma_emu.ptx.textures.values import divisor_of, exact_values

Doubles = NDArray[np.float64]
Levels = list[tuple[Doubles, Doubles]]
"""The values of two neighbours along the axes in turn: at the end one number of each fetch."""

POSITIONS: dict[str, Callable[[Doubles], Doubles]] = {
    "nearest, ties up": lambda x: np.floor(x + 0.5),
    "nearest, ties to even": np.rint,
    "truncated": np.floor,
    "upwards": np.ceil,
}
"""Roundings of a position, in units of a step, to a whole number."""


def _f32(x: Doubles, rounding: str = "RNE") -> Doubles:
    return np.asarray(encode(x, "f32", rounding), np.uint32).view(np.float32).astype(np.float64)  # type: ignore[arg-type]


def _lerp(low: Doubles, high: Doubles, weight: Doubles) -> Doubles:
    return _f32(low + weight * _f32(high - low))


def _fma(low: Doubles, high: Doubles, weight: Doubles) -> Doubles:
    return _f32(_f32((1 - weight) * low) + weight * high)


def _two_products(low: Doubles, high: Doubles, weight: Doubles) -> Doubles:
    return _f32(_f32((1 - weight) * low) + _f32(weight * high))


def _unrounded(low: Doubles, high: Doubles, weight: Doubles) -> Doubles:
    return (1 - weight) * low + weight * high


SUMS: dict[str, tuple[Callable[[Doubles, Doubles, Doubles], Doubles], str]] = {
    "once to nearest": (_unrounded, "RNE"), "once truncated": (_unrounded, "RZ"), "f32 lerp": (_lerp, "RNE"),
    "f32 fma": (_fma, "RNE"), "two f32 products": (_two_products, "RNE"),
}  # fmt: skip
"""Ways to join two neighbours along one axis, each with the rounding of the result."""

ORDERS = ("x first", "x last")
BITS = (8, 9, 10, 16)


def fitted(case: TextureCase, texture: Texture, recorded: NDArray[np.uint32]) -> dict[str, int]:
    """Return how many results each combination does not explain."""
    found = {}
    for bits, (name, position), (added, way), order in product(BITS, POSITIONS.items(), SUMS.items(), ORDERS):
        ours = _results(case, texture, bits, position, *way, order)
        found[f"{bits} bits {name}; {added}; {order}"] = int((ours != recorded).sum())
    return found


def _results(
    case: TextureCase, texture: Texture, bits: int, position: Callable[[Doubles], Doubles],
    join: Callable[[Doubles, Doubles, Doubles], Doubles], rounding: str, order: str,
) -> NDArray[np.uint32]:  # fmt: skip
    texels, as_fractions = texture.texels, texture.read == "normalised"
    unsigned = texture.array.view(f"u{texels.element_bytes}")
    values = exact_values(unsigned, texels, as_fractions=as_fractions)
    if as_fractions:
        values = values / divisor_of(texels)
    places, weights = [], []
    for coordinate, axis in zip(case.inputs, axes_of(texture), strict=False):
        whole = position(scaled(coordinate.view(np.float32), axis) * 2.0**bits) - 2.0 ** (bits - 1)
        low = np.floor(whole * 2.0**-bits)
        weights.append(whole * 2.0**-bits - low)
        places.append([placed((low + i).astype(np.int64), axis) for i in (0, 1)])
    corners: dict[tuple[int, ...], Doubles] = {}
    for chosen in product((0, 1), repeat=len(places)):
        picked = [pair[i] for pair, i in zip(places, chosen, strict=True)]
        inside = np.all([np.ones(case.count, bool) if x.inside is None else x.inside for x in picked], axis=0)
        corners[chosen] = np.where(inside, values[tuple(x.texel for x in reversed(picked))], 0.0)
    axes = range(len(places)) if order == "x first" else range(len(places) - 1, -1, -1)
    with np.errstate(all="ignore"):
        return _joined(corners, weights, list(axes), join, rounding)


def _joined(
    corners: dict[tuple[int, ...], Doubles], weights: list[Doubles], axes: list[int],
    join: Callable[[Doubles, Doubles, Doubles], Doubles], rounding: str,
) -> NDArray[np.uint32]:  # fmt: skip
    for axis in axes:
        lows = [x for x in corners if x[axis] == 0]
        corners = {
            (*x[:axis], -1, *x[axis + 1 :]): join(corners[x], corners[(*x[:axis], 1, *x[axis + 1 :])], weights[axis])
            for x in lows
        }
    (value,) = corners.values()
    return np.asarray(encode(value, "f32", rounding), np.uint32)  # type: ignore[arg-type]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="a recording of tools.record_textures")
    parser.add_argument("--best", type=int, default=3, help="combinations that are printed for each case")
    given = parser.parse_args(arguments)
    recorded, _ = load_arrays(given.file)
    total: dict[str, int] = {}
    for case in cases():
        texture: Any = case.object() if case.kind == "texture" else None
        if case.name not in recorded or not isinstance(texture, Texture) or texture.filter != "linear":
            continue
        found = fitted(case, texture, recorded[case.name][:, 0])
        best = sorted(found.items(), key=lambda x: x[1])[: given.best]
        print(f"{case.name} ({case.count}): " + "; ".join(f"{number} differ: {name}" for name, number in best))
        for name, number in found.items():
            total[name] = total.get(name, 0) + number
    for name, number in sorted(total.items(), key=lambda x: x[1])[:10]:
        print(f"{number:8} differ in all cases: {name}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
