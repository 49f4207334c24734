# SPDX-License-Identifier: MIT
"""`nvcuda::wmma::experimental`: products of 4-bit integers and of single bits."""

from wmma_emu.wmma.experimental import precision
from wmma_emu.wmma.names import AccumulateOp, BitOp
from wmma_emu.wmma.product import bmma_sync

__all__ = ["bmmaAccumulateOpPOPC", "bmmaBitOpAND", "bmmaBitOpXOR", "bmma_sync", "precision"]

bmmaBitOpXOR = BitOp.bmmaBitOpXOR
bmmaBitOpAND = BitOp.bmmaBitOpAND
bmmaAccumulateOpPOPC = AccumulateOp.bmmaAccumulateOpPOPC


def __dir__() -> list[str]:
    return sorted(__all__)
