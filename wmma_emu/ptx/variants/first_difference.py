# SPDX-License-Identifier: MIT
"""The first instruction at which two computations of one element differ, with the bits of both."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from numpy.typing import NDArray

from wmma_emu.errors import MemoryLimitError
from wmma_emu.ptx.findings import Place, place_of
from wmma_emu.ptx.launch.replay import Replay
from wmma_emu.ptx.program.program import PtxInstruction
from wmma_emu.ptx.reports.frames import line_text, own_frames
from wmma_emu.ptx.variants.chains import Chain, Operation, chain_of
from wmma_emu.ptx.variants.elements import HostElement, Origin, origin_of
from wmma_emu.ptx.variants.operands import OperandValue, name_of_bytes, on_the_host, operands_of

KINDS = {
    "order of atomic operations": "equal values are added to the element, in another order",
    "other terms": "an operation has other operands: the sum has other terms at this point",
    "other operations": "one computation continues with another instruction: the sum is divided in another way",
    "another kernel": "another kernel, or the same function compiled in another way, made the element",
    "unknown": "it was not found",
}
"""The ways in which two computations of an element differ first."""

_LONGEST = 90
"""The characters of an instruction that are shown."""

_MOST_SHOWN = 8
"""The number of instructions of a chain that are shown."""

_DEEPEST = 8
"""The number of launches through whose results a difference is followed."""


@dataclass(frozen=True, slots=True)
class FirstDifference:
    """The first instruction at which the reference and a variant compute an element differently.

    Attributes
    ----------
    kind : str
        A key of `KINDS`.
    kernel : str
        The kernel with the instruction; "" if it was not found.
    place, reference_place : Place, or None
        The instruction of the variant and that of the reference: its line of the PTX, and its source line.
    text : str
        The PTX of the instruction.
    said : tuple of str
        What differs, one fact in each line, with bits.
    """

    kind: str
    kernel: str = ""
    place: Place | None = None
    reference_place: Place | None = None
    text: str = ""
    said: tuple[str, ...] = ()

    def __str__(self) -> str:
        head = self.kind
        if self.place is not None:
            head = f"{self.kind} at {_where(self.place)}" + (f" of {self.kernel}" if self.kernel else "")
        lines = [head, *([f"  {self.text}"] if self.text else []), *(f"  {x}" for x in self.said)]
        return "\n".join(lines)


def first_difference(
    reference: tuple[Sequence[Replay], NDArray[Any], HostElement],
    variant: tuple[Sequence[Replay], NDArray[Any], HostElement],
    deepest: int = _DEEPEST,
) -> FirstDifference:  # fmt: skip
    """Compare two computations of an element, each given by its launches, the output, and the element's bytes."""
    origins: list[Origin] = []
    for replays, output, element in (variant, reference):
        try:
            origin = origin_of(replays, output, element)
        except MemoryLimitError as error:
            origin = str(error)
        if isinstance(origin, str):
            return FirstDifference("unknown", said=(origin,))
        origins.append(origin)
    one, other = map(chain_of, origins)
    if not _are_same(one.origin, other.origin):
        return _another_kernel(one, other)
    found = _difference_of(one, other)
    if found.kind == "other terms" and deepest:
        before = [_launches_before(x, y.origin.replay) for (x, _, _), y in ((variant, one), (reference, other))]
        return _through_memory(found, (one, other), (before[0], before[1]), (variant[1], reference[1]), deepest)
    return found


def _are_same(one: Origin, other: Origin) -> bool:
    return (
        one.replay.launch.kernel.name == other.replay.launch.kernel.name
        and one.replay.launch.kernel.module.text == other.replay.launch.kernel.module.text
    )


def _launches_before(replays: Sequence[Replay], last: Replay) -> Sequence[Replay]:
    return replays[: next(i for i, x in enumerate(replays) if x is last)]


