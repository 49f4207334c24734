# SPDX-License-Identifier: MIT
"""The modules with cases, one for each project."""

from tools.language_programs import gluon, helion, liger, tutorials

__all__ = ["PROJECTS"]

PROJECTS = (tutorials.TUTORIALS, gluon.GLUON, liger.LIGER, helion.HELION)
"""The projects in the order of the tables."""
