# SPDX-License-Identifier: MIT
"""Thirty-two lanes together: an instruction bound to a chip, and its operands' registers."""
