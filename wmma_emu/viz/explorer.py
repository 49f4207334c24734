# SPDX-License-Identifier: MIT
"""The explorer and its handouts, importable from `viz`: see `wmma_emu.applications.explorer`."""

from wmma_emu.applications.explorer import explorer_page, handout_page

__all__ = ["explorer_page", "handout_page"]
