# SPDX-License-Identifier: MIT
"""What compilers make of names of C++, read back: the functions, the types, the values in a mangled name.

It is here, and no dependency, because no reader in Python knows the names that kernels have: itanium-demangler 1.1 has
no lambdas, no types inside functions, no expressions, no ``decltype``, and expands no packs of parameters.
"""
