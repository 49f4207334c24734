# SPDX-License-Identifier: MIT
"""The files of findings that a test run reads and writes: a baseline, SARIF and JSON, also from workers of xdist."""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from wmma_emu.errors import OptionError
from wmma_emu.ptx import Baseline, Finding, sarif
from wmma_emu.ptx.launch.options import Launched

__all__ = ["Files", "require_folder"]

_KEY = "wmma_emu_reports"
_MOST_LISTED = 10


class _UpdatingBaseline(Baseline):
    """A baseline that treats every finding as known, so that no test fails and a run collects all findings."""

    def divided(self, findings: Iterable[Finding]) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
        """Treat all findings as known, except those that cannot be known."""
        found = tuple(findings)
        return Baseline.divided(self.merged(Baseline.of([_Found(found)])), found)


class _Found:
    """Findings in the form that a baseline reads."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self._findings = findings

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that a baseline stores."""
        fields = ("id", "kind", "kernel", "title", "aliases")
        return {"findings": [{x: getattr(each, x) for x in fields} for each in self._findings], "known": []}


def require_folder(option: str, path: Path) -> None:
    """Reject a file of an option that cannot be written at the end of the run, before the tests run."""
    if not path.parent.is_dir():
        raise pytest.UsageError(f"{option}={path}: there is no directory {path.parent}; make it first")
    if path.is_dir():
        raise pytest.UsageError(f"{option}={path} is a directory; name a file")


class Files:
    """The files of a test run, and the reports of its launches.

    Raises
    ------
    pytest.UsageError
        If a file cannot be read or written.
    """

    def __init__(self, config: pytest.Config) -> None:
        given = {x: config.getoption(f"kernel_{x}") for x in ("baseline", "sarif", "json")}
        self._paths = {name: config.invocation_params.dir / path for name, path in given.items() if path is not None}
        self._update = config.getoption("kernel_baseline_update")
        self._config = config
        self._reports: list[dict[str, Any]] = []
        self._lost = 0
        self.test = ""
        self.baseline = self._read()
        for name, path in self._paths.items():
            require_folder(f"--kernel-{name}", path)

    def _read(self) -> Baseline | None:
        path = self._paths.get("baseline")
        if path is None:
            if self._update:
                raise pytest.UsageError("--kernel-baseline-update writes the file of --kernel-baseline; name a file")
            return None
        try:
            found = Baseline.read(path) if path.exists() or not self._update else Baseline()
        except FileNotFoundError:
            raise pytest.UsageError(
                f"--kernel-baseline={path}: there is no such file; --kernel-baseline-update creates it"
            ) from None
        except (OSError, OptionError) as error:
            raise pytest.UsageError(f"--kernel-baseline={path}: {error}") from None
        return _UpdatingBaseline(found, os.fspath(path)) if self._update else found

    def add(self, launched: Launched) -> None:
        """Keep the report of a launch, if a file needs it."""
        report = launched.report
        if "json" in self._paths or report.findings or report.known or report.silenced:
            self._reports.append({**report.to_dict(), "test": self.test})

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Collect the reports of an xdist worker; a worker that crashed has none."""
        sent = getattr(node, "workeroutput", {}).get(_KEY)
        self._lost += sent is None
        self._reports += json.loads(sent or "[]")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Write the files, or send the reports to the process that writes them."""
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput[_KEY] = json.dumps(self._reports)
            return
        if self._update and self.baseline is not None:
            Baseline(self.baseline).merged(Baseline.of(self._reports)).write(self._paths["baseline"])
        if "sarif" in self._paths:
            _write(self._paths["sarif"], sarif(self._reports, self._config.rootpath))
        if "json" in self._paths:
            _write(self._paths["json"], self._reports)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the known findings, the baseline entries that did not occur, and the files written."""
        lines = [f"workers that died, whose launches are missing: {self._lost}"] * bool(self._lost)
        if self.baseline is not None:
            ids = {name for x in self._reports for known in x["known"] for name in (known["id"], *known["aliases"])}
            unmet = [x for x in self.baseline if not x.ids & ids]
            count = len({known["id"] for x in self._reports for known in x["known"]})
            known = f"{count} known finding{'s' * (count != 1)} seen"
            stale = f"{len(unmet)} entr{'y' if len(unmet) == 1 else 'ies'} not seen (stale?)"
            lines.append(f"baseline {self._paths['baseline']}: {known}, {stale}")
            lines += [f"  {x}" for x in unmet[:_MOST_LISTED]]
            lines += [f"  and {len(unmet) - _MOST_LISTED} more"] * (len(unmet) > _MOST_LISTED)
        written = [x for x in self._paths if x != "baseline" or self._update]
        lines += [f"written: {self._paths[x]}" for x in written]
        terminalreporter.section("kernels: files of findings")
        for line in lines:
            terminalreporter.line(line)


def _write(path: Path, data: object) -> None:
    path.write_text(json.dumps(data) + "\n", encoding="utf-8")
