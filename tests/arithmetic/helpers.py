"""Operands by value or by bits, and one dot product through every engine."""

import numpy as np

from wmma_emu.arithmetic import ENGINES, DotProduct, dot_product_of, matmul, models_for
from wmma_emu.formats import Format, decode, encode, format_of
from wmma_emu.instructions import INSTRUCTIONS, lookup


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
    results = {name: int(matmul(product, row, column, start, engine=name)[0, 0]) for name in ENGINES}
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
