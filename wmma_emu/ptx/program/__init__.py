# SPDX-License-Identifier: MIT
"""A tree as a program: names resolved, labels counted, memory laid out, functions appended to their callers."""
