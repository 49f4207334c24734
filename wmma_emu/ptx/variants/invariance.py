# SPDX-License-Identifier: MIT
"""The comparison of the same rows in other batches, grids and orders."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import ArgumentError, shorten
from wmma_emu.ptx.launch.calls import errors_at_the_caller
from wmma_emu.ptx.launch.imposed_options import imposing
from wmma_emu.ptx.launch.line_lists import lines_text
from wmma_emu.ptx.launch.options import Launching, LaunchOptions, Observe
from wmma_emu.ptx.launch.replay import Replay
from wmma_emu.ptx.launch.report import Report
from wmma_emu.ptx.variants.elements import HostElement
from wmma_emu.ptx.variants.first_difference import FirstDifference, first_difference
from wmma_emu.ptx.variants.outputs import Difference, bits_text, difference_of, outputs_of
from wmma_emu.ptx.variants.plans import Variant, plans_of
from wmma_emu.ptx.variants.report import InvarianceChange, InvarianceReport

Run = Callable[..., Any]

_FLOATS = {"f16", "f16x2", "bf16", "bf16x2", "f32", "f64"}


@errors_at_the_caller
def invariance(
    run: Run, *, rows: int | Sequence[int] = 8, batches: Iterable[int | Sequence[int]] = (),
    variants: Iterable[Mapping[str, Any]] = (), schedules: int = 3,
) -> InvarianceReport:  # fmt: skip
    """Compare the bits of the same rows in other batches, with other grids, and in other orders of threads.

    The function is called once for the reference, and once for each variant. If bits differ, both calls are repeated,
    and their launches run again with traces, to find the first instruction that computes another value.

    Parameters
    ----------
    run : callable
        ``run(rows, **keywords)`` computes the given rows, an array of row numbers, on the emulator, and returns its
        outputs: an array, or a tuple or mapping of arrays, whose first axis is these rows. Launches of any kind count:
        those of a `Kernel`, and those of Triton or numba-cuda within `wmma_emu.languages.emulate`. Equal arguments
        must give equal outputs.
    rows : int or sequence of int
        The rows of the reference: a number, or their numbers.
    batches : iterable of int or sequence of int
        Other batches with some of the same rows: 1 is row 0 alone, ``[7, 0]`` are two rows in this order.
    variants : iterable of mappings
        Keywords for other calls with the rows of the reference: ``[{"blocks": 4}]``.
    schedules : int
        The number of other orders of blocks, warps and atomic operations: the seeds 1, 2, ...

    Returns
    -------
    InvarianceReport

    Raises
    ------
    ArgumentError
        If ``run`` cannot be called, or does not return rows; if a batch has no row of the reference.
    OptionError
        If there is nothing to compare.

    Examples
    --------
    >>> text = '''.version 8.0 .target sm_80 .address_size 64 .visible .entry total(.param .u64 x, .param .u64 sum) {
    ...   .reg .b64 %d<3>; .reg .b32 %i; .reg .f32 %f;
    ...   ld.param.u64 %d1, [x]; ld.param.u64 %d2, [sum]; mov.u32 %i, %ctaid.x;
    ...   mad.wide.u32 %d1, %i, 4, %d1; ld.global.f32 %f, [%d1];
    ...   red.global.add.f32 [%d2], %f;
    ...   ret; }'''
    >>> from wmma_emu.ptx import Module, invariance
    >>> kernel, x = Module(text)["total"], np.float32([2**24, 1, 1, -2**24])
    >>> def run(rows):
    ...     total = np.zeros(len(rows), np.float32)
    ...     kernel[4, 1](x, total)
    ...     return total
    >>> report = invariance(run, rows=1, schedules=1)
    >>> report.is_deterministic, report.changes[0].bits, report.changes[0].reference_bits
    (False, '0x3f800000 (1.0)', '0x00000000 (0.0)')
    >>> print(report.changes[0].first)
    order of atomic operations at line 5 of the PTX of total
      red.global.add.f32 [%d2], %f;
      4 atomic operations make the element; the order of the threads is not determined
      here thread 0 of block 2 changes it from 0x4b800000 to 0x4b800000
      in the reference thread 0 of block 1 changes it from 0x4b800000 to 0x4b800000
    """
    if not callable(run):
        raise ArgumentError(f"run={shorten(run)} cannot be called; expected a function of an array of row numbers")
    plans = plans_of(rows, batches, variants, schedules)
    reference = _called(run, plans[0])
    changes = [x for plan in plans[1:] for x in _changes(run, plans[0], reference, plan)]
    return InvarianceReport(
        tuple(plans), tuple(changes), tuple(reference.launches), tuple(dict.fromkeys(_notes(reference)))
    )


@dataclass
class _Call:
    """A call of the function: its outputs and its launches."""

    plan: Variant
    keeps: bool
    outputs: dict[str, NDArray[Any]] = field(default_factory=dict)
    replays: list[Replay] = field(default_factory=list)
    launches: list[str] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)

    def options_of(self, chosen: LaunchOptions) -> LaunchOptions:
        """Run in the order of the plan; the data of launches is kept only for traces."""
        return replace(
            chosen, schedule=self.plan.schedule, schedules=1, keep_bytes=chosen.keep_bytes if self.keeps else 0,
            observe=partial(self.observe, chosen.observe),
        )  # fmt: skip

    def observe(self, other: Observe | None, launching: Launching) -> Callable[[Report], None]:
        """Keep the data of a launch, and note it when it has ended; ``other`` is the program's own observer."""
        replay: Replay = launching.launch.kept(launching.arguments, launching.options)
        finish = other and other(launching)

        def launched(report: Report) -> None:
            self.replays.append(replay)
            self.launches.append(report.kernel)
            self.findings += [f"{report.kernel}: {x.title}" for x in report.errors]
            if finish:
                finish(report)

        return launched


