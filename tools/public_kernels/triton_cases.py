# SPDX-License-Identifier: MIT
"""Cases of public Triton kernels: which module of a checkout, what its host code is called with, which kernel it is."""

import importlib
import os
import sys
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tools.language_programs.bundles import readable_by_the_driver
from tools.language_programs.checkouts import absent, bare_package, beginning_of, given
from tools.public_kernels.case import DrawnLaunch, PublicKernel
from tools.public_kernels.triton_launches import captured

__all__ = ["Draws", "Repository", "TritonSource", "int32", "int64", "triton_cases"]


class Repository(NamedTuple):
    """A repository of GitHub, and how its modules are imported.

    Parameters
    ----------
    name, revision, licence : str
    root : str
        The folder of its packages in the checkout.
    absent : sequence of str
        Modules that its host code imports and these kernels do not need; attributes of them are mocks.
    given : dict
        Replacements of the repository's modules that have many dependencies: their functions, by module.
    until : str
        The line at which reading of a module stops; scripts make more launches after it.
    environment : dict
        Variables that its modules read when they are imported.
    """

    name: str
    revision: str
    licence: str
    root: str = "."
    absent: Sequence[str] = ()
    given: dict[str, dict[str, Any]] = {}  # noqa: RUF012 # a tuple's default
    until: str = ""
    environment: dict[str, str] = {}  # noqa: RUF012

    @property
    def short(self) -> str:
        return self.name.split("/")[1].lower()

    def module(self, checkouts: Path, name: str) -> types.ModuleType:
        """Import a module of a checkout without the ``__init__`` of its packages, which would import everything."""
        folder = checkouts / self.name.split("/")[1] / self.root
        if not folder.is_dir():
            raise OSError(f"no folder {folder}: check out https://github.com/{self.name} at {self.revision}")
        if self.until:
            return beginning_of(folder / f"{name.replace('.', '/')}.py", (self.until.strip(),))
        if "." not in name:
            sys.path.insert(0, str(folder))
        for part in (name, *self.given, *self.absent):
            if "." in part:
                bare_package(part.rpartition(".")[0], folder)
        for part, functions in self.given.items():
            given(part, **functions)
        absent(*self.absent)
        os.environ.update(self.environment)
        return importlib.import_module(name)


class Draws:
    """Tensors of a seed, the same bits with every release of PyTorch: NumPy draws them.

    Parameters
    ----------
    name : str
        Of the case; it is the seed.
    """

    def __init__(self, name: str) -> None:
        self._numbers = np.random.Generator(np.random.PCG64([*name.encode()]))

    def f32(self, *shape: int, scale: float = 1.0, shift: float = 0.0) -> Any:
        """Draw normal numbers."""
        return self._tensor(self._numbers.standard_normal(shape) * scale + shift, "float32")

    def f16(self, *shape: int, scale: float = 1.0, shift: float = 0.0) -> Any:
        """Draw normal numbers."""
        return self._tensor(self._numbers.standard_normal(shape) * scale + shift, "float16")

    def bf16(self, *shape: int, scale: float = 1.0, shift: float = 0.0) -> Any:
        """Draw normal numbers."""
        return self._tensor(self._numbers.standard_normal(shape) * scale + shift, "bfloat16")

    def uniform(self, *shape: int) -> Any:
        """Draw float32 numbers from [0, 1)."""
        return self._tensor(self._numbers.uniform(0, 1, shape), "float32")

    def integers(self, low: int, high: int, *shape: int, dtype: str = "int32") -> Any:
        """Draw from [low, high)."""
        return self._tensor(self._numbers.integers(low, high, shape), dtype)

    def order(self, count: int, dtype: str = "int64") -> Any:
        """Draw an order of the numbers below ``count``."""
        return self._tensor(self._numbers.permutation(count), dtype)

    @staticmethod
    def _tensor(array: Any, dtype: str) -> Any:
        import torch

        return torch.from_numpy(array).to(getattr(torch, dtype))


def int32(*values: int) -> Any:
    """Make a tensor of these numbers."""
    import torch

    return torch.tensor(values, dtype=torch.int32)


def int64(*values: int) -> Any:
    """Make a tensor of these numbers."""
    import torch

    return torch.tensor(values)


class TritonSource(NamedTuple):
    """A kernel, and what launches it.

    Parameters
    ----------
    name : str
        The case's, without the repository.
    file : str
        Where the kernel is written, in the folder of the table, without ``.py``.
    host : function
        Takes the imported module and `Draws`; calls what launches the kernel.
    kernel : str
        The kernel's name.
    module : str
        The file whose host code launches the kernel, if it is a different file.
    """

    name: str
    file: str
    host: Callable[[Any, Draws], object]
    kernel: str
    module: str = ""


def triton_cases(repository: Repository, folder: str, *rows: TritonSource) -> tuple[PublicKernel, ...]:
    """Make cases of kernels of one folder of a repository."""
    return tuple(_case(repository, folder, x) for x in rows)


def _case(repository: Repository, folder: str, row: TritonSource) -> PublicKernel:
    name, found = f"{repository.short}__{row.name}", []
    path = f"{folder}/{row.module or row.file}".removeprefix(f"{repository.root}/").replace("/", ".")

    def host() -> None:
        import torch

        torch.manual_seed(0)  # for parameters that layers draw
        row.host(repository.module(checkouts[0], path), Draws(name))

    checkouts: list[Path] = []

    def build(folder: Path) -> tuple[str, str]:
        checkouts[:] = [folder]
        found[:] = [captured(host, row.kernel)]
        return readable_by_the_driver(found[0].text), row.kernel

    def launch(_: np.random.Generator) -> DrawnLaunch:
        """Return the arguments for which the PTX was specialised; they were drawn before compilation."""
        return found[0].launch

    return PublicKernel(
        name, f"https://github.com/{repository.name}", repository.revision, f"{folder}/{row.file}.py",
        repository.licence, build, launch, flags="as Triton specialises the launch; at most .version 9.0 written",
    )  # fmt: skip
