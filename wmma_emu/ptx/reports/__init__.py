# SPDX-License-Identifier: MIT
"""Findings as people read them, derived from a launch's sightings: one for each cause, with the lines of the source."""
