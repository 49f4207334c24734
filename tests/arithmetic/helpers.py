# SPDX-License-Identifier: MIT
"""Operands by value or by bits, and one dot product through every engine."""

from collections.abc import Iterator

import numpy as np

from tools.recording_inputs import families_of, regenerate_inputs
from wmma_emu.arithmetic import ENGINES, DotProduct, dot_product_of, matmul, models_for
from wmma_emu.formats import Format, decode, encode, format_of
from wmma_emu.formats.packing import unpack_words
from wmma_emu.instructions import INSTRUCTIONS, Instruction, lookup
from wmma_emu.layouts import layout_for
from wmma_emu.testing import families


def engines_of(product: DotProduct) -> list[str]:
    """The engines that need no GPU and compute a product; tests/gpu/test_cupy_engine.py has the other one."""
    return [name for name in ("reference", "numpy", "numba") if ENGINES[name].has(product)]


def bits_of(values: list[float | str], fmt: Format) -> np.ndarray:
    """Patterns of exactly representable values; strings such as "0x7F" are patterns already."""
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
    """Bits of one element of D; k beyond the given values is filled with +0. All engines must agree."""
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


def distinct_products() -> dict[str, DotProduct]:
    """One dot product for every way of computing that the tables know: model parameters, formats, k, modifiers."""
    found: dict[tuple, tuple[str, DotProduct]] = {}
    for instruction in INSTRUCTIONS.values():
        for arch in instruction.archs:
            for model in models_for(instruction, arch):
                p = DotProduct.of(model, instruction)
                key = (*model.parameters, p.a, p.b, p.c, p.d, p.k, p.satfinite, p.bit_operation, p.rounding)
                found.setdefault(key, (f"{arch}|{model.lowering}|{instruction.mnemonic}", p))
    return dict(found.values())


Tiles = tuple[np.ndarray, np.ndarray, np.ndarray]
"""A, B and C of as many tiles: (tiles, rows, terms), (tiles, terms, columns), (tiles, rows, columns)."""


def adversarial_operands(name: str, seed: int) -> Iterator[Tiles]:
    """Two tiles of each family of inputs, for a product of `distinct_products`; of a sparse A the terms it meets."""
    arch, _, mnemonic = name.split("|")
    instruction = INSTRUCTIONS[mnemonic]
    if instruction.is_sparse or instruction.is_warpgroup:
        for family in families.families_of(instruction):
            yield _drawn(instruction, family, seed)
        return
    for family in families_of(instruction):
        operands = []
        for operand, words in zip("abc", regenerate_inputs(instruction, family, seed, 2), strict=True):
            layout = layout_for(instruction, operand, "sm_90" if "sm_90" in instruction.archs else arch)
            operands.append(layout.scatter(unpack_words(words, instruction.format(operand))))
        a, b, c = (x.reshape(-1, *x.shape[-2:])[:2] for x in operands)
        yield a, b, c


def _drawn(instruction: Instruction, family: str, seed: int) -> Tiles:
    a, b, c, indices = families.draw(instruction, family, seed, 2, 2, 2)
    if indices is not None:  # a row of A, and the rows of B that it meets, are a tile
        b = np.stack([b[tile, indices[tile, tile + 1]] for tile in range(2)])
        a, c = (np.stack([x[tile, tile + 1 : tile + 2] for tile in range(2)]) for x in (a, c))
    return a, b, c
