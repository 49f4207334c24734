# SPDX-License-Identifier: MIT
"""The pytest plugin: a fixture that runs CUDA and Triton kernels without a GPU. Imports are delayed until its use."""

import os
import sys
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_wmma_emu.files import Files
    from pytest_wmma_emu.launches import Launches
    from pytest_wmma_emu.profiles import Profiles, TestProfile
    from wmma_emu.ptx.launch.emulated_gpu import EmulatedGpu
    from wmma_emu.ptx.launch.options import Launched

_SILENCE, _FINDINGS, _LIMITS = "wmma_emu_silence", "kernel_findings", "kernel_limits"
_OPTION = "--kernel-findings"
_DEFAULT_CHIP = "h100"
_MARKERS = {
    f"{_SILENCE}(kind, line, reason)":
        "findings of one kind at one line (of the PTX, or 'file.cu:16') that are acceptable",
    f"{_FINDINGS}(*rules)":
        f"the actions for findings of kernels, as with {_OPTION}: 'warn:race', 'off:race of equal bytes'",
    f"{_LIMITS}(*limits, line=None)":
        "limits on the counters of the test's kernels, or of one line: 'bank_conflicts <= 0', line='gemm.cu:41'",
}  # fmt: skip

_FILES = {
    "baseline": "known findings of launches of `emulated_gpu`, which neither fail a test nor warn",
    "sarif": "write the findings of the launches of `emulated_gpu` as SARIF, which code hosts show at their lines",
    "json": "write the reports of the launches of `emulated_gpu` as a list in JSON",
}


class _Session:
    """The state that the hooks of a test run share: the rules and the launches of the running test."""

    given: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    launches: "Launches | None" = None
    files: "Files | None" = None
    profiles: "Profiles | None" = None

    def watch(self, launched: "Launched") -> None:
        """Record a launch for the report of its test, and for the files of the run."""
        for each in (self.launches, self.files):
            if each is not None:
                each.add(launched)


_SESSION = pytest.StashKey[_Session]()


class _Warnings:
    """Lists findings that became warnings at the end, each once; pytest would show each in full for every test."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._tests: dict[str, Any] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_warning_recorded(self, warning_message: Any, nodeid: str) -> None:
        """Record the findings of a test, and remove the warning that pytest's own reporter has just recorded."""
        if warning_message.category.__name__ != "KernelFindingsWarning":  # the class would have to be imported
            return
        from pytest_wmma_emu.warned import note

        note(self._config, self._tests, warning_message.message, nodeid)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """List the findings with their tests."""
        if self._tests:
            from pytest_wmma_emu.warned import show

            show(terminalreporter, self._tests)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the plugin."""
    group = parser.getgroup("wmma-emu", "CUDA and Triton kernels without a GPU (wmma-emu)")
    group.addoption(
        "--ptx-schedules", metavar="N", type=int, default=1,
        help="run each launch of `emulated_gpu` with its warps in N orders, and compare the results bit for bit",
    )  # fmt: skip
    group.addoption(
        "--ptx-asynchrony", choices=("eager", "late", "both"), default="eager",
        help="when asynchronous copies and wgmma of the launches of `emulated_gpu` move their data: at once, as late "
        "as the kernel allows, or both, and compare the results bit for bit",
    )  # fmt: skip
    group.addoption(
        "--ptx-machine", choices=("auto", "native", "numpy"), default="auto",
        help="the machine that runs the launches of `emulated_gpu`: the native one, an error if it cannot; the NumPy "
        "machine; or auto, the native one if it can, and the NumPy machine again if anything may be wrong",
    )  # fmt: skip
    rule = (
        "the action for findings of the launches of `emulated_gpu`: error, warn or off, for all of them, or for a kind "
        "or a severity, as in 'off:race within a warp' or error:warning"
    )
    group.addoption(
        _OPTION, metavar="ACTION[:KIND]", action="append", default=[], dest=_FINDINGS,
        help=f"{rule}; may be given several times, the last one that applies to a finding decides",
    )  # fmt: skip
    for name, meaning in _FILES.items():
        group.addoption(f"--kernel-{name}", metavar="FILE", help=meaning)
    group.addoption(
        "--kernel-baseline-update", action="store_true",
        help="add the findings of this run to the file of --kernel-baseline, and let none of them fail a test",
    )  # fmt: skip
    group.addoption(
        "--emulate", metavar="CHIP", nargs="?", const=_DEFAULT_CHIP,
        help="run the kernels that the tests launch in Triton and other languages on an emulated chip, h100 if left "
        "out: --emulate or --emulate=a100; the options for findings apply",
    )  # fmt: skip
    group.addoption(
        "--kernel-limit", metavar="LIMIT", action="append", default=[],
        help="a limit on the counters of every kernel that a test launches, as in 'bank_conflicts <= 0'; may be given "
        "several times",
    )  # fmt: skip
    group.addoption("--kernel-profile", metavar="FILE", help="write the counters of all launches as JSON, HTML or CSV")
    group.addoption(
        "--kernel-profile-before", metavar="FILE",
        help="a file of --kernel-profile in JSON: name the counters that became worse since, and fail if any did",
    )  # fmt: skip
    group.addoption("--kernel-profile-update", action="store_true", help="write the snapshot files of `kernel_profile`")
    group.addoption(
        "--kernel-cov", metavar="FILE",
        help="write the source lines and branches of kernels that the tests reach: as Cobertura XML if the name ends "
        "in .xml, else in the format of lcov",
    )  # fmt: skip
    group.addoption(
        "--kernel-cov-fail-under", metavar="PERCENT", type=float,
        help="with --kernel-cov: fail if the tests reach fewer of the kernels' lines",
    )  # fmt: skip
    parser.addini(_FINDINGS, f"{rule}; one per line, before those of the command line", type="linelist", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Declare the plugin's markers, and reject invalid rules."""
    for marker, meaning in _MARKERS.items():
        config.addinivalue_line("markers", f"{marker}: {meaning}")
    if config.getoption("ptx_schedules") < 1:
        raise pytest.UsageError(
            f"--ptx-schedules must be an integer of at least 1, not {config.getoption('ptx_schedules')}"
        )
    session = config.stash[_SESSION] = _Session()
    config.pluginmanager.register(_Warnings(config))
    given = [*config.getini(_FINDINGS), *config.getoption(_FINDINGS)]
    if given:
        from pytest_wmma_emu.rules import wrong_rule

        if wrong := wrong_rule(given):
            raise pytest.UsageError(f"{_OPTION} (or {_FINDINGS} of the configuration): {wrong}")
        session.given = tuple(given)
    if config.getoption("emulate"):
        from pytest_wmma_emu.emulation import begin
        from pytest_wmma_emu.launches import Launches

        session.launches = Launches()
        begin(config, lambda: session.rules, session.watch)
    if (
        config.getoption("kernel_limit")
        or config.getoption("kernel_profile")
        or config.getoption("kernel_profile_before")
    ):
        _profiles(config)
    if config.getoption("kernel_cov_fail_under") is not None and not config.getoption("kernel_cov"):
        raise pytest.UsageError("--kernel-cov-fail-under needs --kernel-cov=FILE, which records the coverage")
    if config.getoption("kernel_cov"):
        from pytest_wmma_emu.profiles import Coverage

        config.pluginmanager.register(Coverage(config))
    if config.getoption("kernel_baseline_update") or any(config.getoption(f"kernel_{x}") for x in _FILES):
        from pytest_wmma_emu.files import Files

        session.files = Files(config)
        config.pluginmanager.register(session.files)


