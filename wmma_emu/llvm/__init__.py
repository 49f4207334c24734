# SPDX-License-Identifier: MIT
"""LLVM as a compiler of functions that other packages write: intermediate code, object code, and its cache."""
