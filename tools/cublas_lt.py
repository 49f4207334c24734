# SPDX-License-Identifier: MIT
"""One product of FP8 matrices by cublasLt, with parameters that PyTorch does not pass: alpha, beta and scales."""

import ctypes
from typing import Any

__all__ = ["MODES", "multiply"]

# Numbers of cublasLt.h, CUDA 13.0.
_TRANSA, _A_SCALE, _B_SCALE, _FAST_ACCUM, _A_MODE, _B_MODE = 3, 17, 18, 25, 31, 32
_COMPUTE_32F, _R_32F, _R_16BF, _R_8F_E4M3 = 68, 0, 14, 28
_TRANSPOSED = 1
_WORKSPACE = 1 << 25

MODES = {"tensor": 0, "row": 3, "1x128": 4, "128x128": 5}
"""CUBLASLT_MATMUL_MATRIX_SCALE_: SCALAR_32F, OUTER_VEC_32F, VEC128_32F, BLK128x128_32F."""


class _Library:
    """cublasLt; a status that is not 0 is an error."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL("libcublasLt.so.13")
        self.handle = self.made("Create")

    def __call__(self, name: str, *arguments: Any) -> None:
        status = getattr(self._library, f"cublasLt{name}")(*arguments)
        if status:
            raise RuntimeError(f"cublasLt{name} returned {status}")

    def made(self, name: str, *arguments: Any) -> ctypes.c_void_p:
        """Call a function that creates a handle; return the handle."""
        result = ctypes.c_void_p()
        self(name, ctypes.byref(result), *arguments)
        return result

    def layout(self, kind: int, rows: int, columns: int) -> ctypes.c_void_p:
        """Return a matrix stored by columns, without gaps."""
        sizes = ctypes.c_uint64(rows), ctypes.c_uint64(columns), ctypes.c_int64(rows)
        return self.made("MatrixLayoutCreate", kind, *sizes)


def multiply(
    a: Any, columns_of_b: Any, scale_a: Any, scale_b: Any, c: Any, *, alpha: float, beta: float, modes: tuple[str, str],
    fast: bool,
) -> Any:  # fmt: skip
    """Compute alpha A B + beta C, scaled; all are tensors on the GPU, D in the dtype of C.

    A is (M, K), B comes as its columns, (N, K), both bytes of e4m3. cublasLt multiplies matrices stored by columns, so
    it is given B and A as its A and B, and computes the transpose. Scales of 1 x 128 are stored k by k, those of
    128 x 128 line by line. ``modes`` are the scaling modes of A and B.
    """
    import torch

    library = _Library()
    (m, k), n = a.shape, len(columns_of_b)
    description = library.made("MatmulDescCreate", _COMPUTE_32F, _R_32F)
    for attribute, value in (
        (_TRANSA, ctypes.c_int32(_TRANSPOSED)),
        (_FAST_ACCUM, ctypes.c_int8(fast)),
        (_A_MODE, ctypes.c_int32(MODES[modes[1]])),
        (_B_MODE, ctypes.c_int32(MODES[modes[0]])),
        (_A_SCALE, ctypes.c_void_p(scale_b.data_ptr())),
        (_B_SCALE, ctypes.c_void_p(scale_a.data_ptr())),
    ):
        size = ctypes.c_size_t(ctypes.sizeof(value))
        library("MatmulDescSetAttribute", description, attribute, ctypes.byref(value), size)
    kind = {torch.float32: _R_32F, torch.bfloat16: _R_16BF}[c.dtype]
    d = torch.empty_like(c)
    workspace = torch.empty(_WORKSPACE, dtype=torch.uint8, device="cuda")

    def place(tensor: Any) -> ctypes.c_void_p:
        return ctypes.c_void_p(tensor.data_ptr())

    library(
        "Matmul", library.handle, description, ctypes.byref(ctypes.c_float(alpha)),
        place(columns_of_b), library.layout(_R_8F_E4M3, k, n), place(a), library.layout(_R_8F_E4M3, k, m),
        ctypes.byref(ctypes.c_float(beta)), place(c), library.layout(kind, n, m), place(d), library.layout(kind, n, m),
        None, place(workspace), ctypes.c_size_t(_WORKSPACE), None,
    )  # fmt: skip
    torch.cuda.synchronize()
    return d
