# SPDX-License-Identifier: MIT
"""One execution of a kernel's function by a warp: to its end, or from one barrier to the next."""

import functools
import inspect
import sys
from collections.abc import Callable, Generator
from typing import Any

from wmma_emu.errors import CallError, DivergenceError, shorten
from wmma_emu.kernels.barriers import AnyWaiting, Barrier, PhaseWait, Waiting, WaitingForPhase
from wmma_emu.kernels.sites import frames_of_generator
from wmma_emu.kernels.warp_context import WarpContext


class WarpRun:
    """One execution of the function: to its end, or from one barrier to the next."""

    def __init__(
        self, name: str, function: Callable[..., Any], t: WarpContext, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:  # fmt: skip
        self._name, self._t = name, t
        self._start = functools.partial(function, t, *args, **kwargs)
        self._generator: Generator[Any, Any, Any] | None = None
        self._started = False

    def advance(self, result: Any) -> AnyWaiting | None:
        """Run up to the next barrier; return None at the end."""
        try:
            return self._advance(result)
        except Exception as error:
            error.add_note(f"in kernel {self._name}, block {tuple(self._t.blockIdx)}, warp {self._t.warp_id}")
            raise

    def _advance(self, result: Any) -> AnyWaiting | None:
        if not self._started:
            self._started = True
            value = self._start()
            if not inspect.isgenerator(value):
                self._require_end(value)
                return None
            self._generator, result = value, None
        if self._generator is None:
            return None
        try:
            barrier = self._generator.send(result)
        except StopIteration as stop:
            self._require_end(stop.value)
            return None
        if not isinstance(barrier, Barrier | PhaseWait):
            raise DivergenceError(_no_barrier(self._name, barrier))
        self._t._note_yielded(barrier)
        frames = tuple(frames_of_generator(self._generator))
        if isinstance(barrier, PhaseWait):
            return WaitingForPhase(self._t.warp_id, barrier, frames)
        return Waiting(self._t.warp_id, barrier, frames)

    def _require_end(self, value: object) -> None:
        """Reject a warp that ends with an unyielded barrier, or with a value."""
        self._t._require_barriers_yielded()
        if value is not None:
            raise CallError(
                f"{self._name} returned {shorten(value)}; a kernel must not return a value: write to an array"
            )

    def close(self) -> None:
        """End an execution that waits at a barrier."""
        if self._generator is None:
            return
        failure = sys.exception()
        try:
            self._generator.close()
        except Exception as error:
            if failure is None:
                raise
            failure.add_note(f"then warp {self._t.warp_id} failed while it was terminated: {shorten(error, str)}")


def _no_barrier(name: str, given: object) -> str:
    shown, fix = shorten(given), "yield t.syncthreads() or a similar barrier"
    if inspect.isgenerator(given):
        fix = "write: yield from"
    elif inspect.ismethod(given) and isinstance(given.__self__, WarpContext):
        shown = f"t.{given.__name__}"
        fix = f"call it: yield {shown}({'' if given.__name__ == 'syncthreads' else '...'})"
    return f"{name} yielded {shown}, but a kernel may yield only barriers; {fix}"
