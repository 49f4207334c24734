# SPDX-License-Identifier: MIT
"""Without truncation, a product with block scales is the exact sum, rounded once; and the frequency of that case."""

from fractions import Fraction

import numpy as np
import pytest

from tests.arithmetic.helpers import engines_of, multiply, scaled_products
from tools.exact_share import GENERATORS, Element, elements, exact_sum, is_cut, main, table, toward_zero
from wmma_emu.arithmetic import DotProduct
from wmma_emu.formats import decode

PRODUCTS = {name: product for name, product in scaled_products().items() if not product.model.name}

SHARES: dict[str, list[float]] = {
    "kind::mxf8f6f4, e4m3 x e4m3": [1.0, 0.796875, 0.3125],
    "kind::mxf8f6f4, e5m2 x e5m2": [1.0, 0.765625, 0.0],
    "kind::mxf8f6f4, e3m2 x e2m3": [1.0, 0.765625, 1.0],
    "kind::mxf8f6f4, e2m1 x e2m1": [1.0, 0.71875, 1.0],
    "kind::mxf4, 2X ue8m0": [1.0, 0.9375, 1.0],
    "kind::mxf4nvf4, 4X ue8m0": [1.0, 0.671875, 1.0],
    "kind::mxf4nvf4, 4X ue4m3": [1.0, 1.0, 1.0],
}
"""The exact shares of 64 elements of each input generator, as printed by `tools.exact_share`."""


def d_of(product: DotProduct, drawn: list[Element], engine: str) -> list[int]:
    """Return D of many elements at once, each a separate matrix."""
    a, b, c, scale_a, scale_b = (
        np.array([x[i] for x in drawn], np.uint32 if i == 2 else np.uint8) for i in range(5)
    )  # fmt: skip
    operands = a[:, None], b[:, :, None], c[:, None, None], scale_a[:, None], scale_b[:, :, None]
    return multiply(product, operands, engine).ravel().tolist()


@pytest.mark.sweep(keep=1 / 3)
@pytest.mark.parametrize("name", PRODUCTS)
def test_without_truncation_the_result_is_the_exact_sum_rounded_once(name):
    product = PRODUCTS[name]
    for generator in GENERATORS:
        drawn = [x for x in elements(product, generator, 12, seed=1) if not is_cut(product, x)]
        if not drawn:
            continue
        expected = [toward_zero(exact_sum(product, x)) for x in drawn]
        for engine in engines_of(product):
            assert d_of(product, drawn, engine) == expected, (engine, generator)


def test_with_truncation_the_result_is_near_the_exact_sum():
    """Each term loses less than a unit in the last place: 32 products or 4 groups, and c."""
    for name in list(PRODUCTS)[::4]:
        product = PRODUCTS[name]
        for generator in GENERATORS:
            drawn = list(elements(product, generator, 8, seed=2))
            for element, bits in zip(drawn, d_of(product, drawn, "numpy"), strict=True):
                found = Fraction(float(np.array(bits, np.uint32).view(np.float32)))
                exact = exact_sum(product, element)
                assert abs(found - exact) <= Fraction(1, 1 << 17) * max(abs(exact), largest_term(product, element))


def largest_term(product: DotProduct, element: Element) -> Fraction:
    """Return an upper bound on the power of two to which a step is aligned, if c is small."""
    scales = product.scale
    assert scales is not None
    x, y = (decode(np.array(codes, np.uint8), scales) for codes in (element.scale_a, element.scale_b))
    return Fraction(float((x * y).max())) * 2**32


@pytest.mark.thorough
def test_the_recorded_shares_match_the_table():
    assert dict(table(64)) == SHARES


def test_the_table_is_printed(capsys):
    assert main(["--count", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("exact of 1 ") and len(lines) == 1 + len(SHARES)
    with pytest.raises(SystemExit):
        main(["--count", "0"])
    assert "--count is at least 1, not 0" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "bits"),
    [
        (Fraction(0), 0),
        (Fraction(1), 0x3F80_0000),
        (-Fraction(2**25 - 1), 0xCBFF_FFFF),
        (Fraction(2) ** 128, 0x7F80_0000),
        (Fraction(2) ** 128 - 1, 0x7F7F_FFFF),
        (-(Fraction(2) ** -150), 0),
        (Fraction(2) ** -126, 0x0080_0000),
    ],
)
def test_numbers_are_truncated(value, bits):
    assert toward_zero(value) == bits
