# SPDX-License-Identifier: MIT
"""Baselines: files of known findings, so that new findings stand out."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from wmma_emu.errors import OptionError, printable, shorten
from wmma_emu.ptx.findings import KINDS
from wmma_emu.ptx.reports.finding import Finding
from wmma_emu.ptx.reports.sarif import Reported, plain

_VERSION = 1


class KnownFinding(NamedTuple):
    """A known finding, as a baseline stores it.

    ``aliases`` are identifiers that the finding may have if threads run in another order; the title is informational.
    """

    id: str
    kind: str
    kernel: str
    title: str
    aliases: tuple[str, ...] = ()

    @property
    def ids(self) -> frozenset[str]:
        """All of its identifiers."""
        return frozenset((self.id, *self.aliases))

    def __str__(self) -> str:
        return printable(f"{self.title}, in {self.kernel} [{self.id}]")


class Baseline:
    """Known findings, each by its identifier, in the order of the file.

    A deadlock or a trap ends the launch, so its results are missing; neither can be a known finding.

    Parameters
    ----------
    findings : iterable of KnownFinding
    name : str
        The name of the baseline's file.

    Examples
    --------
    >>> old = Baseline([KnownFinding("race-1f0c9a2b7d", "race", "gemm", "race on Bs at gemm.cu:44/51")], "known.json")
    >>> print(*old, len(old.merged(Baseline(old))))
    race on Bs at gemm.cu:44/51, in gemm [race-1f0c9a2b7d] 1
    """

    def __init__(self, findings: Iterable[KnownFinding] = (), name: str = "") -> None:
        found: dict[str, KnownFinding] = {}
        for x in findings:
            if not KINDS[x.kind].check:
                where = f" of {shorten(name, str)}" if name else ""
                raise OptionError(f"a {x.kind} ends the launch and cannot be a known finding; leave it out{where}")
            found.setdefault(x.id, x)
        self.findings = tuple(sorted(found.values(), key=lambda x: (x.kernel, x.kind, x.id)))
        self.name = name
        self._seen: set[str] = set()

    @classmethod
    def of(cls, reports: "Iterable[Reported | Mapping[str, Any]]") -> "Baseline":
        """Return a baseline of the findings of reports, new and known; deadlocks and traps are left out.

        Parameters
        ----------
        reports : iterable of Report or mapping
            Reports, or the results of `Report.to_dict`.
        """
        given = (x for report in map(plain, reports) for x in (*report["findings"], *report["known"]))
        return cls(
            KnownFinding(x["id"], x["kind"], x["kernel"], x["title"], tuple(x["aliases"]))
            for x in given
            if KINDS[x["kind"]].check
        )

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Baseline":
        """Read a file; errors of the operating system, such as ``FileNotFoundError``, are passed on.

        Raises
        ------
        OptionError
            If the file is not a baseline.
        """
        name = os.fspath(path)
        try:
            given = json.loads(Path(path).read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise OptionError(f"{shorten(name, str)} is not a baseline: {shorten(error, str)}") from None
        version = given.get("version") if isinstance(given, dict) else None
        if version != _VERSION or not isinstance(given.get("findings"), list):
            said = f"its version is {shorten(version)}" if version is not None else "it has no version"
            raise OptionError(
                f"{shorten(name, str)} is not a baseline of version {_VERSION}: {said}; Baseline.write and "
                "wmma-emu ptx run --write-baseline write baselines"
            )
        return cls([_entry(x, i, name) for i, x in enumerate(given["findings"])], name)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a file atomically, one finding per line, in an order that does not depend on the launches."""
        lines = [json.dumps(_fields(x)) for x in self.findings]
        listed = ",".join(f"\n    {x}" for x in lines) + ("\n  " if lines else "")
        target = Path(os.path.realpath(path))
        temporary = target.with_name(f".{target.name[:200]}.{os.getpid()}.tmp")
        try:
            temporary.write_text(f'{{\n  "version": {_VERSION},\n  "findings": [{listed}]\n}}\n', encoding="utf-8")
            os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise

    def merged(self, other: "Baseline") -> "Baseline":
        """Return the findings of both baselines; for findings in both, the other baseline's title is kept."""
        return Baseline([*other.findings, *self.findings], self.name or other.name)

    @property
    def unused(self) -> tuple[KnownFinding, ...]:
        """The findings that no launch with this baseline has reproduced so far: candidates for removal."""
        return tuple(x for x in self.findings if x.id not in self._seen)

    def divided(self, findings: "Iterable[Finding]") -> "tuple[tuple[Finding, ...], tuple[Finding, ...]]":
        """Split findings into new and known ones, and record which known ones were seen."""
        ids = {name: x.id for x in reversed(self.findings) for name in x.ids}
        new: list[Finding] = []
        known: list[Finding] = []
        for finding in findings:
            met = [ids[x] for x in (finding.id, *finding.aliases) if x in ids] if KINDS[finding.kind].check else []
            self._seen.update(met)
            (known if met else new).append(finding)
        return tuple(new), tuple(known)

    def __iter__(self) -> Iterator[KnownFinding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __repr__(self) -> str:
        count = len(self.findings)
        return printable(f"<baseline {self.name}: {count} finding{'s' * (count != 1)}>".replace(" :", ":"))


def _fields(x: KnownFinding) -> dict[str, Any]:
    found: dict[str, Any] = {"id": x.id, "kind": x.kind, "kernel": x.kernel, "title": x.title}
    return {**found, "aliases": list(x.aliases)} if x.aliases else found


def _entry(given: object, i: int, name: str) -> KnownFinding:
    fields = dict(given) if isinstance(given, dict) else {}
    aliases = fields.pop("aliases", [])
    is_list = isinstance(aliases, list) and all(isinstance(x, str) for x in aliases)
    if (
        set(fields) != {"id", "kind", "kernel", "title"}
        or not is_list
        or not all(isinstance(x, str) for x in fields.values())
    ):
        raise OptionError(
            f"finding {i} of {shorten(name, str)} is {shorten(given)}; expected an id, a kind, a kernel and a title, "
            "each a string, and optionally aliases"
        )
    if fields["kind"] not in KINDS:
        raise OptionError(f"finding {i} of {shorten(name, str)} has the unknown kind {shorten(fields['kind'])}")
    return KnownFinding(**fields, aliases=tuple(aliases))
