# SPDX-License-Identifier: MIT
"""Uninitialised bits of values, their origins, and the undefined bits of results."""
