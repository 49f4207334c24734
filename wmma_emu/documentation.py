# SPDX-License-Identifier: MIT
"""Where the documentation is: the one place that its address is written in."""

DOCUMENTATION = ""
"""Address at which the documentation is hosted, with a slash at its end; "" as long as it is not."""
