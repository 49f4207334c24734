# SPDX-License-Identifier: MIT
"""A primitive of JAX for one product on the emulated chip, with its derivatives, its batches, and its call from XLA."""

import threading
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend import core
from jax.interpreters import ad, batching, mlir

from wmma_emu.models import ArrayProduct, ModelMultiplier

_TF32 = frozenset({"None", "DEFAULT", "HIGH", "TF32_TF32_F32"})
"""The precisions with which JAX multiplies float32 in TF32 on a GPU that supports it."""

_FLOAT32 = frozenset({"HIGHEST", "F32_F32_F32"})


def emulated_dot(
    multiply: ModelMultiplier, a: Any, b: Any, place: str, *, dimension_numbers: Any, precision: Any,
    preferred_element_type: Any, **_: Any,
) -> Any:  # fmt: skip
    """Return the result of a ``dot_general`` as emulated products of matrices; None if it has no rule."""
    (of_a, of_b), (batch_a, batch_b) = dimension_numbers
    free_a, free_b = (_free(x, y) for x, y in ((a.ndim, (*of_a, *batch_a)), (b.ndim, (*of_b, *batch_b))))
    a, b = _promoted(a, b)
    settings, out = _settings(precision), preferred_element_type or jnp.result_type(a, b)
    reason = ""
    if not free_a or not free_b:
        reason = "products with a vector are computed by XLA"
    elif np.dtype(out).kind in "iu" and np.dtype(out) != np.int32:
        reason = "results in integers other than int32"
    elif settings is None or multiply.kind(a.dtype.name, b.dtype.name, settings) is None:
        reason = "a dtype or a precision that has no rule"
    if reason or settings is None:
        multiply.log.untouched[f"dot_general, {reason}"] += 1
        return None
    batch, k = [a.shape[i] for i in batch_a], [a.shape[i] for i in of_a]
    rows, columns = [a.shape[i] for i in free_a], [b.shape[i] for i in free_b]
    x = lax.transpose(a, (*batch_a, *free_a, *of_a)).reshape(prod(batch), prod(rows), prod(k))
    y = lax.transpose(b, (*batch_b, *of_b, *free_b)).reshape(prod(batch), prod(k), prod(columns))
    d = _product.bind(x, y, multiply=multiply, settings=settings, out=np.dtype(out), place=place)
    return d.reshape(*batch, *rows, *columns)


def _promoted(a: Any, b: Any) -> tuple[Any, Any]:
    """Return operands of one dtype, as XLA converts them: the gradient of bf16 products in float32 has two."""
    if a.dtype == b.dtype or all(x.dtype.name.startswith("float8") for x in (a, b)):
        return a, b
    dtype = jnp.promote_types(a.dtype, b.dtype)
    return a.astype(dtype), b.astype(dtype)


def _free(rank: int, used: Any) -> list[int]:
    return [i for i in range(rank) if i not in used]


def _settings(precision: Any) -> frozenset[str] | None:
    """Return the settings of a precision; None for one without rules."""
    both = precision if isinstance(precision, tuple) else (precision,)
    names = {getattr(x, "name", str(x)) for x in both}
    if names <= _TF32:
        return frozenset({"tf32"})
    return frozenset() if names <= _FLOAT32 else None


_THREAD = threading.local()
"""The stack of names of the product that this thread computes: XLA calls the emulator from several threads."""


def place_of_thread() -> tuple[str, bool]:
    """Return the stack of names of the product that this thread computes, and whether it computes a gradient."""
    place = getattr(_THREAD, "place", "")
    return place, "transpose(" in place


_product = core.Primitive("wmma_emu_product")
"""D = A B for A of shape (batch, M, K) and B of shape (batch, K, N)."""


def _computed(a: Any, b: Any, *, multiply: ModelMultiplier, settings: frozenset[str], out: Any, place: str) -> Any:
    """Multiply arrays of NumPy; one matrix has no batch, so that recorded kernels apply."""
    x, y = np.asarray(a), np.asarray(b)
    if len(x) == 1:
        x, y = x[0], y[0]
    _THREAD.place = place
    d = multiply(ArrayProduct(operation="dot_general", a=x, b=y, out_dtype=out, settings=settings))
    return d.reshape(len(np.asarray(a)), *d.shape[-2:])


def _shape(a: Any, b: Any, *, out: Any, **_: Any) -> Any:
    return jax.core.ShapedArray((*a.shape[:-1], b.shape[-1]), out)


def _called(a: Any, b: Any, **params: Any) -> Any:
    """Call the emulator from XLA."""
    shape = jax.ShapeDtypeStruct((*a.shape[:-1], b.shape[-1]), params["out"])
    return jax.pure_callback(lambda x, y: _computed(x, y, **params), shape, a, b, vmap_method="sequential")


def _of_a(d: Any, a: Any, b: Any, **params: Any) -> Any:
    """Return the gradient of A: D's times the transpose of B."""
    return _gradient(d, jnp.swapaxes(b, 1, 2), a.aval.dtype, params, True)


def _of_b(d: Any, a: Any, b: Any, **params: Any) -> Any:
    return _gradient(d, jnp.swapaxes(a, 1, 2), b.aval.dtype, params, False)


def _gradient(d: Any, other: Any, dtype: Any, params: dict[str, Any], is_first: bool) -> Any:
    pair = _promoted(*((d, other) if is_first else (other, d)))
    params = {**params, "out": np.dtype(dtype), "place": f"transpose({params['place']})"}
    return _product.bind(*pair, **params)


def _batched(operands: Any, axes: Any, **params: Any) -> Any:
    """Multiply a batch of products as one with more matrices."""
    size = next(x.shape[i] for x, i in zip(operands, axes, strict=True) if i is not None)
    moved = [
        jnp.broadcast_to(x, (size, *x.shape)) if i is None else jnp.moveaxis(x, i, 0)
        for x, i in zip(operands, axes, strict=True)
    ]
    count = moved[0].shape[1]
    d = _product.bind(*(x.reshape(size * count, *x.shape[2:]) for x in moved), **params)
    return d.reshape(size, count, *d.shape[1:]), 0


_product.def_impl(lambda a, b, **params: jnp.asarray(_computed(a, b, **params)))
_product.def_abstract_eval(_shape)
ad.defbilinear(_product, _of_a, _of_b)
batching.primitive_batchers[_product] = _batched
mlir.register_lowering(_product, mlir.lower_fun(_called, multiple_results=False))
