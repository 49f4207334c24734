# SPDX-License-Identifier: MIT
"""Plain matrices of every input generator for a user's tests: in users' dtypes, and with a sparse A expanded."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from numpy.typing import NDArray

from wmma_emu.errors import ArgumentValueError, OptionError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.formats.dtypes import from_bits
from wmma_emu.generators.operands import draw, generators_of, row_of
from wmma_emu.instructions import Instruction
from wmma_emu.renamed import renamed_fields, renamed_keywords, warn_renamed
from wmma_emu.warp import BoundInstruction
from wmma_emu.warp.sparse import expand


@renamed_fields(family="generator")
class Sample(NamedTuple):
    """One A, B and C of one input generator.

    Parameters
    ----------
    generator : str
    seed : int
    A : array, shape (m, k)
        For a sparse instruction, all of A, including the zeros that its packed form omits.
    B : array, shape (k, n)
    C : array, shape (m, n)
    """

    generator: str
    seed: int
    A: NDArray[Any]
    B: NDArray[Any]
    C: NDArray[Any]

    @property
    def family(self) -> str:
        """The old name of ``generator``."""
        warn_renamed("Sample.family", "Sample.generator")
        return self.generator


@renamed_keywords(families="generators")
def matrices(
    instruction: Instruction | BoundInstruction | str,
    generators: Iterable[str] | None = None,
    *,
    seed: int = 0,
    count: int = 1,
) -> Iterator[Sample]:
    """Make matrices of every input generator of an instruction, for a loop or for ``pytest.mark.parametrize``.

    Parameters
    ----------
    instruction : Instruction, BoundInstruction or str
    generators : iterable of str, optional
        Names from `generators_of`; all of them by default.
    seed, count : int
        Each generator is drawn ``count`` times, with consecutive seeds starting at ``seed``.

    Yields
    ------
    Sample
        The same bits on every machine and with every version of NumPy: those of `draw` with the same seed.

    Raises
    ------
    UnsupportedInstructionError
        If an input generator does not apply to the instruction, or the list is empty.
    FragmentMismatchError
        If the seed or the count is not an integer, or the count is negative.

    Examples
    --------
    >>> import wmma_emu as we
    >>> from wmma_emu import generators
    >>> ins = we.instruction("m16n8k16.f32.bf16.bf16.f32", arch="sm_90")
    >>> for generator, seed, A, B, C in generators.matrices(ins, ["normal", "one_large"], seed=5, count=2):
    ...     print(generator, seed, A.dtype, A.shape, B.shape, C.dtype, ins(A, B, C).shape)
    normal 5 bfloat16 (16, 16) (16, 8) float32 (16, 8)
    normal 6 bfloat16 (16, 16) (16, 8) float32 (16, 8)
    one_large 5 bfloat16 (16, 16) (16, 8) float32 (16, 8)
    one_large 6 bfloat16 (16, 16) (16, 8) float32 (16, 8)
    """
    # A plain function that returns an iterator: errors are raised by the call, not when the first sample is taken.
    entry = row_of(instruction)
    names = names_of(entry, generators)
    start, number = integer_of(seed), integer_of(count)
    if start is None or number is None or number < 0:
        raise ArgumentValueError(
            f"seed={shorten(seed)}, count={shorten(count)}: both must be integers, and count must not be negative"
        )
    return (_sample(entry, name, start + i) for name in names for i in range(number))


def names_of(entry: Instruction, generators: Iterable[str] | None) -> tuple[str, ...]:
    """Check the names of input generators; None means all of them."""
    legal = generators_of(entry)
    if generators is None:
        return legal
    if isinstance(generators, str):
        raise OptionError(f"generators={shorten(generators)} is one name; pass a list, [{generators!r}]")
    try:
        names = tuple(generators)
    except TypeError:
        raise OptionError(f"generators={shorten(generators)} is not a list of names") from None
    if not names:
        raise OptionError(f"generators is empty; name some of {', '.join(legal)}, or leave it out for all of them")
    for name in names:
        if name not in legal:
            draw(entry, name, 0, 1, 1, 1)  # raises an error that describes the fault
    return names


def _sample(entry: Instruction, generator: str, seed: int) -> Sample:
    drawn = draw(entry, generator, seed, 1, 1, 1)
    a = drawn.a[0] if drawn.indices is None else expand(entry, drawn.a[0], drawn.indices[0])
    A, B, C = from_bits(a, entry.a), from_bits(drawn.b[0], entry.b), from_bits(drawn.c[0], entry.c)
    return Sample(generator, seed, A, B, C)
