# SPDX-License-Identifier: MIT
"""From a kernel with its grid and its block to a report: runs, findings, and the arrays brought back."""

import copy
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from wmma_emu.errors import KernelFindingsError, KernelFindingsWarning, LaunchLimitError
from wmma_emu.ptx.findings import CHECKS, KINDS, Sighting, merged
from wmma_emu.ptx.launch.actions import Actions
from wmma_emu.ptx.launch.arguments import Argument, LaunchArguments
from wmma_emu.ptx.launch.barrier_trials import MOST_TRIALS, make_trial
from wmma_emu.ptx.launch.calls import echo, errors_at_the_caller, uninterrupted
from wmma_emu.ptx.launch.explaining import explain_sighting
from wmma_emu.ptx.launch.launch_tickets import HostRange, LaunchTicket, host_ranges
from wmma_emu.ptx.launch.options import Launched, LaunchOptions
from wmma_emu.ptx.launch.replay import Replay, kept_for_replay
from wmma_emu.ptx.launch.report import Report, summary_of
from wmma_emu.ptx.launch.runner import Runner
from wmma_emu.ptx.launch.schedules import Run, require_same_results
from wmma_emu.ptx.launch.silenced_lines import apply_launch_silences, require_lines
from wmma_emu.ptx.launch.silences import SilenceOutcome, silenced_findings
from wmma_emu.ptx.launch.unused_values import classify_uses
from wmma_emu.ptx.launch.variable_names import LaunchNames, names_of
from wmma_emu.ptx.machine.limits import Counts
from wmma_emu.ptx.memory.races.race import RacedBytes
from wmma_emu.ptx.memory.races.suspects import Suspects
from wmma_emu.ptx.memory.variables import ModuleMemory
from wmma_emu.ptx.orders import BACKWARDS
from wmma_emu.ptx.reports.make import FindingMaker, numbered

_PATIENCE = 4
"""How many times the steps of a launch it may take with its threads in another order."""

_VALUE_CHECKS = ("races", "undefined")
"""Checks with which a launch is run again to see whether values are used, whatever it looks for."""


