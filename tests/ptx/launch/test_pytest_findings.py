# SPDX-License-Identifier: MIT
"""The output of a test run about kernels: summary lines, sections, kernel output, rules, JUnit, xdist."""

import re
from dataclasses import dataclass
from xml.etree import ElementTree

import hypothesis  # noqa: F401  (each of the runs within this one would import it anew)
import numpy as np
import pytest

import wmma_emu as we
from pytest_wmma_emu import examples
from pytest_wmma_emu.launches import LaunchRecord
from tests.ptx.launch.test_printing import kernel
from tests.ptx.launch.test_pytest_plugin import TWO_BARRIERS
from tests.ptx.texts_of_launches import SHIFT

WRITES, READS = "st.shared.u32 [%r4], %r1;", "ld.shared.u32 %r6, [%r5];"
RACE = (
    SHIFT.replace("BARRIER", "").replace(WRITES, f".loc 1 44 5\n{WRITES}").replace(READS, f".loc 1 51 9\n{READS}")
    + '.file 1 "gemm.cu"\n'
)
LANES = RACE.replace("xor.b32 %r5, %r4, 128", "xor.b32 %r5, %r4, 4").replace("gemm.cu", "lanes.cu")
KERNELS = f'''
import numpy as np

RACE = """{RACE}"""
LANES = """{LANES}"""
NOTE = """{TWO_BARRIERS}"""
PRINTS = r"""{kernel("row %d", "st.local.u32 [buffer], 7;")}"""

def shift(gpu, text=RACE, threads=128, **options):
    x, y = np.arange(128, dtype=np.uint32), np.zeros(128, np.uint32)
    return gpu.ptx(text, "sm_80", **options)["shift"][1, threads](x, y)

def lanes(gpu, **options):
    return shift(gpu, LANES, 32, **options)

def prints(gpu, **options):
    return gpu.ptx(PRINTS, "sm_80", **options)["k"][1, 2](np.zeros(2, np.uint32))
'''
TITLE, LANES_TITLE = "race on tile at gemm.cu:44/51", "race within a warp on tile at lanes.cu:44/51"


