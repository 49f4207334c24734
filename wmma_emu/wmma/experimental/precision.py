# SPDX-License-Identifier: MIT
"""`nvcuda::wmma::experimental::precision`: element types of less than a byte."""

from wmma_emu.wmma.names import ElementType

__all__ = ["b1", "s4", "u4"]


def __dir__() -> list[str]:
    return sorted(__all__)


u4 = ElementType.u4
s4 = ElementType.s4
b1 = ElementType.b1
