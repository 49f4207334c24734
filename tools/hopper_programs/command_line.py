# SPDX-License-Identifier: MIT
"""The actions of a list of programs on the command line: build, unpack, compare."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, NamedTuple

from tools.hopper_programs.carried import P, ptx_of
from tools.hopper_programs.table import print_table
from tools.hopper_programs.unpacking import unpack

__all__ = ["Listed", "run"]


class Listed(NamedTuple, Generic[P]):
    """A list of programs.

    Parameters
    ----------
    summary : str
        What the command does.
    programs : sequence
        All programs.
    origin : function
        What bundles state as the origin of a program.
    add_arguments : function
        Adds the arguments of `build` that only this list has.
    build : function
        Compiles chosen programs, and returns how many do not compile; it takes all arguments of the command line.
    """

    summary: str
    programs: Sequence[P]
    origin: Callable[[P], dict[str, str]]
    add_arguments: Callable[[argparse.ArgumentParser], object]
    build: Callable[[tuple[P, ...], argparse.Namespace], int]


def run(listed: "Listed[P]", argv: list[str] | None) -> int:
    """Read the command line, and do what it says; return the exit status."""
    given = _parser(listed).parse_args(argv)
    if given.action == "unpack":
        sources = {x.name: (ptx_of(given.work, x), listed.origin(x)) for x in listed.programs}
        return unpack(given.recorded, given.bundles, sources)
    chosen = tuple(x for x in listed.programs if given.only in x.name)
    if given.action == "build":
        return min(1, listed.build(chosen, given))
    return print_table(chosen, given.bundles, {"asynchrony": given.asynchrony} if given.asynchrony else {})


def _parser(listed: "Listed[P]") -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=listed.summary)
    actions = parser.add_subparsers(dest="action", required=True)
    build, unpacked, compare = (actions.add_parser(x) for x in ("build", "unpack", "compare"))
    build.add_argument("out", type=Path, help="the folder that is carried to the GPU")
    listed.add_arguments(build)
    build.add_argument("--nvcc", default="nvcc")
    build.add_argument("--jobs", type=int, default=1, help="compilers at a time (default: %(default)s)")
    unpacked.add_argument("recorded", type=Path, help="the folder with hopper.tar.xz.00 and so on")
    unpacked.add_argument("bundles", type=Path, help="where bundles and recordings are written")
    compare.add_argument("bundles", type=Path, help="the folder that `unpack` made")
    compare.add_argument("--asynchrony", default="", help="of the launches, as we.ptx.Module takes it")
    for one in (build, unpacked):
        one.add_argument("--work", type=Path, required=True, help="the folder that keeps the PTX")
    for one in (build, compare):
        one.add_argument("--only", default="", help="programs whose name holds this")
    return parser
