# SPDX-License-Identifier: MIT
"""Operands by value or by bits, and dot products computed with every engine."""

import itertools
from collections.abc import Iterable, Iterator

import numpy as np

from tools.recording_inputs import generators_of, regenerate_inputs
from wmma_emu.arithmetic import ENGINES, DotProduct, alternatives_for, dot_product_of, matmul, models_for
from wmma_emu.formats import Format, decode, encode, format_of
from wmma_emu.formats.packing import unpack_words
from wmma_emu.instructions import INSTRUCTIONS, Instruction, lookup
from wmma_emu.instructions.tensor import TENSOR_KINDS, tensor_instruction, tensor_sizes
from wmma_emu.layouts import layout_for
from wmma_emu.testing import generators


def engines_of(product: DotProduct) -> list[str]:
    """Return the engines without a GPU that support a product; tests/gpu/test_cupy_engine.py tests the other one."""
    return [name for name in ("reference", "numpy", "native") if ENGINES[name].has(product)]


def bits_of(values: list[float | str], fmt: Format) -> np.ndarray:
    """Return the patterns of exactly representable values; strings such as "0x7F" are patterns already."""
    out = []
    for value in values:
        if isinstance(value, str):
            out.append(int(value, 16))
        elif fmt.is_float:
            code = encode(np.array(value, np.float64), fmt)
            assert decode(code, fmt) == value, f"{value} is not a {fmt}"
            out.append(int(code))
        else:
            out.append(value & fmt.mask)
    return np.array(out, np.uint64).astype(fmt.storage)


def dot(mnemonic: str, arch: str, a: list, b: list, c: float | str = 0.0, lowering: str | None = None) -> int:
    """Return the bits of one element of D; k beyond the given values is padded with +0. All engines must agree."""
    product = dot_product_of(lookup(mnemonic, arch), arch, lowering)
    missing = [0.0 if product.a.is_float else 0] * (product.k - len(a))
    row, column = bits_of([*a, *missing], product.a)[None], bits_of([*b, *missing], product.b)[:, None]
    start = bits_of([c], product.c)[None]
    results = {name: int(matmul(product, row, column, start, engine=name)[0, 0]) for name in engines_of(product)}
    assert len(set(results.values())) == 1, {name: hex(bits) for name, bits in results.items()}
    return results["reference"]


def f32(value: float) -> int:
    return int(encode(np.array(value, np.float64), format_of("f32")))


def f16(value: float) -> int:
    return int(encode(np.array(value, np.float64), format_of("f16")))


NARROW = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")


def stands_for_others(instruction: Instruction) -> bool:
    """Return whether a pair of formats represents others: FP8, FP6 and FP4 are paired with themselves and the next.

    Each format is then tested as A and as B. Without block scales, all pairs of FP8 are tested.
    """
    pair = {instruction.a, instruction.b}
    if not pair <= set(NARROW) or (pair <= set(NARROW[:2]) and not instruction.is_block_scaled):
        return True
    a, b = NARROW.index(instruction.a), NARROW.index(instruction.b)
    return (b - a) % len(NARROW) in (0, 1)


def distinct_products() -> dict[str, DotProduct]:
    """Return a dot product for every distinct arithmetic of the tables: model parameters, formats, k, modifiers.

    Products with block scales are in `scaled_products`.
    """
    rows = [x for x in INSTRUCTIONS.values() if not x.is_block_scaled and stands_for_others(x)]
    return {f"{arch}|{x}|{mnemonic}": product for (arch, x, mnemonic), product in _distinct(rows).items()}


def scaled_products() -> dict[str, DotProduct]:
    """Return the distinct products with block scales, including `tcgen05.mma` if no `mma.sync` is equal to it."""
    rows = [x for x in [*INSTRUCTIONS.values(), *tensor_instructions()] if x.is_block_scaled and stands_for_others(x)]
    found = {}
    for (_, model, mnemonic), product in _distinct(rows).items():
        words = mnemonic.removeprefix("mma.sync.aligned.").replace(".row.col", "").replace(".block_scale", "")
        found[words + (f"|{model}" if model != "native" else "")] = product
    return found


def _distinct(rows: Iterable[Instruction]) -> dict[tuple[str, str, str], DotProduct]:
    found: dict[tuple, tuple[tuple[str, str, str], DotProduct]] = {}
    for instruction in rows:
        for arch in instruction.archs:
            for model in (*models_for(instruction, arch), *alternatives_for(instruction, arch)):
                p = DotProduct.of(model, instruction)
                key = (
                    *model.parameters, p.a, p.b, p.c, p.d, p.k, p.satfinite, p.bit_operation, p.rounding, p.scale,
                    p.scale_vec,
                )  # fmt: skip
                found.setdefault(key, ((arch, model.name or model.lowering, instruction.mnemonic), p))
    return dict(found.values())


