# SPDX-License-Identifier: MIT
"""A PTX text as a tree: words, expressions, operands, statements."""
