# SPDX-License-Identifier: MIT
"""Packages whose names need a library that is not a dependency of the tests."""

from importlib.util import find_spec

_NEEDS = {"wmma_emu.torch": "torch", "wmma_emu.torch.comparing": "torch", "wmma_emu.jax": "jax"}


def lacks_its_library(package):
    """Return whether a package, or its name, cannot be used, because its library is not installed."""
    library = _NEEDS.get(getattr(package, "__name__", package))
    return library is not None and find_spec(library) is None
