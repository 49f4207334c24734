# SPDX-License-Identifier: MIT
"""Kernels compiled by Triton, launched with a grid and the arguments of the function."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import AlignmentError, ArgumentError, UnsupportedInstructionError
from wmma_emu.instructions.launches import Dim3, dim3
from wmma_emu.ptx.definedness.empty_arrays import empty
from wmma_emu.ptx.launch.arguments import Argument, LaunchArguments
from wmma_emu.ptx.launch.calls import errors_at_the_caller
from wmma_emu.ptx.launch.kernel import Kernel
from wmma_emu.ptx.launch.launching import Launch
from wmma_emu.ptx.launch.ptx_text import PtxText
from wmma_emu.ptx.launch.report import Report
from wmma_emu.ptx.launch.source_types import types_of_triton
from wmma_emu.ptx.launch.triton_arguments import parameter_values, require_constant
from wmma_emu.ptx.launch.triton_compiled import CompiledTriton, leaf_names
from wmma_emu.ptx.program.program import KernelProgram

_SCRATCH: tuple[tuple[str, Callable[[int], NDArray[np.uint8]]], ...] = (
    ("global scratch", lambda size: empty(size, np.uint8)),
    ("profile scratch", lambda size: np.zeros(size, np.uint8)),
)
"""The initial scratch memory: uninitialised, as from cudaMalloc, and zero, as from Triton's own allocator."""


class TritonKernel(Kernel):
    """A kernel compiled by Triton, launched as ``kernel[grid](...)``: the block and its memory are already known.

    ``arguments`` are the non-constexpr arguments of the Triton function; a constexpr may be repeated by name, with the
    value that the kernel was compiled for.
    """

    def __init__(self, module: PtxText, program: KernelProgram) -> None:
        super().__init__(module, program)
        compiled = module.triton
        if compiled is None:
            raise TypeError("a TritonKernel needs a module from Module.from_triton")
        self.triton = compiled
        self.labels = tuple(name for name, _ in compiled.parameters)
        self.hidden_parameters = max(len(program.parameters) - len(self.labels), 0)
        self.assumed = compiled.assumed
        self.types = types_of_triton(self.labels, dict(compiled.parameters))

    def require_modelled(self) -> None:
        """Reject clusters, tensor maps of FP4, and parameters that Triton's instrumentation adds."""
        compiled = self.triton
        for found, what in (
            (compiled.num_ctas != 1, f"runs in clusters of {compiled.num_ctas} blocks"),
            (any(x.get("fp4_padded") for x in compiled.tensor_maps), "takes tensor maps of packed FP4"),
            (self.hidden_parameters != len(_SCRATCH), "has parameters that Triton's instrumentation added"),
        ):
            if found:
                raise UnsupportedInstructionError(f"{self.called} {what}, which is not modelled")
        super().require_modelled()

    @errors_at_the_caller
    def __getitem__(self, grid: Any) -> "Launch | TritonLaunch":  # type: ignore[override]
        """Choose the grid: an integer, a tuple of up to three, or a function of the arguments as in Triton."""
        if callable(grid):
            return TritonLaunch(self.called, grid, self._bound)
        return self.launch(grid)

    def launch(self, grid: Any) -> Launch:
        """Return the launch for a grid that is known."""
        return Launch(self, dim3(grid, "grid"), Dim3(32 * self.triton.num_warps), self.triton.shared_bytes)

    def read(self, arguments: Sequence[Any], keywords: dict[str, Any], grid: Dim3) -> LaunchArguments:
        """Read the arguments of a launch, by position or name, and add the scratch memory of all blocks."""
        return self.read_values(_named(self.triton, arguments, keywords), grid)

    def read_values(self, values: Mapping[str, Any], grid: Dim3) -> LaunchArguments:
        """Read the arguments of a launch by name, and add the scratch memory of all blocks."""
        out = list(super().read(parameter_values(self.triton, values), {}, grid).values)
        for i, ((what, take), scratch) in enumerate(zip(_SCRATCH, self.triton.scratch, strict=True)):
            if scratch.bytes:
                place = len(self.labels) + i
                memory = take(scratch.bytes * grid.x * grid.y * grid.z)
                out[place] = Argument(out[place].parameter, f"the {what} of {self.called}", memory)
        mismatches = self.triton.mismatches
        return LaunchArguments(out, self.assumed + (() if mismatches is None else mismatches(values)))

    def check_arguments(self, arguments: Sequence[Argument], places: dict[str, int]) -> None:
        """Reject integers and addresses that violate a promise to be multiples of 16."""
        for name, (_, label, value, *_) in zip(self.labels, arguments, strict=False):
            if name not in self._divisible:
                continue
            number = int.from_bytes(value, "little") if isinstance(value, bytes) else places.get(label, 0)
            if number % 16:
                what = f"is {number}" if isinstance(value, bytes) else f"starts {number % 16} bytes after one"
                raise AlignmentError(
                    f"{label} was promised to be a multiple of 16 when the kernel was compiled, but {what}; remove "
                    f"{name} from divisible_by_16, or let from_triton read the arguments of each launch"
                )

    def _bound(self, arguments: Sequence[Any], keywords: dict[str, Any]) -> "tuple[TritonKernel, dict[str, Any]]":
        names = list(self.triton.signature)
        constants = {names[path[0]]: x for path, x in self.triton.constants.items() if len(path) == 1}
        return self, constants | _named(self.triton, arguments, keywords)

    @cached_property
    def _divisible(self) -> frozenset[str]:
        leaves = leaf_names(self.triton.signature)
        return frozenset(leaves[path][0] for path in self.triton.divisible)