@pytest.fixture
def run(pytester, monkeypatch):
    """Run tests with the kernels, in a terminal of some width; return the result and the output."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    for name in ("CI", "BUILD_NUMBER", "PYTEST_ADDOPTS", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    pytester.makepyfile(kernels=KERNELS)

    def run(tests, *options, columns=100, plugins=()):
        monkeypatch.setenv("COLUMNS", str(columns))
        pytester.makepyfile(test_gemm=f"import pytest\nfrom kernels import *\n{tests}")
        named = [x for name in ("pytest_wmma_emu", *plugins) for x in ("-p", name)]
        result = pytester.runpytest_inprocess(*named, "-p", "no:cacheprovider", "-Wdefault", *options)
        return result, result.stdout.str()

    return run


def failed(out):
    return [x.removeprefix("FAILED test_gemm.py::") for x in out.splitlines() if x.startswith("FAILED")]


@pytest.mark.parametrize("columns", [80, 100, 140])
def test_the_summary_line_names_kind_and_line_and_the_failure_shows_the_test_and_the_finding_once(run, columns):
    result, out = run("def test_it(emulated_gpu):\n    shift(emulated_gpu)\n", columns=columns)
    result.assert_outcomes(failed=1)
    assert failed(out) == [f"test_it - {TITLE}"]
    assert out.count(f"error: {TITLE}") == 1
    assert ">       return gpu.ptx(text" in out  # the user's line, and no line of the emulator
    assert "wmma_emu/ptx" not in out and "launch/kernel.py" not in out
    said = [x for x in out.splitlines() if x.startswith("E  ")]
    assert len(said) >= 5 and max(map(len, said)) <= columns
    (fact,) = [x for x in out.splitlines() if x.startswith("shift on sm_80, grid 1, block 128: ")]
    assert fact.endswith("; 1 error") and "thread-instructions" in fact and "- kernel launches -" in out


@pytest.mark.parametrize(("tests", "said"), [
    ("def test_it(emulated_gpu):\n    try:\n        shift(emulated_gpu)\n"
     "    except RuntimeError as error:\n        raise ValueError('gemm') from error\n", TITLE),
    ("def test_it(emulated_gpu):\n    errors = [ValueError(1)]\n    for text in RACE, RACE.replace('gemm', 'other'):\n"
     "        try:\n            shift(emulated_gpu, text)\n"
     "        except RuntimeError as error:\n            errors.append(error)\n"
     "    raise ExceptionGroup('both', errors)\n", f"{TITLE} (and 1 more finding)"),
    ("def test_it():\n    from wmma_emu.ptx import Module\n"
     "    shift(type('', (), {'ptx': Module}), findings='raise')\n", TITLE),
    ("@pytest.fixture(scope='module')\ndef launched(emulated_gpu):\n    return shift(emulated_gpu)\n"
     "class TestIt:\n    def test_it(self, launched):\n        pass\n", TITLE),
    ("def test_it(emulated_gpu):\n    from concurrent.futures import ThreadPoolExecutor\n"
     "    with ThreadPoolExecutor() as pool:\n        pool.submit(shift, emulated_gpu).result()\n", TITLE),
])  # fmt: skip
def test_causes_groups_fixtures_threads_and_modules_of_ones_own_have_the_same_summary(run, tests, said):
    _, out = run(tests, "--tb=line")
    (line,) = [x for x in out.splitlines() if x.startswith(("FAILED", "ERROR test"))]
    assert line.endswith(f" - {said}")
    if line.startswith("FAILED"):  # pytest shows all of an error before a test
        assert re.search(rf"^\S+/(test_gemm|kernels)\.py:\d+: {re.escape(said)}$", out, re.M)


def test_an_assertion_that_fails_after_a_warning_shows_the_finding_and_what_was_printed(run):
    result, out = run("def test_it(emulated_gpu):\n    lanes(emulated_gpu)\n    prints(emulated_gpu)\n    assert 0\n")
    result.assert_outcomes(failed=1)
    assert failed(out) == ["test_it - assert 0"]
    result.stdout.fnmatch_lines([
        "*- Captured stdout call -*", "row 7row 7", "*- kernel findings -*", f"warning: {LANES_TITLE}",
        "*in the PTX:*", "*- kernel launches -*", "shift on sm_80, grid 1, block 32:*; 1 warning",
        "k on sm_80, grid 1, block 2:*; no findings",
    ])  # fmt: skip
    assert out.count(f"warning: {LANES_TITLE}") == 1


def test_findings_that_are_known_are_counted_among_the_launches(run):
    tests = "def test_it(emulated_gpu):\n    shift(emulated_gpu)\n    assert 0\n"
    run(tests, "--kernel-baseline=known.json", "--kernel-baseline-update")
    result, _ = run(tests, "--kernel-baseline=known.json")
    result.stdout.fnmatch_lines(["*- kernel launches -*", "shift on sm_80, grid 1, block 128:*; 1 known finding"])


@pytest.mark.parametrize("given", ["0", "-3"])
def test_an_invalid_number_of_orders_is_rejected(run, given):
    result, _ = run("def test_it(): pass", f"--ptx-schedules={given}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: --ptx-schedules must be an integer of at least 1, not {given}"])


@pytest.mark.thorough
def test_many_tests_with_one_warning_are_one_line_at_the_end(run):
    tests = "@pytest.mark.parametrize('n', range(30))\ndef test_it(emulated_gpu, n):\n    lanes(emulated_gpu)\n"
    result, out = run(tests)
    line = f"{LANES_TITLE}: test_gemm.py::test_it[[]0[]] and 29 more tests"
    result.stdout.fnmatch_lines(["*= kernel findings (warnings) =*", line, "*= 30 passed, 1 kernel warning in *"])
    assert out.count("lanes.cu") == 1 and "KernelFindingsWarning" not in out and "warnings summary" not in out
    _, out = run(tests, "--disable-warnings")
    assert "lanes.cu" not in out
    _, out = run(tests, "-Wignore::UserWarning")
    assert "lanes.cu" not in out and "kernel warning" not in out


def test_a_line_that_is_too_long_is_two(run):
    result, _ = run("def test_it(emulated_gpu):\n    lanes(emulated_gpu)\n", columns=60)
    result.stdout.fnmatch_lines([LANES_TITLE, "  test_gemm.py::test_it", "*1 kernel warning in *"])


def test_a_warning_can_be_made_an_error_as_any_other(run):
    for option in ("-Werror::wmma_emu.errors.KernelFindingsWarning", "--kernel-findings=error:warning"):
        result, out = run("def test_it(emulated_gpu):\n    lanes(emulated_gpu)\n", option)
        result.assert_outcomes(failed=1)
        assert failed(out) == [f"test_it - {LANES_TITLE}"] and "wmma_emu/ptx" not in out


RULES = """
def test_error(emulated_gpu):
    shift(emulated_gpu)

