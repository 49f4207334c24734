# SPDX-License-Identifier: MIT
"""What compilers make of names of C++, read back: the functions, the types, the values in a mangled name."""
