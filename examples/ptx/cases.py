# SPDX-License-Identifier: MIT
"""Launches of the kernels of examples/ptx/: arguments drawn from a Generator, and what they should give, about.

The same case runs on the emulator and on a GPU. ``expected`` is plain NumPy in float64: a check that a kernel computes
what it is meant to, within ``bound``; the bits are those of a GPU, in tests/data/sm90_ptx_kernels.npz.
"""

import math
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from examples.ptx.texts import TEXTS

__all__ = ["CASES", "SLOW", "Case", "numbers"]

Array = NDArray[Any]
Arguments = tuple[Any, ...]

_SIGNIFICANT_BITS = {"float16": 11, "bfloat16": 8, "float8_e4m3fn": 4, "float32": 24, "float64": 53}


class Case(NamedTuple):
    """One launch.

    Parameters
    ----------
    name, text, kernel : str
        Of the case, of the PTX text (`examples.ptx.texts`), of the kernel in it.
    grid, block : tuple of int
    shared : int
        Bytes of dynamic shared memory.
    arguments : function
        Takes a Generator; returns arrays (memory), Python numbers (by ``.param`` type) and bytes (structures).
    outputs : tuple of int
        Which arguments the kernel writes.
    expected : function
        Takes copies of the arguments; returns what the outputs should hold, in float64 or integers.
    bound : float
        How far from it a float may be, relative to the largest number expected; 0 for integers.
    """

    name: str
    text: str
    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared: int
    arguments: Callable[[np.random.Generator], Arguments]
    outputs: tuple[int, ...]
    expected: Callable[..., tuple[Array, ...]]
    bound: float = 0

    def draw(self, seed: int) -> Arguments:
        """Return the arguments of a seed: every case has a separate random stream."""
        return self.arguments(np.random.Generator(np.random.PCG64([seed, *self.name.encode()])))


def numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any = np.float16, spread: int = 6) -> Array:
    """Draw numbers of all bits that a format has, over ``spread`` powers of two around 1."""
    bits = _SIGNIFICANT_BITS[np.dtype(dtype).name]
    words = rng.integers(0, 2**64, shape, np.uint64)
    significand = (1 << bits - 1) + (words >> np.uint64(65 - bits)).astype(np.int64)
    exponent = (words & np.uint64(0x7FF)).astype(np.int64) % spread - spread // 2 - bits + 1
    return np.ldexp(np.where(words & np.uint64(0x800), -significand, significand).astype(np.float64), exponent).astype(
        dtype
    )


def integers(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any, low: int = 0, high: int = 0) -> Array:
    """Draw from all numbers of a type, or those in [low, high)."""
    bits = 8 * np.dtype(dtype).itemsize
    if low == high:
        return rng.integers(0, 2**bits, shape, f"u{bits // 8}").view(dtype)
    return (low + (rng.integers(0, 2**32, shape, np.uint64) % np.uint64(high - low)).astype(np.int64)).astype(dtype)


def _wide(*arrays: Array) -> list[Array]:
    return [x.astype(np.int64 if x.dtype.kind in "iu" else np.float64) for x in arrays]


def _product(
    name: str, text: str, kernel: str, grid: tuple[int, ...], block: int, shape: tuple[int, int, int], a: Any, d: Any,
    more: Callable[[int, int, int], Arguments], *, shared: int = 0, b_columns: bool = False, bound: float = 1e-5,
    before: Arguments = (), pitches: tuple[int, int, int] | None = None,
) -> Case:  # fmt: skip
    """Build a case D = A B: pointers to A, B, D, then the numbers that ``more`` makes of M, N, K."""
    M, N, K = shape
    lda, ldb, ldd = pitches or (K, K if b_columns else N, N)

    def arguments(rng: np.random.Generator) -> Arguments:
        draw = integers if np.dtype(a) == np.int8 else numbers
        b_shape = (N, ldb) if b_columns else (K, ldb)
        return draw(rng, (M, lda), a), draw(rng, b_shape, a), np.zeros((M, ldd), d), *more(M, N, K)

    def expected(A: Array, B: Array, D: Array, *_: Any) -> tuple[Array, ...]:
        A, B, D = _wide(A, B, D)
        D[:, :N] = A[:, :K] @ (B[:, :K].T if b_columns else B[:, :N])
        return (D,)

    return Case(name, text, kernel, grid, (block,), shared, arguments, (2,), expected, bound)


