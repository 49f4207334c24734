# SPDX-License-Identifier: MIT
"""Checks of proxies: whether the asynchronous proxy and the generic proxy access the same bytes in a known order."""
