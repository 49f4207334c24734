# SPDX-License-Identifier: MIT
"""Launches: from a kernel with its grid and block to a report, with the runs, the findings and the results."""

import copy
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from wmma_emu.errors import AsynchronyDependenceError, KernelFindingsError, KernelFindingsWarning, LaunchLimitError
from wmma_emu.ptx.findings import CHECKS, KINDS, Sighting, merged
from wmma_emu.ptx.launch.actions import Actions
from wmma_emu.ptx.launch.arguments import Argument, LaunchArguments, object_arguments, variable_arguments
from wmma_emu.ptx.launch.barrier_trials import MOST_TRIALS, make_trial
from wmma_emu.ptx.launch.calls import echo, errors_at_the_caller, level_of_the_caller, uninterrupted
from wmma_emu.ptx.launch.counted import counting_of, profile_of
from wmma_emu.ptx.launch.delays import asynchronous_lines, named, narrowed
from wmma_emu.ptx.launch.explaining import explain_sighting
from wmma_emu.ptx.launch.imposed_options import imposed
from wmma_emu.ptx.launch.launch_tickets import HostRange, LaunchTicket, host_ranges
from wmma_emu.ptx.launch.memory_of_arrays import memory_of
from wmma_emu.ptx.launch.options import Course, Launched, Launching, LaunchOptions, is_time_limit
from wmma_emu.ptx.launch.reachable import Reachable
from wmma_emu.ptx.launch.replay import NOTHING_FOUND, Courses, Replay, kept_for_replay
from wmma_emu.ptx.launch.report import Report, summary_of
from wmma_emu.ptx.launch.runner import Runner
from wmma_emu.ptx.launch.schedules import Run, require_same_results
from wmma_emu.ptx.launch.silenced_lines import apply_launch_silences, require_lines
from wmma_emu.ptx.launch.silences import Silenced, SilenceOutcome, silenced_findings
from wmma_emu.ptx.launch.structs import array_of
from wmma_emu.ptx.launch.texture_caveats import caveats_of
from wmma_emu.ptx.launch.unused_values import classify_uses
from wmma_emu.ptx.launch.variable_names import LaunchNames, names_of, variable_of
from wmma_emu.ptx.machine.limits import Counts, Deadline, Limits
from wmma_emu.ptx.machine.run import LaunchRecorder
from wmma_emu.ptx.memory.races.race import RacedBytes
from wmma_emu.ptx.memory.races.suspects import Suspects
from wmma_emu.ptx.memory.variables import ModuleMemory
from wmma_emu.ptx.orders import BACKWARDS
from wmma_emu.ptx.reports.finding import Finding
from wmma_emu.ptx.reports.make import FindingMaker, numbered

_PATIENCE = 4
"""The limit on the steps of a run in another thread order, as a multiple of the launch's steps."""

_VALUE_CHECKS = ("races", "undefined")
"""The checks of a run that detects uses of values, whatever checks the launch has."""


