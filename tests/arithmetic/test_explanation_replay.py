# SPDX-License-Identifier: MIT
"""An independent calculation from an explanation's text gives the bits of the engines, for every model."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.arithmetic.helpers import adversarial_operands, distinct_products, multiply, scaled_operands, scaled_products
from tests.arithmetic.replay import Replayed, ReplayError, replay
from tests.arithmetic.test_engines import PRODUCTS, interesting, mixture
from wmma_emu.arithmetic import DotProduct, matmul
from wmma_emu.arithmetic.explanation import Explanation, explain_dot
from wmma_emu.formats import Format

SCALED = scaled_products()
CHAINS = [name for name, product in PRODUCTS.items() if product.chains]


def explained(name: str, a: np.ndarray, b: np.ndarray, c: int) -> Explanation:
    arch, instruction = ("every chip", name) if name == "fma.f32" else name.split("|")[::2]
    return explain_dot(PRODUCTS[name], a.tolist(), b.tolist(), c, instruction=instruction, arch=arch, row=9, column=31)


def assert_replayed(name: str, a: np.ndarray, b: np.ndarray, c: int) -> None:
    """Check that the replay of the text reads the inputs, and gives the bits of both engines."""
    product: DotProduct = PRODUCTS[name]
    explanation = explained(name, a, b, c)
    found = replay(str(explanation))
    missing = [0] * (-len(a) % product.k)
    left, right = ([*x.tolist(), *missing] for x in (a, b))
    assert found == Replayed(product.model.describe(), 9, 31, len(a), left, right, c, explanation.result)
    row, column = np.array([left], product.a.storage), np.array([right], product.b.storage).T
    start = np.array([[c]], product.c.storage)
    for engine in ("reference", "numpy"):
        assert found.result == int(matmul(product, row, column, start, engine=engine)[0, 0]), engine


@pytest.mark.sweep(keep=1 / 3)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", SCALED)
def test_the_text_of_a_product_with_block_scales_reproduces_its_bits(name, seed):
    product = SCALED[name]
    count = 1 + seed
    operands = scaled_operands(product, np.random.default_rng([seed, 77]), 2, 2, instructions=count)
    expected = multiply(product, operands, "numpy")
    for i in range(2):
        a, b, c, scale_a, scale_b = (operands[0][i], operands[1][:, i], operands[2][i, i], operands[3][i],
                                     operands[4][:, i])  # fmt: skip
        explanation = explain_dot(
            product, a.tolist(), b.tolist(), int(c), instruction=name.partition("|")[0], arch="sm_120", row=i, column=i,
            scale_a=scale_a.tolist(), scale_b=scale_b.tolist(),
        )  # fmt: skip
        found = replay(str(explanation))
        assert found.result == explanation.result == int(expected[i, i])
        assert found.scales == (tuple(scale_a.tolist()), tuple(scale_b.tolist()))
        assert (found.a, found.b, found.c) == (a.tolist(), b.tolist(), int(c))


def patterns(data: st.DataObject, fmt: Format, count: int) -> np.ndarray:
    """Draw few patterns for many elements, so that terms have similar sizes: boundaries, raw bits, one exponent."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    if data.draw(st.booleans()):
        return mixture(fmt, (1, count), rng)[0]
    code = st.sampled_from(interesting(fmt)) | st.integers(0, fmt.mask)
    drawn = np.array(data.draw(st.lists(code, min_size=1, max_size=6)), np.uint64).astype(fmt.storage)
    return drawn[rng.integers(0, len(drawn), count)]


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.property
@pytest.mark.parametrize("name", PRODUCTS)
@settings(max_examples=4, deadline=None, derandomize=True, database=None)
@given(data=st.data())
def test_the_text_alone_reproduces_the_bits(name, data):
    product = PRODUCTS[name]
    k = product.k - data.draw(st.integers(0, min(3, product.k - 1)))
    if product.chains and data.draw(st.integers(0, 3)) == 3:
        k += product.k
    a, b = patterns(data, product.a, k), patterns(data, product.b, k)
    assert_replayed(name, a, b, int(patterns(data, product.c, 1)[0]))