def test_warning(emulated_gpu):
    lanes(emulated_gpu)

def test_note(emulated_gpu):
    emulated_gpu.ptx(NOTE)["k"][1, 64]()

def test_own(emulated_gpu):
    shift(emulated_gpu, findings="raise")
"""


@pytest.mark.sweep(keep=1 / 2)
@pytest.mark.parametrize(("ini", "options", "expected", "warned"), [
    ("", [], ["error", "own"], 1),
    ("", ["warn"], ["own"], 2),
    ("", ["error"], ["error", "warning", "own"], 0),
    ("", ["off"], ["own"], 0),
    ("", ["off:race", "error:race within a warp"], ["warning", "own"], 0),
    ("", ["off", "error:note"], ["note", "own"], 0),
    ("error:warning\noff:race", [], ["warning", "own"], 0),
    ("error:warning\noff:race", ["warn:race", "off:warning"], ["own"], 1),
])  # fmt: skip
def test_the_last_rule_decides_and_the_command_line_follows_the_configuration(
    run, pytester, ini, options, expected, warned
):
    lines = "".join(f"\n    {x}" for x in ini.splitlines())
    pytester.makeini(f"[pytest]\nkernel_findings ={lines}\n")
    _, out = run(RULES, "-q", "--tb=no", "--strict-config", *(f"--kernel-findings={x}" for x in options))
    assert [x.split(" - ")[0] for x in failed(out)] == [f"test_{x}" for x in expected]
    counted = re.search(r"(\d) kernel warning", out)
    assert (int(counted[1]) if counted else 0) == warned


def test_markers_come_last_and_the_nearest_one_decides(run):
    tests = """
pytestmark = pytest.mark.kernel_findings("error:note")

@pytest.mark.kernel_findings("warn:race", "error:warning")
class TestClass:
    def test_race(self, emulated_gpu):
        assert shift(emulated_gpu).errors

    @pytest.mark.kernel_findings("off:race within a warp")
    def test_lanes(self, emulated_gpu):
        assert lanes(emulated_gpu).warnings

    def test_warning_fails(self, emulated_gpu):
        lanes(emulated_gpu)

def test_note_fails(emulated_gpu):
    emulated_gpu.ptx(NOTE)["k"][1, 64]()

def test_race_fails(emulated_gpu):
    shift(emulated_gpu)
