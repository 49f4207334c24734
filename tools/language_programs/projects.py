# SPDX-License-Identifier: MIT
"""The modules with cases, one for each project."""

from tools.language_programs import fla, gluon, liger, tutorials, unsloth

__all__ = ["PROJECTS"]

PROJECTS = (tutorials.TUTORIALS, tutorials.FORK, gluon.GLUON, liger.LIGER, fla.FLA, unsloth.UNSLOTH)
"""The projects in the order of the tables."""
