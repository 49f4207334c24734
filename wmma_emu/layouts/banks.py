# SPDX-License-Identifier: MIT
"""Banks of shared memory and conflicts between accesses, computed from addresses without timing.

Shared memory has 32 banks of 4 bytes; address 128 is in bank 0 again. Two accesses conflict if they use different words
of the same bank; accesses to the same word do not conflict. Only accesses of one phase can conflict: `ldmatrix` and
`stmatrix` move eight rows of 16 bytes per phase.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wmma_emu.errors import AlignmentError, ArgumentError, ArgumentValueError, OutOfBoundsError, shorten
from wmma_emu.evidence import Evidence, Run, Sourced
from wmma_emu.formats.arrays import integer_of
from wmma_emu.layouts.spec import Ints
from wmma_emu.renamed import renamed_names


@dataclass(frozen=True, slots=True)
class BankFact(Sourced):
    """A number about memory, with its evidence.

    Parameters
    ----------
    value : int
    meaning : str
    evidence : Evidence
    """

    value: int
    meaning: str
    evidence: Evidence


_GUIDE = Evidence("documented", "CUDA C++ Programming Guide 13.0, compute capabilities 5.x and later, shared memory")
_OF_M8N8 = Evidence("inferred", "as m8n8 on sm_90")

BANK_FACTS: dict[str, BankFact] = {
    "banks": BankFact(32, "banks of shared memory; successive 32-bit words are in successive banks", _GUIDE),
    "bank_bytes": BankFact(4, "bytes of a bank's word; accesses to the same word do not conflict", _GUIDE),
    "phase_rows": BankFact(
        8,
        "rows that ldmatrix and stmatrix move in a phase: lanes 0 to 7, 8 to 15, ...; only rows of a phase conflict",
        Evidence(
            "measured",
            "NVIDIA H200, driver 580.159.04, CUDA 13.0, 2026-11-22: every form of m8n8 at 596 patterns of addresses "
            "takes, to the nearest cycle, as many as the busiest banks of its phases have words",
            Run("bank conflicts", "sm_90"),
            _OF_M8N8,
        ),
    ),
    "segment_bytes": BankFact(
        32,
        "bytes of a segment of global memory: a warp's accesses move whole segments",
        Evidence("documented", "CUDA C++ Best Practices Guide 13.0, coalesced access to global memory"),
    ),
}  # fmt: skip
"""The facts that the arithmetic of this module uses."""

BANKS = BANK_FACTS["banks"].value
BANK_BYTES = BANK_FACTS["bank_bytes"].value
PHASE_ROWS = BANK_FACTS["phase_rows"].value
SEGMENT_BYTES = BANK_FACTS["segment_bytes"].value

_FARTHEST = 1 << 60


def phase_fact(shape: str, chip: str) -> BankFact:
    """Return the size of a phase for a shape on a chip: measured there, or inferred from a measured form.

    Examples
    --------
    >>> phase_fact("m8n8", "sm_90").status, phase_fact("m16n16", "sm_100").status
    ('measured', 'inferred')
    """
    fact = BANK_FACTS["phase_rows"]
    known = replace(fact.evidence, covers=Run("bank conflicts", chip))
    return replace(fact, evidence=known.of(f"ldmatrix.sync.aligned.{shape}.x1.shared.b16"))


def bank_of(address: ArrayLike) -> Ints:
    """Return the bank of shared memory that the byte at an address is in.

    Parameters
    ----------
    address : int or int array
        In bytes.

    Returns
    -------
    int array of the same shape

    Raises
    ------
    FragmentMismatchError, OutOfBoundsError
        If an address is not an integer, or is negative.

    Examples
    --------
    >>> bank_of([0, 3, 4, 124, 128, 144]).tolist()
    [0, 0, 1, 31, 0, 4]
    """
    found: Ints = _addresses(address) // BANK_BYTES % BANKS
    return found


def words_of_banks(starts: ArrayLike, width: int = 16) -> Ints:
    """Count the different words of each bank that the accesses of one phase use.

    Parameters
    ----------
    starts : int array, shape (*phases, accesses)
        The first byte of each access, a multiple of 4.
    width : int
        The size of every access in bytes: 4, 8 or 16.

    Returns
    -------
    int array, shape (*phases, 32)
        More than 1 where accesses conflict.

    Raises
    ------
    AlignmentError
        If an access does not begin at a multiple of its width.
    FragmentMismatchError, OutOfBoundsError
        If the width is not 4, 8 or 16, or an address is not an integer, or is negative.

    Examples
    --------
    >>> words_of_banks(np.arange(8) * 128)[:6].tolist()              # eight rows, each 128 bytes from the last
    [8, 8, 8, 8, 0, 0]
    >>> words_of_banks(np.arange(8) * 144).tolist() == [1] * 32      # each 16 bytes further
    True
    >>> words_of_banks(np.zeros(8, int))[:5].tolist()                # the same row, eight times
    [1, 1, 1, 1, 0]
    """
    if integer_of(width) not in (4, 8, 16):
        raise ArgumentValueError(f"a lane accesses 4, 8 or 16 bytes at once, not {shorten(width)}")
    given = np.atleast_1d(_addresses(starts))
    if (given % width).any():
        wrong = int(given[given % width != 0][0])
        raise AlignmentError(
            f"an access of {width} bytes begins at address {wrong}; legal addresses are multiples of {width}: "
            f"{wrong // width * width} or {(wrong // width + 1) * width}"
        )
    words = (given[..., None] // BANK_BYTES + np.arange(width // BANK_BYTES)).reshape(*given.shape[:-1], -1)
    words = np.sort(words, axis=-1)
    first = np.ones(words.shape, np.bool_)
    first[..., 1:] = words[..., 1:] != words[..., :-1]
    banks = (words % BANKS)[..., None] == np.arange(BANKS)
    counts: Ints = (banks & first[..., None]).sum(axis=-2)
    return counts


def conflict_of(starts: ArrayLike, width: int = 16) -> Ints:
    """Return how many different words are in the busiest bank of a phase: 1 for no conflict, 8 for an 8-way conflict.

    Parameters
    ----------
    starts, width
        As in `words_of_banks`.

    Returns
    -------
    int array, shape (*phases)

    Examples
    --------
    >>> [int(conflict_of(np.arange(8) * pitch)) for pitch in (16, 32, 64, 128, 144)]
    [1, 2, 4, 8, 1]
    """
    counts = words_of_banks(starts, width)
    most: Ints = counts.max(axis=-1)
    return most


def segments_of(start: ArrayLike, width: ArrayLike = 1) -> Ints:
    """List the 32-byte segments of global memory that contain accessed bytes.

    Parameters
    ----------
    start, width : int or int array
        The first byte of each access, and its size in bytes.

    Returns
    -------
    int array, shape (segments,)
        Segment numbers, ascending: segment 1 begins at address 32.

    Raises
    ------
    FragmentMismatchError, OutOfBoundsError
        If a value is not an integer, or is negative.

    Examples
    --------
    >>> segments_of([0, 30, 96], 4).tolist()
    [0, 1, 3]
    """
    first, size = np.broadcast_arrays(_addresses(start), _addresses(width))
    first, size = first[size > 0], size[size > 0]
    if not first.size:
        return np.zeros(0, np.int64)
    low, high = first // SEGMENT_BYTES, (first + size - 1) // SEGMENT_BYTES
    steps = np.arange(int((high - low).max()) + 1)
    touched = low[:, None] + steps
    found: Ints = np.unique(touched[steps <= (high - low)[:, None]])
    return found


def _addresses(given: ArrayLike) -> NDArray[np.int64]:
    try:
        array = np.asarray(given)
    except ValueError:  # rows of unequal length
        array = np.empty(0, object)
    if array.dtype.kind not in "iu" and (array.size or array.dtype == object):
        raise ArgumentError(f"addresses are integers, in bytes, not {shorten(given)}")
    if array.size and not (0 <= int(array.min()) and int(array.max()) <= _FARTHEST):
        wrong = int(array.min()) if int(array.min()) < 0 else int(array.max())
        raise OutOfBoundsError(f"there is no address {wrong}; legal addresses are 0 to {_FARTHEST}")
    return array.astype(np.int64)


__getattr__ = renamed_names(__name__, {"Fact": "BankFact"})
