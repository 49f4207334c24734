# SPDX-License-Identifier: MIT
"""The machine that runs a launch: the native one if it can, else, or if that raises a flag, the NumPy machine."""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from wmma_emu.documentation import how_to_install
from wmma_emu.errors import BackendUnavailableError, UnsupportedInstructionError
from wmma_emu.instructions.launches import Dim3
from wmma_emu.ptx.launch.options import Course, LaunchOptions
from wmma_emu.ptx.launch.prepared_kernel import PreparedKernel
from wmma_emu.ptx.machine.limits import Counts, Deadline
from wmma_emu.ptx.memory.heap import GlobalMemory

if TYPE_CHECKING:
    from wmma_emu.ptx.native.table import KernelTable

FLAG_TEXTS = {
    "BOUNDS": "an access may be out of bounds",
    "ALIGNMENT": "an access may be misaligned",
    "RACE": "there may be a race",
    "UNDEFINED": "an uninitialised value may be used",
    "COLLECTIVE": "lanes may be missing at an instruction that a warp or a block executes together",
    "COPY": "data of a copy may be used before it is complete",
    "DEADLOCK": "no thread may be able to make progress",
    "LIMIT": "a limit is exceeded",
    "UNORDERED": "the order of atomic operations may affect the result",
    "UNSUPPORTED": "an operand has a case without native code",
    "TRAP": "the kernel executes trap, or an assertion fails",
}
"""The meaning of each flag of the native machine."""

_SHARE = 0.9
"""The largest share of a launch's time limit that the native machine may use up."""


class NativeLaunch:
    """An attempt to run a launch on the native machine.

    ``reason`` is why the NumPy machine has to run it, "" if the native machine does. ``spent`` are the seconds of the
    time limit that have passed, at first before the attempt, then with it.
    """

    def __init__(
        self, kernel: PreparedKernel, options: LaunchOptions, course: Course, spent: float, *, is_plain: bool
    ) -> None:  # fmt: skip
        self._kernel, self._options = kernel, options
        self._table: KernelTable | None = None
        self.spent = spent
        self.reason = _unsuitable(kernel, options, course, is_plain)
        if not self.reason:
            deadline = Deadline(options.limits, spent=spent)
            self._table, self.reason = kernel.native_table(deadline)
            self.spent = deadline.seconds
        if self.reason and options.machine == "native" and is_plain:
            raise UnsupportedInstructionError(f"{kernel.called} cannot run on the native machine: {self.reason}")

    def run(
        self, heap: GlobalMemory, parameters: bytes, grid: Dim3, block: Dim3, shared_bytes: int
    ) -> Counts | None:  # fmt: skip
        """Run the launch; return None if the NumPy machine has to run it, with the heap as it was."""
        if self._table is None:
            return None
        from wmma_emu.ptx.native.rows import NotNativeError
        from wmma_emu.ptx.native.run import run
        from wmma_emu.ptx.native.workers import Launching

        launching = Launching(self._table, self._kernel.module.arch, heap, parameters, grid, block, shared_bytes)
        try:
            outcome = run(launching, self._options.limits, self.spent)
        except NotNativeError as error:
            self.reason = str(error)
            return None
        if outcome.counts is not None:
            heap.follows_writes = "undefined" in self._options.checks
            return outcome.counts
        heap.reset()
        before, self.spent = self.spent, outcome.seconds
        if self._options.max_seconds is not None:
            # Where the time is over, the NumPy machine raises the error, after it has reached what takes so long.
            self.spent = min(self.spent, max(_SHARE * self._options.max_seconds, before))
        self.reason = "; ".join(FLAG_TEXTS[x.name or ""] for x in outcome.flags)
        return None


def _unsuitable(kernel: PreparedKernel, options: LaunchOptions, course: Course, is_plain: bool) -> str:
    """Return why a launch does not qualify for the native machine, "" if it does."""
    if options.machine == "numpy":
        return 'machine="numpy"'
    if find_spec("llvmlite") is None:
        if options.machine == "native":
            raise BackendUnavailableError(
                f'machine="native" needs llvmlite, which is not installed; {how_to_install("fast")}'
            )
        return "llvmlite is not installed"
    if not is_plain:
        return "the launch is recorded or profiled"
    if course.seed is not None:
        return "the order of the warps is not the default one"
    if course.asynchrony.is_late:
        return "asynchronous operations are late"
    if options.cooperative:
        return "the launch is cooperative"
    if kernel.compiled.polls.lock_attempts:
        return "the kernel takes locks"
    return ""
