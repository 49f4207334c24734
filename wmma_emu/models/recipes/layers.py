# SPDX-License-Identifier: MIT
"""The products of linear layers in low precision: operands are cast as a recipe says, and multiplied on the chip."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.formats import format_of
from wmma_emu.formats.dtypes import dtype_of, format_meant, from_bits, to_bits
from wmma_emu.models.multiplier import ArrayProduct, ModelMultiplier
from wmma_emu.models.recipes.errors import ProductErrors, StepErrors, operand_errors, relative_error
from wmma_emu.models.recipes.operands import Operand, RandomBits, check_blocks, hadamard_matrix, operand_of
from wmma_emu.models.recipes.spec import ROLES, Cast, Direction, QuantisedProduct, Recipe, Role
from wmma_emu.quantise import DelayedScale
from wmma_emu.quantise.fp8_rules import Factors
from wmma_emu.scalar import convert, div, mul

_F32 = format_of("f32")
_RANGE = 6.0 * 448.0
_NVFP4_DTYPE = "bf16"
"""The precision from which NVFP4 is quantised: Transformer Engine requires it, torchao converts to it."""

FactorsOfRoles = Mapping[Role, Factors | None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LayerProduct:
    """One product of a linear layer, of the matrices ``a`` (M, K) and ``b`` (K, N).

    ``factors`` has the factors of delayed scaling, and ``settings`` the settings of the library for products in high
    precision.
    """

    direction: Direction
    a: NDArray[Any]
    b: NDArray[Any]
    out_dtype: Any
    factors: FactorsOfRoles
    bias: NDArray[Any] | None = None
    settings: frozenset[str] = frozenset()


@dataclass(eq=False)
class RecipeMultiplier:
    """Multiplies the matrices of linear layers by a recipe, with the bits of a chip, and keeps delayed scales.

    Examples
    --------
    >>> from wmma_emu.models import EmulationOptions
    >>> from wmma_emu.models.recipes import RECIPES
    >>> layers = RecipeMultiplier(RECIPES["te_current"], ModelMultiplier(EmulationOptions(arch="h100")), np.zeros)
    >>> x = np.full((2, 32), 3.0, np.float32)
    >>> layers(LayerProduct(direction="forward", a=x, b=x.T, out_dtype=np.float32, factors={}))
    array([[288., 288.],
           [288., 288.]], dtype=float32)
    """

    recipe: Recipe
    multiply: ModelMultiplier
    random_bits: RandomBits
    measures: bool = False
    errors: StepErrors = field(default_factory=StepErrors)
    scales: dict[Hashable, dict[Role, DelayedScale]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for direction in ROLES:  # rejects a chip without the instruction
            product = self.recipe.product(direction)
            if product is not None:
                self.multiply.kind(_dtype_name(product.a), _dtype_name(product.b), _settings(product))

    def factors_of(
        self, layer: Hashable, tensors: Mapping[Role, NDArray[Any]], *, renews: bool = True
    ) -> dict[Role, Any]:
        """Return the factors of delayed scaling for tensors of a layer; None for those that are not delayed.

        ``renews`` ends the step in which the layer was used before: its magnitudes join the history.
        """
        found: dict[Role, Any] = {}
        for role, tensor in tensors.items():
            cast = self._delayed(role)
            found[role] = None
            if cast is None:
                continue
            states = self.scales.setdefault(layer, {})
            if role not in states:
                recipe = self.recipe
                states[role] = DelayedScale(cast.format, recipe.history, recipe.history_choice, recipe.margin)
            if renews:
                states[role].update()
                states[role].record(np.fmax.reduce(np.abs(tensor.astype(np.float32)), axis=None, initial=np.float32(0)))
            found[role] = states[role].factors
        return found

    def _delayed(self, role: Role) -> Cast | None:
        """Return the cast of a tensor whose scale is delayed."""
        for direction, roles in ROLES.items():
            product = self.recipe.product(direction)
            if product is not None and role in roles:
                cast = (product.a, product.b)[roles.index(role)]
                return cast if cast.is_delayed else None
        return None

    def __call__(self, given: LayerProduct) -> NDArray[Any]:
        """Multiply."""
        product = self.recipe.product(given.direction)
        if product is None:
            return self._in_high_precision(given)
        shape = (given.a.shape[0], given.b.shape[1], given.a.shape[1])
        check_blocks(shape, (product.a, product.b), self._name(given.direction))
        casts = zip((given.a, given.b), (product.a, product.b), (1, 0), ROLES[given.direction], strict=True)
        a, b = (self._operand(matrix, cast, axis, given.factors.get(role)) for matrix, cast, axis, role in casts)
        out = self.recipe.result or given.out_dtype
        whole = self._product(given, product, a, b)
        d = _converted(self.multiply(replace(whole, out_dtype=out)), given.out_dtype)
        if self.measures:
            self._measure(given, a, b, self.multiply.product_of(replace(whole, out_dtype=np.float32, bias=None)))
        return d

    def _operand(self, matrix: NDArray[Any], cast: Cast, axis: int, factors: Factors | None) -> Operand:
        if cast.format == "nvfp4":
            matrix = _converted(matrix, _NVFP4_DTYPE)
        return operand_of(matrix, cast, axis, factors, self.random_bits, self._rotate)

    def _rotate(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Multiply rows of 16 by the Hadamard matrix with the chip's instruction, rounded to their format."""
        matrix = hadamard_matrix(rows.dtype)
        return self.multiply(ArrayProduct(operation="linear:rotation", a=rows, b=matrix, out_dtype=rows.dtype))  # type: ignore[no-any-return]

    def _product(self, given: LayerProduct, product: QuantisedProduct, a: Operand, b: Operand) -> ArrayProduct:
        by_rows = "row" in (a.cast.granularity, b.cast.granularity)
        return ArrayProduct(
            operation=f"linear:{given.direction}", a=a.quantised.elements, b=b.quantised.elements, bias=given.bias,
            scale_a=a.scales(by_rows=by_rows), scale_b=b.scales(by_rows=by_rows), scale_order=self.recipe.scale_order,
            alpha=self._alpha(a, b), settings=_settings(product), out_dtype=given.out_dtype,
        )  # fmt: skip

    def _alpha(self, a: Operand, b: Operand) -> Any:
        """Return the factor of the scales of two tensors, as the library computes it in float32."""
        if a.cast.format != "nvfp4":
            return None
        x, y = (z.amax.view(np.uint32).reshape(1) for z in (a, b))
        if self.recipe.alpha == "transformer_engine":
            return mul(mul(x, y, _F32), _reciprocal(_RANGE * _RANGE), _F32).view(np.float32)[0]
        of_x, of_y = (mul(z, _reciprocal(_RANGE), _F32) for z in (x, y))
        return mul(of_x, of_y, _F32).view(np.float32)[0]

    def _in_high_precision(self, given: LayerProduct) -> NDArray[Any]:
        whole = ArrayProduct(
            operation=f"linear:{given.direction}", a=given.a, b=given.b, bias=given.bias, out_dtype=given.out_dtype,
            settings=given.settings,
        )  # fmt: skip
        d = self.multiply(whole)
        if self.measures:
            self._measure(given, None, None, self.multiply.product_of(replace(whole, out_dtype=np.float32, bias=None)))
        return d  # type: ignore[no-any-return]

    @property
    def _module(self) -> str:
        return self.multiply.place()[0]

    def _name(self, direction: Direction) -> str:
        """Return the name of a product in an error message."""
        what = {"forward": "the output", "input gradient": "the gradient of the input"}
        return f"{what.get(direction, 'the gradient of the weight')} of {self._module or 'a linear layer'}"

    def _measure(self, given: LayerProduct, a: Operand | None, b: Operand | None, sums: NDArray[Any]) -> None:
        """Note the errors of a product, without its bias, from the sums in float32."""
        exact = given.a.astype(np.float64) @ given.b.astype(np.float64)
        cast = exact if a is None or b is None else a.quantised.dequantise() @ b.quantised.dequantise()
        rounded = _converted(_converted(sums, self.recipe.result or given.out_dtype), given.out_dtype)
        roles = zip(ROLES[given.direction], (a, b), strict=True)
        operands = [None if operand is None else operand_errors(role, operand) for role, operand in roles]
        self.errors.products.append(ProductErrors(
            self._module, given.direction, (*sums.shape, given.a.shape[1]), operands[0], operands[1],
            relative_error(cast, exact), relative_error(sums, cast, exact), relative_error(rounded, sums, exact),
            relative_error(rounded, exact),
        ))  # fmt: skip


def _settings(product: QuantisedProduct) -> frozenset[str]:
    found = product.a.scale_format or ("precise" if product.is_precise else "")
    return frozenset({found} if found else ())


def _dtype_name(cast: Cast) -> str:
    return str(dtype_of(cast.format if cast.is_fp8 else cast.format.removeprefix("mxfp8_").replace("nvfp4", "e2m1")))


def _reciprocal(number: float) -> NDArray[Any]:
    one, word = (np.array([x], np.float32).view(np.uint32) for x in (1.0, number))
    return div(one, word, _F32)


def _converted(array: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """Convert floats to another format, rounded to nearest even."""
    source, target = format_meant(array.dtype), format_meant(dtype)
    if source is None or target is None or source == target:
        return array
    return from_bits(convert(to_bits(array, source, "x"), source, target), target)
