# SPDX-License-Identifier: MIT
"""Profiles in tests: limits on the counters of kernels, files of counters, comparisons with them, and snapshots."""

import difflib
import json
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pytest_wmma_emu.files import require_folder
from wmma_emu.errors import ArgumentValueError, OptionError, ProfileLimitError, WmmaEmuError
from wmma_emu.ptx import CountedLaunches, KernelCoverage, Profile, covering, profiling
from wmma_emu.ptx.profile import Limit

__all__ = ["Coverage", "Profiles", "TestProfile"]

_ACCEPTED = "FAILED: counters became worse; if that is intended, write a new file with --kernel-profile"

_KEY, _COVERAGE_KEY = "wmma_emu_profile", "wmma_emu_coverage"


class TestProfile(CountedLaunches):
    """The profile of the launches of a test so far, which can be compared with a snapshot file."""

    __test__ = False

    def __init__(self, folder: Path, *, update: bool) -> None:
        super().__init__()
        self._folder, self._update = folder, update

    def matches_snapshot(self, name: str) -> bool:
        """Compare the counters with a file in the test's folder; `--kernel-profile-update` writes the file.

        Raises
        ------
        ProfileLimitError
            If the file does not exist, or differs, and the error shows the lines that do; or if no kernel was launched.
        """
        path, text = self._folder / name, self.profile.snapshot()
        if not text:
            raise ProfileLimitError(f"no kernel was launched, so there is nothing to compare with {name}")
        if self._update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        if not path.exists():
            raise ProfileLimitError(f"{name} does not exist; pytest --kernel-profile-update writes it")
        before = path.read_text(encoding="utf-8")
        if text != before:
            lines = difflib.unified_diff(before.splitlines(), text.splitlines(), name, "now", n=1, lineterm="")
            shown = "\n".join(lines)
            raise ProfileLimitError(f"the counters differ from {name}; --kernel-profile-update accepts them\n{shown}")
        return True


class Profiles:
    """The profile of a test run: its limits, the file that it writes, and the file that it is compared with."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.update: bool = config.getoption("kernel_profile_update")
        folder = config.invocation_params.dir
        paths = (config.getoption(x) for x in ("kernel_profile", "kernel_profile_before"))
        self._path, self._before = (None if x is None else folder / x for x in paths)
        if self._path is not None:
            require_folder("--kernel-profile", self._path)
        self._limits = tuple(config.getoption("kernel_limit"))
        self._run = CountedLaunches()
        self._failed = ""
        try:
            for limit in self._limits:
                Limit.of(limit)
            self._known = None if self._before is None else Profile.read(self._before)
        except OptionError as error:
            raise pytest.UsageError(f"--kernel-limit: {error}") from None
        except (OSError, WmmaEmuError) as error:
            raise pytest.UsageError(f"--kernel-profile-before={self._before}: {error}") from None

    @contextmanager
    def of_test(self, item: pytest.Item, marker: str) -> Generator[None, None, None]:
        """Profile a test, and require its limits when it has passed; those of its markers need a launch."""
        with profiling() as found:
            yield
        if self._limits and found.profile.kernels:
            found.profile.require(*self._limits)
        for mark in item.iter_markers(marker):
            if unknown := {*mark.kwargs} - {"line"}:
                raise OptionError(f"@pytest.mark.{marker} has no argument {', '.join(sorted(unknown))}; it has line")
            found.profile.require(*mark.args, **mark.kwargs)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        """Count the launches of a test and of its fixtures for the profile of the run."""
        with profiling(self._run):
            return (yield)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Collect the profile of an xdist worker."""
        sent = getattr(node, "workeroutput", {}).get(_KEY)
        if sent:
            self._run.add(Profile.from_json(sent), KernelCoverage())

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the profile and compare it, or send it to the process that does."""
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput[_KEY] = self._run.profile.to_json()
            return
        if self._path is not None:
            self._run.write(self._path)
        if self._known is not None:
            self._failed = self._worse(self._known)
            if self._failed and session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _worse(self, before: Profile) -> str:
        """Describe what became worse, or why nothing can be compared."""
        try:
            changes = self._run.profile.compare(before)
        except ArgumentValueError as error:
            return str(error)
        return str(changes) if changes.worse else ""

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Name what became worse, and the written file."""
        lines = [] if self._path is None else [f"written: {self._path}"]
        if self._limits and not self._run.profile.kernels:
            lines.append("no kernel was launched: --kernel-limit tested nothing")
        if self._known is not None:
            lines += [f"compared with {self._before}:", *(self._failed or "no counter became worse").splitlines()]
            lines += [_ACCEPTED] if self._failed else []
        _show(terminalreporter, lines)


class Coverage:
    """The coverage of a test run, and the file that it writes."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._path = config.invocation_params.dir / config.getoption("kernel_cov")
        require_folder("--kernel-cov", self._path)
        self._least: float | None = config.getoption("kernel_cov_fail_under")
        self._found = CountedLaunches(counts=False)
        self._failed = ""
        if self._least is not None and not 0 <= self._least <= 100:
            raise pytest.UsageError(f"--kernel-cov-fail-under={self._least:g} is not a percentage of 0 to 100")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        """Record the coverage of a test and of its fixtures."""
        with covering(self._found):
            return (yield)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Merge the coverage of an xdist worker."""
        sent = getattr(node, "workeroutput", {}).get(_COVERAGE_KEY)
        if sent:
            self._found.add(Profile(), KernelCoverage.from_dict(json.loads(sent)))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the coverage and compare it with the option, or send it to the process that does."""
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput[_COVERAGE_KEY] = json.dumps(self._found.coverage.to_dict())
            return
        self._found.write(self._path)
        coverage = self._found.coverage
        if self._least is not None and (coverage.percent < self._least or not coverage.lines):
            reached = (
                f"tests reached {coverage.percent:.2f}% of the kernels' lines" if coverage.lines else "no kernel ran"
            )
            self._failed = f"FAILED: {reached}; --kernel-cov-fail-under requires {self._least:g}%"
            if session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Show the coverage of each file."""
        lines = [*str(self._found).splitlines(), f"written: {self._path}", self._failed]
        _show(terminalreporter, filter(None, lines), "kernels: coverage")


def _show(terminalreporter: Any, lines: Iterable[str], title: str = "kernels: counters") -> None:
    shown = [*lines]
    if shown:
        terminalreporter.section(title)
        for line in shown:
            terminalreporter.line(line)
