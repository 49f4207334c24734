# SPDX-License-Identifier: MIT
"""From what a launch has noted to findings that a person reads: one for each cause, with the lines of the source."""
