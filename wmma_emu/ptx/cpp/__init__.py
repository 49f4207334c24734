# SPDX-License-Identifier: MIT
"""The demangler of C++ names: the functions, types and values in a mangled name.

It replaces a dependency because no demangler in Python reads the names of kernels: itanium-demangler 1.1 does not
support lambdas, types inside functions, expressions or ``decltype``, and does not expand parameter packs.
"""
