# SPDX-License-Identifier: MIT
"""Launches whose result depends on the order of atomic operations, named by these.

    python -m tools.atomic_order BUNDLES [--orders 4]

The atomic operations are found by rule: sums of floating-point numbers, which round in each order differently, and
operations whose earlier value the kernel reads, as for a lock or a ticket. Launches with one are run in several orders
of blocks and warps; a launch with other bits in one of them is unordered. Equal bits in all of them prove no order.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tools.bundle_launcher import bits_of, bundles_in, image_of, modules_of, read_bundle
from tools.launch_bundles import emulated, module_of
from wmma_emu.ptx.program.program import KernelProgram, PtxInstruction, Register

__all__ = ["OrderedAtomic", "arrays_that_differ", "ordered_atomics"]


class OrderedAtomic(NamedTuple):
    """An atomic operation whose order a result may show.

    Attributes
    ----------
    opcode : str
    line : int
        The line of the PTX.
    source : str
        The line of the source, "" if it is unknown.
    """

    opcode: str
    line: int
    source: str

    def __str__(self) -> str:
        return f"{self.opcode} at {self.source or f'line {self.line} of the PTX'}"


def ordered_atomics(program: KernelProgram) -> tuple[OrderedAtomic, ...]:
    """Return the atomic operations of a kernel whose order its results may show.

    Examples
    --------
    >>> from wmma_emu.ptx import Module
    >>> text = ".version 8.0 .target sm_80 .address_size 64 .visible .entry k(.param .u64 x) { .reg .b64 %d;"
    >>> text += " .reg .f32 %f; ld.param.u64 %d, [x]; mov.f32 %f, 0f3F800000;"
    >>> for body in ("red.global.add.f32 [%d], %f;", "red.global.add.u32 [%d], 1;"):
    ...     program = Module(f"{text} {body} ret; }}").program.kernels["k"]
    ...     print([str(x) for x in ordered_atomics(program)])
    ['red.global.add.f32 at line 1 of the PTX']
    []
    """
    found = []
    for one in program.instructions:
        if one.mnemonic not in ("atom", "red"):
            continue
        is_sum = "add" in one.modifiers and one.modifiers[-1][0] in "fb"
        if is_sum or (one.mnemonic == "atom" and _is_read(one, program)):
            source = "" if one.source is None else str(one.source).split(", inlined")[0]
            found.append(OrderedAtomic(one.opcode, one.line, "/".join(source.rsplit("/", 2)[-2:])))
    return tuple(found)


def _is_read(atomic: PtxInstruction, program: KernelProgram) -> bool:
    """Return whether another instruction reads the register with the earlier value."""
    result = next(iter(_registers(atomic.operands[:1])), None)
    return result is not None and any(
        result in _registers(x.operands[1:] if x.mnemonic not in ("st", "red") else x.operands)
        or result in _registers((x.guard,))
        for x in program.instructions
        if x is not atomic
    )


def _registers(operands: Any) -> Iterator[int]:
    """Yield the numbers of the registers in operands."""
    for one in operands:
        if isinstance(one, Register):
            yield one.index
        elif isinstance(one, tuple | list):
            yield from _registers(one)
        elif is_dataclass(one):
            yield from _registers(getattr(one, x.name) for x in fields(one))


def arrays_that_differ(bundle: Path, orders: int) -> list[str]:
    """Return the arrays whose bits another order of blocks and warps changes."""
    launch, arrays = read_bundle(bundle)
    text = image_of(next(x for x in modules_of(bundle) if ".ptx" in x.suffixes)).decode()
    first, *others = (
        emulated(launch, arrays, module_of(text, launch["arch"], schedule=seed, checks=()))[0]
        for seed in (None, *range(orders - 1))
    )
    return [x for x in first if any(bits_of(first[x]) != bits_of(y[x]) for y in others)]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bundles", type=Path)
    parser.add_argument("--orders", type=int, default=4)
    given = parser.parse_args(argv)
    for bundle in bundles_in(given.bundles):
        launch = read_bundle(bundle)[0]
        text = image_of(next(x for x in modules_of(bundle) if ".ptx" in x.suffixes)).decode()
        atomics = ordered_atomics(module_of(text, launch["arch"]).program.kernels[launch["kernel"]])
        if atomics:
            differ = arrays_that_differ(bundle, given.orders)
            said = f"{', '.join(differ)} differ" if differ else "equal"
            names = "; ".join(dict.fromkeys(map(str, atomics)))
            print(f"{bundle.name}: {said} in {given.orders} orders; {names}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
