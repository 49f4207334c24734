# SPDX-License-Identifier: MIT
"""Functions that a source calls without defining them: what would define each of them."""

_LIBRARIES = (
    ("__nv_", "libdevice, which nvcc, NVRTC and clang link before they write PTX, defines it: libdevice.10.bc"),
    ("cudaCG", "cudadevrt (cooperative groups) defines it; module.link() links the emulator's own functions of a grid"),
    ("cuda", "cudadevrt defines it, for launches from kernels, which the emulator does not have"),
    ("__cudaCDP", "cudadevrt defines it, for launches from kernels, which the emulator does not have"),
    ("cnp", "cudadevrt defines it, for launches from kernels, which the emulator does not have"),
    ("curand", "the headers of cuRAND define it: #include <curand_kernel.h>"),
    ("nvshmem", "the device library of NVSHMEM defines it"),
    ("cufft", "the device library of cuFFT (cuFFTDx) defines it"),
    ("cublas", "cublas_device, which CUDA 10 removed, defined it"),
    ("__assert", "the driver defines __assertfail"),
    ("_ZN3cub", "the headers of CUB define it: #include <cub/cub.cuh>"),
    ("_ZN6thrust", "the headers of Thrust define it"),
)
"""Prefixes of names, with the library that defines such functions (CUDA Toolkit 13.0)."""


def what_defines(name: str) -> str:
    """Return what would define a function, as the end of a message.

    Examples
    --------
    >>> what_defines("__nv_sinf")
    'libdevice, which nvcc, NVRTC and clang link before they write PTX, defines it: libdevice.10.bc'
    >>> what_defines("helper")
    'link the PTX that defines it: module.link(other)'
    """
    for prefix, what in _LIBRARIES:
        if name.startswith(prefix):
            return what
    return "link the PTX that defines it: module.link(other)"
