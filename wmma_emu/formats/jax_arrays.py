# SPDX-License-Identifier: MIT
"""Conversion between JAX and NumPy arrays, bit for bit; JAX is never imported: a JAX array implies that it is."""

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, BackendUnavailableError, shorten
from wmma_emu.formats.extension_dtypes import fills_its_bytes, ml_dtype_of


def read(array: Any, name: str) -> NDArray[Any]:
    """Read an array from any device; JAX also uses the dtypes of ml_dtypes for bfloat16 and FP8.

    Tracers, which have no numbers yet, and arrays that NumPy cannot read are rejected.
    """
    jax = sys.modules["jax"]
    if isinstance(array, jax.core.Tracer):
        raise ArgumentError(
            f"{name} is a tracer of JAX: within jit, vmap and grad arrays have no numbers yet; call it through "
            "jax.pure_callback (docs/how-to/use-with-jax.md)"
        )
    try:
        return np.asarray(array)
    except Exception as error:  # deleted, on another host, a key
        raise ArgumentError(
            f"{name} is a jax {shorten(type(array).__name__, str)} that NumPy cannot read: {shorten(error, str)}. Pass "
            "a NumPy array of its values, or of its bits as unsigned integers"
        ) from error


def write(array: NDArray[Any]) -> Any:
    """Return a JAX array on its default device; formats without a JAX dtype become uint8 patterns.

    64-bit numbers are rejected if JAX is set to 32 bits, because JAX would round them.
    """
    jax, kind = sys.modules["jax"], array.dtype.name
    if jax.dtypes.canonicalize_dtype(array.dtype) != array.dtype:
        raise BackendUnavailableError(
            f"the result is {kind}, which JAX is set to round to 32 bits; set "
            "jax.config.update('jax_enable_x64', True), or pass NumPy arrays: numpy.asarray(A)"
        )
    if ml_dtype_of(kind) is None or fills_its_bytes(array.dtype):
        return jax.numpy.asarray(array)
    try:
        return jax.numpy.asarray(array)
    except Exception:  # XLA has FP4 and 4-bit integers, but not FP6
        return jax.numpy.asarray(array.view(np.uint8))
