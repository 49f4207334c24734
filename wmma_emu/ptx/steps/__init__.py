# SPDX-License-Identifier: MIT
"""What each instruction of PTX does."""
