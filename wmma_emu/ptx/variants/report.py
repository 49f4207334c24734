# SPDX-License-Identifier: MIT
"""The result of a comparison of variants: which outputs change, under which variant, and at which instruction first."""

from collections.abc import Iterator
from dataclasses import dataclass

from wmma_emu.ptx.variants.first_difference import FirstDifference
from wmma_emu.ptx.variants.plans import Variant, rows_text


@dataclass(frozen=True, slots=True)
class InvarianceChange:
    """An output whose bits a variant changes.

    Attributes
    ----------
    variant : Variant
    output : str
        Its name.
    rows : tuple of int
        The rows that change.
    count, compared : int
        How many elements change, of how many that both have.
    index : tuple of int
        The first of them, in the output of the variant.
    bits, reference_bits : str
        Its bits and its value, and those of the reference.
    first : FirstDifference
        The first instruction that computes another value for it.
    """

    variant: Variant
    output: str
    rows: tuple[int, ...]
    count: int
    compared: int
    index: tuple[int, ...]
    bits: str
    reference_bits: str
    first: FirstDifference

    def __str__(self) -> str:
        lines = [
            f"{self.variant}: {self.output}: {self.count} of {self.compared} elements differ, in "
            f"{rows_text(self.rows)}",
            f"  {self.output}{list(self.index)} is {self.bits}, in the reference {self.reference_bits}",
            *(f"  {x}" for x in str(self.first).splitlines()),
        ]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class InvarianceReport:
    """The result of `invariance`.

    Attributes
    ----------
    variants : tuple of Variant
        Everything that was compared; the first is the reference.
    changes : tuple of InvarianceChange
        The outputs that change, in the order of the variants.
    launches : tuple of str
        The kernels that the reference launches, in order.
    notes : tuple of str
        Facts about the launches: atomic operations on floats, and findings.
    """

    variants: tuple[Variant, ...]
    changes: tuple[InvarianceChange, ...]
    launches: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_invariant(self) -> bool:
        """Whether no variant changes a bit of a row."""
        return not self.changes

    @property
    def is_deterministic(self) -> bool:
        """Whether no order of blocks, warps and atomic operations changes a bit."""
        return not self.changes_by("schedule")

    @property
    def is_batch_invariant(self) -> bool:
        """Whether no other batch changes a bit of a row."""
        return not self.changes_by("batch")

    def changes_by(self, kind: str) -> tuple[InvarianceChange, ...]:
        """Return the changes by variants of one kind: "batch", "keywords" or "schedule"."""
        return tuple(x for x in self.changes if x.variant.kind == kind)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        reference, *others = self.variants
        changed = {str(x.variant) for x in self.changes}
        number = sum(str(x) in changed for x in others)
        verdict = "no bit changes" if self.is_invariant else f"{number} of {len(others)} variants change bits"
        launches = f"{len(self.launches)} launch{'es' * (len(self.launches) != 1)}"
        yield f"{verdict}; reference: {reference}, {launches}"
        same = [str(x) for x in others if str(x) not in changed]
        if same:
            yield f"equal: {'; '.join(same)}"
        for change in self.changes:
            yield from str(change).splitlines()
        yield from (f"note: {x}" for x in self.notes)
