# SPDX-License-Identifier: MIT
"""Compare the counters of the profiler with those of Nsight Compute: see `tools.profile_kernels.__main__`."""
