# SPDX-License-Identifier: MIT
"""The version of the package: what the build reads, too."""

__version__ = "0.2.0"
