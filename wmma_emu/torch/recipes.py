# SPDX-License-Identifier: MIT
"""Linear layers of PyTorch in low precision: forward, gradients of inputs and of weights, by a recipe."""

from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from wmma_emu.errors import CallError, OptionError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.formats.libraries import in_library, library_of
from wmma_emu.models.recipes import RECIPES, LayerProduct, Recipe, RecipeMultiplier, Role, StepErrors, recipe_of
from wmma_emu.torch.mode import ProductMode
from wmma_emu.torch.process_switch import ProcessSwitch
from wmma_emu.torch.products import SETTINGS, Multiplier

__all__ = ["RECIPES", "Keep", "Layers", "Recipe", "layers_in_recipes", "layers_of"]

_DTYPES = (torch.float32, torch.bfloat16, torch.float16)

Keep = str | Iterable[str] | Callable[[str], bool]
"""The layers that stay in high precision: patterns of names, as in a shell, or a function of a name."""


class Layers:
    """The linear layers of an emulation with a recipe.

    Parameters
    ----------
    multiplier : Multiplier
    recipe : str or Recipe
    high_precision : str, iterable of str, or callable
    measures : bool
        Whether errors are measured.
    seed : int
        Of the random numbers of stochastic rounding, a sequence of `numpy.random.Philox`.
    """

    def __init__(self, multiplier: Multiplier, recipe: object, high_precision: Keep, measures: bool, seed: int) -> None:
        if integer_of(seed) is None or seed < 0:
            raise OptionError(f"seed={shorten(seed)} is not a non-negative integer")
        self.places = multiplier.places
        self._stays = _chooser(high_precision)
        self._generator = np.random.Generator(np.random.Philox(seed))
        self.multiply = RecipeMultiplier(recipe_of(recipe), multiplier.of_arrays, self._random_bits, measures)

    @property
    def errors(self) -> StepErrors:
        """The errors of the products, if they are measured."""
        return self.multiply.errors

    def _random_bits(self, shape: tuple[int, ...]) -> NDArray[np.uint8]:
        return self._generator.integers(0, 256, shape, np.uint8)

    def linear(self, x: Any, weight: Any, bias: Any = None) -> Any:
        """Compute a linear layer; NotImplemented if it stays in high precision."""
        module = self.places()[0]
        kept = weight
        if torch.is_autocast_enabled(x.device.type):
            dtype = torch.get_autocast_dtype(x.device.type)
            x, bias = x.to(dtype), None if bias is None else bias.to(dtype)
            weight = weight if self.multiply.recipe.keeps_weight else weight.to(dtype)
        is_matrix = x.dim() >= 1 and weight.dim() == 2 and x.shape[-1] == weight.shape[1]
        if self._stays(module) or not is_matrix or not {x.dtype, weight.dtype} <= set(_DTYPES):
            return NotImplemented
        layer = (module, kept.data_ptr(), tuple(kept.shape))
        in_epilogue = bias is not None and self.multiply.recipe.bias == "epilogue"
        y = _Linear.apply(x.reshape(-1, x.shape[-1]), weight, bias if in_epilogue else None, self, layer)
        y = y.reshape(*x.shape[:-1], weight.shape[0])
        return y if bias is None or in_epilogue else y + bias.to(y.dtype)


_original = torch.nn.functional.linear


def _linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """Compute a linear layer by the recipe of the innermost emulation of this thread, if it has one."""
    modes = (x for x in reversed(_get_current_dispatch_mode_stack()) if isinstance(x, ProductMode))
    mode = next(modes, None)
    is_plain = all(type(x) in (torch.Tensor, torch.nn.Parameter) for x in (input, weight, bias) if x is not None)
    if mode is not None and mode.layers is not None and is_plain:
        found = mode.layers.linear(input, weight, bias)
        if found is not NotImplemented:
            return found
    return _original(input, weight, bias)


def _replace() -> Any:
    global _original
    _original, torch.nn.functional.linear = torch.nn.functional.linear, _linear
    return _original


def _restore(original: Any) -> None:
    torch.nn.functional.linear = original


layers_in_recipes = ProcessSwitch(_replace, _restore)
"""Replaces `torch.nn.functional.linear`, also in PyTorch's own modules, by `_linear` in a block of code."""


