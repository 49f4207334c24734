# SPDX-License-Identifier: MIT
"""The messages of findings about mbarriers: the access, and what the mbarrier expected."""

from wmma_emu.ptx.findings import Diagnosis, MemoryLocation, Message, place_of
from wmma_emu.ptx.memory.mbarrier_records import BarrierRecord, Fault
from wmma_emu.ptx.memory.mbarrier_words import LARGEST_COUNT, Word
from wmma_emu.ptx.memory.parity_suspects import WrongWait
from wmma_emu.ptx.program.program import PtxInstruction

NOT_INITIALISED, OVER_ARRIVAL = "mbarrier not initialised", "over-arrival"
BYTES, PARITY = "transaction bytes", "wrong parity"
"""The kinds of findings about mbarriers."""


def bytes_text(number: int) -> str:
    """Return a number of bytes as text."""
    return "1 byte" if number == 1 else f"{number} bytes"


def no_barrier(location: MemoryLocation, record: BarrierRecord | None, ended: PtxInstruction | None) -> Diagnosis:
    """Describe an access to memory in which there is no mbarrier."""
    begin: Message = ("uses ", location, " as an mbarrier, ")
    if ended is not None:
        return Diagnosis((*begin, "which ", *_at(ended), " has invalidated"), "begin again")
    if record is not None:
        return Diagnosis((*begin, "which ", *_at(record.begun), " initialised, but its bytes were overwritten"), "end")
    return Diagnosis((*begin, "but no mbarrier.init has been executed for this address"), "initialise")


def initialised_again(index: int, location: MemoryLocation, record: BarrierRecord) -> Fault:
    """Describe an initialisation of an mbarrier that exists."""
    message = "initialises ", location, ", where there is an mbarrier already, since ", *_at(record.begun)
    return Fault(index, NOT_INITIALISED, message, "end")


def used_otherwise(
    location: MemoryLocation, barrier: MemoryLocation, record: BarrierRecord, *, write: bool
) -> Diagnosis:  # fmt: skip
    """Describe an ordinary access to memory in which there is an mbarrier."""
    begin = "writes " if write else "reads "
    message = begin, location, ", where there is the mbarrier ", barrier, ", since ", *_at(record.begun)
    return Diagnosis(message, "end")


def over_arrival(index: int, location: MemoryLocation, record: BarrierRecord, word: Word, count: int) -> Fault:
    """Describe an arrival for which the phase has too few pending arrivals."""
    times = "once" if count == 1 else f"{count} times"
    waits = f": it waits only for {bytes_text(word.bytes)}" if not word.pending and word.bytes > 0 else ""
    message = (
        f"arrives {times} at the mbarrier ", location, f", but {word.pending} of the {word.expected} arrivals of its "
        f"phase {record.phase} {'is' if word.pending == 1 else 'are'} pending{waits}",
    )  # fmt: skip
    return Fault(index, OVER_ARRIVAL, message, "arrivals")


def unseen_phase(index: int, location: MemoryLocation, record: BarrierRecord, word: Word) -> Fault:
    """Describe an arrival at a phase before any thread has seen that the phase before it is complete."""
    message = (
        "arrives at the mbarrier ", location, f" in phase {record.phase}, but no thread has waited for phase "
        f"{record.phase - 1}, which {_arrivals(word.expected)} completed",
    )  # fmt: skip
    return Fault(index, OVER_ARRIVAL, message, "arrivals")


def completes_where_it_must_not(index: int, location: MemoryLocation, record: BarrierRecord) -> Fault:
    """Describe an arrival with .noComplete that would complete its phase."""
    message = "arrives with .noComplete at the mbarrier ", location, f", and would complete its phase {record.phase}"
    return Fault(index, OVER_ARRIVAL, message, "no complete")


def too_many_bytes(index: int, location: MemoryLocation, record: BarrierRecord, awaited: int) -> Fault:
    """Describe a number of bytes that does not fit the mbarrier."""
    what = "expects" if awaited > 0 else "has received in advance"
    message = (
        "lets the mbarrier ", location, f" count too many bytes: its phase {record.phase} {what} "
        f"{bytes_text(abs(awaited))} more, and an mbarrier counts at most {LARGEST_COUNT}",
    )  # fmt: skip
    return Fault(index, BYTES, message, "bytes")


