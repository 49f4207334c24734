# SPDX-License-Identifier: MIT
"""Cases: calls of another project's host code, and the kernels that each launches."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["CASES", "Case", "Kernel", "Project", "cases_of", "use_checkouts"]

Run = Callable[..., float]
Make = Callable[[], dict[str, Any]]


class Project(NamedTuple):
    """A repository of another project.

    Parameters
    ----------
    name : str
        The name in tables, which begins the names of its cases.
    repository : str
        ``owner/name`` on GitHub; its checkout is the folder ``owner+name``.
    revision, licence : str
    """

    name: str
    repository: str
    revision: str
    licence: str

    @property
    def folder(self) -> Path:
        """The folder of the checkout.

        Raises
        ------
        FileNotFoundError
            If there is none.
        """
        folder = _ROOT[0] / self.repository.replace("/", "+")
        if not folder.is_dir():
            raise FileNotFoundError(
                f"no folder {folder}: check out https://github.com/{self.repository} at {self.revision}"
            )
        return folder


class Kernel(NamedTuple):
    """A kernel: its file in the checkout, and its name."""

    file: str
    name: str


class Case(NamedTuple):
    """A call of host code.

    Parameters
    ----------
    name : str
    project : Project
    kernels : tuple of Kernel
        The kernels that it is there for. It may launch others too.
    run : function
        Calls the host code, and returns the largest distance from what PyTorch computes.
    arch : str
        The chip for which it is meant, if that is not the chip of the command: the newest on which it is modelled.
    pointed : function, optional
        Makes tensors, by their names, to which pointers in data point. They are arguments of ``run``.
    """

    name: str
    project: Project
    kernels: tuple[Kernel, ...]
    run: Run
    arch: str = ""
    pointed: Make = dict


CASES: dict[str, Case] = {}
"""All cases by their names, in the order in which the modules of the projects define them."""

_ROOT = [Path()]


def use_checkouts(root: Path) -> None:
    """Set the folder with the checkouts."""
    _ROOT[0] = root


def cases_of(project: Project) -> Callable[..., Callable[[Run], Run]]:
    """Return a decorator of the cases of a project.

    Its arguments are ``"FILE: KERNEL KERNEL ..."``, the kernels of a file. The case is named as the function is.

    Examples
    --------
    >>> case = cases_of(Project("toys", "owner/toys", "0" * 40, "MIT"))
    >>> @case("toys/ops.py: add twice")
    ... def toys_add() -> float:
    ...     return 0.0
    >>> CASES.pop("toys_add").kernels
    (Kernel(file='toys/ops.py', name='add'), Kernel(file='toys/ops.py', name='twice'))
    """

    def case(*kernels: str, arch: str = "", pointed: Make = dict) -> Callable[[Run], Run]:
        def add(function: Run) -> Run:
            name = function.__name__
            if name in CASES:
                raise ValueError(f"there are two cases {name}")
            CASES[name] = Case(name, project, tuple(x for y in kernels for x in _kernels(y)), function, arch, pointed)
            return function

        return add

    return case


def _kernels(text: str) -> Iterator[Kernel]:
    found = re.fullmatch(r"([^:\s]+):((?: +\w+)+)", text)
    if found is None:
        raise ValueError(f"{text!r} is not 'FILE: KERNEL KERNEL ...'")
    for name in found[2].split():
        yield Kernel(found[1], name)
