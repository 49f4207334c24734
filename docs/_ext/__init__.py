# SPDX-License-Identifier: MIT
"""Sphinx extensions that generate the reference pages, the pictures and the explorer from the tables."""
