# SPDX-License-Identifier: MIT
"""The corpora: where launches come from, and how they are divided among workers."""

import fnmatch
import os
import runpy
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from examples.ptx.cases import CASES
from examples.ptx.texts import compiled
from tools.compare_machines.attempt import LIMITS, Attempt, launch
from tools.compare_machines.mutants import mutant, mutants

__all__ = ["CORPORA", "Share"]

ROOT = Path(__file__).parents[2]

_RECORDED = (
    "tests/vectors/test_textures.py", "tests/ptx/kernels", "tests/ptx/memory/test_recorded_accesses.py",
    "tests/ptx/memory/test_recorded_mbarriers.py", "tests/ptx/memory/test_shared_addresses.py",
    "tests/ptx/profile/test_recorded_counters.py", "tests/ptx/program/test_known_constants.py",
    "tests/ptx/steps/test_recorded_atomics.py", "tests/ptx/steps/test_scalar_table.py",
    "tests/ptx/steps/test_video.py", "tests/ptx/tensor_maps", "tests/ptx/textures",
)  # fmt: skip
"""The tests that launch kernels whose results a GPU recorded."""


class Share(NamedTuple):
    """The part of a corpus that a worker takes.

    ``number`` counts the worker among ``workers``; ``given`` are the arguments of the corpus, ``only`` the
    names of the launches to make again.
    """

    number: int
    workers: int
    seed: int
    given: tuple[str, ...]
    only: tuple[str, ...]

    def of(self, attempts: Iterator[Attempt]) -> Iterator[Attempt]:
        """Yield the attempts of a list that this worker makes."""
        if self.only:
            return (x for x in attempts if x.name in self.only)
        return islice(attempts, self.number, None, self.workers)


def _mutants(share: Share) -> Iterator[Attempt]:
    if share.only:
        return (x for x in map(mutant, share.only) if x is not None)
    return mutants(share.seed * 1000 + share.number, share.given)


def _programs(share: Share) -> Iterator[Attempt]:
    from tools.random_ptx import program

    def perform(number: int) -> None:
        drawn = program(number)
        launch(drawn.text, "k", (drawn.grid, drawn.block, 0), drawn.arrays(), **LIMITS)

    numbers = map(int, share.only) if share.only else count((share.seed * 1000 + share.number) << 32)
    return (Attempt(str(x), partial(perform, x)) for x in numbers)


def _examples(share: Share) -> Iterator[Attempt]:
    def perform(name: str) -> None:
        case = CASES[name]
        launch(compiled(case.text), case.kernel, (case.grid, case.block, case.shared), case.draw(1))

    return share.of(Attempt(x, partial(perform, x)) for x in share.given or CASES)


def _planted(share: Share) -> Iterator[Attempt]:
    from tests.ptx.planted.table import PLANTED

    def perform(name: str, *, fixed: bool) -> None:
        one = PLANTED[name]
        launch(one.ptx(fixed), one.kernel, (one.grid, one.block, one.shared), one.arguments())

    names = ((f"{x} {'fixed' if fixed else 'with its bug'}", x, fixed) for x in PLANTED for fixed in (False, True))
    return share.of(Attempt(called, partial(perform, x, fixed=fixed)) for called, x, fixed in names)


def _tests(share: Share) -> Iterator[Attempt]:
    """Yield the files of tests; the launches of the tests that run in this process are compared."""
    folders = share.given or _RECORDED
    files = sorted(y for x in folders for y in ([ROOT / x] if x.endswith(".py") else (ROOT / x).rglob("test_*.py")))
    names = (str(x.relative_to(ROOT)) for x in files)
    return share.of(Attempt(x, partial(_run_module, "pytest", ["-q", "-n0", "-m", "", "--tb=no", x])) for x in names)


def _suites(share: Share) -> Iterator[Attempt]:
    """Yield the programs of labelled suites; the arguments are their folder, CUDA's headers, and names of suites."""
    from tools.labelled_suites.__main__ import SUITES
    from tools.labelled_suites.case import examined

    sources, headers, *names = share.given
    cases = (y for x in names or SUITES for y in SUITES[x].cases(Path(sources) / SUITES[x].FOLDER, headers))
    named = ((f"{x.suite}|{x.program}|{x.variant}", x) for x in cases)
    return share.of(Attempt(name, partial(examined, x, 120)) for name, x in named)


def _bundles(share: Share) -> Iterator[Attempt]:
    """Yield the bundles of folders, which `tools.launch_bundles` describes."""
    from tools.bundle_launcher import bundles_in, name_of
    from tools.launch_bundles import emulated_bundle

    found = ((Path(x), y) for x in share.given for y in bundles_in(Path(x)))
    return share.of(Attempt(str(name_of(x, y)), partial(emulated_bundle, y)) for x, y in found)


def _drawn(share: Share) -> Iterator[Attempt]:
    """Yield files of PTX of other projects, with arguments that `tools.drawn_launches` draws."""
    from tools.drawn_launches import draw_launches

    def perform(path: Path) -> None:
        with tempfile.TemporaryDirectory() as bundles:
            draw_launches(path, Path(bundles), seconds=3, tries=4, most=4)

    paths = sorted(y for x in share.given for y in Path(x).glob("*/*.ptx"))
    return share.of(Attempt(f"{x.parent.name}/{x.name}", partial(perform, x)) for x in paths)


def _languages(share: Share) -> Iterator[Attempt]:
    """Yield cases of `tools.language_programs`; the arguments are the folder of checkouts, and patterns of names."""
    import tools.language_programs.projects  # noqa: F401 # which adds their cases
    from tools.language_programs.case import CASES as PROGRAMS
    from tools.language_programs.case import use_checkouts
    from tools.language_programs.running import run_case

    os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")
    root, *patterns = share.given
    use_checkouts(Path(root))
    names = [x for x in PROGRAMS if any(fnmatch.fnmatch(x, y) for y in patterns or ["*"])]
    return share.of(Attempt(x, partial(run_case, PROGRAMS[x], "h100", None, twice=False)) for x in names)


def _module(share: Share) -> Iterator[Attempt]:
    """Yield a module with its arguments, such as a tool that launches kernels; one worker runs it."""
    if share.number == 0:
        yield Attempt(" ".join(share.given), partial(_run_module, share.given[0], share.given[1:]))


def _run_module(name: str, arguments: Sequence[str]) -> None:
    with mock.patch.object(sys, "argv", [name, *arguments]):
        try:
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        except SystemExit:
            pass


CORPORA: dict[str, Callable[[Share], Iterator[Attempt]]] = {
    "mutants": _mutants, "programs": _programs, "examples": _examples, "planted": _planted, "tests": _tests,
    "suites": _suites, "bundles": _bundles, "drawn": _drawn, "languages": _languages, "module": _module,
}  # fmt: skip
"""The corpora by name: functions of the share of a worker."""


def shares(workers: int, seed: int, given: Sequence[str], only: Sequence[str]) -> list[Share]:
    """Return the shares of all workers.

    >>> [x.number for x in shares(2, 1, (), ())]
    [0, 1]
    """
    return [Share(i, workers, seed, (*given,), (*only,)) for i in range(1 if only else workers)]
