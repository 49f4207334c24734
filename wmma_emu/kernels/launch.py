# SPDX-License-Identifier: MIT
"""The launch ``kernel[grid, block](...)``: block after block, warp after warp, from barrier to barrier."""

import functools
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from math import prod
from typing import Any, TypeAlias, overload

from wmma_emu.errors import ArgumentError, CallError, DivergenceError, LaunchConfigurationError, shorten
from wmma_emu.instructions import DEFAULT_ARCH, Arch, arch_of, launching_on
from wmma_emu.instructions.launches import Dim3, dim3, require_legal_launch
from wmma_emu.kernels.barriers import AnyWaiting, Waiting, WaitingForPhase, release, require_release
from wmma_emu.kernels.block import Block
from wmma_emu.kernels.checked_launch import CheckedLaunch
from wmma_emu.kernels.live_machine import LiveMachine
from wmma_emu.kernels.memory_of_kernels import as_memory_of_kernel
from wmma_emu.kernels.shared_layout import SharedLayout
from wmma_emu.kernels.trace import Place
from wmma_emu.kernels.warp_context import WarpContext
from wmma_emu.kernels.warp_run import WarpRun
from wmma_emu.layouts.spec import LANES
from wmma_emu.ptx.findings import CHECKS
from wmma_emu.ptx.launch.options import LaunchOptions
from wmma_emu.ptx.launch.report import Report
from wmma_emu.ptx.launch.silences import Silence
from wmma_emu.scalar.environment import in_ieee_arithmetic

