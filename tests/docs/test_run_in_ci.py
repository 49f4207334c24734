# SPDX-License-Identifier: MIT
"""docs/how-to/run-in-ci-without-a-gpu.md: its blocks, marked file: NAME, are a repository whose job passes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("yaml", reason="PyYAML, which comes with dask, is not installed")
import yaml

from tools.run_workflow import PAGE, WORKFLOW, environment, files, steps, write_files

ROOT = Path(__file__).parents[2]
TEXT = PAGE.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """The page's files; `pytest` and `python` are those that run this test."""
    pytest.importorskip("nvidia", reason="NVRTC is not installed")
    pytest.importorskip("xdist")
    folder = tmp_path_factory.mktemp("repository")
    write_files(folder)
    (folder / "bin").mkdir()
    for name, command in (("python", ""), ("pytest", "-m pytest -p no:cacheprovider")):
        script = folder / "bin" / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {command} "$@"\n', encoding="utf-8")
        script.chmod(0o755)
    return folder


def run(repository, command):
    variables = {
        **os.environ, **environment(repository), "PATH": f"{repository / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_XDIST_AUTO_NUM_WORKERS": "1",
        "PYTEST_ADDOPTS": "-p pytest_wmma_emu -p xdist -p xdist.looponfail",
    }  # fmt: skip
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", command], cwd=repository, env=variables, capture_output=True, text=True,
        timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def commands(event):
    return [x["run"] for x in steps(event) if "run" in x and not x["run"].startswith("pip install")]


@pytest.mark.thorough
@pytest.mark.parametrize(("event", "passed"), [("push", 4), ("schedule", 5)])
def test_the_steps_of_the_job_pass_and_leave_what_later_steps_take(repository, event, passed):
    (command,) = commands(event)
    assert f"{passed} passed" in run(repository, command)
    later = [x["with"] for x in steps(event) if x["name" if "name" in x else "uses"].startswith(("Show", "Keep the"))]
    assert len(later) == 2
    for given in later:
        assert (repository / (given.get("sarif_file") or given["path"])).exists()


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["baseline", "json"])
def test_a_recipe_runs(repository, name):
    (block,) = re.findall(rf"<!-- run: {name} -->\n```sh\n(.*?)```", TEXT, re.DOTALL)
    out = run(repository, block)
    assert " passed" in out and (name != "json" or re.search(r"^\d+ launches$", out, re.MULTILINE))


def test_the_job_of_gitlab_runs_the_commands_of_a_push():
    script = yaml.safe_load(files()[".gitlab-ci.yml"])["kernels"]["script"]
    of_push = [x["run"].replace(" --kernel-sarif=findings.sarif", "") for x in steps("push") if "run" in x]
    assert script == of_push


def test_a_workflow_has_only_steps_that_run_or_use_something():
    job = yaml.safe_load(files()[WORKFLOW])["jobs"]["kernels"]
    assert all(("run" in x) != ("uses" in x) for x in job["steps"])
    assert set(job["env"]) == {"XDG_CACHE_HOME", "TRITON_CACHE_DIR"}