def _called(run: Run, plan: Variant, *, keeps: bool = False) -> _Call:
    call = _Call(plan, keeps)
    with imposing(call.options_of):
        returned = run(np.array(plan.rows), **plan.keywords)
    call.outputs = outputs_of(returned, plan.rows)
    if not keeps:  # a later call may compute in the same memory
        call.outputs = {name: x.copy() for name, x in call.outputs.items()}
    return call


def _changes(run: Run, first: Variant, reference: _Call, plan: Variant) -> Iterator[InvarianceChange]:
    mine = _called(run, plan)
    if mine.outputs.keys() != reference.outputs.keys():
        raise ArgumentError(
            f"run returned {', '.join(mine.outputs)} for {plan}, and {', '.join(reference.outputs)} for the reference"
        )
    found = [difference_of(name, x, plan.rows, reference.outputs[name], first.rows) for name, x in mine.outputs.items()]
    for difference in found:
        if difference is not None:
            name, index, its_index = difference.output, difference.index, difference.reference_index
            yield InvarianceChange(
                plan, name, difference.rows, difference.count, difference.compared, index,
                bits_text(mine.outputs[name], index), bits_text(reference.outputs[name], its_index),
                _first_difference(run, reference, mine, difference),
            )  # fmt: skip


def _first_difference(run: Run, reference: _Call, mine: _Call, difference: Difference) -> FirstDifference:
    """Call the function again in both ways, and compare the traces of the first element that differs."""
    name, sides = difference.output, []
    for before, index in ((reference, difference.reference_index), (mine, difference.index)):
        again = _called(run, before.plan, keeps=True)
        output = again.outputs[name]
        if output.tobytes() != before.outputs[name].tobytes():
            said = f"a second call for {before.plan} gave other bits: run has a state, or depends on the time"
            return FirstDifference("unknown", said=(said,))
        if not again.replays:
            return FirstDifference("unknown", said=("run launched no kernel on the emulator in this thread",))
        if any(x.kept is None for x in again.replays):
            most = max(x.bytes for x in again.replays)
            return FirstDifference("unknown", said=(f"the arrays of a launch are not kept: pass keep_bytes={most}",))
        offset = sum(i * stride for i, stride in zip(index, output.strides, strict=True))
        host = int(output.__array_interface__["data"][0]) + offset
        sides.append((again.replays, output, HostElement(host, output.dtype.itemsize)))
    return first_difference(sides[0], sides[1])


def _notes(call: _Call) -> Iterator[str]:
    if not call.launches:
        yield "run launched no kernel on the emulator in this thread; only its outputs were compared"
    for replay in call.replays:
        kernel = replay.launch.kernel
        lines = [
            x.line for x in kernel.program.instructions
            if x.mnemonic in ("atom", "red") and "add" in x.modifiers and _FLOATS & set(x.modifiers)
        ]  # fmt: skip
        if lines:
            yield (
                f"{kernel.called} adds floats atomically at {lines_text(lines)} of the PTX: if several threads add to "
                "one element, the order of the sum is not determined on a GPU, whatever these schedules show"
            )
    yield from (f"finding: {x}" for x in call.findings)