def _another_kernel(one: Chain, other: Chain) -> FirstDifference:
    """Compare the operations of two kernels by their opcodes."""
    said = [f"here it is {_launch_text(one.origin)}", f"in the reference {_launch_text(other.origin)}"]
    said += [f"{who} {_shape_of(x)}" for who, x in (("here", one), ("in the reference", other))]
    found = _difference_of(one, other)
    return replace(found, kind="another kernel", said=(*said, *found.said))


def _launch_text(origin: Origin) -> str:
    launch = origin.replay.launch
    triton = launch.kernel.module.triton
    chosen = "" if triton is None else "".join(f", {x}" for x in _constants_of(triton))
    return f"{launch.kernel.called}[{tuple(launch.grid)}, {tuple(launch.block)}]{chosen}"


def _constants_of(triton: Any) -> Iterator[str]:
    """Yield the constexprs of a compiled Triton kernel by name, and its number of warps."""
    names = list(triton.signature)
    for path, value in triton.constants.items():
        if len(path) == 1 and path[0] < len(names):
            yield f"{names[path[0]]}={value}"
    yield f"num_warps={triton.num_warps}"


def _shape_of(chain: Chain) -> str:
    """Describe a chain by how often each of its instructions was executed."""
    counts = Counter((x.instruction.opcode, x.instruction.line) for x in chain.operations)
    parts = [f"{n} {opcode} (line {line})" for (opcode, line), n in counts.items()]
    shown = parts if len(parts) <= _MOST_SHOWN else [*parts[:_MOST_SHOWN], f"{len(parts) - _MOST_SHOWN} more"]
    return f"the element is made by {', '.join(shown)}"


def _difference_of(one: Chain, other: Chain) -> FirstDifference:
    """Find the first operation that differs, where ``one`` is the variant; those of other PTX only have its opcode."""
    is_same = _are_same(one.origin, other.origin)
    terms, its_terms = one.terms(), other.terms()
    if is_same and len(terms) > 1 and terms != its_terms and sorted(terms) == sorted(its_terms):
        return _order_of_atomics(one, other)
    for i, (mine, its) in enumerate(zip_longest(one.operations, other.operations)):
        if mine is None or its is None or _operation_of(mine, is_same) != _operation_of(its, is_same):
            found = _other_operations(one, other, mine, its)
        elif mine.bits != its.bits:
            found = _other_terms(one, other, mine, its)
        else:
            continue
        counts = _counts(one, other) if is_same else ()
        return replace(found, said=(*_equal_before(i), *found.said, *counts, *_not_followed(one)))
    said = "all operations that were followed have equal results", *_not_followed(one)
    return FirstDifference("unknown", one.origin.replay.launch.kernel.called, said=said)


def _operation_of(x: Operation, is_same: bool) -> int | str:
    return x.pc if is_same else x.instruction.opcode


def _equal_before(number: int) -> Iterator[str]:
    if number:
        yield f"the {number} operation{'s' * (number > 1)} before it ha{'ve' if number > 1 else 's'} equal results"


def _found(kind: str, chain: Chain, place: PtxInstruction, its: PtxInstruction, said: Sequence[str]) -> FirstDifference:
    kernel = chain.origin.replay.launch.kernel
    return FirstDifference(
        kind, kernel.called, place_of(place), place_of(its), _short(kernel.program.text(place.line)), tuple(said)
    )  # fmt: skip


def _not_followed(chain: Chain) -> tuple[str, ...]:
    return tuple(f"{reason} (line {x.instruction.line})" for reason, x in chain.not_followed.items())


def _order_of_atomics(one: Chain, other: Chain) -> FirstDifference:
    pairs = [
        (mine, its)
        for mine, its in zip(_contributions(one), _contributions(other), strict=True)
        if _thread(mine) != _thread(its)
    ]
    mine, its = pairs[0] if pairs else (_contributions(one)[0], _contributions(other)[0])
    count = len(_contributions(one))
    said = [
        f"{count} atomic operations make the element; the order of the threads is not determined",
        f"here {_thread(mine)} changes it from {_before(mine)} to {_hex(mine.bits, mine)}",
        f"in the reference {_thread(its)} changes it from {_before(its)} to {_hex(its.bits, its)}",
    ]
    return _found("order of atomic operations", one, mine.instruction, its.instruction, said)


