# SPDX-License-Identifier: MIT
"""The parser of PTX source: tokens, constant expressions, operands, statements and modules as a tree."""
