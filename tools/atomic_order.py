# SPDX-License-Identifier: MIT
"""Launches whose result depends on the order of atomic operations, named by these.

    python -m tools.atomic_order BUNDLES [--orders 4]

The atomic operations are found by rule: sums of floating-point numbers, which round in each order differently, and
operations whose earlier value the kernel reads, as for a lock or a ticket. Launches with one are run in several orders
of blocks and warps; a launch with other bits in one of them is unordered. Equal bits in all of them prove no order.
"""

import argparse
import sys
from pathlib import Path

from tools.bundle_launcher import bits_of, bundles_in, read_bundle
from tools.launch_bundles import emulated, module_of, text_of
from tools.ordered_atomics import ordered_atomics

__all__ = ["arrays_that_differ"]


def arrays_that_differ(bundle: Path, orders: int) -> list[str]:
    """Return the arrays whose bits another order of blocks and warps changes."""
    launch, arrays = read_bundle(bundle)
    text = text_of(bundle)
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
        atomics = ordered_atomics(module_of(text_of(bundle), launch["arch"]).program.kernels[launch["kernel"]])
        if atomics:
            differ = arrays_that_differ(bundle, given.orders)
            said = f"{', '.join(differ)} differ" if differ else "equal"
            names = "; ".join(dict.fromkeys(map(str, atomics)))
            print(f"{bundle.name}: {said} in {given.orders} orders; {names}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
