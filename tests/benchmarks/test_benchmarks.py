# SPDX-License-Identifier: MIT
"""The benchmarks run, write the documented results, and compare measurements with targets."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import startup
from benchmarks.__main__ import PARTS, main, merged
from benchmarks.memory_kernels import MEMORY_KERNELS
from benchmarks.page import filled, places
from benchmarks.tables import TABLES, machine_line
from benchmarks.targets import TARGETS, judged
from benchmarks.timing import Run, in_rounds, summary
from wmma_emu.ptx.launch.module import Module

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/explanation/performance.md"
FIGURES = ROOT / "docs/explanation/performance.json"


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """What `--quick` prints and writes."""
    folder = tmp_path_factory.mktemp("benchmarks")
    page, figures = folder / "page.md", folder / "figures.json"
    page.write_text("before\n<!-- figures: sizes -->\nold\n<!-- end of figures -->\nafter\n", encoding="utf-8")
    command = [sys.executable, "-m", "benchmarks", "--quick", "--json", figures, "--page", page]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(figures.read_text(encoding="utf-8")), page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_one_part_can_be_measured_alone(tmp_path):
    figures = tmp_path / "figures.json"
    command = [sys.executable, "-m", "benchmarks", "--quick", "--only", "startup", "--json", figures]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert done.returncode == 0, done.stderr
    results = json.loads(figures.read_text(encoding="utf-8"))
    assert results["quick"] and {x["what"] for x in results["startup"]} == {*startup.IMPORTS, *startup.COMMANDS}
    assert TABLES["startup"](results).text() in done.stdout


@pytest.mark.slow
def test_quick_prints_every_table_and_the_machine(quick):
    printed, results, _ = quick
    assert printed.startswith(machine_line(results))
    for table in (make(results) for make in TABLES.values()):
        assert not table.rows or table.text() in printed


@pytest.mark.slow
def test_every_figure_is_compared_with_matmul_of_the_same_run(quick):
    _, results, _ = quick
    assert {x["part"] for x in results["speed"]} == {"sizes", "threads", "formats", "chips", "data"}
    for record in results["speed"]:
        rate = record["mac_per_second"]
        assert 0 < rate["slowest"] <= rate["median"] <= rate["fastest"]
        assert record["matmul_float32"] > 0 and record["matmul_float64"] > 0


@pytest.mark.slow
def test_every_part_has_figures(quick):
    _, results, _ = quick
    wanted = set(PARTS) if _has("distributed") else set(PARTS) - {"workers"}
    assert {name for name in PARTS if results[name]} >= wanted
    assert all(x["traced"] > 0 and x["same"] for x in results["memory"])


def _has(name):
    try:
        __import__(name)
    except ImportError:
        return False
    return True


@pytest.mark.slow
def test_the_machine_has_a_name_a_date_and_versions(quick):
    machine = quick[1]["machine"]
    assert {"date", "cpu", "cores", "python", "numpy", "llvmlite", "blas"} <= machine.keys()


@pytest.mark.slow
def test_a_page_gets_its_tables_and_keeps_the_rest(quick):
    _, results, page = quick
    assert page.startswith("before\n") and page.endswith("\nafter\n") and "old" not in page
    assert TABLES["sizes"](results).markdown() in page
    assert filled(page, results) == page


def test_the_page_of_the_documentation_has_markers_for_every_table():
    assert sorted(places(PAGE.read_text(encoding="utf-8"))) == sorted([*TABLES, "machine"])


def test_the_page_of_the_documentation_has_the_figures_that_were_measured():
    page, results = PAGE.read_text(encoding="utf-8"), json.loads(FIGURES.read_text(encoding="utf-8"))
    assert not results["quick"], "a smoke test measures nothing"
    assert all(results[part] for part in PARTS)
    assert all(target["measured"] is not None for target in results["targets"])
    assert filled(page, results) == page


def _speed(rate, **more):
    return {
        "fmt": "f16",
        "size": 1024,
        "arch": "sm_90",
        "mac_per_second": {"median": rate},
        "matmul_float32": 1e11,
        **more,
    }


def test_measurements_decide_whether_targets_are_reached():
    results = {
        "speed": [
            _speed(1.3e9, part="threads", engine="numpy", threads=1),
            _speed(1.7e9, part="threads", engine="numpy", threads=2),
            _speed(2e10, part="threads", engine="native", threads=2),
            _speed(1e9, part="sizes", engine="numpy", threads=2, size=512),
            _speed(0.7e9, part="sizes", engine="numpy", threads=2, size=4096),
        ],
        "memory": [
            {"shape": [1024, 1024, 1024], "engine": "numpy", "traced": 2**40, "resident": None},
            {"shape": [4096, 4096, 4096], "engine": "numpy", "traced": 2**28, "resident": 2**29 + 2**20},
        ],
        "workers": [
            {"engine": "numpy", "size": 2048, "ratio": 1.6},
            {"engine": "native", "size": 2048, "ratio": 1.8},
            {"engine": "native", "size": 128, "ratio": 2.5},
        ],
    }
    found = {x["what"]: (x["measured"], x["met"]) for x in judged(results)}
    assert len(found) == len(TARGETS)
    assert found["f16, 1024, one thread, numpy"] == (1.3e9, True)
    assert found["f16, 1024, two threads, numpy"] == (1.7e9, False)
    assert found["f16, 1024, two threads, native: times slower than np.matmul float32"] == (5.0, True)
    assert found["cost of a multiply-add at 4096 over the cost at 512, numpy"] == (1e9 / 0.7e9, False)
    assert found["memory beyond the matrices, 4096 and larger, numpy"] == (513.0, False)
    assert found["two Dask workers over one, numpy"] == (1.6, False)
    assert found["two Dask workers over one, native"] == (1.8, True)
    assert found["s8, 1024, two threads, native"] == (None, None)


def test_the_cost_of_checks_is_the_median_the_worst_and_the_bytes():
    records = [
        {"what": "a", "ratio": 1.2, "kept": 300, "touched": 100},
        {"what": "b", "ratio": 1.4, "kept": None, "touched": 100},
        {"what": "c", "ratio": 2.6},
    ]
    found = {x["what"]: (x["measured"], x["met"]) for x in judged({"speed": [], "memory": [], "workers": [],
                                                                   "checks": records})}  # fmt: skip
    over = "PTX: time with all checks over time without checks, "
    assert found[over + "median of the kernels"] == (1.4, True)
    assert found[over + "the worst kernel"] == (2.6, False)
    assert found["PTX: bytes that checks keep for each byte of accessed memory, at most"] == (3.0, True)


@pytest.mark.parametrize("name", MEMORY_KERNELS)
def test_kernels_that_access_memory_run_without_a_finding(name):
    kernel = MEMORY_KERNELS[name]
    arguments = kernel.arguments(2)
    report = Module(kernel.text, findings="raise")["k"][2, kernel.threads](*arguments)
    assert report.completed and arguments[1].any()


def test_rounds_take_the_cases_in_turn():
    order = []
    times = in_rounds([Run(lambda: order.append("a")), Run(lambda: order.append("b"))], [1, 1])
    assert order == ["a", "b"] * 2
    assert [len(x) for x in times] == [1, 1]


def test_work_a_second_is_the_median_of_rounds():
    assert summary([1.0, 2.0, 4.0], 8.0) == {"median": 4.0, "slowest": 2.0, "fastest": 8.0}


def test_measuring_one_part_again_keeps_the_others_and_compares_it_with_targets():
    known = json.loads(FIGURES.read_text(encoding="utf-8"))
    record = {"what": "matmul f16", "engine": "native", "seconds": 0.5, "rate": 7e7}
    results = merged(known, {"machine": {}, "ptx": [record], "speed": []}, ["ptx"])
    assert results["speed"] == known["speed"] and results["machine"] == known["machine"]
    found = {x["what"]: (x["measured"], x["met"]) for x in results["targets"]}
    assert found["PTX: Triton matmul f16, 512, native"] == (0.5, True)
    assert found["PTX: thread-instructions a second without the products, 512"] == (7e7, False)
    assert found["PTX: flash attention, 4 x 512 x 64, native"] == (None, None)


def test_figures_of_a_smoke_test_are_not_put_into_a_file(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["--quick", "--into", str(tmp_path / "figures.json")])
    assert "neither --quick nor --from" in capsys.readouterr().err
