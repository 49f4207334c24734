# SPDX-License-Identifier: MIT
"""Load the PTX of many repositories, and list the kernels that are refused, with the reasons.

    python -m tools.refused_kernels FOLDER [--revisions FILE.csv] [--page PAGE.md] [--seconds 60] [--jobs 2]

FOLDER has a folder for each repository, `owner+name`, with files `anything.sm_80.ptx`: the name of a source and the
chip it was compiled for. A kernel is complete if every instruction that it contains is modelled; nothing is launched.
Kernels that are refused only because of copies of tensors, clusters or tcgen05 are counted apart.
"""

import argparse
import csv
import multiprocessing
import re
import signal
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from wmma_emu.errors import WmmaEmuError
from wmma_emu.ptx import Module

__all__ = ["LoadedKernel", "load", "main", "page"]

TARGETS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
_APART = re.compile(
    r"tcgen05|bulk\.(prefetch\.)?tensor|tensor ?map|cluster|\bmapa\b|getctarank|(st|red)\.async|multicast"
)
_ENTRY = re.compile(r"^\s*(?:\.visible\s+|\.weak\s+)*\.entry\s+([\w$%.]+)", re.MULTILINE)


class LoadedKernel(NamedTuple):
    """A kernel of a file for a target, and the instructions that are refused, each with the reason."""

    repository: str
    file: str
    target: str
    name: str
    refusals: tuple[tuple[str, str], ...]
    is_parsed: bool = True

    @property
    def outcome(self) -> str:
        """Return "complete", "apart" (only copies of tensors, clusters and tcgen05 are missing) or "refused"."""
        if not self.refusals:
            return "complete"
        return "apart" if all(_APART.search(f"{x} {y}") for x, y in self.refusals) else "refused"


def load(path: Path, seconds: int = 60) -> list[LoadedKernel]:
    """Load one file and check its kernels; a kernel that is not checked in time is left out."""
    repository = path.parent.name.replace("+", "/", 1)
    file, target = path.stem.rsplit(".", 1)
    text = path.read_text(encoding="utf-8", errors="replace")
    made = partial(LoadedKernel, repository, file.replace("__", "/"), target)
    found: list[LoadedKernel] = []
    previous = signal.signal(signal.SIGALRM, _stop)
    signal.alarm(seconds)
    try:
        module = Module(text, re.sub("[af]$", "", target))
        for name in module:
            missing = module[name].compiled.missing
            found.append(made(name, tuple(dict.fromkeys((x.opcode, _plain(x.reason)) for x in missing))))
    except WmmaEmuError as error:
        names = dict.fromkeys(_ENTRY.findall(text))
        found = [made(x, (("", _plain(str(error))),), is_parsed=False) for x in names]
    except TimeoutError:
        pass
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
    return found


def _stop(*_: object) -> None:
    raise TimeoutError


def _plain(reason: str) -> str:
    """Leave out the line, the opcode and the names of registers, so that equal reasons are equal."""
    first = re.sub(r"^line \d+(, column \d+)?: ", "", reason.splitlines()[0])
    return re.sub(r"%[\w$]+(\.\w+)?", "%r", re.sub(r"^[\w.:]+: ", "", first))[:160]


def page(kernels: Sequence[LoadedKernel], revisions: dict[str, str]) -> str:
    """Write the tables: counts by repository and target, then the reasons of refusals."""
    return "\n".join([*_counts(kernels, revisions), "", *_reasons(kernels)]) + "\n"


def _counts(kernels: Sequence[LoadedKernel], revisions: dict[str, str]) -> Iterator[str]:
    by_repository: dict[str, list[LoadedKernel]] = defaultdict(list)
    for kernel in kernels:
        by_repository[kernel.repository].append(kernel)
    yield f"| repository | revision | kernels | {' | '.join(TARGETS)} |"
    yield "|---|---|" + "---:|" * (1 + len(TARGETS))
    for name, group in sorted(by_repository.items(), key=lambda x: x[0].lower()):
        yield f"| {name} | `{revisions.get(name, '')[:10]}` | {_distinct(group)} | {' | '.join(_cells(group))} |"
    yield f"| **{len(by_repository)} repositories** | | {_distinct(kernels)} | {' | '.join(_cells(kernels))} |"


def _distinct(kernels: Iterable[LoadedKernel]) -> int:
    return len({(x.repository, x.file, x.name) for x in kernels})


def _cells(kernels: Sequence[LoadedKernel]) -> Iterator[str]:
    """Yield, for each target, how many of the kernels that are not counted apart are complete, and how many are."""
    for target in TARGETS:
        count = Counter(x.outcome for x in kernels if x.target == target)
        if not count:
            yield ""
            continue
        apart = f" + {count['apart']} apart" if count["apart"] else ""
        yield f"{count['complete']} of {count['complete'] + count['refused']}{apart}"


def _reasons(kernels: Sequence[LoadedKernel]) -> Iterator[str]:
    found: dict[tuple[str, str], list[LoadedKernel]] = defaultdict(list)
    for kernel in kernels:
        for refusal in kernel.refusals:
            found[refusal].append(kernel)
    yield "| kernels | repositories | targets | instruction | reason |"
    yield "|---:|---|---|---|---|"
    for (opcode, reason), group in sorted(found.items(), key=lambda x: (-_distinct(x[1]), x[0])):
        names = sorted({x.repository for x in group})
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        targets = " ".join(x for x in TARGETS if any(y.target == x for y in group))
        yield f"| {_distinct(group)} | {shown} | {targets} | `{opcode}` | {reason.replace('|', '/')} |"


def _read_revisions(path: Path | None) -> dict[str, str]:
    if path is None:
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {x["repository"]: x["revision"] for x in csv.DictReader(file)}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="a folder with one folder of PTX for each repository")
    parser.add_argument("--revisions", type=Path, help="a CSV file with the columns repository and revision")
    parser.add_argument("--page", type=Path, help="write the tables there, instead of printing them")
    parser.add_argument("--seconds", type=int, default=60, help="time for each file (default: 60)")
    parser.add_argument("--jobs", type=int, default=2, help="files at a time (default: 2)")
    given = parser.parse_args(argv)
    files = sorted(given.folder.glob("*/*.ptx"))
    if not files:
        parser.error(f"{given.folder} has no files OWNER+NAME/SOURCE.sm_80.ptx")
    with multiprocessing.get_context("spawn").Pool(given.jobs) as pool:
        loaded = pool.map(partial(load, seconds=given.seconds), files, chunksize=1)
    kernels = [x for found in loaded for x in found]
    late = sum(not found for found in loaded)
    text = page(kernels, _read_revisions(given.revisions))
    if given.page is None:
        print(text)
    else:
        given.page.write_text(text, encoding="utf-8")
    count = Counter(x.outcome for x in kernels)
    judged = count["complete"] + count["refused"]
    print(f"{len(files)} files, {late} without a kernel in time; {len(kernels)} kernels by target, "
          f"{sum(x.is_parsed for x in kernels)} parsed; {count['complete']} of {judged} complete "
          f"({100 * count['complete'] / max(judged, 1):.2f} %), {count['apart']} counted apart")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
