# SPDX-License-Identifier: MIT
"""From ``kernel[grid, block](...)`` to running warps: block after block, warp after warp, barrier to barrier."""

import functools
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from math import prod
from typing import Any, TypeAlias, overload

from wmma_emu.errors import ArgumentError, CallError, DivergenceError, LaunchConfigurationError, shorten
from wmma_emu.instructions import DEFAULT_ARCH, Arch, arch_of, launching_on
from wmma_emu.instructions.launches import Dim3, dim3, require_legal_launch
from wmma_emu.kernels.barriers import Waiting, release, require_release
from wmma_emu.kernels.block import Block
from wmma_emu.kernels.checked_launch import CheckedLaunch
from wmma_emu.kernels.memory_of_kernels import as_memory_of_kernel
from wmma_emu.kernels.warp_context import WarpContext
from wmma_emu.kernels.warp_run import WarpRun
from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.findings import CHECKS
from wmma_emu.ptx.launch.options import LaunchOptions
from wmma_emu.ptx.launch.report import Report
from wmma_emu.ptx.launch.silences import Silence
from wmma_emu.scalar.environment import in_ieee_arithmetic

Findings: TypeAlias = str | Mapping[str, str] | Sequence[str] | Callable[[], str | Mapping[str, str] | Sequence[str]]
"""What becomes of findings, as `LaunchOptions` takes it."""


@overload
def kernel(function: Callable[..., Any], /) -> "PythonKernel": ...
@overload
def kernel(
    *, arch: str | Arch = DEFAULT_ARCH, findings: Findings = "warn", checks: Collection[str] = frozenset(CHECKS),
    silence: Collection[Silence] = (),
) -> "Callable[[Callable[..., Any]], PythonKernel]": ...  # fmt: skip
def kernel(
    function: Callable[..., Any] | None = None, /, *, arch: str | Arch = DEFAULT_ARCH, findings: Findings = "warn",
    checks: Collection[str] = frozenset(CHECKS), silence: Collection[Silence] = (),
) -> Any:  # fmt: skip
    """Make a kernel of a function that runs once for every warp: CUDA's ``__global__``.

    The function's first argument is the warp, a `WarpContext`: ``t.blockIdx``, ``t.threadIdx``, ``t.shared`` and
    the rest. NumPy arrays among the others are global memory, and arrive as `Memory`, whose indices are checked.
    ``kernel[grid, block](...)`` launches it, and returns a `wmma_emu.ptx.Report` of what is wrong with it. A function
    that waits at barriers yields them: ``yield t.syncthreads()``; another one calls it with ``yield from``.

    Parameters
    ----------
    function : callable
    arch : str or Arch
        The chip: ``t.arch``, the limits of a launch, and the chip of the fragments and instructions that the kernel
        makes without naming one. ``@kernel(arch="sm_80")`` names it.
    findings : {"warn", "raise", "report"}, sequence of str, mapping, or function
        What becomes of what is wrong with the kernel, as in `wmma_emu.ptx.LaunchOptions`.
    checks : collection of str
        What a launch looks for: names of `wmma_emu.ptx.CHECKS`, all of them by default; ``()`` is none, and saves
        their time. Errors are raised in any case.
    silence : collection of Silence
        Findings of one kind at one line that are right as they are, each with its reason.

    Raises
    ------
    UnsupportedInstructionError
        At the launch, for a grid or a block that the chip does not take, or a block of no whole number of warps.
    DivergenceError
        If the warps of a block do not meet at their barriers, or lanes do not agree where they must.
    OutOfBoundsError
        For an index outside of the memory.
    KernelFindingsError
        For findings that ``findings`` says are errors. What the kernel wrote stays written.

    Notes
    -----
    Blocks run one after another, in the order of their index, x fastest; the warps of a block in their order, each
    up to its next barrier. A GPU promises no order: a kernel whose result depends on it is wrong there. What a
    kernel wrote before it failed stays written, as on a GPU.

    Where lanes write one element (``x[i] = v``, ``x[i] += v``), the highest lane's value stays, of a race that is open
    on a GPU; ``numpy.add.at(x, i, v)`` is atomicAdd. No index wraps. Arrays that a kernel does not take as arguments
    are NumPy's own.

    What the warps did to memory is done once more behind the launch in the memory of the machine that runs PTX, which
    finds races, and reads of what nobody wrote. An error that is one of `wmma_emu.ptx.KINDS` has such a report as
    ``error.report``.

    Examples
    --------
    >>> import numpy as np, wmma_emu as we
    >>> @we.kernel
    ... def scale(t, x, n):
    ...     i = t.blockIdx.x * t.blockDim.x + t.threadIdx.x
    ...     if i >= n:
    ...         return
    ...     x[i] *= 2
    >>> x = np.arange(64, dtype=np.float32)
    >>> report = scale[2, 64](x, 64)
    >>> x[[0, 1, 63]], report.findings
    (array([  0.,   2., 126.], dtype=float32), ())
    """
    chip, options = arch_of(arch), LaunchOptions(findings=findings, checks=checks, silence=silence)
    if function is None:
        return lambda f: PythonKernel(f, chip, options)
    return PythonKernel(function, chip, options)


