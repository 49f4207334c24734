# SPDX-License-Identifier: MIT
"""Public C++ programs for Hopper, recorded on a chip and compared with the emulator."""
