# SPDX-License-Identifier: MIT
"""From a program to a kernel that can be launched: legality, fusion, folding, arguments."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from wmma_emu.errors import LaunchLimitError, UnsupportedInstructionError
from wmma_emu.instructions.launches import Dim3
from wmma_emu.ptx.cpp.demangle import plain_name
from wmma_emu.ptx.launch.arguments import Argument, ArgumentReader, LaunchArguments
from wmma_emu.ptx.launch.options import unknown_options
from wmma_emu.ptx.launch.ptx_text import PtxText
from wmma_emu.ptx.launch.source_types import SourceTypes, types_of_name
from wmma_emu.ptx.machine.compile import CompiledProgram, compile_program
from wmma_emu.ptx.machine.known_values import evaluate
from wmma_emu.ptx.machine.limits import Deadline, Exceeded, Limits
from wmma_emu.ptx.program.contraction import Contracted
from wmma_emu.ptx.program.folding import fold
from wmma_emu.ptx.program.program import KernelProgram, Parameter
from wmma_emu.ptx.program.register_pairs import split_wide_registers
from wmma_emu.ptx.steps.lane_operations import CompileContext
from wmma_emu.ptx.steps.legal_operands import is_legal
from wmma_emu.ptx.steps.spelling import in_manual_order
from wmma_emu.scalar.environment import in_ieee_arithmetic

if TYPE_CHECKING:
    from wmma_emu.ptx.native.table import KernelTable


class PreparedKernel:
    """A kernel of a module, as a launch uses it: a `Kernel` without the choice of a grid."""

    hidden_parameters = 0
    labels: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()

    @in_ieee_arithmetic
    def __init__(self, module: PtxText, program: KernelProgram) -> None:
        self.module = module
        program = split_wide_registers(in_manual_order(program))
        roundings = module.open_roundings
        self.folded: tuple[int, ...] = ()
        self._compiled: CompiledProgram | None = None
        self._native: tuple[KernelTable | None, str] | None = None
        if is_legal(program):
            program, self.folded = fold(program, evaluate, contracts=roundings.policy != "never")
            contracted, self.contraction = roundings.decide(program)
        else:
            contracted, self.contraction = Contracted(program), "never: the kernel cannot run"
        self.program, self.contracted = contracted.program, contracted.lines
        self.name, self.called = program.name, plain_name(program.name) or program.name
        self.types: SourceTypes = types_of_name(program)
        self.binding = CompileContext(
            self.program, module.arch, module.engine, target=module.program.target, version=module.program.version
        )

    @property
    def compiled(self) -> CompiledProgram:
        """The compiled program that the machine executes."""
        return self._compiled or self.compile(Deadline(Limits()))

    def compile(self, deadline: Deadline) -> CompiledProgram:
        """Compile the program, once, within a time limit.

        Raises
        ------
        LaunchLimitError
            If it takes longer.
        """
        if self._compiled is None:
            try:
                self._compiled = compile_program(self.program, self.binding, deadline.check)
            except Exceeded as error:
                raise self._late(error) from None
        return self._compiled

    def _late(self, error: Exceeded) -> LaunchLimitError:
        return LaunchLimitError(
            f"the compilation of {self.called}, which has {len(self.program.instructions)} instructions, took "
            f"more than {error}: raise max_seconds"
        )

    def native_table(self, deadline: Deadline) -> "tuple[KernelTable | None, str]":
        """Return the table of the native machine, made once; or None, and why the kernel has none.

        Raises
        ------
        LaunchLimitError
            If it takes longer than the time limit.
        """
        if self._native is None:
            from wmma_emu.ptx.native.rows import NotNativeError
            from wmma_emu.ptx.native.table import table_of

            try:
                self._native = table_of(self.compiled, self.binding, deadline.check), ""
            except NotNativeError as error:
                self._native = None, str(error)
            except Exceeded as error:
                raise self._late(error) from None
        return self._native

    def require_modelled(self) -> None:
        """Reject a kernel with instructions that are not modelled.

        Raises
        ------
        UnsupportedInstructionError
            If there are such instructions; the error names the first.
        """
        missing = self.compiled.missing
        if missing:
            more = f"; and {len(missing) - 1} more, which explain() lists" if len(missing) > 1 else ""
            raise UnsupportedInstructionError(
                f"{self.called} cannot run, line {missing[0].line}: {self.program.text(missing[0].line)}\n"
                f"{missing[0].reason}{more}"
            )

    def require_modeled(self) -> None:
        """Call `require_modelled`: the American spelling."""
        self.require_modelled()

    def __repr__(self) -> str:
        types = ", ".join(f".{x.type}" for x in self.parameters)
        return f"<kernel {self.called}({types}) on {self.module.arch}>"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters for which a launch passes arguments."""
        return self.program.parameters[: len(self.program.parameters) - self.hidden_parameters]

    def read(self, arguments: Sequence[Any], keywords: dict[str, Any], grid: Dim3) -> LaunchArguments:
        """Read the arguments of a launch; keywords that are arguments, not options, are removed from the dict."""
        return LaunchArguments(self._reader.read(arguments, unknown_options(keywords)), self.assumed)

    @cached_property
    def _reader(self) -> ArgumentReader:
        return ArgumentReader(self.program, self.called, self.labels, self.hidden_parameters, self.types.types)

    def check_arguments(self, arguments: Sequence[Argument], places: dict[str, int]) -> None:
        """Reject arguments that violate the compiler's assumptions; ``places`` are addresses of arrays by label."""
