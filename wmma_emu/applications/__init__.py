# SPDX-License-Identifier: MIT
"""Programs on top of the emulator: probing, error analysis, campaigns and the explorer.

No other package depends on them.
"""