class TritonLaunch:
    """A launch whose kernel, or whose grid, depends on its arguments.

    Parameters
    ----------
    called : str
    grid : int, tuple of int, or function
        A function receives a dict of all parameters, including constexprs.
    bind : function
        Returns the kernel for positional and named arguments, and all arguments by name; removes the names of
        arguments from the dict, and leaves launch options there.
    """

    def __init__(self, called: str, grid: Any, bind: Callable[..., tuple[TritonKernel, dict[str, Any]]]) -> None:
        self.called, self.grid, self._bind = called, grid, bind

    def __repr__(self) -> str:
        return f"{self.called}[{self.grid}]"

    @errors_at_the_caller
    def __call__(self, *arguments: Any, **keywords: Any) -> Report:
        """Run the kernel and update the arrays, as `Launch` does."""
        kernel, bound = self._bind(arguments, keywords)
        launch = kernel.launch(self.grid(bound) if callable(self.grid) else self.grid)
        if kernel.triton.cooperative:
            keywords.setdefault("cooperative", True)
        spent = launch.compile(keywords)
        kernel.require_modelled()
        return launch.run(kernel.read_values({x: bound[x] for x in kernel.triton.given}, launch.grid), keywords, spent)


def _named(compiled: CompiledTriton, arguments: Sequence[Any], keywords: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a launch by name; keywords that are parameters are removed from the dict."""
    names = list(compiled.signature)
    named = {x: keywords.pop(x) for x in list(keywords) if x in names}
    rest = [x for x in compiled.given if x not in named]
    if len(arguments) != len(rest):
        listed = ", ".join(f"{x} {_shown(compiled.signature[x])}" for x in compiled.given)
        count, given = len(compiled.given), len(arguments) + len(compiled.given) - len(rest)
        raise ArgumentError(
            f"{compiled.name} takes {count} argument{'s' * (count != 1)}, {given} {'was' if given == 1 else 'were'} "
            f"given; its parameter{' is' if count == 1 else 's are'} {listed or 'none'}; constexprs can only be passed "
            "by name"
        )
    for name in [x for x in named if x not in compiled.given]:
        require_constant(compiled, name, compiled.constants[names.index(name),], named.pop(name))
    return dict(zip(rest, arguments, strict=True)) | named


def _shown(kind: Any) -> str:
    return f"({', '.join(map(_shown, kind))})" if isinstance(kind, tuple) else str(kind)
