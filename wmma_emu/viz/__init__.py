# SPDX-License-Identifier: MIT
"""Pictures, as SVG that needs nothing else. Objects ask for theirs by name, through `wmma_emu.display`."""
