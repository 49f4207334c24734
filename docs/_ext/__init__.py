# SPDX-License-Identifier: MIT
"""The generated parts of the documentation site: reference pages, pictures, the explorer."""
