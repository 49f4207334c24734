# SPDX-License-Identifier: MIT
"""What a pointer reaches: elements of an array from an offset on, with bounds and alignment checked."""