def more_bytes(
    index: int, location: MemoryLocation, record: BarrierRecord, amount: int, rest: int, *, completes: bool
) -> Fault:  # fmt: skip
    """Describe a copy that delivers more bytes than its phase expects, which completes too early or never."""
    last = f"the last {bytes_text(rest)} {'has' if rest == 1 else 'have'} arrived"
    then = f"the phase completes before {last}" if completes else "the phase never completes, since more have arrived"
    message = (
        f"delivers {bytes_text(amount)} to the mbarrier ", location, f", but its phase {record.phase} expects only "
        f"{bytes_text(record.expected_bytes)}", *_expected_at(record),
        f": {then}",
    )  # fmt: skip
    return Fault(index, BYTES, message, "bytes")


def bytes_left(location: MemoryLocation, record: BarrierRecord, awaited: int) -> Diagnosis:
    """Describe a phase whose bytes are not balanced when the kernel ends."""
    if awaited > 0:
        text = (
            f"lets phase {record.phase} of the mbarrier ", location, f" expect {bytes_text(record.expected_bytes)}, "
            f"but the kernel ends when {bytes_text(record.arrived_bytes)} have been copied: "
            f"{bytes_text(awaited)} {'is' if awaited == 1 else 'are'} missing",
        )  # fmt: skip
        return Diagnosis(text, "bytes")
    text = (
        f"delivers {bytes_text(record.arrived_bytes)} to phase {record.phase} of the mbarrier ", location,
        f", which expects {bytes_text(record.expected_bytes)} until the kernel ends: {bytes_text(-awaited)} "
        f"{'is' if awaited == -1 else 'are'} not expected",
    )  # fmt: skip
    return Diagnosis(text, "bytes")


def wait_for_the_phase_before(index: int, location: MemoryLocation, record: BarrierRecord) -> Fault:
    """Describe a wait for the phase before the one at which the thread itself has arrived."""
    parity = (record.phase - 1) & 1
    before = "the phase before the first one" if record.phase == 0 else f"phase {record.phase - 1}"
    message = (
        f"waits with parity {parity} for {before} of the mbarrier ", location, ", which is over, so that it returns at "
        f"once; but the thread has arrived in phase {record.phase}, which is not complete and has parity {1 - parity}",
    )  # fmt: skip
    return Fault(index, PARITY, message, "parity")


def phase_left_out(location: MemoryLocation, record: BarrierRecord) -> Diagnosis:
    """Describe a wait that never ends, for the phase after a complete one that the thread has not seen."""
    phase, parity = record.phase, record.phase & 1
    message = (
        f"waits with parity {parity} for phase {phase} of the mbarrier ", location, ", in which no thread arrives any "
        f"more; but the thread did not wait for phase {phase - 1}, which is complete and has parity {1 - parity}",
    )  # fmt: skip
    return Diagnosis(message, "parity")


def wrong_phase(location: MemoryLocation, found: WrongWait) -> Diagnosis:
    """Describe a wait that let its thread race with one that arrives in the next phase."""
    phase, warp = found.wait.phase, found.thread[1]
    first = "the phase before the first one, which is over from the beginning"
    before = first if phase == -1 else f"phase {phase} again"
    message = (
        f"warp {warp} waits with parity {phase & 1} of the mbarrier ", location, f", for {before}, and continues "
        f"at once; but warp {found.other[1]} arrives in phase {phase + 1}, which has parity {1 - (phase & 1)}, and the "
        "two race at ", place_of(found.access),
    )  # fmt: skip
    return Diagnosis(message, "parity")


def _at(instruction: PtxInstruction) -> Message:
    return f"{instruction.opcode} of ", place_of(instruction)


def _expected_at(record: BarrierRecord) -> Message:
    return () if record.expectation is None else (" (", place_of(record.expectation), ")")


def _arrivals(count: int) -> str:
    return "its only arrival has" if count == 1 else f"its {count} arrivals have"
