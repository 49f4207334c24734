# SPDX-License-Identifier: MIT
"""mbarriers of a Python kernel: barriers in shared memory for warps and asynchronous copies."""

from collections.abc import Iterator
from typing import SupportsIndex

from wmma_emu.errors import OptionError, OutOfBoundsError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.kernels.barriers import PhaseWait
from wmma_emu.kernels.machine_operands import OPERANDS, address
from wmma_emu.kernels.machine_warp import MachineWarp
from wmma_emu.kernels.trace import MachineCall, Place

BYTES = 8


class Mbarrier:
    """A barrier in shared memory, which `WarpContext.mbarrier` declares: CUDA's ``cuda::barrier``, PTX's ``mbarrier``.

    Its phase completes when as many arrivals have come as `init` says, and all expected bytes of copies. Each call acts
    once for the warp, as if one elected thread executed it; `wait` and `test_wait` act for all its threads.

    Examples
    --------
    >>> import numpy as np, wmma_emu as we
    >>> @we.kernel
    ... def hand_over(t, out):
    ...     s, bar = t.shared(32, np.float32), t.mbarrier()
    ...     if t.warp_id == 0:
    ...         bar.init(1)
    ...     yield t.syncthreads()
    ...     if t.warp_id == 0:
    ...         s[t.lane] = 1.5
    ...         bar.arrive()
    ...     else:
    ...         yield bar.wait(0)
    ...         out[t.lane] = s[t.lane]
    >>> out = np.zeros(32, np.float32)
    >>> report = hand_over[1, 64](out)
    >>> out[:3], report.findings
    (array([1.5, 1.5, 1.5], dtype=float32), ())
    """

    def __init__(self, warp: MachineWarp, place: Place, name: str) -> None:
        self._warp, self._place, self._name = warp, place, name

    def __repr__(self) -> str:
        return f"<mbarrier {self._name}>"

    @property
    def place(self) -> Place:
        """Its place in shared memory."""
        return self._place

    def init(self, count: SupportsIndex) -> None:
        """Begin the first phase, which needs ``count`` arrivals: one warp calls it, and a barrier follows."""
        self._call("init", "count", self._number("count", count))

    def inval(self) -> None:
        """End its use, so that its memory can be used for something else."""
        self._call("inval")

    def arrive(self, count: SupportsIndex = 1) -> None:
        """Arrive ``count`` times; what the warp wrote before is visible to those that wait for the phase."""
        self._call("arrive", "count", self._number("count", count), has_state=True)

    def expect_tx(self, nbytes: SupportsIndex) -> None:
        """Expect more bytes of copies in the current phase."""
        self._call("expect_tx.relaxed.cta", "size", self._number("nbytes", nbytes))

    def arrive_expect_tx(self, nbytes: SupportsIndex) -> None:
        """Expect more bytes of copies in the current phase, then arrive once."""
        self._call("arrive.expect_tx", "size", self._number("nbytes", nbytes), has_state=True)

    def wait(self, parity: SupportsIndex) -> PhaseWait:
        """Wait until the phase with a parity has completed: ``yield bar.wait(parity)``.

        The first phase has parity 0, the next one 1, then 0 again.
        """
        call = self._wait("try_wait", parity)
        wait = PhaseWait(f"{self._name}.wait({integer_of(parity)})", call, lambda: self._warp.execute(call))
        return self._warp.waiting(wait)

    def test_wait(self, parity: SupportsIndex) -> bool:
        """Return whether the phase with a parity has completed, without waiting.

        A loop that calls it must yield, for example ``bar.wait``, since the other warps run only then.
        """
        return self._warp.look(self._wait("test_wait", parity))

    def _wait(self, name: str, parity: SupportsIndex) -> MachineCall:
        given = integer_of(parity)
        if given not in (0, 1):
            raise OptionError(f"a parity is 0 or 1, not {shorten(parity)}; of a number of phases it is n % 2")
        opcode = f"mbarrier.{name}.parity.shared::cta.b64"
        operands = (OPERANDS["done"], address("barrier"), OPERANDS["parity"])
        return self._warp.call(opcode, operands, {"barrier": self._place, "parity": given}, by_all=True)

    def _call(self, name: str, operand: str = "", value: int = 0, *, has_state: bool = False) -> None:
        operands = (*((None,) if has_state else ()), address("barrier"), *((OPERANDS[operand],) if operand else ()))
        values: dict[str, int | Place] = {"barrier": self._place, **({operand: value} if operand else {})}
        self._warp.issue(f"mbarrier.{name}.shared::cta.b64", operands, values)

    def _number(self, name: str, given: SupportsIndex) -> int:
        number = integer_of(given)
        if number is None or not 0 <= number < 1 << 32:
            raise OptionError(f"{name} is a number of 32 bits without a sign, not {shorten(given)}")
        return number


class Mbarriers:
    """An array of mbarriers, one for each stage of a pipeline."""

    def __init__(self, barriers: tuple[Mbarrier, ...], name: str) -> None:
        self._barriers, self._name = barriers, name

    def __len__(self) -> int:
        return len(self._barriers)

    def __iter__(self) -> Iterator[Mbarrier]:
        return iter(self._barriers)

    def __getitem__(self, index: SupportsIndex) -> Mbarrier:
        at = integer_of(index)
        if at is None or at not in range(len(self)):
            raise OutOfBoundsError(f"{self._name} has {len(self)} mbarriers, but none with index {shorten(index)}")
        return self._barriers[at]
