# SPDX-License-Identifier: MIT
"""Substitutes for headers of the host library, for machines without a host compiler."""

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from wmma_emu.ptx.cuda.host_members import PLACEHOLDER
from wmma_emu.ptx.cuda.nvrtc import C_HEADERS

PRELUDE = "wmma_emu_host_names.h"
"""The header that is included first: names that the host library provides to every source that nvcc compiles."""

_CONSTANTS = {
    "M_E": "2.7182818284590452354", "M_LOG2E": "1.4426950408889634074", "M_LOG10E": "0.43429448190325182765",
    "M_LN2": "0.69314718055994530942", "M_LN10": "2.30258509299404568402", "M_PI": "3.14159265358979323846",
    "M_PI_2": "1.57079632679489661923", "M_PI_4": "0.78539816339744830962", "M_1_PI": "0.31830988618379067154",
    "M_2_PI": "0.63661977236758134308", "M_2_SQRTPI": "1.12837916709551257390",
    "M_SQRT2": "1.41421356237309504880", "M_SQRT1_2": "0.70710678118654752440",
    "INFINITY": "((float)(1e+300 * 1e+300))", "HUGE_VALF": "((float)(1e+300 * 1e+300))",
    "HUGE_VAL": "(1e+300 * 1e+300)", "NAN": "__int_as_float(0x7fc00000)",
}  # fmt: skip
"""Constants of ``math.h``: POSIX's numbers and C's infinities; NaN has the bits that nvcc gives it."""

_ALWAYS = ("cuda/std/cfloat", "cuda/std/climits")
"""Headers of macros such as FLT_MAX and INT_MAX, which nvcc's own headers include."""


_C = set(
    "complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic stdbool "
    "stddef stdlib stdnoreturn string tgmath threads time uchar wchar wctype unistd pthread dirent dlfcn fcntl getopt "
    "malloc memory omp mpi windows io direct process conio".split()
)
"""Headers of C, POSIX, Windows and compilers, without their ``.h``."""

_LIBRARIES = re.compile(
    r"(?:sys|arpa|netinet|linux|bits|boost|GL|opencv2?|Eigen|gtest|gmock|nvtx3|fmt)/.*|"
    r"(?:nccl|nv(?:ToolsExt|ml|jpeg|rtc)|npp)\w*\.h|"
    r"cu(?:blas|dnn|fft|rand|sparse|solver|pti|tensor|da_profiler|da_gl_interop)\w*\.h"
)
"""Headers of libraries that only host code uses."""


def is_host_header(name: str) -> bool:
    """Return whether a header belongs to a host library.

    Examples
    --------
    >>> [is_host_header(x) for x in ("math.h", "cublas_v2.h", "sys/time.h", "mine.cuh")]
    [True, True, True, False]
    """
    return name.removesuffix(".h") in _C or bool(_LIBRARIES.fullmatch(name))


def headers_for(
    missing: Iterable[str], words: Collection[str], namespaces: Iterable[Sequence[str]], compilers: Sequence[Path]
) -> dict[bytes, bytes]:
    """Make the missing headers, and the prelude.

    A C++ header is CUDA's device version, ``cuda/std/limits`` for ``limits``, if the device code uses ``std``, and
    empty otherwise. ``words`` are the words of the device code, ``namespaces`` those that are used as a whole and might
    not exist otherwise, and ``compilers`` the folders of CUDA's headers.
    """
    has = {x: any((folder / x).is_file() for folder in compilers) for x in _ALWAYS}
    lines = ["#pragma once", *(f"#include <{x}>" for x, there in has.items() if there)]
    lines += [f"#ifndef {x}\n#define {x} {value}\n#endif"
              for x, value in _CONSTANTS.items() if x in words or x.startswith("M_")]  # fmt: skip
    lines += ["#include <stdint.h>", "typedef unsigned int uint; typedef unsigned short ushort;"]
    lines.append(f"template <int> struct {PLACEHOLDER};")
    if not {"ssize_t", "ulong"}.isdisjoint(words):
        lines.append("typedef unsigned long ulong; typedef long ssize_t;")
    lines += [" ".join(f"namespace {x} {{" for x in names) + " }" * len(names) for names in namespaces if names]
    made = {PRELUDE.encode(): "\n".join(lines).encode() + b"\n"}
    for name in missing:
        if name.encode() not in C_HEADERS:
            made[name.encode()] = _standard(name, words, compilers)
    return made


def _standard(name: str, words: Collection[str], compilers: Sequence[Path]) -> bytes:
    for own in (name, f"c{name.removesuffix('.h')}"):
        if "std" in words and "/" not in own and any((x / "cuda/std" / own).is_file() for x in compilers):
            namespace = "namespace std { using namespace cuda::std; }"
            return f"#pragma once\n#include <cuda/std/{own}>\n{namespace}\n".encode()
    return b"#pragma once\n"