def _contributions(chain: Chain) -> list[Operation]:
    return [x for x in chain.operations if x.contribution is not None]


def _thread(x: Operation) -> str:
    return f"thread {32 * x.node.warp + x.node.lane} of block {x.block}"


def _before(x: Operation) -> str:
    before = None if x.contribution is None else x.contribution.before
    return "an unknown value" if before is None else _hex(before, x)


def _other_operations(one: Chain, other: Chain, mine: Operation | None, its: Operation | None) -> FirstDifference:
    said = []
    for who, chain, x in (("here", one, mine), ("in the reference", other, its)):
        where = "the computation has ended"
        if x is not None:
            where = f"{_short(chain.trace_of(x).text(x.node.record))} at {_where(place_of(x.instruction))}"
        said.append(f"{who}: {where}")
    here = mine or its
    if here is None:
        raise ValueError("two chains that have ended do not differ")
    return _found("other operations", one, here.instruction, (its or here).instruction, said)


def _counts(one: Chain, other: Chain) -> Iterator[str]:
    """Yield the instructions that the two chains execute another number of times."""
    mine, its = (Counter((x.instruction.line, x.instruction.opcode) for x in y.operations) for y in (one, other))
    for line, opcode in sorted({*mine, *its}):
        if mine[line, opcode] != its[line, opcode]:
            yield (
                f"{opcode} at line {line}: {mine[line, opcode]} of the element's operations, "
                f"{its[line, opcode]} in the reference"
            )


def _other_terms(one: Chain, other: Chain, mine: Operation, its: Operation) -> FirstDifference:
    said = [f"the result is {_hex(mine.bits, mine)}, in the reference {_hex(its.bits, its)}"]
    if _thread(mine) != _thread(its):
        said.append(f"here it is of {_thread(mine)}, in the reference of {_thread(its)}")
    for x, y in zip(operands_of(one, mine), operands_of(other, its), strict=False):
        equal = x.bits == y.bits
        said.append(
            f"{x.name} is {_operand_text(one, x)}" + (", as in the reference" if equal else "")
            + ("" if equal else f", in the reference {_operand_text(other, y)}")
        )  # fmt: skip
    return _found("other terms", one, mine.instruction, its.instruction, said)


def _operand_text(chain: Chain, x: OperandValue) -> str:
    bits = "unknown" if x.bits is None else f"{x.bits:#010x}"
    return bits if x.loaded is None else f"{bits}, loaded from {name_of_bytes(chain.origin, x.loaded)}"


def _through_memory(
    found: FirstDifference, chains: tuple[Chain, Chain], before: tuple[Sequence[Replay], Sequence[Replay]],
    outputs: tuple[NDArray[Any], NDArray[Any]], deepest: int,
) -> FirstDifference:  # fmt: skip
    """Follow the first operand that differs into the earlier launch that computed it, if there is one."""
    one, other = chains
    pairs = zip(one.operations, other.operations, strict=False)
    mine, its = next((x, y) for x, y in pairs if x.bits != y.bits)
    for x, y in zip(operands_of(one, mine), operands_of(other, its), strict=False):
        if x.bits == y.bits or x.loaded is None or y.loaded is None:
            continue
        here, there = on_the_host(one.origin, x.loaded), on_the_host(other.origin, y.loaded)
        if here is None or there is None:
            continue
        earlier = first_difference((before[1], outputs[1], there), (before[0], outputs[0], here), deepest - 1)
        if earlier.kind != "unknown":
            via = f"{found.kernel} then loads it as {name_of_bytes(one.origin, x.loaded)}"
            return replace(earlier, said=(*earlier.said, via))
    return found


def _hex(bits: int | None, x: Operation) -> str:
    return "unknown" if bits is None else f"0x{bits:0{2 * x.size}x}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."


def _where(place: Place) -> str:
    own = own_frames(place.source)
    return f"line {place.line} of the PTX" + (f" ({line_text(own[0])})" if own else "")
