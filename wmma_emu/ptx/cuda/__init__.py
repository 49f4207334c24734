# SPDX-License-Identifier: MIT
"""From CUDA C++, as it stands in a file, to PTX: by NVRTC, by nvcc, or by NVRTC without the code of the host."""
