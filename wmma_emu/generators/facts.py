# SPDX-License-Identifier: MIT
"""The facts about an instruction that a generator may use: its formats and shape, not a chip's arithmetic."""

from dataclasses import dataclass

from wmma_emu.formats import Format, format_of
from wmma_emu.instructions import Instruction


@dataclass(frozen=True, slots=True)
class Facts:
    """The formats and the shape of one instruction.

    m, n and k are the dense product's; a row of A and a column of B have ``scale_vec`` block scales each. ``terms`` is
    the number of products of one element of D: k, or fewer if A is packed. Metadata may have to list indices in
    ascending order; one index moves ``together`` neighbouring elements: two if elements have 4 bits.
    """

    a: Format
    b: Format
    c: Format
    d: Format
    m: int
    n: int
    k: int
    terms: int
    ordered: bool = False
    together: int = 1
    scale: Format | None = None
    scale_vec: int = 0

    @classmethod
    def of(cls, instruction: Instruction) -> "Facts":
        """Read the facts from an entry of the instruction table."""
        a, b, c, d = (instruction.format(x) for x in ("a", "b", "c", "d"))
        ordered = instruction.family == "mma.sp::ordered_metadata"
        together = 2 if instruction.container("a").bits == 4 else 1
        scale = format_of(instruction.scale) if instruction.is_block_scaled else None
        return cls(a, b, c, d, instruction.m, instruction.n, instruction.k, instruction.terms, ordered, together,
                   scale, instruction.scale_vec)  # fmt: skip

    @property
    def is_sparse(self) -> bool:
        """Whether A is packed, and metadata gives the k of each of its elements."""
        return self.terms != self.k

    @property
    def accumulator(self) -> Format:
        """The wider of the formats of c and d."""
        return self.c if self.c.bits > self.d.bits else self.d

    @property
    def top_product(self) -> int:
        """The exponent of the largest product, its significand in [1, 4)."""
        return self.a.emax + self.b.emax

    @property
    def bottom_product(self) -> int:
        """The exponent of the smallest non-zero product."""
        return sum(x.emin - x.fraction_bits for x in (self.a, self.b))

    @property
    def large(self) -> int:
        """An exponent for products that stand out: the sum of a few is finite in every format of c and d."""
        return min(self.top_product - 2, 12)

    @property
    def last_bit(self) -> int:
        """The distance of the accumulator's last bit below its leading bit."""
        return self.accumulator.fraction_bits

    @property
    def depths(self) -> tuple[int, int]:
        """The plausible range of the last bit that a datapath keeps, counted down from the largest term."""
        return (48, 58) if self.accumulator.name == "f64" else (9, 30)

    def has_scales(self) -> bool:
        """Return whether there are block scales."""
        return self.scale is not None

    def in_byte_pairs(self) -> bool:
        """Return whether neighbours of k share registers byte by byte, in whole registers."""
        return self.a.bits == 8 and self.terms % 4 == 0

    def overflows(self) -> bool:
        """Return whether one product can be too large for the accumulator."""
        return self.top_product > self.accumulator.emax

    def underflows(self) -> bool:
        """Return whether one product can be at most half of the accumulator's smallest number."""
        return self.bottom_product <= self.accumulator.emin - self.last_bit - 1

    def reaches_subnormals(self) -> bool:
        """Return whether one product can be below the accumulator's smallest normal number."""
        return self.bottom_product < self.accumulator.emin

    def reaches_the_floor(self) -> bool:
        """Return whether one product can be below the lowest exponent that a datapath aligns to."""
        return self.bottom_product <= self.accumulator.emin - 18

    def name(self) -> str:
        """Return the part of a draw's key that depends on the instruction: not memory layouts, modifiers or scales."""
        types = ".".join(x.name for x in (self.d, self.a, self.b, self.c))
        return f"m{self.m}n{self.n}k{self.k}|{self.terms}|{types}"