"""
    _, out = run(tests, "--tb=no", "--kernel-findings=error:race", "--strict-markers")
    names = [x.split(" ")[0] for x in failed(out)]
    assert names == ["TestClass::test_warning_fails", "test_note_fails", "test_race_fails"]
    assert f"{TITLE}: test_gemm.py::TestClass::test_race" in out


@pytest.mark.parametrize(("rule", "said"), [
    ("warm", "unknown action 'warm'; did you mean 'warn'? Actions are error, warn, off"),
    ("off:rase", "unknown kind or severity 'rase'; did you mean 'race'? Severities and kinds are error, warning, note"),
])  # fmt: skip
def test_an_invalid_rule_is_rejected(run, pytester, rule, said):
    result, _ = run("def test_it(): pass", f"--kernel-findings={rule}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    given = "--kernel-findings (or kernel_findings of the configuration)"
    result.stderr.fnmatch_lines([f"ERROR: {given}: '{rule}'*{said}*"])
    marked = f"@pytest.mark.kernel_findings('{rule}')\ndef test_it(emulated_gpu): pass\n"
    result, out = run(marked)
    result.assert_outcomes(errors=1)
    assert f"@pytest.mark.kernel_findings('{rule}'): '{rule}' is not a valid rule: " in out and said in out


@pytest.mark.parametrize(("given", "said"), [("", "it has no rule"), ("kind='race'", "it takes only rules")])
def test_a_marker_without_a_rule_is_rejected(run, given, said):
    result, out = run(f"@pytest.mark.kernel_findings({given})\ndef test_it(emulated_gpu): pass\n")
    result.assert_outcomes(errors=1)
    assert f"@pytest.mark.kernel_findings({given}): {said}; write @pytest.mark.kernel_findings('warn:race')" in out


def test_junit_has_findings_and_launches(run, pytester):
    tests = "def test_a(emulated_gpu):\n    lanes(emulated_gpu)\n    prints(emulated_gpu)\n    prints(emulated_gpu)\n"
    run(f"{tests}def test_b(emulated_gpu):\n    shift(emulated_gpu)\ndef test_c():\n    pass\n", "--junitxml=out.xml")
    cases = {x.get("name"): x for x in ElementTree.parse(pytester.path / "out.xml").iter("testcase")}
    said = {name: [(x.get("name"), x.get("value")) for x in case.iter("property")] for name, case in cases.items()}
    assert [name for name, _ in said["test_a"]] == ["kernel_finding", "kernel_launches", "kernel_thread_instructions"]
    assert re.fullmatch(rf"{LANES_TITLE} \[race-within-a-warp-[0-9a-f]+\]", said["test_a"][0][1])
    assert said["test_a"][1][1] == "shift on sm_80, k on sm_80 x2" and int(said["test_a"][2][1]) > 32
    assert re.fullmatch(rf"{TITLE} \[race-[0-9a-f]+\]", dict(said["test_b"])["kernel_finding"])
    assert cases["test_b"].find("failure").get("message") == TITLE
    assert said["test_c"] == []


HYPOTHESIS = """
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

@settings(deadline=None, max_examples=15, database=None, derandomize=True, suppress_health_check=list(HealthCheck),
    phases=[x for x in Phase if x.name != "explain"])
@given(n=st.integers(0, 7))
def test_it(emulated_gpu, n):
    BODY
"""


def test_a_failing_example_of_hypothesis_shows_the_launches_and_findings_of_the_shrunk_one(run):
    body = "lanes(emulated_gpu) if n > 2 else prints(emulated_gpu)\n    assert n < 4\n"
    result, out = run(HYPOTHESIS.replace("BODY", body), plugins=["_hypothesis_pytestplugin"])
    result.assert_outcomes(failed=1)
    facts = [x for x in out.splitlines() if " on sm_80, grid " in x]
    assert "n=4," in out and len(facts) == 1 and facts[0].startswith("shift on sm_80, grid 1, block 32: ")
    assert out.count(f"warning: {LANES_TITLE}") == 1


def test_each_of_several_failures_of_hypothesis_shows_its_own_launches(run):
    body = "prints(emulated_gpu)\n    if n > 4:\n        shift(emulated_gpu)\n    assert n < 3\n"
    result, out = run(HYPOTHESIS.replace("BODY", body), plugins=["_hypothesis_pytestplugin"])
    result.assert_outcomes(failed=1)
    facts = sorted(x.split(",")[0] for x in out.splitlines() if " on sm_80, grid " in x)
    assert "2 distinct failures" in out and facts == ["k on sm_80", "k on sm_80", "shift on sm_80"]
    assert failed(out) == [f"test_it - {TITLE}"] and out.count(f"error: {TITLE}") == 1


def test_an_error_that_takes_no_attributes_stays_the_one_that_was_raised():
    @dataclass(frozen=True)
    class Frozen(Exception):
        code: int = 0

    class Empty(Exception):
        def __len__(self):
            return 0

    seen = LaunchRecord()
    for error in (Frozen(), Empty(), None):
        examples._keep(error, seen)
    assert examples.seen_with(Frozen()) is None
    kept = Empty()
    examples._keep(kept, seen)
    assert examples.seen_with(kept) is seen


def test_methods_and_parametrised_tests_of_hypothesis_run_as_without_the_plugin(run):
    tests = """
