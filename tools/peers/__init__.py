# SPDX-License-Identifier: MIT
"""Other projects' suites, run on the emulator: one tool for each, which takes a checkout and prints a table."""
