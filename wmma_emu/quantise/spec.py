# SPDX-License-Identifier: MIT
"""The definitions of a block-scaled format and of a scale rule: one frozen entry each."""

from dataclasses import dataclass

import numpy as np

from wmma_emu.evidence import Evidence, Sourced
from wmma_emu.formats import Format, decode


@dataclass(frozen=True, slots=True)
class BlockFormat(Sourced):
    """An entry of the table of block-scaled formats: blocks of narrow elements, each with a scale factor.

    Parameters
    ----------
    name : str
        ``"mxfp8_e4m3"``.
    element : Format
        The format of the elements.
    element_exponent : int
        The exponent of a constant factor: an element's value is its format's value times ``2**element_exponent``. It
        is 0, but -6 for MXINT8.
    block : int
        The number of consecutive elements that share a scale factor.
    scale : Format
        ue8m0, or ue4m3.
    max_exponent : int
        The exponent of the largest power of two among the elements: ``emax`` in the OCP specification.
    kept_bits : int
        The fraction bits of the largest elements, to which the rule ``"even"`` rounds.
    has_tensor_scale : bool
        Whether a float32 shared by all blocks is a second factor.
    evidence : Evidence
    """

    name: str
    element: Format
    element_exponent: int
    block: int
    scale: Format
    max_exponent: int
    kept_bits: int
    has_tensor_scale: bool
    evidence: Evidence

    def __str__(self) -> str:
        return self.name

    @property
    def max_element(self) -> float:
        """The largest value of an element, without its scale factor: 448.0 for MXFP8 E4M3."""
        pattern = np.array([self.element.max_finite], self.element.storage)
        return float(decode(pattern, self.element)[0]) * 2.0**self.element_exponent

    @property
    def bits_per_element(self) -> float:
        """The storage per element in bits, including its share of the scale factor."""
        return self.element.bits + 8 / self.block


@dataclass(frozen=True, slots=True)
class ScaleRule(Sourced):
    """An entry of the table of scale rules, from the largest magnitude of a block to its scale factor.

    Parameters
    ----------
    name : str
        ``"floor"``.
    scale : str
        The format of the scale factors: ``"ue8m0"``, ``"ue4m3"``.
    definition : str
        The exact arithmetic. ``amax`` is the largest magnitude in the block, ``emax`` and ``max`` are the exponent of
        the largest power of two and the largest value of the elements.
    evidence : Evidence
    """

    name: str
    scale: str
    definition: str
    evidence: Evidence

    def __str__(self) -> str:
        return self.name
