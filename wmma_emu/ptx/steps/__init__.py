# SPDX-License-Identifier: MIT
"""The execution of each PTX instruction."""