class PythonKernel:
    """A kernel, ready to be launched as ``kernel[grid, block](...)``: what `kernel` makes of a function."""

    def __init__(self, function: Callable[..., Any], arch: Arch, options: LaunchOptions | None = None) -> None:
        is_async = inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
        if not callable(function) or isinstance(function, type | PythonKernel) or is_async:
            fix = '; a chip is named with arch: @kernel(arch="sm_80")' if isinstance(function, str | Arch) else ""
            fix = "; it is one already, decorate it once" if isinstance(function, PythonKernel) else fix
            raise CallError(
                f"a kernel is a plain function, or a generator that yields barriers, not {shorten(function)}{fix}"
            )
        functools.update_wrapper(self, function)
        self.function, self.arch, self._options = function, arch, LaunchOptions() if options is None else options

    @property
    def name(self) -> str:
        """Name of the function."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def __repr__(self) -> str:
        return f"<kernel {self.name} on {self.arch}>"

    def __get__(self, instance: Any, owner: type | None = None) -> "PythonKernel":
        """Bind a kernel that is a method, as a function is bound."""
        bind = getattr(self.function, "__get__", None)
        if instance is None or bind is None:
            return self
        return PythonKernel(bind(instance, owner), self.arch, self._options)

    def __reduce__(self) -> str:
        """Copy and pickle as functions do: by name."""
        return str(getattr(self, "__qualname__", self.name))

    def __getitem__(self, launch: Any) -> Callable[..., Report]:
        """Choose the grid and the block: integers, or tuples of up to three."""
        if not isinstance(launch, tuple) or len(launch) != 2:
            raise LaunchConfigurationError(
                f"a launch names a grid and a block, {self.name}[grid, block](...), not [{shorten(launch)}]; shared "
                "memory is declared in the kernel, t.shared(shape, dtype)"
            )
        grid, block = dim3(launch[0], "grid"), dim3(launch[1], "block")
        require_legal_launch(grid, block, self.arch)
        threads = prod(block)
        if threads % LANES:
            raise LaunchConfigurationError(
                f"a kernel runs whole warps, and the block has {threads} thread{'s' * (threads > 1)}, no multiple of "
                f"{LANES}; launch {-(-threads // LANES) * LANES}, and let the kernel leave out the lanes beyond"
            )
        return functools.partial(self._launch, grid, block)

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Refuse: a kernel is launched with a grid and a block."""
        raise LaunchConfigurationError(
            f"{self.name} is a kernel: launch it with a grid and a block, {self.name}[grid, block](...)"
        )

    @in_ieee_arithmetic
    def _launch(self, grid: Dim3, block_size: Dim3, /, *args: Any, **kwargs: Any) -> Report:
        args = tuple(as_memory_of_kernel(x) for x in args)
        kwargs = {name: as_memory_of_kernel(x) for name, x in kwargs.items()}
        named = self._arguments(args, kwargs)
        launch = CheckedLaunch(self.name, self.arch, grid, block_size, named, self._options)
        try:
            with launching_on(self.arch), launch.watched():
                for index in _blocks(grid):
                    launch.begin_block(index)
                    self._run_block(Block(index, grid, block_size, self.arch, launch.trace), launch, args, kwargs)
        except Exception as error:
            launch.report_error(error)
            raise
        return launch.finish()

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Give the arguments by their names; refuse those that do not fit the function, before any warp runs."""
        try:
            signature = inspect.signature(self.function)
        except ValueError:  # a built-in one, which has none
            return {f"argument {i}": x for i, x in enumerate(args)} | kwargs
        try:
            _, *named = signature.bind(None, *args, **kwargs).arguments.items()
            return dict(named)
        except TypeError as error:
            raise ArgumentError(
                f"{self.name}{signature} does not take these arguments: {error}; the first one, the warp, is passed "
                "by the launch"
            ) from None

    def _run_block(
        self, block: Block, launch: CheckedLaunch, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:  # fmt: skip
        """Run the warps of a block from barrier to barrier until all have returned."""
        contexts = [WarpContext(block, number) for number in range(block.num_warps)]
        warps = [WarpRun(self.name, self.function, t, args, kwargs) for t in contexts]
        ready: dict[int, Any] = dict.fromkeys(range(len(warps)))
        waiting: dict[int, Waiting] = {}  # in the order of arrival
        returned: set[int] = set()
        with ExitStack() as stack:
            for warp in warps:
                stack.callback(warp.close)
            while ready:
                for number, result in sorted(ready.items()):
                    waiting.pop(number, None)
                    launch.begin_warp(number)
                    place = warps[number].advance(result)
                    if place is None:
                        returned.add(number)
                    else:
                        waiting[number] = place
                ready = self._release(block, launch, waiting, returned)

    def _release(
        self, block: Block, launch: CheckedLaunch, waiting: dict[int, Waiting], returned: set[int]
    ) -> dict[int, Any]:  # fmt: skip
        """Find the warps that may go on, and what their barrier returns to them."""
        places = list(waiting.values())
        try:
            ready, meetings = release(places, block.num_warps - len(returned))
            if places:
                require_release(ready, places, returned)
                launch.meet(places, meetings)
        except DivergenceError as error:
            error.add_note(f"in kernel {self.name}, block {tuple(block.index)}")
            raise
        return ready


def _blocks(grid: Dim3) -> Iterator[Dim3]:
    """Indices of the blocks, x fastest; a grid may be too large for a list of them."""
    for z in range(grid.z):
        for y in range(grid.y):
            for x in range(grid.x):
                yield Dim3(x, y, z)