def _profiles(config: pytest.Config) -> "Profiles":
    """Return what profiles the tests of a run."""
    session = config.stash[_SESSION]
    if session.profiles is None:
        from pytest_wmma_emu.profiles import Profiles

        session.profiles = Profiles(config)
        config.pluginmanager.register(session.profiles)
    return session.profiles


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Set the rules to those of the test's markers, and discard the launches of other tests."""
    session = item.config.stash[_SESSION]
    session.rules = session.given
    if session.launches is not None:
        session.launches.begin_test()
    if session.files is not None:
        session.files.test = item.nodeid
    if any(item.iter_markers(_FINDINGS)):
        from pytest_wmma_emu.rules import rules_of_markers

        session.rules += rules_of_markers(item, _FINDINGS)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Apply the silences of the test's markers to all its launches; separate the examples of Hypothesis; count."""
    if any(item.iter_markers(_LIMITS)) or item.config.stash[_SESSION].profiles is not None:
        with _profiles(item.config).of_test(item, _LIMITS):
            return (yield from _called(item))
    return (yield from _called(item))


def _called(item: pytest.Item) -> Generator[None, object, object]:
    launches = item.config.stash[_SESSION].launches
    if launches is not None and getattr(getattr(item, "obj", None), "is_hypothesis_test", False) is True:
        from pytest_wmma_emu.examples import separated_examples

        with separated_examples(item, launches):
            return (yield from _silenced(item))
    return (yield from _silenced(item))


def _silenced(item: pytest.Item) -> Generator[None, object, object]:
    if not any(item.iter_markers(_SILENCE)):
        return (yield)
    from pytest_wmma_emu.silences import silenced

    with silenced(item, _SILENCE):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the faults of kernels, and the launches, to the test's report."""
    launches = item.config.stash[_SESSION].launches
    failed_here = call.excinfo is not None and "wmma_emu.errors" in sys.modules
    if not failed_here and (launches is None or not launches.total):
        return (yield)
    from pytest_wmma_emu.reports import add_properties, add_sections, fit

    add_properties(item, call, launches)
    fit(item, call)
    report = yield
    add_sections(item, report, call, launches)
    return report


@pytest.fixture(scope="session")
def emulated_gpu(request: pytest.FixtureRequest) -> "EmulatedGpu":
    """An emulated GPU, whose ``cuda``, ``triton``, ``ptx`` and ``file`` return modules.

    Launches raise an error for findings that are errors, and after 60 seconds; modules and launches can set another
    ``max_seconds``. Findings that are warnings become warnings of the test. Kernels print to standard output.
    """
    from pytest_wmma_emu.launches import Launches
    from wmma_emu.ptx.launch.emulated_gpu import EmulatedGpu

    session = request.config.stash[_SESSION]
    session.launches = Launches()
    return EmulatedGpu(
        schedules=request.config.getoption("ptx_schedules"),
        asynchrony=request.config.getoption("ptx_asynchrony"),
        machine=request.config.getoption("ptx_machine"),
        findings=lambda: session.rules,
        watch=session.watch,
        baseline=None if session.files is None else session.files.baseline,
        folder=lambda: (request.config.rootpath / os.environ["PYTEST_CURRENT_TEST"].partition("::")[0]).parent,
    )


@pytest.fixture
def kernel_profile(request: pytest.FixtureRequest) -> "Generator[TestProfile, None, None]":
    """The counters of the launches of the test so far: ``kernel_profile["gemm.cu:41"].bank_conflicts``.

    ``kernel_profile.matches_snapshot("gemm.txt")`` compares them with a file in the test's folder.
    """
    from pytest_wmma_emu.profiles import TestProfile
    from wmma_emu.ptx import profiling

    found = TestProfile(request.path.parent, update=request.config.getoption("kernel_profile_update"))
    with profiling(found):
        yield found
