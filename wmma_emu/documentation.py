# SPDX-License-Identifier: MIT
"""The address of the documentation."""

DOCUMENTATION = ""
"""The address at which the documentation is hosted, with a trailing slash; "" while it is not hosted."""
