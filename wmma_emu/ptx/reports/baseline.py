# SPDX-License-Identifier: MIT
"""Findings that a team knows: a file of them, so that the new ones stand out."""

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
    """A finding that is known: what a baseline has of it.

    ``aliases`` are identifiers that it may have where other threads come first; the title is for readers alone.
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
    """Findings that are known, each by its identifier, in the order of the file.

    A deadlock and a trap end the launch: they are never known, since what the launch computes is not there.

    Parameters
    ----------
    findings : iterable of KnownFinding
    name : str
        Of its file.

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
                raise OptionError(f"a {x.kind} ends the launch, and is no known finding; leave it out{where}")
            found.setdefault(x.id, x)
        self.findings = tuple(sorted(found.values(), key=lambda x: (x.kernel, x.kind, x.id)))
        self.name = name
        self._seen: set[str] = set()

    @classmethod
    def of(cls, reports: "Iterable[Reported | Mapping[str, Any]]") -> "Baseline":
        """Take the findings of reports, and those that are known already; no deadlocks, no traps.

        Parameters
        ----------
        reports : iterable of Report or mapping
            Or what `Report.to_dict` has made of them.
        """
        given = (x for report in map(plain, reports) for x in (*report["findings"], *report["known"]))
        return cls(
            KnownFinding(x["id"], x["kind"], x["kernel"], x["title"], tuple(x["aliases"]))
            for x in given
            if KINDS[x["kind"]].check
        )

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Baseline":
        """Read a file; what the operating system says of one, as ``FileNotFoundError``, is passed on as it is.

        Raises
        ------
        OptionError
            For a file that is no baseline.
        """
        name = os.fspath(path)
        try:
            given = json.loads(Path(path).read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise OptionError(f"{shorten(name, str)} is no baseline: {shorten(error, str)}") from None
        version = given.get("version") if isinstance(given, dict) else None
        if version != _VERSION or not isinstance(given.get("findings"), list):
            said = f"its version is {shorten(version)}" if version is not None else "it has no version"
            raise OptionError(
                f"{shorten(name, str)} is no baseline of version {_VERSION}: {said}; Baseline.write makes one, and so "
                "does wmma-emu ptx run --write-baseline"
            )
        return cls([_entry(x, i, name) for i, x in enumerate(given["findings"])], name)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a file, one finding a line, in an order that does not depend on the launches; it is there at once."""
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
        """Add the findings of another one; of those that both have, the other's title is kept."""
        return Baseline([*other.findings, *self.findings], self.name or other.name)

    @property
    def unused(self) -> tuple[KnownFinding, ...]:
        """The findings that no launch with this baseline has met so far: those that may be left out."""
        return tuple(x for x in self.findings if x.id not in self._seen)

    def divided(self, findings: "Iterable[Finding]") -> "tuple[tuple[Finding, ...], tuple[Finding, ...]]":
        """Tell new findings from known ones, and note which were met."""
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
            f"finding {i} of {shorten(name, str)} is {shorten(given)}, which has no id, kind, kernel and title, each a "
            "text, or has more than that and aliases"
        )
    if fields["kind"] not in KINDS:
        raise OptionError(f"finding {i} of {shorten(name, str)} is of kind {shorten(fields['kind'])}, which is none")
    return KnownFinding(**fields, aliases=tuple(aliases))
