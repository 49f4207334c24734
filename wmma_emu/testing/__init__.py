# SPDX-License-Identifier: MIT
"""What a test of matrix code imports: inputs that bring out what a chip's arithmetic does."""

from wmma_emu.testing import families

__all__ = ["families"]
