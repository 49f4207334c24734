# SPDX-License-Identifier: MIT
"""What a block-scaled format is, and what a scale rule: one frozen row each."""

from dataclasses import dataclass

import numpy as np

from wmma_emu.evidence import Evidence, Sourced
from wmma_emu.formats import Format, decode


@dataclass(frozen=True, slots=True)
class BlockFormat(Sourced):
    """One row of the table of block-scaled formats: blocks of narrow elements, each block with a scale factor.

    Parameters
    ----------
    name : str
        ``"mxfp8_e4m3"``.
    element : Format
        What the patterns of the elements mean.
    element_exponent : int
        An element is worth its format's value times ``2**element_exponent``: 0, and -6 for MXINT8.
    block : int
        Consecutive elements that share a scale factor.
    scale : Format
        ue8m0, or ue4m3.
    max_exponent : int
        Of the largest power of two that an element reaches: ``emax`` of the OCP specification.
    kept_bits : int
        Fraction bits of the largest elements: what the rule ``"even"`` rounds to.
    has_tensor_scale : bool
        Whether a float32 that all blocks share is a second factor.
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
        """Storage: an element's bits, and its share of the scale factor's."""
        return self.element.bits + 8 / self.block


@dataclass(frozen=True, slots=True)
class ScaleRule(Sourced):
    """One row of the table of scale rules: how a block's largest magnitude becomes its scale factor.

    Parameters
    ----------
    name : str
        ``"floor"``.
    scale : str
        The format of the scale factors that it makes: ``"ue8m0"``, ``"ue4m3"``.
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
