# SPDX-License-Identifier: MIT
"""The module that Hypothesis loads on import, in every project of an environment; it therefore imports nothing.

When `wmma_emu` later defines a type, it registers the strategy of that type, if Hypothesis has called the hook.
"""

import sys

asked = False
"""Whether Hypothesis has called the hook for strategies of the package's types."""


def _hypothesis_setup_hook() -> None:
    """Register strategies for the types of the package that exist already, and record the call for later types."""
    global asked
    asked = True
    types = sys.modules.get("wmma_emu.drawn_types")
    if types is not None:
        types.register_all()
