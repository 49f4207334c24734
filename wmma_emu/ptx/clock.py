# SPDX-License-Identifier: MIT
"""The emulated time of a launch, which the clocks and timers of a kernel show."""

_START = 1 << 20
_AT_ONCE = 16
_NEAR = 256
_LARGEST_LEAP = 36


class Clock:
    """Emulated time: one cycle, which is one nanosecond, for each instruction that is stepped, and for each reading.

    PTX promises only that clocks advance, and nothing about how fast. A loop that waits only for time would run for as
    many steps as it waits for cycles: after 16 iterations, the time advances by twice as much with each. The time
    continues from one wave to the next, and is the same in every run. ``timers`` are the operands, by their `id`, that
    such loops read. While the clock is stopped, every reading is the same.

    Examples
    --------
    >>> clock, timer = Clock(frozenset({7})), 7
    >>> first = clock.read(0, steps=5)
    >>> clock.read(0, steps=10) - first
    6
    >>> start = clock.read(timer, steps=20)
    >>> sum(clock.read(timer, steps=20 + i) < start + 1_000_000_000 for i in range(100))
    43
    >>> now = clock.stop(steps=200)
    >>> clock.leap(1 << 40)
    >>> [clock.read(timer, steps=x) - now == 1 << 40 for x in (300, 400)]
    [True, True]
    >>> clock.resume(steps=500)
    >>> clock.read(0, steps=500) - now - (1 << 40)
    1
    """

    def __init__(self, timers: frozenset[int] = frozenset()) -> None:
        self._timers = timers
        self._ahead = _START
        self._repeats: dict[int, tuple[int, int]] = {}
        self._stopped: int | None = None

    def read(self, operand: int, steps: int) -> int:
        """Return the time, for an operand by its `id`, when a number of instructions of the wave were stepped."""
        if self._stopped is not None:
            return self._stopped
        leap = 1
        if operand in self._timers:
            last, repeats = self._repeats.get(operand, (steps, 0))
            repeats = repeats + 1 if steps - last <= _NEAR else 0
            self._repeats[operand] = steps, repeats
            leap = 1 << min(max(repeats - _AT_ONCE, 0), _LARGEST_LEAP)
        self._ahead += leap
        return steps + self._ahead

    def sleep(self, nanoseconds: int) -> None:
        """Let time pass, as a thread that sleeps does."""
        if self._stopped is None:
            self._ahead += nanoseconds

    def stop(self, steps: int) -> int:
        """Let no time pass from now on, after a number of steps; return the time."""
        if self._stopped is None:
            self._stopped = steps + self._ahead
        return self._stopped

    def leap(self, nanoseconds: int) -> None:
        """Set the clock forward while it is stopped."""
        if self._stopped is not None:
            self._stopped += nanoseconds

    def resume(self, steps: int) -> None:
        """Let time pass again."""
        if self._stopped is not None:
            self._ahead, self._stopped = self._stopped - steps, None

    def end_wave(self, steps: int) -> None:
        """Keep the time of a wave that has ended after a number of steps."""
        self.resume(steps)
        self._ahead += steps
        self._repeats.clear()
