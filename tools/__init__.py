# SPDX-License-Identifier: MIT
"""Scripts for maintainers: recording vectors on a GPU, checking them. Run them as ``python -m tools.NAME``."""
