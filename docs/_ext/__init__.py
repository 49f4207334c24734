# SPDX-License-Identifier: MIT
"""What the documentation site makes of the tables when it is built: reference pages, pictures, the explorer."""
