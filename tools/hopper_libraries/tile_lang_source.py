# SPDX-License-Identifier: MIT
"""Print the CUDA source that TileLang generates for a product of matrices on sm_90a; run by TileLang's Python."""

import sys

import tilelang
import tilelang.language as T
from tilelang import tvm

M, N, K = 256, 256, 320


@T.prim_func
def main(
    a: T.Tensor((M, K), "float16"), b: T.Tensor((K, N), "float16"), c: T.Tensor((M, N), "float16")
):  # fmt: skip
    with T.Kernel(N // 128, M // 128, threads=128) as (x, y):
        a_tile, b_tile = T.alloc_shared((128, 64), "float16"), T.alloc_shared((64, 128), "float16")
        total = T.alloc_fragment((128, 128), "float32")
        T.clear(total)
        for k in T.Pipelined(K // 64, num_stages=3):
            T.copy(a[y * 128, k * 64], a_tile)
            T.copy(b[k * 64, x * 128], b_tile)
            T.gemm(a_tile, b_tile, total)
        T.copy(total, c[y * 128, x * 128])


if __name__ == "__main__":
    with tvm.target.Target({"kind": "cuda", "arch": "sm_90a"}) as target:
        sys.stdout.write(tilelang.lower(main, target=target).kernel_source)
