# SPDX-License-Identifier: MIT
"""Counters in tests: the fixture, limits by marker and option, snapshot files, the profile of a run, comparisons."""

import pytest

from tests.ptx.profile.kernels import TRANSPOSED
from wmma_emu.ptx import Profile

KERNEL = f'''
import numpy as np, pytest

def launch(gpu, pitch):
    text = """{TRANSPOSED}""".replace("PITCH", str(pitch)).replace("SHARED", str(pitch * 32))
    gpu.ptx(text)["transposed"][1, 32](np.zeros(32, np.uint32))
'''


@pytest.fixture
def run(pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run(tests, *options):
        pytester.makepyfile(test_k=KERNEL + tests)
        return pytester.runpytest_inprocess("-p", "pytest_wmma_emu", "-p", "no:cacheprovider", *options)

    return run


def test_the_fixture_has_the_counters_of_its_test(run):
    run("""
def test_bad(emulated_gpu, kernel_profile):
    launch(emulated_gpu, 128)
    assert kernel_profile["transposed.cu:7"].bank_conflicts == 31

def test_good(emulated_gpu, kernel_profile):
    assert kernel_profile.kernels == ()
    launch(emulated_gpu, 132)
    assert kernel_profile["transposed.cu:7"].bank_conflicts == 0
""").assert_outcomes(passed=2)


def test_limits_fail_a_test_and_name_the_lines(run):
    result = run("""
@pytest.mark.kernel_limits("bank_conflicts <= 0", "active_lanes >= 32")
def test_kernel(emulated_gpu): launch(emulated_gpu, 128)

@pytest.mark.kernel_limits("bank_conflicts <= 0", line="transposed.cu:7")
def test_line(emulated_gpu): launch(emulated_gpu, 64)

@pytest.mark.kernel_limits("bank_conflicts <= 0")
def test_good(emulated_gpu): launch(emulated_gpu, 132)
""")
    result.assert_outcomes(passed=1, failed=2)
    out = result.stdout.str()
    assert "transposed: bank_conflicts is 62; the limit is bank_conflicts <= 0" in out
    assert "transposed.cu:7: bank_conflicts is 15; the limit is bank_conflicts <= 0" in out


def test_limits_of_a_test_that_launches_nothing_fail(run):
    result = run(
        """
@pytest.mark.kernel_limits("bank_conflicts <= 0")
def test_nothing(): pass

@pytest.mark.kernel_limits("bank_conflicts <= 0", lines="transposed.cu:7")
def test_misspelt(emulated_gpu): launch(emulated_gpu, 132)

def test_snapshot(kernel_profile): assert kernel_profile.matches_snapshot("a.txt")
""",
        "--kernel-profile-update",
    )
    result.assert_outcomes(failed=3)
    out = result.stdout.str()
    assert "no kernel was launched while it counted, so nothing shows whether bank_conflicts <= 0 holds" in out
    assert "@pytest.mark.kernel_limits has no argument lines; it has line" in out
    assert "no kernel was launched, so there is nothing to compare with a.txt" in out
    result = run("def test_nothing(): pass", "--kernel-limit=bank_conflicts <= 0")
    result.assert_outcomes(passed=1)
    assert "no kernel was launched: --kernel-limit tested nothing" in result.stdout.str()


def test_launches_of_fixtures_are_in_the_coverage_and_the_profile_of_a_run(run, pytester):
    result = run(
        """
@pytest.fixture(scope="module")
def launched(emulated_gpu): launch(emulated_gpu, 132)

def test_it(launched): pass
""",
        "--kernel-cov=cov.info",
        "--kernel-profile=a.json",
        "--kernel-cov-fail-under=100",
    )
    assert result.ret == 0 and Profile.read(pytester.path / "a.json").kernels[0].launches == 1


@pytest.mark.thorough
def test_an_option_limits_all_kernels(run):
    tests = "def test_it(emulated_gpu): launch(emulated_gpu, 128)"
    run(tests, "--kernel-limit", "bank_conflicts <= 62").assert_outcomes(passed=1)
    run(tests, "--kernel-limit", "bank_conflicts <= 61").assert_outcomes(failed=1)
    result = run(tests, "--kernel-limit", "conflicts <= 61")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "there is no counter conflicts" in result.stderr.str()


@pytest.mark.thorough
def test_a_snapshot_is_written_reviewed_and_compared(run, pytester):
    tests = """
def test_it(emulated_gpu, kernel_profile):
    launch(emulated_gpu, PITCH)
    assert kernel_profile.matches_snapshot("counters/transposed.txt")
"""
    result = run(tests.replace("PITCH", "132"))
    assert "counters/transposed.txt does not exist; pytest --kernel-profile-update writes it" in result.stdout.str()
    run(tests.replace("PITCH", "132"), "--kernel-profile-update").assert_outcomes(passed=1)
    text = (pytester.path / "counters" / "transposed.txt").read_text()
    assert "transposed.cu:7\n    shared requests 1, shared wavefronts 1\n" in text
    run(tests.replace("PITCH", "132")).assert_outcomes(passed=1)
    result = run(tests.replace("PITCH", "128"))
    result.assert_outcomes(failed=1)
    assert "+    shared requests 1, shared wavefronts 32, bank conflicts 31" in result.stdout.str()


COVERED = """
@pytest.mark.parametrize("pitch", [128, 132])
def test_it(emulated_gpu, pitch): launch(emulated_gpu, pitch)
"""
PROCESSES = pytest.mark.parametrize(
    "processes", [(), ("-p", "xdist", "-n2")], ids=["one process", "two processes"]
)  # fmt: skip


@pytest.mark.thorough
@PROCESSES
def test_coverage_is_merged_written_and_shown(run, pytester, processes):
    result = run(COVERED, "--kernel-cov=cov.info", "--kernel-cov-fail-under=100", *processes)
    result.assert_outcomes(passed=2)
    assert result.ret == 0 and "DA:7,2" in (pytester.path / "cov.info").read_text()
    assert "transposed.cu      3     100%" in result.stdout.str()


@pytest.mark.thorough
@pytest.mark.parametrize(("tests", "message"), [
    (COVERED.replace("132", "132, pytest.param(0, marks=pytest.mark.skip)"), ""),
    ("def test_it(): pass", "FAILED: no kernel ran; --kernel-cov-fail-under requires 100%"),
])  # fmt: skip
def test_a_run_fails_below_a_percentage_of_the_lines(run, tests, message):
    result = run(tests, "--kernel-cov=cov.xml", "--kernel-cov-fail-under=100")
    assert result.ret == (pytest.ExitCode.TESTS_FAILED if message else 0)
    assert message in result.stdout.str()


@pytest.mark.parametrize(("options", "message"), [
    (("--kernel-cov-fail-under=80",), "--kernel-cov-fail-under needs --kernel-cov=FILE"),
    (("--kernel-cov=a.info", "--kernel-cov-fail-under=800"), "=800 is not a percentage of 0 to 100"),
    (("--kernel-cov=none/a.info",), "none; make it first"),
    (("--kernel-profile=none/a.json",), "none; make it first"),
    (("--kernel-cov=.",), "is a directory; name a file"),
])  # fmt: skip
def test_an_option_that_cannot_be_met_is_a_usage_error(run, options, message):
    result = run("def test_it(): pass", *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR and message in result.stderr.str()


@pytest.mark.thorough
@PROCESSES
def test_the_profile_of_a_run_is_written_and_compared(run, pytester, processes):
    tests = """
@pytest.mark.parametrize("n", range(2))
def test_it(emulated_gpu, n): launch(emulated_gpu, PITCH)
"""
    run(tests.replace("PITCH", "132"), "--kernel-profile=a.json", *processes).assert_outcomes(passed=2)
    assert Profile.read(pytester.path / "a.json").kernels[0].launches == 2
    result = run(tests.replace("PITCH", "128"), "--kernel-profile-before=a.json", *processes)
    result.assert_outcomes(passed=2)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "transposed.cu:7: bank conflicts 0 -> 62" in result.stdout.str()
    result = run(tests.replace("PITCH", "132"), "--kernel-profile-before=a.json", *processes)
    assert result.ret == 0 and "no counter became worse" in result.stdout.str()
    result = run("def test_it(): pass", "--kernel-profile-before=a.json", *processes)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "no kernel in common: the kernels before are transposed, now none" in result.stdout.str()
