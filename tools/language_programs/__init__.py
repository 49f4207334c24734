# SPDX-License-Identifier: MIT
"""Kernels of other projects, launched unedited by their own host code on an emulated chip: a fixed list of cases."""
