# SPDX-License-Identifier: MIT
"""The operands of a product in low precision: a matrix, cast as its recipe says."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ShapeError
from wmma_emu.formats import Format, format_of
from wmma_emu.formats.dtypes import from_bits
from wmma_emu.models.recipes.spec import Cast
from wmma_emu.quantise import BlockScaled, FloatScaled, quantise, scale_to_fp8
from wmma_emu.quantise.fp8_rules import Factors

RandomBits = Callable[[tuple[int, ...]], NDArray[np.uint8]]
"""A function that draws random numbers of eight bits for a matrix of a shape."""

Rotation = Callable[[NDArray[Any]], NDArray[Any]]
"""A function that multiplies rows of 16 numbers by the Hadamard matrix."""

SIGNS = (1, 1, 1, -1, 1, -1, -1, -1, -1, -1, -1, 1, -1, 1, -1, -1)
"""The signs of the random Hadamard transform, `get_wgrad_sign_vector` of Transformer Engine; torchao has the same."""

_ROTATED = 16


@dataclass(frozen=True, slots=True, eq=False)
class Operand:
    """A cast matrix.

    ``source`` is the matrix that was quantised, after a rotation if there was one, and ``original`` the one before.
    """

    cast: Cast
    original: NDArray[Any]
    source: NDArray[Any]
    quantised: FloatScaled | BlockScaled

    @property
    def amax(self) -> np.float32:
        """The largest magnitude; NaN does not count."""
        return np.fmax.reduce(np.abs(self.source.astype(np.float32)), axis=None, initial=np.float32(0))  # type: ignore[no-any-return]

    def limits(self) -> NDArray[np.float64]:
        """Return the largest value that each element could have with its scale."""
        given = self.quantised
        if isinstance(given, FloatScaled):
            return replace(given, elements=_filled(given.elements, format_of(self.cast.format))).dequantise()
        return replace(given, elements=_filled(given.elements, given.block_format.element)).dequantise()

    def scales(self, *, by_rows: bool) -> NDArray[Any]:
        """Return the scales as `wmma_emu.gemm` takes them; ``by_rows`` repeats the scale of a matrix for its lines."""
        scales, shape = self.quantised.scales, self.source.shape
        if by_rows and self.cast.granularity == "tensor":
            return np.broadcast_to(scales, (shape[0], 1) if self.quantised.axis else (1, shape[1]))
        return scales


def _filled(elements: NDArray[Any], fmt: Format) -> NDArray[Any]:
    """Return an array of the largest element."""
    return from_bits(np.full(elements.shape, fmt.max_finite, fmt.storage), fmt)


def hadamard_matrix(dtype: Any) -> NDArray[Any]:
    """Return the 16 x 16 matrix of the random Hadamard transform, whose entries are 0.25 and -0.25.

    Examples
    --------
    >>> H = hadamard_matrix(np.float32)
    >>> H[3, :4].tolist(), bool((H @ H.T == np.eye(16)).all())
    ([-0.25, 0.25, 0.25, -0.25], True)
    """
    h = np.ones((1, 1))
    while len(h) < _ROTATED:
        h = np.block([[h, h], [h, -h]])
    return (np.array(SIGNS)[:, None] * h * 0.25).astype(dtype)  # powers of two, in every format


def operand_of(
    matrix: NDArray[Any], cast: Cast, axis: int, factors: Factors | None, random_bits: RandomBits, rotate: Rotation
) -> Operand:
    """Cast a matrix whose k is ``axis``.

    Examples
    --------
    >>> x = np.array([[2.0, -14.0]], np.float32)
    >>> operand_of(x, Cast("e4m3", "transformer_engine"), 1, None, np.zeros, np.asarray).quantised.scales
    array(0.03125, dtype=float32)
    """
    if cast.is_fp8:
        quantised = scale_to_fp8(
            matrix, cast.format, granularity=cast.granularity, axis=axis, rule=cast.rule,
            powers_of_two=cast.powers_of_two, factors=factors,
        )  # fmt: skip
        return Operand(cast, matrix, matrix, quantised)
    source = _rotated(matrix, axis, rotate) if cast.is_rotated else matrix
    given: dict[str, Any] = {"random_bits": random_bits(source.shape)} if cast.is_stochastic else {}
    blocks = quantise(source, cast.format, axis=axis, rule=cast.rule, square=cast.is_square, **given)
    return Operand(cast, matrix, source, blocks)


def check_blocks(shape: tuple[int, int, int], casts: tuple[Cast, Cast], what: str) -> None:
    """Reject a product whose k, or whose squares, are not whole blocks; ``what`` names it."""
    m, n, k = shape
    size = max(cast.block for cast in casts)
    for cast, name, lines in ((casts[0], "M", m), (casts[1], "N", n)):
        for axis, length in (("K", k), *([(name, lines)] if cast.is_square else [])):
            if length % size:
                raise ShapeError(
                    f"{what} has {axis} = {length}, and {cast.format} has blocks of {size}; make it a multiple of "
                    f"{size}, or name the layer in high_precision="
                )


def _rotated(matrix: NDArray[Any], axis: int, rotate: Rotation) -> NDArray[Any]:
    lines = np.ascontiguousarray(matrix if axis else matrix.T)
    done = rotate(lines.reshape(-1, _ROTATED)).reshape(lines.shape)
    return done if axis else done.T
