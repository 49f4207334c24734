# SPDX-License-Identifier: MIT
"""Arrays of JAX as NumPy arrays and back, bit for bit; JAX is there already, or nobody has an array of it."""

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, BackendUnavailableError, shorten
from wmma_emu.formats.extension_dtypes import fills_its_bytes, ml_dtype_of


def read(array: Any, name: str) -> NDArray[Any]:
    """Read an array, wherever JAX has it; bfloat16 and FP8 are dtypes of ml_dtypes in JAX too.

    A tracer is refused, which has no numbers yet, and what NumPy cannot read.
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
    """Make an array of JAX on its default device; a format that it has no dtype for comes as uint8 patterns.

    Refused are 64-bit numbers where JAX is set to 32 bits: it would round them.
    """
    jax, kind = sys.modules["jax"], array.dtype.name
    if jax.dtypes.canonicalize_dtype(array.dtype) != array.dtype:
        raise BackendUnavailableError(
            f"the result is of {kind}, which JAX is set to round to 32 bits; set "
            "jax.config.update('jax_enable_x64', True), or pass NumPy arrays: numpy.asarray(A)"
        )
    if ml_dtype_of(kind) is None or fills_its_bytes(array.dtype):
        return jax.numpy.asarray(array)
    try:
        return jax.numpy.asarray(array)
    except Exception:  # XLA has FP4 and 4-bit integers, and no FP6
        return jax.numpy.asarray(array.view(np.uint8))
