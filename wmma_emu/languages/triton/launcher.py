# SPDX-License-Identifier: MIT
"""One launch: the PTX that Triton compiled for it, with the arguments that Triton bound."""

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

from wmma_emu.errors import ArgumentError, KernelFindingsError, WmmaEmuError
from wmma_emu.languages.session import Session
from wmma_emu.languages.triton.arguments import in_host_memory
from wmma_emu.languages.triton.device import LoadedKernel
from wmma_emu.ptx import Module
from wmma_emu.ptx.launch.options import Launched
from wmma_emu.ptx.launch.report import Report, summary_of
from wmma_emu.ptx.launch.triton_kernel import TritonKernel, TritonLaunch
from wmma_emu.ptx.launch.triton_source import compiled_triton

LANGUAGE = "Triton"


class Launcher:
    """Triton's launcher of a compiled kernel, made once for each specialisation and called for each launch."""

    def __init__(self, session: Session, source: Any, metadata: Any) -> None:
        self._session, self._source, self._metadata = session, source, metadata
        self._kernel: TritonKernel | None = None

    def __call__(
        self, x: int, y: int, z: int, stream: int, function: LoadedKernel, packed: object, launch_metadata: Any,
        enter: Callable[[Any], object] | None, leave: Callable[[Any], object] | None, *arguments: Any,
    ) -> None:  # fmt: skip
        """Launch: hooks are called before and after it, and a grid without blocks runs nothing, as on a GPU."""
        __tracebackhide__ = True
        if enter is not None:
            enter(launch_metadata)
        if x * y * z > 0:
            self._launch(function, (x, y, z), arguments)
        if leave is not None:
            leave(launch_metadata)

    def _launch(self, function: LoadedKernel, grid: tuple[int, int, int], arguments: tuple[Any, ...]) -> None:
        __tracebackhide__ = True
        session, name = self._session, function.name
        try:
            kernel = self._kernel = self._kernel or self._loaded(function)
            self._require_allocator(grid)
            values = {x: in_host_memory(value, f"{x} of {name}") for x, value in self._bound(name, arguments)}
            report = TritonLaunch(name, grid, lambda *_: (kernel, values))()
            self._require_end(name, report)
        except KernelFindingsError:  # its report has been noted
            raise
        except WmmaEmuError as error:
            session.refused(LANGUAGE, name, error)
            raise

    def _require_end(self, name: str, report: Report) -> None:
        """Raise an error if a launch was stopped, as a GPU does at the next synchronisation."""
        if not report.completed and self._session.options.get("findings") != "report":
            summary = summary_of(report)
            text = f"{name} did not reach its end, and its results are not complete:\n{summary}"
            raise KernelFindingsError(text, report, report.errors)

    def _bound(self, name: str, arguments: tuple[Any, ...]) -> Iterable[tuple[str, Any]]:
        signature = self._source.signature
        if len(arguments) != len(signature):
            raise ArgumentError(
                f"{name} was launched with {len(arguments)} arguments, and has {len(signature)} with its constexprs: "
                f"{', '.join(signature)}"
            )
        return zip(signature, arguments, strict=True)

    def _note(self, launched: Launched) -> None:
        """Note a launch before its findings raise or warn, and pass it to the ``watch`` of the session's options."""
        self._session.launched(LANGUAGE, launched.launch.kernel.called, launched.report)
        watch = self._session.options.get("watch")
        if watch is not None:
            watch(launched)

    def _loaded(self, function: LoadedKernel) -> TritonKernel:
        source = self._source
        if not hasattr(source, "fn"):
            raise ArgumentError(
                f"{function.name} was compiled from a file of Triton's IR, which has no names and types of arguments; "
                "launch the Triton function"
            )
        given = [x.name for x in source.fn.params if not x.is_constexpr]
        kernel = SimpleNamespace(metadata=self._metadata, src=source, asm={"ptx": function.text})
        compiled = compiled_triton(kernel, given)
        options = {**self._session.module_options, "watch": self._note}
        module = Module.of_compiled_triton(compiled, self._session.arch, **options)
        found = module.kernel
        if not isinstance(found, TritonKernel):
            raise TypeError("a module of a compiled Triton function has a Triton kernel")
        return found

    def _require_allocator(self, grid: tuple[int, int, int]) -> None:
        """Ask Triton's allocator for global scratch as a launch on a GPU does, so that a missing one is an error here.

        The memory that it returns is not used: the emulator's own has red zones, and is uninitialised.
        """
        size, align = self._metadata.global_scratch_size, self._metadata.global_scratch_align
        if size:
            from triton.runtime import _allocation

            blocks = grid[0] * grid[1] * grid[2] * self._metadata.num_ctas
            _allocation._allocator.get()(size * blocks, align, 0)
