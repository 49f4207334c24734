# SPDX-License-Identifier: MIT
"""Run the steps of the workflow on docs/how-to/run-in-ci-without-a-gpu.md, verbatim, in a new folder.

    python -m tools.run_workflow [--wheel wheels/wmma_emu-0.2.0-py3-none-any.whl] [--event push]

The page's files are written into an empty folder with a wheel of this clone, a virtual environment replaces
the runner's Python, and each ``run:`` is given to bash. Steps with ``uses:`` are the code host's: they are named, and
not run.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

PAGE = Path(__file__).parents[1] / "docs/how-to/run-in-ci-without-a-gpu.md"
WORKFLOW = ".github/workflows/kernels.yml"
_FILE = re.compile(r"<!-- file: (\S+) -->\n+```\w+\n(.*?)```", re.DOTALL)


def files() -> dict[str, str]:
    """Return the files that the page shows, by their names."""
    return dict(_FILE.findall(PAGE.read_text(encoding="utf-8")))


def write_files(folder: Path) -> None:
    """Write them into a folder."""
    for name, text in files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def steps(event: str) -> Iterator[dict[str, Any]]:
    """Return the steps of the job that an event of the code host has: ``push`` or ``schedule``."""
    for step in yaml.safe_load(files()[WORKFLOW])["jobs"]["kernels"]["steps"]:
        asked = re.fullmatch(r"github\.event_name (==|!=) '(\w+)'", step.get("if", ""))
        if not asked or (asked[1] == "==") == (asked[2] == event):
            yield step


def environment(folder: Path) -> dict[str, str]:
    """Return the variables that the job sets, with the folder instead of the host's workspace."""
    given = yaml.safe_load(files()[WORKFLOW])["jobs"]["kernels"]["env"]
    return {name: text.replace("${{ github.workspace }}", str(folder)) for name, text in given.items()}


def main(arguments: list[str]) -> int:
    """Run the job; return the exit status of the first step that fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel", help="a wheel of this clone; built if left out")
    parser.add_argument("--event", default="push", choices=["push", "schedule"])
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "repository"
        folder.mkdir()
        write_files(folder)
        (folder / "wheels").mkdir()
        if asked.wheel:
            shutil.copy(asked.wheel, folder / "wheels")
        else:
            build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder / "wheels")]
            subprocess.run([*build, str(PAGE.parents[2])], check=True)
        subprocess.run([sys.executable, "-m", "venv", f"{name}/python"], check=True)
        path = f"{name}/python/bin:/usr/local/bin:/usr/bin:/bin"
        variables = {"PATH": path, "HOME": name, **environment(folder)}
        for step in steps(asked.event):
            said = step.get("name") or step.get("uses")
            if "run" not in step:
                print(f"-- {said}: the code host's, {step['uses']}", flush=True)
                continue
            print(f"== {said}: {step['run']}", flush=True)
            shell = ["bash", "-eo", "pipefail", "-c", step["run"]]
            done = subprocess.run(shell, cwd=folder, env=variables, check=False)
            if done.returncode:
                return done.returncode
        for made in ("tests.xml", "findings.sarif"):
            print(f"{made}: {(folder / made).stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