Findings: TypeAlias = str | Mapping[str, str] | Sequence[str] | Callable[[], str | Mapping[str, str] | Sequence[str]]
"""The handling of findings, as in `LaunchOptions`."""


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

    The function's first argument is the warp, a `WarpContext`: ``t.blockIdx``, ``t.threadIdx``, ``t.shared`` and the
    rest. NumPy arrays among the other arguments are global memory; the kernel receives them as `Memory`, whose indices
    are checked. ``kernel[grid, block](...)`` launches it, and returns a `wmma_emu.ptx.Report` of its findings. A
    function that waits at barriers yields them: ``yield t.syncthreads()``; another function calls it with ``yield
    from``.

    Parameters
    ----------
    function : callable
    arch : str or Arch
        The chip: ``t.arch``, the limits of a launch, and the default chip of the fragments and instructions that the
        kernel makes. ``@kernel(arch="sm_80")`` sets it.
    findings : {"warn", "raise", "report"}, sequence of str, mapping, or function
        The handling of findings, as in `wmma_emu.ptx.LaunchOptions`.
    checks : collection of str
        The checks of a launch: names from `wmma_emu.ptx.CHECKS`, all of them by default; ``()`` disables them, which
        saves time. Errors are always raised.
    silence : collection of Silence
        Findings of one kind at one line that are accepted, each with its reason.

    Raises
    ------
    UnsupportedInstructionError
        At the launch, if the chip does not support the grid or the block, or the block is not a multiple of the warp
        size.
    DivergenceError
        If the warps of a block do not reach the same barriers, or lanes differ where one value is needed.
    OutOfBoundsError
        If an index is out of bounds.
    KernelFindingsError
        For findings that ``findings`` makes errors. The kernel's writes remain.

    Notes
    -----
    Blocks run one after another, in the order of their index, x fastest; the warps of a block in order, each up to its
    next barrier. A GPU guarantees no order: a kernel whose result depends on it is wrong on a GPU. The writes of a
    kernel before it failed remain, as on a GPU.

    If several lanes write one element (``x[i] = v``, ``x[i] += v``), the highest lane's value remains; on a GPU this is
    a race with an undefined winner. ``numpy.add.at(x, i, v)`` is atomicAdd. No index wraps. Arrays that are not
    arguments of the kernel are plain NumPy arrays.

    After the launch, the memory accesses of the warps are replayed in the memory of the PTX machine, which finds races
    and reads of uninitialised memory. An error that is one of `wmma_emu.ptx.KINDS` has such a report as
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
    """A kernel that `kernel` makes from a function, launched as ``kernel[grid, block](...)``."""

    def __init__(self, function: Callable[..., Any], arch: Arch, options: LaunchOptions | None = None) -> None:
        is_async = inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
        if not callable(function) or isinstance(function, type | PythonKernel) or is_async:
            fix = '; name a chip with arch: @kernel(arch="sm_80")' if isinstance(function, str | Arch) else ""
            fix = "; it is already a kernel, decorate it once" if isinstance(function, PythonKernel) else fix
            raise CallError(
                f"a kernel must be a plain function, or a generator that yields barriers, not {shorten(function)}{fix}"
            )
        functools.update_wrapper(self, function)
        self.function, self.arch, self._options = function, arch, LaunchOptions() if options is None else options

    @property
    def name(self) -> str:
        """The name of the function."""
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
        """Copy and pickle by name, as functions do."""
        return str(getattr(self, "__qualname__", self.name))

    def __getitem__(self, launch: Any) -> Callable[..., Report]:
        """Choose the grid and the block: integers, or tuples of up to three."""
        if not isinstance(launch, tuple) or len(launch) != 2:
            raise LaunchConfigurationError(
                f"a launch needs a grid and a block, {self.name}[grid, block](...), not [{shorten(launch)}]; declare "
                "shared memory in the kernel, t.shared(shape, dtype)"
            )
        grid, block = dim3(launch[0], "grid"), dim3(launch[1], "block")
        require_legal_launch(grid, block, self.arch)
        threads = prod(block)
        if threads % LANES:
            raise LaunchConfigurationError(
                f"a kernel runs whole warps, but the block has {threads} thread{'s' * (threads > 1)}, not a multiple "
                "of "
                f"{LANES}; launch {-(-threads // LANES) * LANES}, and mask the additional lanes in the kernel"
            )
        return functools.partial(self._launch, grid, block)

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Reject a call: a kernel is launched with a grid and a block."""
        raise LaunchConfigurationError(
            f"{self.name} is a kernel: launch it with a grid and a block, {self.name}[grid, block](...)"
        )

    @in_ieee_arithmetic
    def _launch(self, grid: Dim3, block_size: Dim3, /, *args: Any, **kwargs: Any) -> Report:
        args = tuple(as_memory_of_kernel(x) for x in args)
        kwargs = {name: as_memory_of_kernel(x) for name, x in kwargs.items()}
        named = self._arguments(args, kwargs)
        launch = CheckedLaunch(self.name, self.arch, grid, block_size, named, self._options)
        layout, machine = SharedLayout(), LiveMachine(launch.trace, self.arch, grid, block_size)
        try:
            with launching_on(self.arch), launch.watched():
                for index in _blocks(grid):
                    launch.begin_block(index)
                    block = Block(index, grid, block_size, self.arch, launch.trace, layout, machine)
                    self._run_block(block, launch, args, kwargs)
        except Exception as error:
            launch.report_error(error)
            raise
        return launch.finish()

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments by name; reject arguments that do not match the function, before any warp runs."""
        try:
            signature = inspect.signature(self.function)
        except ValueError:  # a built-in function, which has no signature
            return {f"argument {i}": x for i, x in enumerate(args)} | kwargs
        try:
            _, *named = signature.bind(None, *args, **kwargs).arguments.items()
            return dict(named)
        except TypeError as error:
            raise ArgumentError(
                f"{self.name}{signature} does not take these arguments: {error}; the launch "
                "passes the first one, the warp"
            ) from None

    def _run_block(
        self, block: Block, launch: CheckedLaunch, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:  # fmt: skip
        """Run the warps of a block from barrier to barrier until all have returned."""
        contexts = [WarpContext(block, number) for number in range(block.num_warps)]
        warps = [WarpRun(self.name, self.function, t, args, kwargs) for t in contexts]
        ready: dict[int, Any] = dict.fromkeys(range(len(warps)))
        waiting: dict[int, AnyWaiting] = {}  # in the order of arrival
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
        block.finish()

    def _release(
        self, block: Block, launch: CheckedLaunch, waiting: dict[int, AnyWaiting], returned: set[int]
    ) -> dict[int, Any]:  # fmt: skip
        """Find the warps that may continue, and the value that their barrier returns to them."""
        places = list(waiting.values())
        at_barriers = [x for x in places if isinstance(x, Waiting)]
        for_phases = [x for x in places if isinstance(x, WaitingForPhase)]
        try:
            ready, meetings = release(at_barriers, block.num_warps - len(returned))
            over = [x for x in for_phases if x.barrier.is_over()]
            awaited: list[Place] = []
            if not (ready or over) and for_phases:
                awaited = [x.barrier.machine_call.barrier for x in for_phases]
                block.machine.arrive(awaited)
                over = [x for x in for_phases if x.barrier.is_over()]
            ready |= dict.fromkeys(x.warp for x in over)
            if places:
                launch.meet(at_barriers, meetings, over if ready else for_phases, awaited)
                require_release(ready, places, returned, block.describe_barriers)
        except DivergenceError as error:
            error.add_note(f"in kernel {self.name}, block {tuple(block.index)}")
            raise
        return ready


def _blocks(grid: Dim3) -> Iterator[Dim3]:
    """Yield the indices of the blocks, x fastest; a grid may be too large for a list of them."""
    for z in range(grid.z):
        for y in range(grid.y):
            for x in range(grid.x):
                yield Dim3(x, y, z)