def tensor_instructions() -> list[Instruction]:
    """Return `tcgen05.mma` of every kind, types and scales, dense and sparse, with and without .ws; one shape each."""
    found = []
    for kind in TENSOR_KINDS.values():
        for ws, sparse, group in itertools.product((False, True), (False, True), (1, 2)):
            for size in tensor_sizes(kind.name, cta_group=group, ws=ws, sparse=sparse):
                scales = [(scale, vec * (size.k or kind.k) // kind.k) for scale, vecs in kind.scales for vec in vecs]
                for (d, formats), (scale, vec) in itertools.product(kind.types, scales or [("", 0)]):
                    found += [
                        tensor_instruction(
                            kind.name, size.m[0], size.n[-1], d, a, b, k=size.k or None, scale=scale, scale_vec=vec,
                            sparse=sparse, ws=ws, cta_group=group,
                        )
                        for a, b in itertools.product(formats, formats)
                    ]  # fmt: skip
    return found


Scaled = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""A, B, C and the scales of A and of B."""


def scaled_operands(
    product: DotProduct, rng: np.random.Generator, rows: int = 4, columns: int = 5, instructions: int = 1
) -> Scaled:
    """Return raw patterns, zeros and specials, with scales that are mostly similar, and sometimes distant or NaN."""
    k = product.k * instructions
    blocks = k // product.scale_block
    a, b = _elements(product.a, (rows, k), rng), _elements(product.b, (columns, k), rng).T
    c = encode(np.ldexp(rng.standard_normal((rows, columns)), rng.integers(-30, 30, (rows, columns))), product.c)
    edges = np.array([0, 0x7F80_0000, 0x8000_0000, 1, 0x7FC0_0000, 0xFF80_0000], np.uint32)
    c = np.where(rng.random(c.shape) < 0.8, c, edges[rng.integers(0, len(edges), c.shape)])
    return a, b, c, _scales(product, (rows, blocks), rng), _scales(product, (columns, blocks), rng).T


def _elements(fmt: Format, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    raw = rng.integers(0, fmt.mask, shape, np.uint8, endpoint=True)
    finite = np.isfinite(decode(raw, fmt)) | (rng.random((shape[0], 1)) < 0.2)
    return np.where(finite & (rng.random(shape) < 0.9), raw, 0).astype(np.uint8)


def _scales(product: DotProduct, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    assert product.scale is not None
    one = int(encode(np.array(1.0), product.scale))
    near = one + rng.integers(-6, 7, shape)
    raw = rng.integers(0, 256, shape)
    edges = np.array([0, 1, product.scale.max_finite, product.scale.canonical_nan, 0x80, 0xFF])
    kind = rng.random(shape)
    mixed = np.where(kind < 0.7, near, np.where(kind < 0.9, raw, edges[rng.integers(0, len(edges), shape)]))
    # In most rows the scales are similar.
    return np.where(rng.random((shape[0], 1)) < 0.6, near, mixed).astype(np.uint8)


def multiply(product: DotProduct, operands: Scaled, engine: str = "auto") -> np.ndarray:
    """Return D of operands with block scales."""
    a, b, c, scale_a, scale_b = operands
    return matmul(product, a, b, c, engine, scale_a=scale_a, scale_b=scale_b)


Tiles = tuple[np.ndarray, np.ndarray, np.ndarray]
"""A, B and C of several tiles: (tiles, rows, terms), (tiles, terms, columns), (tiles, rows, columns)."""


def adversarial_operands(name: str, seed: int) -> Iterator[Tiles]:
    """Yield two tiles of each input generator for a product of `distinct_products`, with B reduced for a sparse A."""
    arch, _, mnemonic = name.split("|")
    instruction = INSTRUCTIONS[mnemonic]
    in_bytes = any(instruction.container(x).bits != instruction.format(x).bits for x in ("a", "b"))
    if instruction.is_sparse or instruction.is_warpgroup or in_bytes:
        for generator in generators.generators_of(instruction):
            yield _drawn(instruction, generator, seed)
        return
    for generator in generators_of(instruction):
        operands = []
        for operand, words in zip("abc", regenerate_inputs(instruction, generator, seed, 2), strict=True):
            layout = layout_for(instruction, operand, "sm_90" if "sm_90" in instruction.archs else arch)
            operands.append(layout.scatter(unpack_words(words, instruction.format(operand))))
        a, b, c = (x.reshape(-1, *x.shape[-2:])[:2] for x in operands)
        yield a, b, c


def _drawn(instruction: Instruction, generator: str, seed: int) -> Tiles:
    a, b, c, indices = generators.draw(instruction, generator, seed, 2, 2, 2)
    if indices is not None:  # a row of A, and the rows of B that it multiplies, are a tile
        b = np.stack([b[tile, indices[tile, tile + 1]] for tile in range(2)])
        a, c = (np.stack([x[tile, tile + 1 : tile + 2] for tile in range(2)]) for x in (a, c))
    return a, b, c