class Launch(Runner):
    """A kernel with its grid and block; called with the arguments, it runs."""

    @errors_at_the_caller
    def __call__(self, *arguments: Any, **options: Any) -> Report:
        """Run the kernel and update the arrays.

        The kernel works on copies, which are brought back when it ends. Launches of several threads that share an
        array, a part of one, or a variable of their module run one after another, in the order in which they came;
        those that share nothing run at the same time. (What only reads waits for what writes, too.)

        Parameters
        ----------
        *arguments
            One a parameter: a NumPy array for a pointer (`raw` of it where its bytes are meant; 0 or None where
            it is unused), a number for a scalar, bytes or
            a `Struct` for a struct.
        **options
            Those of `LaunchOptions`: ``findings``, ``schedule``, ``schedules``, ``max_steps``, ``max_seconds``,
            ``max_bytes``, ``checks``, ``silence``, ``fill``, ``baseline``, ``keep_bytes``, ``echo``, ``watch``.

        Raises
        ------
        ArgumentError
            For arguments that the parameters cannot take.
        KernelFindingsError
            With ``findings="raise"``, if any finding is an error; with rules, if they say it of any finding.
        LaunchLimitError
            If it takes too many steps, too long, or too much memory.
        OptionError
            For options that do not exist, and values that they do not take.
        ScheduleDependenceError
            With ``schedules``, if the order of the warps decides bits of the results.
        UnsupportedInstructionError
            For instructions that are not modelled.
        """
        self.kernel.require_modelled()
        given = self.kernel.read(arguments, options, self.grid)
        return self.run(given, options)

    def run(self, given: LaunchArguments, options: Mapping[str, Any]) -> Report:
        """Run the kernel on arguments that fit its parameters; called by what the user calls, whom a warning names."""
        kernel, module, values = self.kernel, self.kernel.module, given.values
        chosen = module.options.but(options)
        actions = chosen.actions
        turn = LaunchTicket(kernel.called, _host_ranges(values, module.variables))
        with turn.lock:
            turn.wait()
            report = self._run_all(given, chosen, actions)
        if warned := actions.findings_with("warn", report.findings):
            said = summary_of(replace(report, findings=warned))
            warnings.warn(KernelFindingsWarning(said, [x.title for x in warned]), stacklevel=4)
        return report

    def _run_all(self, given: LaunchArguments, chosen: LaunchOptions, actions: Actions) -> Report:
        """Run in every order that is asked for, and bring the results of the first back."""
        kernel, module, values = self.kernel, self.kernel.module, given.values
        unchanged = copy.deepcopy(module.variables) if chosen.schedules > 1 else module.variables
        require_lines(chosen.silence, module.program.kernels.values(), module.name)
        first, findings = self._run_first(values, chosen)
        seeds: dict[tuple[str, int], int | None] = {}
        _note_seed(seeds, findings, chosen.seeds[0])
        completed = first.counts.completed
        for seed in chosen.seeds[1:]:
            other, more = self._run_and_classify(values, copy.deepcopy(unchanged), chosen, seed)
            completed &= other.counts.completed
            _note_seed(seeds, more, seed)
            findings = merged(findings, more)
            if not self._has_errors(findings, chosen):
                require_same_results(kernel.called, first, other, seed)
        if first.counts.may_hide_races and not self._has_errors(findings, chosen):
            more = self._races_backwards(values, copy.deepcopy(unchanged), chosen, first.counts.steps)
            _note_seed(seeds, more, BACKWARDS)
            findings = merged(findings, more)
        replay = kept_for_replay(self, given, chosen, seeds) if findings else None
        report = self._report(first.counts._replace(completed=completed), findings, given, chosen, replay)
        failing, warned = (
            actions.findings_with("error", report.findings),
            actions.findings_with("warn", report.findings),
        )
        if chosen.watch is not None:
            chosen.watch(Launched(self, report, failing, warned))
        if failing:
            said = replace(report, findings=tuple(x for x in report.findings if x in failing + warned))
            raise KernelFindingsError(summary_of(said), report, failing, partial(summary_of, said))
        with uninterrupted():
            first.heap.copy_back()
        return report

    def _run_first(self, values: Sequence[Argument], chosen: LaunchOptions) -> tuple[Run, list[Sighting]]:
        """Run in the first order, whose output is what the kernel prints."""
        printed = ""
        try:
            first, findings = self._run_and_classify(values, self.kernel.module.variables, chosen, chosen.seeds[0])
            printed = first.counts.output
        except LaunchLimitError as error:
            printed = error.output
            raise
        finally:
            if chosen.echo:
                echo(printed)
        return first, findings

    def _races_backwards(
        self, values: Sequence[Argument], variables: Any, chosen: LaunchOptions, steps: int
    ) -> list[Sighting]:  # fmt: skip
        """Run with the last thread first, and give the races; what does not end soon has none."""
        options = replace(chosen, max_steps=min(chosen.max_steps, _PATIENCE * steps))
        try:
            _, found = self.run_once(values, variables, options, BACKWARDS)
        except LaunchLimitError:
            return []
        return [x for x in found if KINDS[x.kind].check == "races" and x.severity == "error"]

    def _run_and_classify(
        self, values: Sequence[Argument], variables: Any, options: LaunchOptions, seed: int | None
    ) -> tuple[Run, list[Sighting]]:
        """Run once, and see whether any use is made of the values that are in races: see `judge_uses`.

        In a program with locks, who takes one first decides which loads are in a race at all: all of those are errors.
        """
        raced = RacedBytes()
        done, findings = self.run_once(values, variables, options, seed, raced=raced)
        if not done.counts.completed or self.kernel.compiled.polls.lock_attempts:
            return done, findings
        steps = min(options.max_steps, _PATIENCE * done.counts.steps)
        left = options.max_seconds
        spent = done.counts.seconds

        def run(suspects: Suspects) -> bool:
            nonlocal spent
            if left is not None and spent >= left:
                return False
            seconds = None if left is None else left - spent
            again = replace(options, max_steps=steps, max_seconds=seconds, checks=_VALUE_CHECKS)
            try:
                other, _ = self.run_once(values, copy.deepcopy(variables), again, seed, suspects=suspects)
            except LaunchLimitError:
                return False
            spent += other.counts.seconds
            return other.counts.completed

        # Whether a silence at another side of a race is enough, is known when all of its sides are.
        here = {x.but_others(): x for x in findings}
        judged = self._apply_silences(list(here), options).findings
        changed = classify_uses([here[x] for x in judged], raced, run)
        return done, [changed.get(x, x) for x in findings]

    def _apply_silences(self, findings: list[Sighting], options: LaunchOptions) -> SilenceOutcome:
        kernel = self.kernel
        program = kernel.module.program.kernels[kernel.name]
        return apply_launch_silences(findings, options.silence, kernel.module.silences, program, options.checks)

    def _has_errors(self, findings: list[Sighting], options: LaunchOptions) -> bool:
        return any(x.severity == "error" for x in self._apply_silences(findings, options).findings)

    def _report(
        self, counts: Counts, sightings: list[Sighting], given: LaunchArguments, options: LaunchOptions,
        replay: Replay | None,
    ) -> Report:  # fmt: skip
        kernel = self.kernel
        judged = self._apply_silences(sightings, options)
        shown = {x.shown or x.label: i for i, x in enumerate(given.values)}
        names = LaunchNames(names_of(kernel.module, kernel), shown)
        make = FindingMaker(
            kernel.program, kernel.called, kernel.module.arch.name, kernel.module.files.text, names,
            explain=None if replay is None else partial(explain_sighting, replace(replay, names=names)),
            trial=None if replay is None else partial(
                make_trial, replay, iter(range(MOST_TRIALS)), steps=counts.steps, instructions=counts.instructions
            ),
        )  # fmt: skip
        found, silenced = make(judged.findings), silenced_findings(judged.silenced, make)
        named = numbered([*found, *(x.finding for x in silenced)])
        found = named[: len(found)]
        silenced = tuple(x._replace(finding=y) for x, y in zip(silenced, named[len(found) :], strict=True))
        baseline = options.known
        findings, known = (found, ()) if baseline is None else baseline.divided(found)
        return Report(
            kernel.called, kernel.module.arch.name, counts.instructions, counts.steps, counts.seconds, findings,
            kernel.compiled.not_bit_exact, kernel.contracted, counts.output, counts.completed, kernel.contraction,
            given.assumed, kernel.folded, silenced, judged.unused,
            tuple(x for x in CHECKS if x not in options.checks),
            (*self.grid,), (*self.block,), self.shared_bytes, known,
            None if baseline is None else baseline.name, kernel.module.files.paths, kernel.module.compiler,
        )  # fmt: skip


def _note_seed(seeds: dict[tuple[str, int], int | None], findings: list[Sighting], seed: int | None) -> None:
    """Remember in which order of the warps each finding was met first."""
    for x in findings:
        seeds.setdefault((x.kind, x.line), seed)


def _host_ranges(values: Sequence[Argument], variables: ModuleMemory) -> list[HostRange]:
    """Say which memory of the host a launch copies."""
    found = [x for value in values for x in host_ranges(value.label, value.arrays)]
    return found + [x for name, array, is_written in variables.arrays() for x in host_ranges(name, [array], is_written)]