class Launch(Runner):
    """A kernel with its grid and block; call it with the arguments to run it."""

    @errors_at_the_caller
    def __call__(self, *arguments: Any, **options: Any) -> Report:
        """Run the kernel and update the arrays.

        The kernel works on copies of the memory that it may write, which are copied back at the end. Launches that
        share an array, a part of one, or a variable of their module run one after another, in the order of the calls;
        launches that share no memory run at the same time. (A launch that only reads an array also waits for launches
        that write it.)

        Parameters
        ----------
        *arguments
            One for each parameter: a NumPy array for a pointer (`raw` of it to pass its bytes; 0 or None if it is
            unused; a list of structs for an array of them), a number for a scalar, bytes, a ctypes.Structure or a
            `Struct` for a struct.
        **options
            Options of `LaunchOptions`: ``findings``, ``schedule``, ``schedules``, ``asynchrony``, ``max_steps``,
            ``max_seconds``, ``max_bytes``, ``checks``, ``silence``, ``fill``, ``baseline``, ``cooperative``,
            ``keep_bytes``, ``addresses``, ``reachable``, ``echo``, ``watch``, ``observe``, ``objects``, ``profile``.

        Raises
        ------
        ArgumentError
            If an argument does not fit its parameter.
        KernelFindingsError
            With ``findings="raise"``, if any finding is an error; with rules, if the action for any finding is "error".
        LaunchLimitError
            If the launch exceeds its limit of steps, time or memory.
        OptionError
            If an option does not exist, or does not accept the value.
        ScheduleDependenceError
            With ``schedules``, if the order of the warps affects the results; with ``asynchrony="both"`` an
            `AsynchronyDependenceError`, if the time of asynchronous operations does.
        UnsupportedInstructionError
            If the kernel contains instructions that are not modelled.
        """
        spent = self.compile(options)
        self.kernel.require_modelled()
        given = self.kernel.read(arguments, options, self.grid)
        return self.run(given, options, spent)

    def compile(self, options: Mapping[str, Any]) -> float:
        """Compile the kernel within the time limit of the options, if they have a legal one; return the seconds."""
        seconds = options.get("max_seconds", self.kernel.module.options.max_seconds)
        compiling = Deadline(Limits(seconds=seconds if is_time_limit(seconds) else None))
        self.kernel.compile(compiling)
        return compiling.seconds

    def run(self, given: LaunchArguments, options: Mapping[str, Any], spent: float = 0) -> Report:
        """Run the kernel on arguments that fit. Only entry points call this, so that warnings name the user's line.

        ``spent`` are the seconds of the time limit that the compilation took.
        """
        kernel, module = self.kernel, self.kernel.module
        chosen = imposed(module.options.but(options))
        values = [*given.values, *variable_arguments(module.structs), *object_arguments(chosen.objects)]
        given = given._replace(values=values)
        actions = chosen.actions
        ticket = LaunchTicket(kernel.called, partial(_host_ranges, values, chosen.reached, module.variables))
        with ticket.lock:
            try:
                ticket.wait()
                launching = Launching(self, (*values,), bool(chosen.cooperative), chosen)
                finish = chosen.observe and chosen.observe(launching)
                report = self._run_all(given, chosen, actions, spent)
                if finish:
                    finish(report)
            finally:
                ticket.end()
        if warned := actions.findings_with("warn", report.findings):
            said = summary_of(replace(report, findings=warned))
            warnings.warn(KernelFindingsWarning(said, [x.title for x in warned]), stacklevel=level_of_the_caller())
        return report

    def _run_all(self, given: LaunchArguments, chosen: LaunchOptions, actions: Actions, spent: float) -> Report:
        """Run in all requested orders, and copy back the results of the first."""
        findings: list[Sighting] = []
        try:
            return self._run_courses(given, chosen, actions, spent, findings)
        except LaunchLimitError as error:
            self._add_findings(error, findings, given, chosen)
            raise

    def _add_findings(
        self, error: LaunchLimitError, before: list[Sighting], given: LaunchArguments, chosen: LaunchOptions
    ) -> None:
        """Add to an error of a limit the report of all findings until then, in the earlier runs of the launch too."""
        if error.interrupted is None:
            return
        counts, found = error.interrupted
        error.report = self._report(counts, merged(before, found), given, chosen, None)
        if error.report.findings:
            error.args = (f"{error}\nfindings until then: {summary_of(error.report)}",)

    def _run_courses(
        self, given: LaunchArguments, chosen: LaunchOptions, actions: Actions, spent: float, findings: list[Sighting]
    ) -> Report:
        """Run in all requested orders; ``findings`` collects what the runs found."""
        module, values = self.kernel.module, given.values
        courses = chosen.courses
        if len(courses) > 1 and not asynchronous_lines(self.kernel.program):
            courses = [courses[0], *(x for x in courses[1:] if not x.asynchrony.is_late)]
        unchanged = copy.deepcopy(module.variables) if len(courses) > 1 else module.variables
        require_lines(chosen.silence, module.program.kernels.values(), module.name)
        counting = counting_of(self, chosen)
        try:
            first, findings[:] = self._run_first(values, chosen, spent, counting)
        except LaunchLimitError:
            if counting is not None:
                profile_of(self, counting)  # what the launch executed until then is in the sessions
            raise
        found_in: dict[tuple[str, int], Course] = {}
        _note_course(found_in, findings, courses[0])
        completed = first.counts.completed
        for course in courses[1:]:
            other, more = self._run_and_classify(values, copy.deepcopy(unchanged), chosen, course)
            completed &= other.counts.completed
            _note_course(found_in, more, course)
            findings[:] = merged(findings, more)
            if not self._has_errors(findings, chosen):
                self._require_same(first, other, course, partial(self._delayed, values, unchanged, chosen, course))
        if first.counts.may_hide_races and not self._has_errors(findings, chosen):
            more = self._races_backwards(values, copy.deepcopy(unchanged), chosen, first.counts.steps)
            _note_course(found_in, more, Course(BACKWARDS))
            findings[:] = merged(findings, more)
        replay = self.kept(values, chosen, found_in) if findings else None
        report = self._report(first.counts._replace(completed=completed), findings, given, chosen, replay)
        report = report if counting is None else replace(report, profile=profile_of(self, counting))
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

    def kept(
        self, values: Sequence[Argument], options: LaunchOptions, courses: Courses = NOTHING_FOUND
    ) -> Replay:  # fmt: skip
        """Copy the arguments and the module's variables, to run the launch again; ``courses`` belong to findings."""
        return replace(kept_for_replay(self, values, options, courses), names=self._names(values, options))

    def _require_same(
        self, first: Run, other: Run, course: Course, delayed: Callable[[Sequence[int]], Run]
    ) -> None:  # fmt: skip
        """Compare a run with the first; an error about late operations names those that change the results.

        ``delayed`` runs the launch with the operations of some lines late, and the others at once.
        """
        name, program = self.kernel.called, self.kernel.program

        def differs(lines: Sequence[int]) -> bool:
            try:
                require_same_results(name, first, delayed(lines), course)
            except (AsynchronyDependenceError, LaunchLimitError):
                return True
            return False

        try:
            require_same_results(name, first, other, course)
        except AsynchronyDependenceError as error:
            lines = narrowed(asynchronous_lines(program), differs)
            raise AsynchronyDependenceError(f"{error}{named(program, lines)}") from None

    def _delayed(
        self, values: Sequence[Argument], variables: Any, options: LaunchOptions, course: Course, lines: Sequence[int]
    ) -> Run:
        some = course._replace(asynchrony=replace(course.asynchrony, lines=frozenset(lines)))
        return self.run_once(values, copy.deepcopy(variables), replace(options, checks=frozenset()), some)[0]

    def _run_first(
        self, values: Sequence[Argument], chosen: LaunchOptions, spent: float, recorder: LaunchRecorder | None
    ) -> tuple[Run, list[Sighting]]:  # fmt: skip
        """Run in the first order; its output is the output of the kernel."""
        printed = ""
        try:
            variables = self.kernel.module.variables
            first, findings = self._run_and_classify(values, variables, chosen, chosen.courses[0], spent, recorder)
            printed = first.counts.output
        except LaunchLimitError as error:
            printed = error.output
            error.args = (f"{self.kernel.called}: {error}",)
            raise
        finally:
            if chosen.echo:
                echo(printed)
        return first, findings

    def _races_backwards(
        self, values: Sequence[Argument], variables: Any, chosen: LaunchOptions, steps: int
    ) -> list[Sighting]:  # fmt: skip
        """Run with the last thread first, and return the races; a run that takes too long returns none."""
        options = replace(chosen, max_steps=min(chosen.max_steps, _PATIENCE * steps))
        try:
            _, found = self.run_once(values, variables, options, Course(BACKWARDS))
        except LaunchLimitError:
            return []
        return [x for x in found if KINDS[x.kind].check == "races" and x.severity == "error"]

    def _run_and_classify(
        self,
        values: Sequence[Argument],
        variables: Any,
        options: LaunchOptions,
        course: Course,
        spent: float = 0,
        recorder: LaunchRecorder | None = None,
    ) -> tuple[Run, list[Sighting]]:
        """Run once, and find out whether the racing values are used: see `classify_uses`.

        In a program with locks, the order of the lock owners decides which loads race: all such races are errors.
        """
        raced = RacedBytes()
        done, findings = self.run_once(values, variables, options, course, raced=raced, spent=spent, recorder=recorder)
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
                other, _ = self.run_once(values, copy.deepcopy(variables), again, course, suspects=suspects)
            except LaunchLimitError:
                return False
            spent += other.counts.seconds
            return other.counts.completed

        # Silences at the other sides of a race can be evaluated only when all of its sides are known.
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

    def _names(self, values: Sequence[Argument], options: LaunchOptions) -> LaunchNames:
        shown = {x.shown or x.label: i for i, x in enumerate(values)}
        others = {x.name: variable_of(x.field, array_of(x.array)) for y in values for x in y.pointed}
        others |= {x.name: variable_of(x.name, x.memory) for x in options.reached}
        return LaunchNames(names_of(self.kernel.module, self.kernel), shown, others)

    def _findings(
        self, judged: SilenceOutcome, counts: Counts, given: LaunchArguments, options: LaunchOptions,
        replay: Replay | None,
    ) -> tuple[tuple[Finding, ...], tuple[Silenced, ...]]:  # fmt: skip
        """Make the findings of a launch, and the silenced ones."""
        kernel = self.kernel
        make = FindingMaker(
            kernel.program, kernel.called, kernel.module.arch.name, kernel.module.files.text,
            self._names(given.values, options) if replay is None else replay.names,
            explain=None if replay is None else partial(explain_sighting, replay),
            trial=None if replay is None else partial(
                make_trial, replay, iter(range(MOST_TRIALS)), steps=counts.steps, instructions=counts.instructions
            ),
        )  # fmt: skip
        found, silenced = make(judged.findings), silenced_findings(judged.silenced, make)
        named = numbered([*found, *(x.finding for x in silenced)])
        found = named[: len(found)]
        silenced = tuple(x._replace(finding=y) for x, y in zip(silenced, named[len(found) :], strict=True))
        return found, silenced

    def _report(
        self, counts: Counts, sightings: list[Sighting], given: LaunchArguments, options: LaunchOptions,
        replay: Replay | None,
    ) -> Report:  # fmt: skip
        kernel = self.kernel
        judged = self._apply_silences(sightings, options)
        found, silenced = self._findings(judged, counts, given, options, replay) if sightings else ((), ())
        baseline = options.known
        findings, known = (found, ()) if baseline is None else baseline.divided(found)
        return Report(
            kernel.called, kernel.module.arch.name, counts.instructions, counts.steps, counts.seconds, findings,
            caveats_of(kernel.compiled, given.values), kernel.contracted, counts.output, counts.completed,
            kernel.contraction, given.assumed, kernel.folded, silenced, judged.unused,
            tuple(x for x in CHECKS if x not in options.checks),
            (*self.grid,), (*self.block,), self.shared_bytes, known,
            None if baseline is None else baseline.name, kernel.module.files.paths, kernel.module.compiler,
            counts.machine, counts.machine_reason,
        )  # fmt: skip


def _note_course(found_in: dict[tuple[str, int], Course], findings: list[Sighting], course: Course) -> None:
    """Record the course in which each finding first occurred."""
    for x in findings:
        found_in.setdefault((x.kind, x.line), course)


def _host_ranges(
    values: Sequence[Argument], reached: Sequence[Reachable], variables: ModuleMemory
) -> list[HostRange]:  # fmt: skip
    """Return the host memory that a launch copies."""
    found = [x for value in values for x in host_ranges(value.label, value.arrays)]
    found += [x for name, value in reached for x in host_ranges(name, [memory_of(value)[0]])]
    return found + [x for name, array, is_written in variables.arrays() for x in host_ranges(name, [array], is_written)]
