# SPDX-License-Identifier: MIT
"""The emulated GPU of tests: modules whose launches fail on any error of a kernel."""

import errno
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from numpy.typing import DTypeLike

from wmma_emu.instructions import DEFAULT_ARCH, Arch
from wmma_emu.ptx.definedness.empty_arrays import EmptyArray, empty
from wmma_emu.ptx.launch.module import Module
from wmma_emu.ptx.launch.options import LaunchOptions
from wmma_emu.ptx.launch.silences import Silence, Silencing, silence
from wmma_emu.ptx.launch.triton_module import TritonModule


class EmulatedGpu:
    """Modules for tests: a launch with errors raises `KernelFindingsError`, and leaves the arrays unchanged.

    Warnings are issued as `KernelFindingsWarning`; notes are only in the report. The output of kernels goes to standard
    output.

    The pytest plugin provides it as the fixture ``emulated_gpu``; its options ``--ptx-schedules``,
    ``--ptx-asynchrony``, ``--ptx-machine`` and ``--kernel-findings`` set ``schedules``, ``asynchrony``, ``machine`` and
    ``findings``.

    Parameters
    ----------
    arch : str or Arch
        The default chip.
    schedules : int
        The number of warp orders in which each launch runs; results that differ in any bit raise
        `ScheduleDependenceError`.
    max_seconds : float, optional
        The default time limit for a run of a launch, in seconds; None means no limit.
    folder : callable, optional
        A function that returns the folder in which `file` looks for files that are not in the current folder; the
        fixture uses the folder of the running test.
    **options
        Defaults for other options of `LaunchOptions`; modules and launches can override them. ``findings`` is "raise"
        and ``echo`` is True by default.

    Raises
    ------
    OptionError
        If an option does not exist, or does not accept the value.

    Examples
    --------
    >>> gpu = EmulatedGpu(schedules=3)
    >>> gpu.ptx(".version 8.0 .target sm_80 .address_size 64 .visible .entry f() { ret; }").options.findings
    'raise'
    """

    def __init__(
        self,
        arch: str | Arch = DEFAULT_ARCH,
        schedules: int = 1,
        max_seconds: float | None = 60,
        *,
        folder: Callable[[], Path] | None = None,
        **options: Any,
    ) -> None:
        self.arch, self._folder = arch, folder
        first = {"findings": "raise", "echo": True, "schedules": schedules, "max_seconds": max_seconds}
        self._defaults = {**first, **options}
        LaunchOptions().but(self._defaults)

    def __repr__(self) -> str:
        return f"<emulated GPU, {self.arch}>"

    def silence(self, kind: str, line: int | str, reason: str) -> AbstractContextManager[Silencing]:
        """Silence one kind of finding at one line, for the launches in a ``with`` block: `wmma_emu.ptx.silence`.

        Parameters
        ----------
        kind : str
            The kind of finding.
        line : int or str
            A line of ``module.text``, or of the source: ``"file.cu:16"``.
        reason : str
            The reason why the kernel is correct; the report repeats it.

        Examples
        --------
        >>> import warnings
        >>> with warnings.catch_warnings(record=True) as said:
        ...     warnings.simplefilter("always")
        ...     with EmulatedGpu().silence("race", "histogram.cu:12", "any of the values will do"):
        ...         pass                   # launches of kernels
        >>> print(said[0].message)
        this silenced nothing: race at histogram.cu:12: any of the values will do
        """
        return silence(Silence(kind, line, reason))

    def empty(self, shape: Any, dtype: DTypeLike) -> EmptyArray:
        """Make an uninitialised array, such as the memory from ``cudaMalloc``: `wmma_emu.ptx.empty`."""
        return empty(shape, dtype)

    def ptx(self, text: str, arch: str | Arch | None = None, **keywords: Any) -> Module:
        """Make a module of PTX source, as `Module` does."""
        return Module(text, arch or self.arch, **{**self._defaults, **keywords})

    def file(self, path: str | Path, arch: str | Arch | None = None, **keywords: Any) -> Module:
        """Read a file of PTX or CUDA C++, as `Module.from_file` does, from the current folder or the test's folder."""
        return Module.from_file(self._found(path), arch or self.arch, **{**self._defaults, **keywords})

    def cuda(self, source: str, arch: str | Arch | None = None, **keywords: Any) -> Module:
        """Compile CUDA C++, as `Module.from_cuda` does."""
        return Module.from_cuda(source, arch or self.arch, **{**self._defaults, **keywords})

    def triton(
        self,
        function: Any,
        signature: Mapping[str, Any] | None = None,
        constexprs: Mapping[str, Any] | None = None,
        arch: str | Arch | None = None,
        **keywords: Any,
    ) -> Module | TritonModule[Module]:
        """Compile a Triton kernel, as `Module.from_triton` does: for each launch, for types, or for arguments."""
        make: Any = Module.from_triton  # its overloads have different types
        made: Module | TritonModule[Module] = make(
            function, signature, constexprs, arch or self.arch, **{**self._defaults, **keywords}
        )
        return made

    def _found(self, path: str | Path) -> str | Path:
        if self._folder is None or not isinstance(path, str | Path) or Path(path).exists():
            return path
        folder = self._folder()
        if not (folder / path).exists():
            looked = f"No such file in the current folder, {Path.cwd()}, nor in that of the test, {folder}"
            raise FileNotFoundError(errno.ENOENT, looked, str(path))
        return folder / path