from hypothesis import given, settings, strategies as st

class TestIt:
    @pytest.mark.parametrize("k", [1, 2])
    @settings(deadline=None, max_examples=3, database=None)
    @given(n=st.integers(0, 100))
    def test_it(self, emulated_gpu, k, n):
        assert prints(emulated_gpu).output == "row 7row 7"
"""
    result, _ = run(tests, plugins=["_hypothesis_pytestplugin"])
    result.assert_outcomes(passed=2)


@pytest.mark.thorough
@pytest.mark.parametrize("options", [("-n", "2"), ("-n", "2", "--dist", "loadfile")])
def test_xdist_gives_the_same_lines(run, pytester, options):
    many = "@pytest.mark.parametrize('n', range(4))\ndef test_many(emulated_gpu, n):\n    lanes(emulated_gpu)\n"
    given = ("-q", "--kernel-findings=error:note", "--junitxml=out.xml", *options)
    _, out = run(RULES + many, *given, plugins=["xdist.plugin"])
    assert sorted(x for x in failed(out)) == [
        f"test_error - {TITLE}", "test_note - barriers at several instructions at line 17", f"test_own - {TITLE}",
    ]  # fmt: skip
    assert re.search(rf"{LANES_TITLE}: test_gemm\.py::test_\S+ and 4 more tests", out)
    assert "3 failed, 5 passed, 1 kernel warning in" in out and out.count("- kernel launches -") == 3
    names = [x.get("name") for x in ElementTree.parse(pytester.path / "out.xml").iter("property")]
    assert names.count("kernel_finding") == 8 and names.count("kernel_launches") == 8


def test_subtests_have_separate_summary_lines(run):
    result, _ = run("def test_it(emulated_gpu, subtests):\n    with subtests.test('a'):\n        shift(emulated_gpu)\n")
    result.stdout.fnmatch_lines([f"SUBFAILED[[]a[]] test_gemm.py::test_it - {TITLE}"])


def test_no_terminal_and_the_first_failure(run):
    result, out = run(RULES, "-p", "no:terminal")
    assert out == "" and result.ret == pytest.ExitCode.TESTS_FAILED
    _, out = run(RULES, "-x", "--tb=no")
    assert failed(out) == [f"test_error - {TITLE}"] and "1 failed in" in out


def test_colours_follow_pytest_and_messages_have_none(run):
    tests = "def test_a(emulated_gpu):\n    lanes(emulated_gpu)\ndef test_b(emulated_gpu):\n    shift(emulated_gpu)\n"
    _, out = run(tests, "--color=yes")
    assert f"\x1b[33m{LANES_TITLE}: \x1b[0mtest_gemm.py::test_a" in out and f"\x1b[0m - {TITLE}" in out


def test_tests_without_kernels_are_left_alone(run):
    _, out = run("def test_it():\n    import warnings\n    warnings.warn('mine')\n    assert 0\n")
    assert failed(out) == ["test_it - assert 0"] and "UserWarning: mine" in out
    assert "1 failed, 1 warning in" in out and "kernel findings" not in out and "kernel launches" not in out


def test_summary_lines_name_the_lines_of_the_findings():
    module = we.ptx.Module(RACE, "sm_80", findings="report")
    (found,) = module["shift"][1, 128](np.zeros(128, np.uint32), np.zeros(128, np.uint32)).findings
    assert found.title == TITLE
