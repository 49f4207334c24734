# SPDX-License-Identifier: MIT
"""Registers of whole warps, as an instruction takes them."""

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import hypothesis.strategies as st
import numpy as np
from numpy.typing import NDArray

from wmma_emu.formats.dtypes import from_bits
from wmma_emu.layouts import metadata_map, pack_metadata
from wmma_emu.layouts.metadata import selectors_of
from wmma_emu.renamed import renamed_keywords
from wmma_emu.testing.patterns import patterns_of
from wmma_emu.testing.strategies.checks import Allowed, bound_of, with_names_as_tuples
from wmma_emu.testing.strategies.matrices import seeds
from wmma_emu.testing.strategies.metadata import unread_words
from wmma_emu.testing.strategies.operands import draw_operands
from wmma_emu.testing.strategies.patterns import integers
from wmma_emu.testing.strategies.scales import draw_scale_registers
from wmma_emu.testing.strategies.unread import has_copies, has_unread, with_other_copies, with_other_words
from wmma_emu.warp import BoundInstruction


class _Registers(NamedTuple):
    a: NDArray[Any]
    b: NDArray[Any]
    c: NDArray[Any]


class Registers(_Registers):
    """Registers of a, b and c, and the other arguments of ``execute``: ``ins.execute(*drawn, **drawn.options)``.

    Parameters
    ----------
    a, b, c : unsigned integer array
        Registers; for `wgmma`, b is a matrix in shared memory.
    options : dict
        ``metadata`` and ``selector`` of a sparse instruction; registers and selectors of block scales, such as
        ``scale_a`` and ``byte_id_a``; empty for other instructions.
    origin : str
        Input generator, seed, omitted lines, edits, and the contents of unread bits.
    """

    options: dict[str, Any]
    origin: str

    def __new__(
        cls,
        a: NDArray[Any],
        b: NDArray[Any],
        c: NDArray[Any],
        options: dict[str, Any] | None = None,
        origin: str = "",
    ) -> Self:
        """Make the tuple."""
        made = super().__new__(cls, a, b, c)
        made.options, made.origin = options or {}, origin
        return made

    @classmethod
    def _make(cls, iterable: Iterable[Any]) -> Self:  # type: ignore[override]
        return cls(*iterable)

    def _replace(self, **changed: Any) -> Self:
        made = super()._replace(**changed)
        made.options, made.origin = dict(self.options), f"{self.origin}; replaced: {', '.join(changed)}"
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (*self, self.options, self.origin)

    def __repr__(self) -> str:
        if not all(isinstance(words, np.ndarray) for words in self):
            return super().__repr__()
        lines = [f"<{self.origin}"]
        for name, words in zip("abc", self, strict=True):
            shape = ", ".join(map(str, words.shape))
            there = np.argwhere(patterns_of(words, None, name)[0])
            shown = "; ".join(
                f"[{', '.join(map(str, at.tolist()))}] {_word_text(words[tuple(at)])}" for at in there[:4]
            )
            more = f"; and {len(there) - 4} more" if len(there) > 4 else ""
            lines.append(f"{name} {words.dtype} ({shape}): {shown + more if len(there) else 'all 0'}")
        lines += [f"{name}={value!r}" for name, value in self.options.items() if name == "selector" or "_id_" in name]
        return "\n  ".join(lines) + ">"


def _word_text(word: Any) -> str:
    return f"{int(word):#x}" if word.dtype.kind == "u" else str(word)


@renamed_keywords(families="generators")
@with_names_as_tuples
@st.composite
def registers(
    draw: st.DrawFn,
    instruction: BoundInstruction,
    *,
    generators: Iterable[str] | None = None,
    allow_nan: bool = True,
    allow_infinity: bool = True,
    allow_subnormal: bool = True,
) -> Registers:
    """Draw the registers of a, b and c of one warp (four warps for `wgmma`), as ``ins.execute`` takes them.

    They contain what `operands` draws. Bits that the instruction does not read (including replicas of elements) contain
    what a load puts there or, if all values may occur, any bits. The same holds on Volta for replicas that `wmma.mma`
    reads separately for each quad pair; no matrix represents those. Both switches shrink to the contents after a load.

    Parameters
    ----------
    instruction : BoundInstruction
        An instruction bound to a chip, which determines the register layout.
    generators : iterable of str, optional
    allow_nan, allow_infinity, allow_subnormal : bool

    Returns
    -------
    strategy of Registers
        A tuple (a, b, c); metadata and selector of a sparse instruction, and block scales, are in its ``options``.

    Raises
    ------
    UnsupportedInstructionError
        When drawn, if the instruction is not bound to a chip.

    Examples
    --------
    >>> import wmma_emu as we
    >>> from hypothesis import Phase, find, settings
    >>> anew = settings(database=None, phases=[Phase.generate])
    >>> from wmma_emu.testing.strategies import registers
    >>> ins = we.instruction("m16n8k8.f32.f16.f16.f32", arch="sm_90")
    >>> found = find(registers(ins), lambda drawn: drawn.c.any(), settings=anew)
    >>> [words.shape for words in found], ins.execute(*found, **found.options).shape
    ([(2, 32), (1, 32), (4, 32)], (4, 32))
    """
    ins = bound_of(instruction)
    entry = ins.instruction
    allowed = Allowed(allow_nan, allow_infinity, allow_subnormal).checked()
    drawn = draw_operands(draw, entry, generators, allowed, tiles=entry.products)
    packed, origin = [], drawn.origin
    held = (ins.a, ins.b, ins.c)
    for operand, bits in zip(held, (drawn.a, drawn.b, drawn.c), strict=True):
        matrix = bits if entry.products > 1 else bits[0]
        in_memory = operand.num_registers == 0
        packed.append(from_bits(matrix, operand.format) if in_memory else operand.pack_bits(matrix))
    for found, fill, what in (
        (has_unread, with_other_words, "any bits where nothing is read"),
        (has_copies, with_other_copies, "copies differ"),
    ):
        places = [i for i, operand in enumerate(held) if found(operand)]
        if places and all(allowed) and draw(st.booleans()):
            seed = draw(seeds())
            for i in places:
                packed[i] = fill(held[i], packed[i], seed)
            origin += f"; {what} (of {', '.join(held[i].operand for i in places)}), seed {seed}"
    options: dict[str, Any] = {}
    if drawn.indices is not None:
        selectors = selectors_of(entry)
        selector = draw(integers(0, len(selectors) - 1))
        read = pack_metadata(entry, drawn.indices[0], selector)
        words = unread_words(drawn.seed, entry) if drawn.seed else np.zeros((entry.warps, 32), np.uint32)
        words = words if entry.is_warpgroup else words[0]
        options = {"metadata": _merged(ins, read, words, selector), "selector": selector}
    if entry.is_block_scaled:
        options |= draw_scale_registers(draw, ins, allowed)
    return Registers(packed[0], packed[1], packed[2], options, origin)


def _merged(ins: BoundInstruction, read: NDArray[np.uint32], other: NDArray[np.uint32], selector: int) -> Any:
    """Put other words into the lanes that the selector excludes."""
    reads = np.zeros(32, np.bool_)
    reads[metadata_map(ins.instruction, selector).lane] = True
    return np.where(reads, read, other)
