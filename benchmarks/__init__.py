# SPDX-License-Identifier: MIT
"""How fast and how large: ``python -m benchmarks`` measures, prints tables, and writes JSON and a page of them."""
