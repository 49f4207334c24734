# SPDX-License-Identifier: MIT
"""Small Triton kernels, for tests; imported where Triton is installed."""

import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@triton.jit
def add_twice(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) + 2 * tl.load(y + i, mask=mask), mask=mask)


@triton.jit
def product(a, b, d, n, N: tl.constexpr):
    i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    tl.store(d + i * n + j, tl.dot(tl.load(a + i * n + j), tl.load(b + i * n + j)))


@triton.jit
def broken(x, BLOCK: tl.constexpr):
    tl.store(x, nothing)  # noqa: F821


@triton.jit
def kinds(place, pair, offset, flag, half: tl.float16, brain: tl.bfloat16, other, shift: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(pair[0] + i) * pair[1] + offset
    if other is not None:
        v += tl.load(other + i)
    if flag:
        v += half.to(tl.float32)
    tl.store(place.out + i * place.step, v + brain.to(tl.float32) + shift[1])


@triton.jit(do_not_specialize=["n"], do_not_specialize_on_alignment=["k"])
def left_alone(out, n, k, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, i * 0 + n + k)


@triton.heuristics({"BLOCK": lambda given: triton.next_power_of_2(given["n"]), "num_warps": lambda given: 2})
@triton.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)


@triton.jit
def chip(out, N: tl.constexpr):
    if tl.target_info.cuda_capability_geq(9):
        tl.store(out + tl.arange(0, N), 9)
    else:
        tl.store(out + tl.arange(0, N), 8)


@triton.jit
def by_descriptor(x, out):
    out.store([0, 0], x.load([0, 0]) * 2)


@triton.jit
def by_own_descriptor(x, out, N: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [N, N], [N, 1], [N, N])
    tl.store(out + tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :], source.load([0, 0]))


@gluon.jit
def gluon_double(x, out, N: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    i = gl.arange(0, N, layout=layout)
    gl.store(out + i, gl.load(x + i) * 2)


@triton.jit
def transpose_and_clear(x, y, n, clears, BLOCK: tl.constexpr):
    row = tl.program_id(0) // 2 * BLOCK + tl.arange(0, BLOCK)
    col = tl.program_id(0) % 2 * BLOCK + tl.arange(0, BLOCK)
    tile = tl.load(x + row[:, None] * n + col[None, :])
    tl.store(y + col[:, None] * n + row[None, :], tl.trans(tile))
    if clears > 0:
        tl.store(x + row[:, None] * n + col[None, :], tile * 0)
