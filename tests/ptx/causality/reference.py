# SPDX-License-Identifier: MIT
"""The causality order as the PTX manual defines it: a clock for each thread, one event after the other.

An event is a pair (thread, number). The events of other threads up to some number, the clock, and some single events
precede everything that a thread does next. Threads are (block, warp, lane).
"""

from dataclasses import dataclass, field
from typing import NamedTuple


class Known(NamedTuple):
    """A clock, which is the number of the last known event of each thread, and single events."""

    clock: dict
    events: frozenset

    def joined(self, other: "Known") -> "Known":
        clock = dict(self.clock)
        for thread, number in other.clock.items():
            clock[thread] = max(clock.get(thread, 0), number)
        return Known(clock, self.events | other.events)


NOTHING = Known({}, frozenset())


class Pattern(NamedTuple):
    """A release pattern: what it releases, and the block and the scope of its first operation."""

    known: Known
    block: int
    wide: bool
    of_operation: bool


def unique(patterns):
    """Patterns without duplicates."""
    return list({id(x): x for x in patterns}.values())


class Write(NamedTuple):
    """A strong write, with the release patterns that it ends."""

    thread: tuple
    wide: bool
    patterns: tuple


def reach(block: int, wide: bool, other_block: int, other_wide: bool) -> bool:
    """Whether the scopes of two operations include each other's threads: whether they are morally strong."""
    return block == other_block or (wide and other_wide)


@dataclass
class Reference:
    """All threads of a launch."""

    known: dict = field(default_factory=dict)
    count: dict = field(default_factory=dict)
    fences: dict = field(default_factory=dict)
    seen: dict = field(default_factory=dict)
    words: dict = field(default_factory=dict)
    released: dict = field(default_factory=dict)
    released_fences: dict = field(default_factory=dict)

    def empty(self, barrier):
        self.released.pop(barrier, None)
        self.released_fences.pop(barrier, None)

    def access(self, thread):
        self.count[thread] = self.count.get(thread, 0) + 1
        return thread, self.count[thread]

    def precedes(self, event, thread):
        known = self.known.get(thread, NOTHING)
        return event[0] == thread or event[1] <= known.clock.get(event[0], 0) or event in known.events

    def all_of(self, thread):
        """What a thread releases: everything before it, and its own events."""
        return self.known.get(thread, NOTHING).joined(Known({thread: self.count.get(thread, 0)}, frozenset()))

    def learn(self, thread, known):
        self.known[thread] = self.known.get(thread, NOTHING).joined(known)

    def meet(self, threads, *, of_block):
        """Threads wait for each other; at a barrier of the block they acquire what they have seen."""
        if of_block:
            for thread in threads:
                self.acquire(thread, True)
        together = NOTHING
        for thread in threads:
            together = together.joined(self.all_of(thread))
        fences = [x for thread in threads for x in self.fences.get(thread, ())]
        for thread in threads:
            self.learn(thread, together)
            self.fences[thread] = unique(fences)

    def arrive(self, barrier, threads, *, of_block=True):
        for thread in threads:
            self.acquire(thread, True)
            if of_block:  # fences are passed on, as if the waiting threads had executed them
                self.released_fences.setdefault(barrier, []).extend(self.fences.get(thread, ()))
            self.released[barrier] = self.released.get(barrier, NOTHING).joined(self.all_of(thread))

    def complete(self, barrier, threads):
        for thread in threads:
            self.learn(thread, self.released.get(barrier, NOTHING))
            passed = self.released_fences.get(barrier, [])
            self.fences[thread] = unique([*self.fences.get(thread, ()), *passed])

    def arrive_relaxed(self, barrier, thread):
        for pattern in self.fences.get(thread, ()):
            self.released[barrier] = self.released.get(barrier, NOTHING).joined(pattern.known)

    def see_released(self, barrier, thread):
        pattern = Pattern(self.released.get(barrier, NOTHING), thread[0], False, False)
        self.seen.setdefault(thread, []).append(pattern)

    def fence(self, thread, ordering):
        if ordering.acquires:
            self.acquire(thread, ordering.wide)
        if ordering.releases:
            pattern = Pattern(self.all_of(thread), thread[0], ordering.wide, False)
            self.fences.setdefault(thread, []).append(pattern)

    def acquire(self, thread, wide):
        for pattern in self.seen.get(thread, ()):
            if reach(pattern.block, pattern.wide, thread[0], wide):
                self.learn(thread, pattern.known)

    def write(self, word, thread, ordering, *, is_atomic):
        """A strong write: a store begins a release sequence, an atomic operation continues one."""
        event = self.access(thread)
        also = Known({}, frozenset([event]))
        patterns = [x._replace(known=x.known.joined(also)) for x in self.fences.get(thread, ())]
        if ordering.releases:
            patterns.append(Pattern(self.all_of(thread), thread[0], ordering.wide, True))
        chain = self.words.get(word, [])
        if chain and chain[-1].thread == thread:  # a release operation, followed by a strong write of the same thread
            patterns += [x for x in chain[-1].patterns if x.of_operation]
        found = self.found(chain, thread, ordering.wide)
        self.words[word] = [*(chain if is_atomic else ()), Write(thread, ordering.wide, tuple(patterns))]
        if is_atomic and ordering.reads:
            self.take(thread, found, ordering)
        return event

    def read(self, word, thread, ordering):
        event = self.access(thread)
        self.take(thread, self.found(self.words.get(word, []), thread, ordering.wide), ordering)
        return event

    def take(self, thread, patterns, ordering):
        if not ordering.acquires:
            self.seen.setdefault(thread, []).extend(patterns)
            return
        for pattern in patterns:
            if reach(pattern.block, pattern.wide, thread[0], ordering.wide):
                self.learn(thread, pattern.known)

    @staticmethod
    def found(chain, thread, wide):
        """The release patterns of the writes that an operation observes: back along atomic operations that reach."""
        block, patterns = thread[0], []
        for write in reversed(chain):
            if not reach(block, wide, write.thread[0], write.wide):
                break
            patterns += write.patterns
            block, wide = write.thread[0], write.wide
        return patterns
