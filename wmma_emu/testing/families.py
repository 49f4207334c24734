# SPDX-License-Identifier: MIT
"""The old name of `wmma_emu.testing.generators`, kept for one version."""

from wmma_emu.renamed import renamed_names

_NAMES = {"FAMILIES": "GENERATORS", "Family": "InputGenerator", "families_of": "generators_of"}
_KEPT = ("VERSION", "Operands", "Sample", "Scales", "draw", "draw_scales", "matrices")

__all__ = sorted([*_NAMES, *_KEPT])

__getattr__ = renamed_names(__name__, {**_NAMES, **{x: x for x in _KEPT}}, "wmma_emu.testing.generators")