@pytest.mark.sweep(keep=1 / 10)
@pytest.mark.parametrize("name", distinct_products())
def test_the_text_alone_reproduces_the_bits_on_adversarial_inputs(name):
    for a, b, c in adversarial_operands(name, 6):
        row = min(1, a.shape[1] - 1)
        for tile in range(2):
            assert_replayed(name, a[tile, row], b[tile, :, 2], int(c[tile, row, 2]))


@pytest.mark.parametrize("name", CHAINS[::5])
def test_a_long_k_is_replayed_over_all_of_its_instructions(name):
    product = PRODUCTS[name]
    rng = np.random.default_rng(4)
    k = 3 * product.k - 1
    a, b = mixture(product.a, (1, k), rng)[0], mixture(product.b, (1, k), rng)[0]
    assert_replayed(name, a, b, int(mixture(product.c, (1, 1), rng)[0, 0]))


NAMES = ("  instruction", "  lowering", "  status", "  source", "  note")


def digits_of(text: str) -> list[int]:
    """Return the positions of all (hexadecimal) digits, except in names of instructions, chips and sources."""
    places, start, name = [], 0, False
    for line in text.split("\n"):
        name = line.startswith(NAMES) or (name and line.startswith(" " * 15))
        if not name:
            for found in re.finditer(r"0x[0-9a-f.]+|\d", line):
                places += [start + i for i in range(*found.span()) if line[i] in "0123456789abcdef"]
        start += len(line) + 1
    return places


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize("name", PRODUCTS)
def test_a_text_with_a_changed_digit_is_rejected(name):
    """Change twelve digits per model at random positions, to check that all printed digits are read."""
    product = PRODUCTS[name]
    rng = np.random.default_rng(8)
    k = max(product.k - 1, 2)
    a, b = mixture(product.a, (1, k), rng)[0], mixture(product.b, (1, k), rng)[0]
    text = str(explained(name, a, b, int(mixture(product.c, (1, 1), rng)[0, 0])))
    right = replay(text)
    for place in rng.choice(digits_of(text), 12):
        others = [x for x in ("0123456789" if text[place].isdigit() else "abcdef") if x != text[place]]
        changed = f"{text[:place]}{rng.choice(others)}{text[place + 1 :]}"
        try:
            found = replay(changed)
        except ReplayError:
            continue
        # Numbers without effect, such as an operand next to a NaN, are also read.
        assert found != right, changed[text.rfind("\n", 0, place) : changed.find("\n", place)]


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in PRODUCTS if PRODUCTS[n].model.arithmetic == "aligned_sum"][::4])
def test_a_text_with_any_changed_digit_is_rejected(name):
    product = PRODUCTS[name]
    rng = np.random.default_rng(9)
    a, b = mixture(product.a, (1, product.k), rng)[0], mixture(product.b, (1, product.k), rng)[0]
    text = str(explained(name, a, b, int(mixture(product.c, (1, 1), rng)[0, 0])))
    right = replay(text)
    for place in digits_of(text):
        other = rng.choice([x for x in "0123456789" if x != text[place]])
        try:
            assert replay(f"{text[:place]}{other}{text[place + 1 :]}") != right, text[place - 20 : place + 20]
        except ReplayError:
            continue


def test_a_text_without_one_of_its_lines_is_rejected():
    product = next(n for n in PRODUCTS if "m16n8k16.row.col.f32.f16" in n)
    rng = np.random.default_rng(3)
    a, b = (mixture(PRODUCTS[product].a, (1, 16), rng)[0] for _ in "ab")
    lines = str(explained(product, a, b, 0)).split("\n")
    replay("\n".join(lines))
    for i in range(lines.index(""), len(lines)):
        with pytest.raises(ReplayError):
            replay("\n".join(lines[:i] + lines[i + 1 :]))
