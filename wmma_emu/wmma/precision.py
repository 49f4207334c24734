# SPDX-License-Identifier: MIT
"""`nvcuda::wmma::precision`: an element type that exists only for matrix multiplication."""

from wmma_emu.wmma.names import ElementType

__all__ = ["tf32"]


def __dir__() -> list[str]:
    return sorted(__all__)


tf32 = ElementType.tf32
"""19 bits of a float32; fragments hold all 32, and the product ignores the last 13."""
