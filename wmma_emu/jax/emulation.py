# SPDX-License-Identifier: MIT
"""A transformation of functions: their matrix products have the bits of a chip."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import jax
import numpy as np
from jax import tree_util

from wmma_emu.errors import CallError, shorten
from wmma_emu.instructions import Arch
from wmma_emu.jax.interpreter import evaluated
from wmma_emu.jax.products import place_of_thread
from wmma_emu.models import EmulationLog, EmulationOptions, ModelMultiplier, options_of


class JaxEmulation:
    """A transformation of functions, made by `emulate`: call it with a function, or use it as a decorator.

    Attributes
    ----------
    options : EmulationOptions
    log : EmulationLog
        The products that were computed up to now. The module of a product is JAX's stack of names.
    """

    def __init__(self, options: EmulationOptions) -> None:
        self.options = options
        self._multiply = ModelMultiplier(options, place=place_of_thread)

    @property
    def log(self) -> EmulationLog:
        """The products up to now, and those that were not emulated."""
        return self._multiply.log

    def __call__(self, function: Any) -> Callable[..., Any]:
        """Return the function with emulated products.

        Raises
        ------
        CallError
            If it is not a function.
        """
        if not callable(function):
            raise CallError(f"an emulation transforms a function, not {shorten(function)}: emulate('h100')(function)")

        @wraps(function)
        def run(*arguments: Any, **named: Any) -> Any:
            leaves, tree = tree_util.tree_flatten((arguments, named))
            places = [i for i, x in enumerate(leaves) if _is_array(x)]
            trees: list[Any] = []

            def flat(*arrays: Any) -> Any:
                values = list(leaves)
                for i, x in zip(places, arrays, strict=True):
                    values[i] = x
                given, keywords = tree_util.tree_unflatten(tree, values)
                results, result_tree = tree_util.tree_flatten(function(*given, **keywords))
                trees.append(result_tree)
                return results

            arrays = [leaves[i] for i in places]
            closed = jax.make_jaxpr(flat)(*arrays)
            return tree_util.tree_unflatten(trees[-1], evaluated(closed, arrays, self._multiply))

        return run

    def __enter__(self) -> None:
        raise CallError(
            "JAX compiles functions once and keeps them, so that an emulation is a transformation, not a context: "
            "wmma_emu.jax.emulate('h100')(function)"
        )

    def __exit__(self, *_: object) -> None:
        """Return without effect, because no context was entered."""

    def __repr__(self) -> str:
        return f"<emulation of {self.options.arch}, {len(self.log)} products>"


def emulate(arch: str | Arch, **options: Any) -> JaxEmulation:
    """Return a transformation of functions: their matrix products have the bits of a chip.

    It may be applied inside and outside of `jax.jit`, `jax.grad`, `jax.vmap` and control flow. Outside of `grad`, it
    also finds the products of functions with separate derivatives (`jax.custom_vjp`); inside, gradients of emulated
    products are emulated.

    Parameters
    ----------
    arch : str or Arch
        The chip.
    **options
        Options of `wmma_emu.models.EmulationOptions`: ``like``, ``k_order``, ``tf32_conversion``, ...

    Returns
    -------
    JaxEmulation

    Raises
    ------
    UnsupportedInstructionError
        If the chip or an option does not exist.

    Notes
    -----
    Every ``dot_general`` of matrices becomes `wmma_emu.gemm`, called from XLA (`jax.pure_callback`): ``@``,
    ``jnp.matmul``, ``jnp.einsum``, and attention that is composed of them. K has the order of ``dimension_numbers``.
    Float32 is multiplied as on a GPU: TF32 by default, where the chip has it, and float32 with
    ``jax.lax.Precision.HIGHEST``.
    Products with vectors, and convolutions, are computed by XLA; the log counts them.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, wmma_emu as we
    >>> A = jnp.full((1, 16), 1.75 * 2**-12, jnp.float16).at[0, 0].set(1)
    >>> B = jnp.full((16, 1), 2**-12, jnp.float16).at[0, 0].set(1)
    >>> @jax.jit
    ... def product(a, b):
    ...     return jnp.matmul(a, b, preferred_element_type=jnp.float32)
    >>> for chip in ("v100", "a100", "h100"):
    ...     print(chip, hex(we.jax.emulate(chip)(product)(A, B).view(jnp.uint32).item()))
    v100 0x3f800000
    a100 0x3f800007
    h100 0x3f80000b
    """
    if arch is None:
        raise CallError("None is not a chip: functions that emulate does not transform are computed by XLA")
    return JaxEmulation(options_of(arch, options))


def _is_array(value: Any) -> bool:
    return isinstance(value, jax.Array | np.ndarray)
