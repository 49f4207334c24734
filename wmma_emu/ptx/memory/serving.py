# SPDX-License-Identifier: MIT
"""Atomic operations of many threads at once: operations on one address are done one after another."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.threads import Array

Addresses = NDArray[np.int64]


class Operation(NamedTuple):
    """The function of an atomic operation: ``compute(old, *operands)`` returns the new value.

    ``associative`` operations of many threads on one address are done in few steps; ``replaces`` is whether the old
    value does not matter. All other operations are done one by one, or by ``running`` where many meet: a function from
    the old value and the operands to the old value and the value after each operation, or None if it cannot compute
    them.
    """

    compute: Callable[..., Array]
    associative: bool = False
    replaces: bool = False
    running: Callable[[Array], Array | None] | None = None


def serve(
    addresses: Addresses, old: Array, operands: tuple[Array, ...], operation: Operation
) -> tuple[Array, Array, Addresses]:
    """Apply the operations in order, each to the element at its address, which holds ``old`` before the first.

    Return the value that each operation finds; the final values at the distinct addresses; and the index of the last
    operation on each address.

    Examples
    --------
    >>> add = Operation(lambda old, x: old + x, associative=True)
    >>> serve(np.array([4, 4, 0]), np.zeros(3, np.uint32), (np.array([1, 2, 3], np.uint32),), add)[0]
    array([0, 1, 0], dtype=uint32)
    """
    n = len(addresses)
    if n < 2 or (addresses[1:] > addresses[:-1]).all():
        return old, operation.compute(old, *operands), np.arange(n)
    order = np.argsort(addresses, kind="stable")
    ordered = addresses[order]
    begins = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    starts = np.flatnonzero(begins)
    if len(starts) == n:
        return old, operation.compute(old, *operands), np.arange(n)
    ends = np.append(starts[1:], n) - 1
    base, sorted_operands = old[order], tuple(x[order] for x in operands)
    if operation.replaces or operation.associative:
        first = np.repeat(starts, ends - starts + 1)
        running = sorted_operands[0] if operation.replaces else _scan(sorted_operands[0], first, operation.compute)
        found = np.concatenate((base[:1], running[:-1]))
        if not operation.replaces:
            found = operation.compute(base, found)
        found = np.where(begins, base, found)
        left = running if operation.replaces else operation.compute(base, running)
    else:
        found, left = _one_by_one(base, sorted_operands, starts, ends, operation)
    before = np.empty_like(old)
    before[order] = found
    return before, left[ends], order[ends]


def _scan(values: Array, first: Addresses, compute: Callable[..., Array]) -> Array:
    """Combine each value with those before it, back to its ``first``, in log2(n) steps."""
    index, step, running = np.arange(len(values)), 1, values
    while True:
        is_in_run = index - step >= first
        if not is_in_run.any():
            return running
        running = np.where(is_in_run, compute(running[np.maximum(index - step, 0)], running), running)
        step *= 2


def _one_by_one(
    base: Array, operands: tuple[Array, ...], starts: Addresses, ends: Addresses, operation: Operation
) -> tuple[Array, Array]:
    """Execute the operation of the first thread of every address, then that of the second, and so on."""
    found, left = base.copy(), base.copy()
    if operation.running is not None and len(starts) < int((ends - starts).max()):
        rest = np.ones(len(starts), np.bool_)
        for i, (first, last) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
            values = operation.running(np.concatenate((base[first : first + 1], operands[0][first : last + 1])))
            if values is not None:
                found[first : last + 1], left[first : last + 1] = values[:-1], values[1:]
                rest[i] = False
        starts, ends = starts[rest], ends[rest]
    compute = operation.compute
    at, current = starts, base[starts]
    while len(at):
        found[at] = current
        current = compute(current, *(x[at] for x in operands))
        left[at] = current
        more = at < ends
        at, ends, current = at[more] + 1, ends[more], current[more]
    return found, left
