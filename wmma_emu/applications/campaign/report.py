# SPDX-License-Identifier: MIT
"""The report of a campaign: counts by kind, instruction and generator, rates, and every mismatch explained."""

import datetime
import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wmma_emu.applications.campaign.explained import explained
from wmma_emu.applications.campaign.files import replace_text
from wmma_emu.applications.campaign.groups import GROUPS, group_of
from wmma_emu.applications.campaign.revision import revision
from wmma_emu.applications.campaign.rows import append_rows
from wmma_emu.applications.campaign.totals import Totals
from wmma_emu.applications.campaign.worker import COUNTS
from wmma_emu.display import render
from wmma_emu.generators import GENERATORS
from wmma_emu.version import __version__
from wmma_emu.warp import BoundInstruction


@dataclass(frozen=True)
class CampaignReport:
    """The results of a campaign. ``str()`` gives text.

    Parameters
    ----------
    device : dict
        The other side: name, chip, driver, assembler, version of cuda-core; ``emulated`` if it is not hardware.
    settings : dict
        Seed, input generators (``families``), number of processes; date of the report (UTC), versions and revision of
        the emulator.
    counts : list of dict
        One entry for each instruction and input generator: ``mnemonic``, ``lowering``, ``model`` (the name of an
        alternative, if sources disagree; else empty), ``group``, ``family`` (the generator), ``dot_products``,
        ``mismatches``, ``executed`` (with ``ins.execute`` too), ``referenced`` (with the reference engine too);
        ``executed_wrong`` and ``referenced_wrong``, the number of those for which the emulator itself gives different
        bits; ``unread``, the number of mismatches that are tiles in which only bits without an element of D differ.
    timing : dict
        ``elapsed`` seconds; dot products per second, in total and emulated by one core; the share of the time in which
        the GPU ran; seconds of all workers together by activity.
    findings : list of dict
        Mismatches, a few for each kind, instruction and generator: ``kind`` is ``bits``, or ``registers`` or
        ``reference`` for a fault of the emulator; ``text`` explains it; ``hints`` names models similar to the
        emulator's that would give the other side's bits, in this and in the instruction's other mismatches;
        ``test_row`` is a row for a file of tests.
    planned : int
        The number of requested dot products; fewer are counted if the campaign is not finished.
    """

    device: dict[str, Any]
    settings: dict[str, Any]
    counts: list[dict[str, Any]]
    timing: dict[str, Any]
    findings: list[dict[str, Any]]
    planned: int

    @classmethod
    def of(
        cls, instructions: Sequence[BoundInstruction], totals: Totals, device: dict[str, Any],
        settings: dict[str, Any], planned: int,
    ) -> "CampaignReport":  # fmt: skip
        """Make the report of a campaign."""
        counts = []
        for (number, generator), count in sorted(
            totals.counts.items(), key=lambda x: (x[0][0], list(GENERATORS).index(x[0][1]))
        ):
            ins = instructions[number]
            counts.append(
                {"mnemonic": ins.mnemonic, "lowering": ins.model.lowering, "model": ins.model.name,
                 "group": group_of(ins.instruction), "family": generator,
                 **{name: getattr(count, name) for name in COUNTS}}
            )  # fmt: skip
        versions = {
            "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "wmma_emu": __version__, "revision": revision(),
            "numpy": np.__version__, "python": platform.python_version(),
        }  # fmt: skip
        findings = explained(instructions, totals.findings, device)
        timing = _timing(totals, settings["processes"])
        return cls(device, {**settings, **versions}, counts, timing, findings, planned)

    @property
    def version(self) -> str:
        """The version of wmma_emu that ran the campaign; its settings have it as ``wmma_emu``."""
        return str(self.settings["wmma_emu"])

    @property
    def dot_products(self) -> int:
        """The number of compared dot products."""
        return sum(x["dot_products"] for x in self.counts)

    @property
    def mismatches(self) -> int:
        """The number of dot products for which the other side gave different bits."""
        return sum(x["mismatches"] for x in self.counts)

    @property
    def self_mismatches(self) -> int:
        """The number of dot products for which the emulator is inconsistent.

        On registers, or with the reference engine.
        """
        return sum(x["executed_wrong"] + x["referenced_wrong"] for x in self.counts)

    @property
    def is_dry(self) -> bool:
        """Whether no hardware took part."""
        return bool(self.device.get("emulated", False))

    @property
    def ok(self) -> bool:
        """Whether all requested dot products were compared without any mismatch or fault of the emulator."""
        return not self.mismatches and not self.self_mismatches and self.dot_products == self.planned

    def summed(self, *keys: str) -> list[dict[str, Any]]:
        """Sum the counts by ``group``, ``mnemonic``, ``model`` or ``family``, or by several keys."""
        sums: dict[tuple[str, ...], dict[str, Any]] = {}
        for count in self.counts:
            key = tuple(count[x] for x in keys)
            row = sums.setdefault(
                key, {**dict(zip(keys, key, strict=True)), "instructions": set(), **dict.fromkeys(COUNTS, 0)}
            )
            row["instructions"].add((count["mnemonic"], count["lowering"], count["model"]))
            for name in COUNTS:
                row[name] += count[name]
        rows = [{**row, "instructions": len(row["instructions"])} for row in sums.values()]
        if keys == ("group",):
            order = [*GROUPS, "other"]
            rows.sort(key=lambda row: order.index(row["group"]))
        return rows

    def save(self, path: str | Path) -> None:
        """Write the report in the format of the file's suffix: ``.json``, ``.html``, else text; atomically."""
        suffix = Path(path).suffix.lower()
        text = {".json": self.to_json, ".html": self.to_html}.get(suffix, self.to_text)()
        replace_text(path, text)

    def save_rows(self, path: str | Path) -> int:
        """Append the mismatches to a file of rows that tests replay; return the number of new ones.

        Only mismatches in which the other side gave different bits are written; only results of a GPU should become a
        test.
        """
        return append_rows(path, (x["test_row"] for x in self.findings if x["kind"] == "bits" and x["reproduced"]))

    def to_json(self) -> str:
        """Return everything as JSON."""
        everything = {
            "ok": self.ok, "planned": self.planned, "dot_products": self.dot_products, "mismatches": self.mismatches,
            "self_mismatches": self.self_mismatches,
            "device": self.device, "settings": self.settings, "timing": self.timing, "groups": self.summed("group"),
            "counts": self.counts, "findings": self.findings,
        }  # fmt: skip
        return json.dumps(everything, indent=1) + "\n"

    def to_html(self) -> str:
        """Return a self-contained HTML page."""
        return str(render("campaign.html", self))

    def to_text(self) -> str:
        """Return the report as text."""
        return f"{self}\n"

    def __str__(self) -> str:
        return str(render("campaign.txt", self))


def _timing(totals: Totals, processes: int) -> dict[str, Any]:
    elapsed = max(totals.elapsed, 1e-9)
    seconds = {name: round(value, 3) for name, value in totals.seconds.items()}
    done = totals.sum_of("dot_products")
    emulating = totals.seconds.get("emulate", 0.0)
    return {
        "elapsed": round(totals.elapsed, 3),
        "rate": round(done / elapsed),
        "emulated_per_core": round(done / emulating) if emulating else 0,
        "device_share": round(totals.seconds.get("kernels", 0.0) / elapsed, 4),
        "workers_busy": round(sum(v for k, v in totals.seconds.items() if k != "kernels") / elapsed / processes, 4),
        "seconds": seconds,
    }
