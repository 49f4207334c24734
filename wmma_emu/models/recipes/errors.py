# SPDX-License-Identifier: MIT
"""The errors of a training step in low precision: what quantisation, accumulation and rounding cost in each product."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.display import in_columns
from wmma_emu.formats import decode, format_of
from wmma_emu.models.recipes.operands import Operand
from wmma_emu.models.recipes.spec import Role
from wmma_emu.quantise import BLOCK_FORMATS


@dataclass(frozen=True, slots=True)
class OperandErrors:
    """The errors of one operand.

    Parameters
    ----------
    role : {"input", "weight", "gradient"}
    format : str
    amax : float
        The largest magnitude.
    least_scale, largest_scale : float
        The factors of the elements; NVFP4 includes the scale of the tensor.
    error : float
        The root mean square of the error, relative to that of the numbers.
    saturated, underflowed : float
        The shares of numbers that are too large for the largest element, and that are not 0 but became 0.
    """

    role: Role
    format: str
    amax: float
    least_scale: float
    largest_scale: float
    error: float
    saturated: float
    underflowed: float


@dataclass(frozen=True, slots=True)
class ProductErrors:
    """The errors of one product, as root mean squares relative to the exact product of the operands.

    Parameters
    ----------
    module, direction : str
        The layer, and ``"forward"``, ``"input gradient"`` or ``"weight gradient"``.
    shape : tuple of int
        (M, N, K).
    a, b : OperandErrors or None
        None for a product in high precision.
    quantisation : float
        The exact product of the cast operands, against that of the operands.
    accumulation : float
        The chip's sums with their scales, in float32, against the exact product of the cast operands.
    rounding : float
        The result in its format, against the sums in float32.
    total : float
        The result against the exact product of the operands.
    """

    module: str
    direction: str
    shape: tuple[int, int, int]
    a: OperandErrors | None
    b: OperandErrors | None
    quantisation: float
    accumulation: float
    rounding: float
    total: float


@dataclass(eq=False)
class StepErrors(Sequence[ProductErrors]):
    """The errors of all products up to now: ``str()`` is a table, `to_dicts` makes a data frame.

    Examples
    --------
    >>> print(StepErrors())
    no product was measured
    """

    products: list[ProductErrors] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.products)

    def __getitem__(self, index: Any) -> Any:
        return self.products[index]

    def __iter__(self) -> Iterator[ProductErrors]:
        return iter(self.products)

    def clear(self) -> None:
        """Forget everything, for example after a step."""
        self.products.clear()

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one dictionary for each product, with the operands' fields as ``a_amax``, ``b_saturated``, ..."""
        return [_flat(x) for x in self.products]

    def __str__(self) -> str:
        if not self.products:
            return "no product was measured"
        head = ("layer", "product", "MxNxK", "quantisation", "accumulation", "rounding", "operand", "amax", "scale",
                "saturated", "to zero")  # fmt: skip
        rows = [row for product in self.products for row in _rows(product)]
        return "\n".join(in_columns([head, *rows], right=(3, 4, 5, 7, 8, 9, 10)))


def operand_errors(role: Role, operand: Operand) -> OperandErrors:
    """Measure the errors of a cast matrix."""
    exact, values, limits = operand.source.astype(np.float64), operand.quantised.dequantise(), operand.limits()
    largest, rounds_beyond = largest_elements(operand.cast.format)
    scales = limits / largest
    with np.errstate(invalid="ignore"):  # a NaN
        saturated = np.abs(exact) > limits * (rounds_beyond / largest)
    lost = (exact != 0) & (values == 0)
    least, most = (float(pick(scales)) if scales.size else 0.0 for pick in (np.min, np.max))
    return OperandErrors(
        role, operand.cast.format, float(operand.amax), least, most, relative_error(values, exact), _share(saturated),
        _share(lost),
    )  # fmt: skip


def _share(which: NDArray[np.bool_]) -> float:
    return float(which.mean()) if which.size else 0.0


def largest_elements(name: str) -> tuple[float, float]:
    """Return the largest element of a format of `Cast`, and the number above which rounding would exceed it.

    Examples
    --------
    >>> largest_elements("e4m3"), largest_elements("nvfp4")
    ((448.0, 464.0), (6.0, 7.0))
    """
    fmt = BLOCK_FORMATS[name].element if name in BLOCK_FORMATS else format_of(name)
    before, largest = decode(np.array([fmt.max_finite - 1, fmt.max_finite], fmt.storage), fmt)
    return float(largest), float(largest + (largest - before) / 2)


def relative_error(values: NDArray[Any], exact: NDArray[Any], size: NDArray[Any] | None = None) -> float:
    """Return the root mean square of a difference, relative to that of ``exact``, or of ``size``."""
    if not values.size:
        return 0.0
    with np.errstate(invalid="ignore", over="ignore"):
        norm = float(np.sqrt(np.mean(np.square((exact if size is None else size).astype(np.float64)))))
        error = float(np.sqrt(np.mean(np.square(values.astype(np.float64) - exact.astype(np.float64)))))
    return error / norm if norm else np.inf if error else 0.0


def _flat(product: ProductErrors) -> dict[str, Any]:
    found = asdict(product)
    for name in ("a", "b"):
        operand = found.pop(name)
        found |= {} if operand is None else {f"{name}_{key}": value for key, value in operand.items()}
    return found


def _rows(product: ProductErrors) -> Iterator[tuple[str, ...]]:
    sizes = "x".join(map(str, product.shape))
    shares = tuple(f"{x:.1e}" for x in (product.quantisation, product.accumulation, product.rounding))
    first: tuple[str, ...] = (product.module, product.direction, sizes, *shares)
    operands = [x for x in (product.a, product.b) if x is not None]
    if not operands:
        yield (*first, "high precision", "", "", "", "")
    for x in operands:
        scale = f"{x.least_scale:.3g}"
        if x.largest_scale != x.least_scale:
            scale += f" to {x.largest_scale:.3g}"
        yield (*first, f"{x.role} {x.format}", f"{x.amax:.3g}", scale, f"{x.saturated:.2%}", f"{x.underflowed:.2%}")
        first = ("",) * len(first)