def _scaled(name: str, tile: tuple[int, int], a: Any, d: Any, factors: Arguments, bound: float) -> Case:
    """Build a case D = alpha A B + beta C of wmma_types.cu, 64 x 64 x 64."""

    def arguments(rng: np.random.Generator) -> Arguments:
        draw = integers if np.dtype(a) == np.int8 else numbers
        c = integers(rng, (64, 64), np.int32, -999, 999) if np.dtype(d) == np.int32 else numbers(rng, (64, 64), d)
        return draw(rng, (64, 64), a), draw(rng, (64, 64), a), c, np.zeros((64, 64), d), 64, 64, *factors

    def expected(A: Array, B: Array, C: Array, D: Array, N: int, K: int, *given: Any) -> tuple[Array, ...]:
        alpha, beta = given or (0.7, -1.3)
        A, B, C = _wide(A, B, C)
        return (alpha * (A @ B.T) + beta * C,)

    grid = (64 // tile[1], 64 // tile[0])
    return Case(name, "wmma_types", name, grid, (32,), 0, arguments, (3,), expected, bound)


def _elementwise(name: str, text: str, kernel: str, n: int, slots: int) -> Case:
    def arguments(rng: np.random.Generator) -> Arguments:
        return *(integers(rng, (n,), np.uint32) for _ in range(3)), np.zeros((slots, n), np.uint32), n

    def expected(a: Array, b: Array, c: Array, out: Array, n: int) -> tuple[Array, ...]:
        if kernel == "lop3_exercise":
            rows = [a & b | c, a ^ b ^ c, a & b | a & c | b & c, a & b | ~a & c, a & ~b | ~a & c & b]
            return (np.stack(rows),)
        return ()

    return Case(name, text, kernel, (-(-n // 128) + 1,), (128,), 0, arguments, (3,), expected)


def _mma_tf32() -> Case:
    def arguments(rng: np.random.Generator) -> Arguments:
        a, b, c = (numbers(rng, (9, rows, 8), np.float32) for rows in (16, 8, 16))
        return a, b, c, np.zeros((9, 16, 8), np.float32), 9

    def expected(A: Array, B: Array, C: Array, *_: Any) -> tuple[Array, ...]:
        A, B, C = _wide(A, B, C)
        return (A @ B + C,)

    return Case("mma_tf32", "mma_tf32", "mma_tf32", (3,), (128,), 0, arguments, (3,), expected, 2e-3)


def _requantised() -> Case:
    def arguments(rng: np.random.Generator) -> Arguments:
        bias = integers(rng, (40,), np.int32, -5000, 5000)
        scale = np.abs(numbers(rng, (40,), np.float32)) * np.float32(2.0**-11)
        a, b = integers(rng, (64, 96), np.int8), integers(rng, (40, 96), np.int8)
        return a, b, bias, scale, np.zeros((64, 40), np.int8), 40, 96, 3

    def expected(A: Array, B: Array, bias: Array, scale: Array, *more: Any) -> tuple[Array, ...]:
        a, b = _wide(A, B)
        scaled = ((a @ b.T + bias).astype(np.float32) * scale).astype(np.float32)
        return (np.clip(np.rint(scaled) + more[-1], -128, 127).astype(np.int8),)

    return Case("requantised_s8", "requantised_s8", "requantised_s8", (5, 2), (64,), 0, arguments, (4,), expected)


def _softmax(kernel: str, rows: int, columns: int) -> Case:
    def arguments(rng: np.random.Generator) -> Arguments:
        return numbers(rng, (rows, columns), np.float32), np.zeros((rows, columns), np.float32), rows, columns

    def expected(x: Array, *_: Any) -> tuple[Array, ...]:
        (x,) = _wide(x)
        e = np.exp(x - x.max(1, keepdims=True))
        return (e / e.sum(1, keepdims=True),)

    return Case(kernel, "warp_softmax", kernel, (-(-rows // 4),), (128,), 0, arguments, (1,), expected, 1e-5)


def _layer_norm() -> Case:
    def arguments(rng: np.random.Generator) -> Arguments:
        x, bias = numbers(rng, (6, 192), ml_dtypes.bfloat16), numbers(rng, (192,), np.float32, 3)
        return x, numbers(rng, (192,), np.float32, 2), bias, np.zeros((6, 192), ml_dtypes.bfloat16), 192, 1e-5

    def expected(x: Array, gain: Array, bias: Array, *_: Any) -> tuple[Array, ...]:
        x, gain, bias = _wide(x, gain, bias)
        y = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * gain + bias
        return (0.5 * y * (1 + np.tanh(0.7978845608 * (y + 0.044715 * y**3))),)

    return Case("layer_norm", "layer_norm", "layer_norm", (3,), (64,), 0, arguments, (3,), expected, 5e-3)


def _contraction() -> tuple[Case, ...]:
    def floats(rng: np.random.Generator) -> Arguments:
        return *(numbers(rng, (200,), np.float32) for _ in range(3)), np.zeros((10, 200), np.float32), 200

    def expected(*given: Array) -> tuple[Array, ...]:
        x, y, z = _wide(*given[:3])
        p = x * y
        return (np.stack([p + z, p + z, p - z, z - p, p + z, p + z, p + z, p + z, z - p, p + 2 * z]),)

    def halves(rng: np.random.Generator) -> Arguments:
        return *(numbers(rng, (150, 2), np.float16) for _ in range(3)), np.zeros((5, 150, 2), np.float16), 150

    def expected_halves(*given: Array) -> tuple[Array, ...]:
        x, y, z = _wide(*given[:3])
        p = x * y + z
        return (np.stack([p, p, p, np.maximum(-x, np.minimum(y, abs(z))), (x < y) - np.clip(y * z, 0, 1)]),)

    return (
        Case("open_roundings", "contraction", "open_roundings", (2,), (128,), 0, floats, (3,), expected, 1e-6),
        Case("half_pairs", "contraction", "half_pairs", (2,), (96,), 0, halves, (3,), expected_halves, 1e-3),
    )


def _quotients() -> tuple[Case, ...]:
    def floats(rng: np.random.Generator) -> Arguments:
        return *(numbers(rng, (200,), np.float32) for _ in range(3)), np.zeros((37, 200), np.float32), 200

    def expected(*given: Array) -> tuple[Array, ...]:
        x, y, z = _wide(*given[:3])
        q = x / y
        both, below, above = q + z, q - z, z - q
        fused = [both, both, below, above, both, both, both, both, above]
        approximate = [both, both, below, above, both, above, both, both, above]
        used_again = [both * q, both * (x - q), 2 * q, q + z / y, q + z * y, q * z + x, both + q]
        known = [x / 3 + z, z - x / 768, x / 3 + z, 1 / y + z, 3 / y + z, x / 4 + z]
        root = np.sqrt(abs(x))
        others = [root + z, root + z, 1 / root + z, 2**x + z, np.log2(abs(x)) * y + z, 2 ** (x * y) - z]
        return (np.stack([*fused, *approximate, *used_again, *known, *others]),)

    def rows(rng: np.random.Generator) -> Arguments:
        return numbers(rng, (7, 100), np.float32), np.zeros((7, 100), np.float32), 100, 1e-5

    def moments(x: Array, *_: Any) -> tuple[Array, ...]:
        (x,) = _wide(x)
        mean, deviation = x.mean(1, keepdims=True), np.sqrt(x.var(1, keepdims=True) + 1e-5)
        return ((x - mean) / (deviation + 1e-5) + mean,)

    return (
        Case("quotient_sums", "divisions", "quotient_sums", (2,), (128,), 0, floats, (3,), expected, 1e-5),
        Case("row_moments", "divisions", "row_moments", (7,), (32,), 0, rows, (1,), moments, 1e-5),
    )


def _known_scales() -> tuple[Case, ...]:
    def floats(rng: np.random.Generator) -> Arguments:
        return numbers(rng, (150,), np.float32), np.zeros((18, 150), np.float32), 150

    def expected(x: Array, *_: Any) -> tuple[Array, ...]:
        (x,) = _wide(x)
        factors = [128**-0.5, 96**-0.5, 1 / 3, 1 / 7, 5**0.5, 80**0.5, 2**0.3010300099849701, 2**-5.119999885559082]
        factors += [math.log2(10), math.sin(3), math.cos(3), math.tanh(0.5), 3 / 7, 3 / 7, 80**-0.5]
        return (np.stack([*(x * y for y in factors), x + x / 96**0.5, x + 10, x * 192**-0.5]),)

    def attend(size: int) -> Case:
        def arguments(rng: np.random.Generator) -> Arguments:
            q, k, v = (numbers(rng, (rows, size), np.float32, 3) for rows in (3, 32, 32))
            return q, k, v, np.zeros((3, size), np.float32)

        def rows(q: Array, k: Array, v: Array, _: Array) -> tuple[Array, ...]:
            q, k, v = _wide(q, k, v)
            scores = q @ k.T / math.sqrt(size)
            p = np.exp(scores - scores.max(1, keepdims=True))
            return (p @ v / p.sum(1, keepdims=True) + q,)

        return Case(
            f"attend_{size}", "known_scales", f"attend_{size}", (3,), (32,), 0, arguments, (3,), rows, 1e-5
        )  # fmt: skip

    return (
        Case("known_functions", "known_scales", "known_functions", (2,), (96,), 0, floats, (1,), expected, 1e-3),
        attend(80),
        attend(128),
    )


def _divergence() -> tuple[Case, ...]:
    def text(*given: Any) -> Case:
        kernel, grid, block, arguments, outputs, expected = given
        return Case(kernel, "divergence", kernel, (grid,), (block,), 0, arguments, outputs, expected)

    def collatz_steps(x: int) -> int:
        count = 0
        while x > 1:
            x = 3 * x + 1 & 0xFFFFFFFF if x & 1 else x // 2
            count += 1
            if count == 300:
                break
        return count

    def reduced(x: Array, n: int, *_: Any) -> tuple[Array, ...]:
        def rest(value: Any, by: int) -> int:
            return int(math.fmod(int(value), by))  # as in C

        warps = [x[i : i + 32] for i in range(0, n, 32)]
        totals = [x.sum(), x.min(), x.max(), np.bitwise_and.reduce(x), np.bitwise_or.reduce(x)]
        totals += [np.bitwise_xor.reduce(x), n, x.sum()]
        words = [w.view(np.uint32) for w in warps]
        totals += [sum(rest(np.bitwise_and.reduce(w), 1000) for w in words)]
        totals += [sum(rest(np.bitwise_or.reduce(w), 1000) for w in words)]
        totals += [sum(rest(w.min(), 1000) for w in warps), sum(rest(w.max(), 1000) for w in words)]
        wide = max(int(y) << 20 for y in x.view(np.uint32))
        return np.array(totals), np.array([sum(rest(y, 64) for y in x)]), np.array([wide])

    return (
        text("histogram", 3, 96, lambda r: (integers(r, (1000,), np.uint8), 1000, np.zeros(64, np.uint32)), (2,),
             lambda data, n, bins: (np.bincount(data // 4, minlength=64),)),
        text("odd_even_sort", 2, 64, lambda r: (integers(r, (2, 127), np.int32), 127), (0,),
             lambda data, n: (np.sort(data, axis=1),)),
        text("collatz", 3, 64, lambda r: (integers(r, (150,), np.uint32, 1, 3000), np.zeros(150, np.uint32), 150), (1,),
             lambda start, *_: (np.array([collatz_steps(int(x)) for x in start]),)),
        text("eight_ways", 2, 128, lambda r: (integers(r, (200,), np.int32, -1, 9), integers(r, (200,), np.int32),
                                              np.zeros(200, np.int32), 200), (2,), lambda *_: ()),
        text("reductions", 2, 64, lambda r: (integers(r, (110,), np.int32, -(2**20), 2**20), 110,
                                             np.array([0, 2**31 - 1, -(2**31), -1, *[0] * 8], np.int32),
                                             np.zeros(1, np.float32), np.zeros(1, np.uint64)), (2, 3, 4),
             reduced),
        text("votes", 2, 64, lambda r: (integers(r, (128,), np.int32, -150, 250), np.zeros((6, 128), np.uint32), 128),
             (1,), lambda *_: ()),
    )  # fmt: skip


def _hand_over() -> tuple[Case, ...]:
    def text(kernel: str, grid: int, block: int, *given: Any) -> Case:
        arguments, outputs, expected = given
        return Case(kernel, "hand_over", kernel, (grid,), (block,), 0, arguments, outputs, expected)

    def one(*_: Any) -> tuple[Array, ...]:
        return np.zeros(1, np.int32), np.zeros(1, np.int32)

    return (
        text("spin_lock", 2, 96, lambda r: (*one(), 3), (0, 1), lambda *_: (np.array([0]), np.array([36]))),
        text("lock_in_a_warp", 2, 32, lambda r: one(), (0, 1), lambda *_: (np.array([0]), np.array([64]))),
        text("turns", 3, 128, lambda r: (np.zeros(3, np.uint32),), (0,), lambda *_: ()),
        text("last_block", 4, 64, lambda r: (integers(r, (700,), np.int32, -9999, 9999), 700, np.zeros(4, np.int32),
                                             np.zeros(1, np.uint32), np.zeros(1, np.int32)), (3, 4),
             lambda data, *_: (np.array([0]), np.array([data.sum()]))),
    )  # fmt: skip


def _sparse(kernel: str) -> Case:
    whole = kernel == "sparse_s8"
    elements, dtype = (512, np.int8) if whole else (256, np.float16)

    def arguments(rng: np.random.Generator) -> Arguments:
        draw = integers if whole else numbers
        pairs = np.array([0x4, 0x8, 0xC, 0x9, 0xD, 0xE], np.uint32)  # two different places, the lower first
        chosen = pairs[integers(rng, (3, 32, 8), np.int64, 0, 6)]
        metadata = (chosen << (4 * np.arange(8, dtype=np.uint32))).sum(-1, dtype=np.uint32)
        a, b = draw(rng, (3, elements), dtype), draw(rng, (3, elements), dtype)
        return a, b, metadata, np.zeros((3, 128), np.int32 if whole else np.float32)

    return Case(kernel, "sparse_mma", kernel, (3,), (32,), 0, arguments, (3,), lambda *_: ())


def _functions() -> tuple[Case, ...]:
    polynomial = struct.pack("<d3fhbx", 0.25, 0.5, -0.75, 0.125, 3, -1)

    def counted(data: Array, out: Array) -> tuple[Array, ...]:
        return (np.sort(data % 32, axis=1),)

    def filtered(x: Array, out: Array, n: int) -> tuple[Array, ...]:
        (x,) = _wide(x)
        taps = np.array([1, 4, 6, 4, 1]) / 16
        i = np.arange(n)
        seen = np.array([16, 25, 36, 49])[i % 4] + (i % 8) ** 2
        return (np.stack([np.convolve(row, taps, "same") for row in x]) + np.roll(seen, -1),)

    return (
        Case("structures", "functions", "structures", (2,), (64,), 0,
             lambda r: (numbers(r, (100,), np.float32), np.zeros(100, np.float32), np.zeros(100, np.int32),
                        np.zeros(100, np.int64), polynomial, 100), (1, 2, 3), lambda *_: ()),
        Case("divergent_calls", "functions", "divergent_calls", (1,), (48,), 0,
             lambda r: (np.zeros(48, np.uint32),), (0,),
             lambda out: (np.array([math.gcd(6 * i, 84) if i % 3 else math.lcm(i, 20) for i in range(1, 49)]),)),
        Case("local_sort", "functions", "local_sort", (2,), (32,), 0,
             lambda r: (integers(r, (64, 16), np.uint8), np.zeros((64, 16), np.uint8)), (1,), counted),
        Case("variables", "functions", "variables", (2,), (64,), 256,
             lambda r: (numbers(r, (2, 64), np.float32), np.zeros((2, 64), np.float32), 64), (1,), filtered, 1e-6),
        Case("printing", "printing", "printing", (2,), (32,), 0,
             lambda r: (numbers(r, (40,), np.float32), np.zeros(40, np.int32), 40), (1,),
             lambda *_: (np.array([4] * 39 + [4 + 7 + 8]),)),
    )  # fmt: skip


def _moves() -> tuple[Case, ...]:
    def reversed_quarters(x: Array, *_: Any) -> tuple[Array, ...]:
        return (x.reshape(4, 64)[::-1].reshape(-1),)

    def transposed_quarters(x: Array, *_: Any) -> tuple[Array, ...]:
        return (x.reshape(-1, 2, 8, 2, 8).swapaxes(2, 4).reshape(x.shape),)

    return (
        Case("matrix_moves", "matrix_moves", "matrix_moves", (2,), (32,), 0,
             lambda r: (integers(r, (2, 256), np.uint16), np.zeros((2, 256), np.uint16)), (1,), transposed_quarters),
        Case("matrices_reversed", "matrix_moves", "matrices_reversed", (1,), (32,), 0,
             lambda r: (integers(r, (256,), np.uint16), np.zeros(256, np.uint16)), (1,), reversed_quarters),
    )  # fmt: skip


def _triton(name: str, shape: tuple[int, int, int], a: Any, d: Any, bound: float, pitches: Any = None) -> Case:
    text = TEXTS[name]
    block = [text.constants[x] for x in ("BLOCK_M", "BLOCK_N")]  # type: ignore[union-attr]
    M, N, K = shape
    strides = pitches or (K, N, N)
    grid = (-(-M // block[0]), -(-N // block[1]))
    return _product(
        f"{name}_{M}" if M >= 512 else name, name, "matmul", grid, 128, shape, a, d,
        lambda *sizes: (*sizes, *strides, 0, 0), shared=_shared(name), bound=bound, pitches=pitches,
    )  # fmt: skip


def _shared(name: str) -> int:
    """Dynamic shared memory of a Triton text: its first line says it."""
    from examples.ptx.texts import compiled

    return int(compiled(name).split("\n", 1)[0].rsplit(" ", 1)[1])


def _attention(name: str, heads: int, T: int) -> Case:
    block = int(TEXTS[name].constants["BLOCK_M"])  # type: ignore[union-attr, call-overload]

    def arguments(rng: np.random.Generator) -> Arguments:
        q, k, v = (numbers(rng, (heads, T, 64), np.float16, 3) for _ in range(3))
        out, lse = np.zeros((heads, T, 64), np.float16), np.zeros((heads, T), np.float32)
        return q, k, v, out, lse, math.log2(math.e) / 8, T, 0, 0

    def expected(q: Array, k: Array, v: Array, *_: Any) -> tuple[Array, ...]:
        q, k, v = _wide(q, k, v)
        scores = np.where(np.tri(T, dtype=bool), q @ k.swapaxes(1, 2) / 8, -np.inf)
        p = np.exp(scores - scores.max(2, keepdims=True))
        sums = p.sum(2)
        return p @ v / sums[..., None], (np.log(sums) + scores.max(2)) * math.log2(math.e)

    return Case(
        f"{name}_{T}" if T >= 512 else name, name, "flash_attention", (T // block, heads), (128,), _shared(name),
        arguments, (3, 4), expected, 2e-3,
    )  # fmt: skip


def _norms() -> tuple[Case, ...]:
    def layer_norm(name: str, rows: int, columns: int, dtype: Any, bound: float) -> Case:
        def arguments(rng: np.random.Generator) -> Arguments:
            x, gain, bias = (numbers(rng, shape, dtype, 3) for shape in ((rows, columns), (columns,), (columns,)))
            statistics = np.zeros(rows, np.float32), np.zeros(rows, np.float32)
            return x, gain, bias, np.zeros_like(x), *statistics, columns, 1e-5, 0, 0

        def expected(x: Array, gain: Array, bias: Array, *_: Any) -> tuple[Array, ...]:
            x, gain, bias = _wide(x, gain, bias)
            mean, scale = x.mean(1, keepdims=True), 1 / np.sqrt(x.var(1, keepdims=True) + 1e-5)
            return (x - mean) * scale * gain + bias, mean, scale

        return _of_triton(name, "layer_norm", (rows,), arguments, (3, 4, 5), expected, bound)

    def rms_norm(name: str, rows: int, columns: int, dtype: Any, bound: float) -> Case:
        more = int(bool(TEXTS[name].constants["ONE_MORE"]))  # type: ignore[union-attr]

        def arguments(rng: np.random.Generator) -> Arguments:
            x, gain = (numbers(rng, shape, dtype, 3) for shape in ((rows, columns), (columns,)))
            return x, gain, np.zeros_like(x), np.zeros(rows, np.float32), columns, 1e-6, 0, 0

        def expected(x: Array, gain: Array, *_: Any) -> tuple[Array, ...]:
            x, gain = _wide(x, gain)
            scale = 1 / np.sqrt((x * x).mean(1, keepdims=True) + 1e-6)
            return x * scale * (gain + more), scale

        return _of_triton(name, "rms_norm", (rows,), arguments, (2, 3), expected, bound)

    def groups(rng: np.random.Generator) -> Arguments:
        x, gate = (numbers(rng, (16, 96), np.float16, 3) for _ in range(2))
        return x, gate, np.zeros_like(x), 96, 1e-5, 0, 0

    def gated(x: Array, gate: Array, *_: Any) -> tuple[Array, ...]:
        x, gate = (y.reshape(16, 3, 32) for y in _wide(x, gate))
        mean, deviation = x.mean(2, keepdims=True), np.sqrt(x.var(2, keepdims=True) + 1e-5)
        out = (x - mean) / (deviation + 1e-5) + mean / 32
        return ((out * gate / (1 + np.exp(-gate)) - x / 32).reshape(16, 96),)

    return (
        layer_norm("triton_layer_norm", 5, 333, np.float16, 1e-3),
        layer_norm("triton_layer_norm_f32", 6, 200, np.float32, 1e-5),
        rms_norm("triton_rms_norm", 5, 460, ml_dtypes.bfloat16, 1e-2),
        rms_norm("triton_rms_norm_f32", 9, 100, np.float32, 1e-5),
        _of_triton("triton_gated_group_norm", "gated_group_norm", (2, 3), groups, (2,), gated, 2e-3),
    )


def _of_triton(
    name: str, kernel: str, grid: tuple[int, ...], arguments: Callable[[np.random.Generator], Arguments],
    outputs: tuple[int, ...], expected: Callable[..., tuple[Array, ...]], bound: float,
) -> Case:  # fmt: skip
    threads = 32 * TEXTS[name].warps  # type: ignore[union-attr]
    return Case(name, name, kernel, grid, (threads,), _shared(name), arguments, outputs, expected, bound)


def _rows_softmax(name: str, shape: tuple[int, int], programs: int) -> Case:
    rows, columns = shape

    def arguments(rng: np.random.Generator) -> Arguments:
        x = numbers(rng, shape, np.float32)
        return x, np.zeros(shape, np.float32), rows, columns, columns, columns, 0, 0

    def expected(x: Array, *_: Any) -> tuple[Array, ...]:
        (x,) = _wide(x)
        weights = np.exp(x - x.max(1, keepdims=True))
        return (weights / weights.sum(1, keepdims=True),)

    return Case(name, name, "softmax", (programs,), (256,), _shared(name), arguments, (1,), expected, 1e-5)


E4M3 = ml_dtypes.float8_e4m3fn

_ALL = (
    _product("naive_wmma", "naive_wmma", "naive_wmma", (4, 5), 32, (64, 48, 64), np.float16, np.float32,
             lambda M, N, K: (M, N, K), b_columns=True),
    _scaled("wmma_f16_sums", (32, 8), np.float16, np.float16, (), 1e-2),
    _scaled("wmma_bf16", (8, 32), ml_dtypes.bfloat16, np.float32, (0.75, -1.5), 1e-5),
    _scaled("wmma_tf32", (16, 16), np.float32, np.float32, (0.75, -1.5), 1e-3),
    _scaled("wmma_f64", (8, 8), np.float64, np.float64, (0.7, -1.5), 1e-14),
    _scaled("wmma_s8", (16, 16), np.int8, np.int32, (3, -5), 0),
    _product("block_wmma", "block_wmma", "block_wmma", (1, 2), 256, (128, 64, 96), np.float16, np.float32,
             lambda M, N, K: (N, K)),
    _product("ragged_wmma", "ragged_wmma", "ragged_wmma", (3, 2), 128, (75, 41, 37), np.float16, np.float32,
             lambda M, N, K: (M, N, K)),
    _elementwise("lop3_exercise", "bits", "lop3_exercise", 300, 5),
    _elementwise("bit_exercise", "bits", "bit_exercise", 300, 15),
    _mma_tf32(),
    _product("pipelined_gemm", "pipelined_gemm", "pipelined_gemm", (2, 2), 128, (75, 90, 109), np.float16, np.float32,
             lambda M, N, K: (M, N, K, 112, 96, 90), shared=29184, pitches=(112, 96, 90)),
    _product("microtile_tf32", "microtile_tf32", "microtile_tf32", (2, 1), 128, (64, 128, 80), np.float32, np.float32,
             lambda M, N, K: (N, K), bound=1e-3),
    _product("three_pass_tf32", "three_pass_tf32", "three_pass_tf32", (3, 4), 32, (64, 24, 40), np.float32, np.float32,
             lambda M, N, K: (N, K), bound=1e-6),
    _requantised(),
    _softmax("warp_softmax", 21, 100),
    _softmax("warp_softmax_full", 9, 128),
    _layer_norm(),
    *_contraction(),
    *_quotients(),
    *_known_scales(),
    *_divergence(),
    *_hand_over(),
    *_functions(),
    _sparse("sparse_f16"),
    _sparse("sparse_s8"),
    *_moves(),
    _product("wgmma_f16", "wgmma", "wgmma_f16", (1,), 128, (64, 32, 48), np.float16, np.float32,
             lambda M, N, K: (K,), b_columns=True),
    _triton("triton_f16", (128, 64, 96), np.float16, np.float16, 1e-3),
    _triton("triton_f16_ragged", (70, 100, 45), np.float16, np.float32, 1e-5, (48, 112, 112)),
    _triton("triton_bf16", (64, 128, 96), ml_dtypes.bfloat16, ml_dtypes.bfloat16, 1e-2),
    _triton("triton_tf32", (64, 64, 64), np.float32, np.float32, 1e-3),
    _triton("triton_tf32x3", (64, 64, 64), np.float32, np.float32, 1e-6),
    _triton("triton_ieee", (64, 32, 48), np.float32, np.float32, 1e-6),
    _triton("triton_s8", (128, 64, 128), np.int8, np.int32, 0),
    _triton("triton_e4m3", (64, 64, 128), E4M3, np.float32, 1e-3),
    _triton("triton_f16_wgmma", (128, 64, 96), np.float16, np.float16, 1e-3),
    _triton("triton_e4m3_wgmma", (64, 128, 128), E4M3, np.float32, 5e-3),
    _attention("triton_flash_attention", 2, 128),
    _attention("triton_flash_attention_wgmma", 2, 128),
    *_norms(),
    _rows_softmax("triton_softmax", (8, 768), 8),
    _rows_softmax("triton_softmax_ragged", (64, 781), 24),
    _triton("triton_f16", (512, 512, 512), np.float16, np.float16, 1e-3),
    _attention("triton_flash_attention", 4, 512),
)  # fmt: skip

CASES: dict[str, Case] = {x.name: x for x in _ALL}

SLOW = ("triton_f16_512", "triton_flash_attention_512")
"""The cases of the benchmark."""
