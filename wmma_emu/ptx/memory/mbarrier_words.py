# SPDX-License-Identifier: MIT
"""The 64 bits of an mbarrier on each chip: where its counts are, and the states that instructions return."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from wmma_emu.chip_sets import newest

COUNT_BITS = 20
LARGEST_COUNT = (1 << COUNT_BITS) - 1
"""The largest number of arrivals, and of bytes that a phase expects."""

_PARITY = 63


@dataclass(slots=True)
class Word:
    """The current phase of an mbarrier: the fields of its 64 bits.

    ``pending`` arrivals are missing of the ``expected`` ones that a phase needs; ``bytes`` are expected and have not
    arrived, or have arrived and are not expected yet if they are negative; ``parity`` is the parity of the phase.

    Examples
    --------
    >>> word = Word(1, 1, 16, 0)
    >>> word.completes(), Word(0, 3, 0, 0).completes()
    (False, True)
    """

    pending: int
    expected: int
    bytes: int
    parity: int

    def completes(self) -> bool:
        """Begin the next phase if this one is complete; return whether it was."""
        if self.pending or self.bytes:
            return False
        self.pending, self.parity = self.expected, self.parity ^ 1
        return True


class Field(NamedTuple):
    """Some bits of the word. ``step`` is 1 if they hold the number itself, -1 if they hold it negated.

    Examples
    --------
    >>> pending = Field(43, 20, -1)
    >>> hex(pending.put(3)), pending.get(0x7fffe800_00000000), pending.get(pending.put(0))
    ('0x7fffe80000000000', 3, 0)
    """

    first: int
    size: int
    step: int
    is_signed: bool = False

    def put(self, number: int) -> int:
        """Return the bits of a number."""
        return (self.step * number & (1 << self.size) - 1) << self.first

    def get(self, bits: int) -> int:
        """Return the number in the bits of a word."""
        found = self.step * (bits >> self.first) & (1 << self.size) - 1
        return found - (1 << self.size) if self.is_signed and found >> (self.size - 1) else found


class WordLayout(NamedTuple):
    """The positions of the fields in the word, since the chip ``since``.

    ``state`` returns the state that an arrival returns, from the bits before it. ``counted`` is the number of bits that
    ``mbarrier.pending_count`` reads.

    Examples
    --------
    >>> layout = layout_of("sm_90")
    >>> hex(layout.bits(Word(3, 3, 0, 0))), hex(layout.state(layout.bits(Word(1, 1, 0, 0))))
    ('0x7fffe800001ffffa', '0x7ffff80000000000')
    >>> layout.word(0x7fffe800001ffffa), layout.pending_count(0x7fffe80000000000)
    (Word(pending=3, expected=3, bytes=0, parity=0), 3)
    """

    since: str
    pending: Field
    expected: Field
    bytes: Field | None
    state: Callable[[int], int]
    counted: int

    def bits(self, word: Word) -> int:
        """Return the 64 bits of an mbarrier."""
        counts = self.pending.put(word.pending) | self.expected.put(word.expected)
        awaited = 0 if self.bytes is None else self.bytes.put(word.bytes)
        return word.parity << _PARITY | counts | awaited

    def word(self, bits: int) -> Word:
        """Return the fields of 64 bits."""
        awaited = 0 if self.bytes is None else self.bytes.get(bits)
        return Word(self.pending.get(bits), self.expected.get(bits), awaited, bits >> _PARITY)

    def pending_count(self, state: int) -> int:
        """Return the number of arrivals that were pending in a state."""
        return (1 << self.counted) - (state >> self.pending.first & (1 << self.counted) - 1)


LAYOUTS = (
    # Two words of a program, as machine code uses them: the upper one counts up to 2^31, and a state repeats it.
    WordLayout("sm_80", Field(32, 31, -1), Field(0, 30, -1), None, lambda bits: bits >> 32 << 32 | bits >> 32, 31),
    # Bits 0 and 42 are zero. The chip returns the upper 32 bits of a state; the lower ones are left over from the
    # instructions before, often zero.
    WordLayout(
        "sm_90", Field(43, COUNT_BITS, -1), Field(1, COUNT_BITS, -1), Field(21, 21, -1, is_signed=True),
        lambda bits: bits >> 32 << 32, COUNT_BITS,
    ),
)  # fmt: skip
"""The layouts of all chips.

That of sm_80 is inferred from the machine code of ptxas 13.0. That of sm_90 was recorded: the words that memory holds
after ``mbarrier.inval``, and the states of arrivals (``tools.barrier_probe``, driver 580.159.04, 2026-11-28).
"""


def layout_of(chip: str) -> WordLayout:
    """Return the layout of a chip.

    Examples
    --------
    >>> hex(layout_of("sm_86").bits(Word(32, 32, 0, 0)))
    '0x7fffffe03fffffe0'
    """
    return newest(LAYOUTS, chip) or LAYOUTS[0]
