# SPDX-License-Identifier: MIT
"""What Hypothesis loads, in every project of an environment, when it is imported; so it imports nothing.

Once `wmma_emu` defines a type, it registers the strategy of that type, if Hypothesis has asked here before.
"""

import sys

asked = False
"""Whether Hypothesis has asked for strategies of the package's types."""


def _hypothesis_setup_hook() -> None:
    """Register strategies for the types of the package that there are already, and let it register those to come."""
    global asked
    asked = True
    types = sys.modules.get("wmma_emu.drawn_types")
    if types is not None:
        types.register_all()