class _Linear(torch.autograd.Function):  # type: ignore[misc]
    """The three products of a layer. What the forward pass knows is kept for the gradients."""

    @staticmethod
    def forward(ctx: Any, x: Any, weight: Any, bias: Any, layers: Layers, layer: tuple[Any, ...]) -> Any:
        multiply = layers.multiply
        arrays: dict[Role, NDArray[Any]] = {"input": _array(x), "weight": _array(weight)}
        is_recomputed = torch._C._current_autograd_node() is not None
        factors = multiply.factors_of(layer, arrays, renews=not is_recomputed)
        given = {} if bias is None else {"bias": _array(_as_in_the_epilogue(bias, x.dtype))}
        y = multiply(LayerProduct(
            direction="forward", a=arrays["input"], b=arrays["weight"].T, out_dtype=x.dtype, factors=factors,
            settings=_settings(), **given,
        ))  # fmt: skip
        ctx.save_for_backward(x, weight)
        ctx.layers, ctx.layer, ctx.factors = layers, layer, factors
        ctx.bias_dtype = None if bias is None else bias.dtype
        return _tensor(y, x)

    @staticmethod
    @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, gradient: Any) -> tuple[Any, ...]:
        x, weight = ctx.saved_tensors
        multiply, dy = ctx.layers.multiply, _array(gradient)
        factors = ctx.factors | multiply.factors_of(ctx.layer, {"gradient": dy})
        of_input = of_weight = None
        with ctx.layers.places.at(ctx.layer[0]):
            if ctx.needs_input_grad[0]:
                of_input = _tensor(multiply(LayerProduct(
                    direction="input gradient", a=dy, b=_array(weight), out_dtype=x.dtype, factors=factors,
                    settings=_settings(),
                )), x)  # fmt: skip
            if ctx.needs_input_grad[1]:
                of_weight = _tensor(multiply(LayerProduct(
                    direction="weight gradient", a=dy.T, b=_array(x), out_dtype=x.dtype, factors=factors,
                    settings=_settings(),
                )), x).to(weight.dtype)  # fmt: skip
        of_bias = gradient.sum(0).to(ctx.bias_dtype) if ctx.bias_dtype and ctx.needs_input_grad[2] else None
        return of_input, of_weight, of_bias, None, None


def _settings() -> frozenset[str]:
    return frozenset(name for name, read in SETTINGS.items() if read(False))


def _as_in_the_epilogue(bias: Any, dtype: Any) -> Any:
    """Return the bias in the dtype that the kernel reads: bfloat16 for layers in float32."""
    return bias.to(torch.bfloat16 if dtype == torch.float32 else dtype)


def _array(tensor: Any) -> NDArray[Any]:
    host = tensor.detach().cpu()
    return library_of(host).read(host, "x")  # type: ignore[union-attr]


def _tensor(array: NDArray[Any], like: Any) -> Any:
    return in_library(array, library_of(like)).to(like.device)


def _chooser(given: Keep) -> Callable[[str], bool]:
    """Return a function that says which modules stay in high precision."""
    if callable(given):
        return given
    patterns = [given] if isinstance(given, str) else list(given) if isinstance(given, Iterable) else [None]
    for pattern in patterns:
        if not isinstance(pattern, str):
            raise OptionError(
                f"high_precision={shorten(given)} is not a pattern of module names, such as '*.head', a list of them, "
                "or a function of a name"
            )
    return lambda name: any(fnmatchcase(name, pattern) for pattern in patterns)


def layers_of(multiplier: Multiplier, recipe: object, high_precision: Keep, measures: bool, seed: int) -> Layers | None:
    """Return the linear layers of an emulation; None without a recipe.

    Raises
    ------
    CallError
        If options of a recipe are given without one, or a recipe without a chip.
    """
    if recipe is None:
        for name, is_given in (("high_precision", bool(high_precision)), ("errors", measures), ("seed", bool(seed))):
            if is_given:
                raise CallError(f"{name}= belongs to a recipe; pass recipe=, too: emulate('h100', recipe='te_current')")
        return None
    if multiplier.options.arch is None:
        raise CallError(f"recipe={shorten(recipe)} needs a chip; emulate(None) computes on the host")
    return Layers(multiplier, recipe, high_precision, measures, seed)
