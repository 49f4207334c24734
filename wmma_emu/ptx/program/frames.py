# SPDX-License-Identifier: MIT
"""The local memory of a function, and the functions that may call themselves."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from wmma_emu.ptx.program.sizes import align, alignment_of, bytes_of
from wmma_emu.ptx.syntax.tree import VariableText


@dataclass(slots=True)
class Frame:
    """The local memory of a function while it is laid out: its ``.local`` and ``.param`` variables.

    ``bytes`` is the size so far, and ``array_bytes`` the part of the ``.local`` variables.
    """

    bytes: int = 0
    array_bytes: int = 0
    _free: dict[tuple[int, int], list[int]] = field(default_factory=dict)

    def allocate(self, variable: VariableText) -> int:
        """Return the offset of a variable; a ``.param`` variable may reuse the bytes of one whose scope has ended.

        Examples
        --------
        >>> def variable(space, kind):
        ...     return VariableText(space, kind, "x", None, (), None, 1, None, (), 1, 1)
        >>> frame, b32, b64 = Frame(), variable("param", "b32"), variable("local", "b64")
        >>> frame.allocate(b32), frame.allocate(b64), frame.bytes, frame.array_bytes
        (0, 8, 16, 8)
        >>> frame.release(b32, 0)
        >>> frame.allocate(b32), frame.bytes
        (0, 16)
        """
        size, alignment = bytes_of(variable), alignment_of(variable)
        unused = self._free.get((size, alignment))
        if unused and variable.space == "param":
            return unused.pop()
        offset = align(self.bytes, alignment)
        self.bytes = offset + size
        self.array_bytes += size * (variable.space == "local")
        return offset

    def release(self, variable: VariableText, offset: int) -> None:
        """Release a ``.param`` variable whose scope has ended."""
        self._free.setdefault((bytes_of(variable), alignment_of(variable)), []).append(offset)


def cyclic(calls: Mapping[str, Iterable[str]]) -> frozenset[str]:
    """Return the functions that may be called while they are running, directly or through others.

    ``calls`` are the functions that each function calls.

    Examples
    --------
    >>> sorted(cyclic({"k": ["f", "h"], "f": ["g"], "g": ["f"], "h": ["h"]}))
    ['f', 'g', 'h']
    """
    found: set[str] = set()
    for group in components(calls):
        if len(group) > 1 or group[0] in calls.get(group[0], ()):
            found.update(group)
    return frozenset(found)


def components(calls: Mapping[str, Iterable[str]]) -> Iterator[list[str]]:
    """Yield the groups of functions that call each other, each after the groups that it calls (Tarjan's algorithm).

    Examples
    --------
    >>> list(components({"k": ["f"], "f": ["g"], "g": ["f"]}))
    [['g', 'f'], ['k']]
    """
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    open_: set[str] = set()
    for root in calls:
        path = [] if root in index else [(root, iter(calls[root]))]
        while path:
            name, rest = path[-1]
            if name not in index:
                index[name] = lowest[name] = len(index)
                stack.append(name)
                open_.add(name)
            for called in rest:
                if called not in index:
                    path.append((called, iter(calls.get(called, ()))))
                    break
                if called in open_:
                    lowest[name] = min(lowest[name], index[called])
            else:
                path.pop()
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[name])
                if lowest[name] == index[name]:
                    group = [stack.pop()]
                    while group[-1] != name:
                        group.append(stack.pop())
                    open_.difference_update(group)
                    yield group
