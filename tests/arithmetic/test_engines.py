# SPDX-License-Identifier: MIT
"""All engines return the same bits: a fixed tile for every model and chip, Hypothesis for every distinct model."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.arithmetic.helpers import adversarial_operands, distinct_products, engines_of, stands_for_others
from tests.representatives import REPRESENTATIVES
from wmma_emu.arithmetic import FMA_F32, DotProduct, matmul, models_for, numpy_engine
from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.formats import Format
from wmma_emu.instructions import INSTRUCTIONS

PRODUCTS = {**distinct_products(), "fma.f32": FMA_F32}


def interesting(fmt: Format) -> list[int]:
    """Return the boundary patterns of a format."""
    if not fmt.is_float:
        return sorted({0, 1, fmt.mask, fmt.mask >> 1, (fmt.mask >> 1) + 1})
    one = fmt.bias << (fmt.fraction_bits + fmt.ignored_low_bits)
    low = 1 << fmt.ignored_low_bits
    codes = [
        0,
        low,
        one,
        one + low,
        one + (one >> 1),
        fmt.max_finite,
        1 << (fmt.fraction_bits + fmt.ignored_low_bits),
    ]
    if fmt.nan != "none":
        codes.append(fmt.canonical_nan)
    if fmt.has_infinity:
        codes += [fmt.infinity, fmt.infinity + low]
    return codes + [code | fmt.sign_mask for code in codes]


def mixture(fmt: Format, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Return a mixture of raw patterns, patterns of one exponent, boundary patterns and zeros."""
    raw = rng.integers(0, fmt.mask, shape, np.uint64, endpoint=True)
    if fmt.is_float:
        field = ((1 << fmt.exponent_bits) - 1) << (fmt.fraction_bits + fmt.ignored_low_bits)
        near = (raw & np.uint64(fmt.mask & ~field)) | np.uint64(
            (fmt.bias << (fmt.fraction_bits + fmt.ignored_low_bits)) & field
        )
        edges = np.array(interesting(fmt), np.uint64)
        kind = rng.random(shape)
        raw = np.where(kind < 0.75, near, np.where(kind < 0.9, raw, edges[rng.integers(0, len(edges), shape)]))
        # Most rows have no specials, so that sums are rarely NaN.
        raw = np.where(rng.random((shape[0], 1)) < 0.7, near, raw)
    return raw.astype(fmt.storage)


def assert_engines_agree(product: DotProduct, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    expected = matmul(product, a, b, c, engine="reference")
    for name in engines_of(product)[1:]:
        found = matmul(product, a, b, c, engine=name)
        different = np.argwhere(found != expected)
        assert not len(different), (
            name,
            [(hex(found[tuple(i)]), hex(expected[tuple(i)])) for i in different[:4]],
        )


@pytest.mark.sweep(keep=1 / 16)
@pytest.mark.parametrize(
    "mnemonic",
    [
        name
        for name, row in REPRESENTATIVES.items()
        if (row.n == 8 or not row.is_warpgroup) and not row.is_block_scaled and stands_for_others(row)
    ],
)
def test_engines_agree_on_a_fixed_tile_on_every_chip(mnemonic):
    instruction = INSTRUCTIONS[mnemonic]
    done: set[tuple] = set()
    for arch in instruction.archs:
        for model in models_for(instruction, arch):
            if model.parameters in done:
                continue
            done.add(model.parameters)
            product = DotProduct.of(model, instruction)
            rng = np.random.default_rng(20261121)
            rows, columns = min(instruction.m, 8), min(instruction.n, 6)
            a = mixture(product.a, (rows, product.k), rng)
            b = mixture(product.b, (columns, product.k), rng).T
            c = mixture(product.c, (rows, columns), rng)
            assert_engines_agree(product, a, b, c)


@pytest.mark.sweep(keep=1 / 6)
@pytest.mark.property
@pytest.mark.parametrize("name", PRODUCTS)
@settings(max_examples=8, deadline=None, derandomize=True, database=None)
@given(data=st.data())
def test_engines_agree_on_operands_from_hypothesis(name, data):
    product = PRODUCTS[name]

    def patterns(fmt: Format, count: int) -> np.ndarray:
        code = st.sampled_from(interesting(fmt)) | st.integers(0, fmt.mask)
        few = st.lists(code, min_size=1, max_size=6)
        drawn = np.array(data.draw(few), np.uint64).astype(fmt.storage)
        order = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1))).integers(0, len(drawn), count)
        return drawn[order]

    a = patterns(product.a, 2 * product.k).reshape(2, product.k)
    b = patterns(product.b, 3 * product.k).reshape(product.k, 3)
    c = patterns(product.c, 6).reshape(2, 3)
    assert_engines_agree(product, a, b, c)


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize("name", [n for n, p in PRODUCTS.items() if p.chains])
def test_engines_agree_over_several_instructions(name):
    product = PRODUCTS[name]
    rng = np.random.default_rng(7)
    a = mixture(product.a, (3, 2 * product.k), rng)
    b = mixture(product.b, (4, 2 * product.k), rng).T
    assert_engines_agree(product, a, b, mixture(product.c, (3, 4), rng))


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize("name", PRODUCTS)
def test_a_batch_of_small_tiles_equals_one_tile_at_a_time(name):
    product = PRODUCTS[name]
    rng = np.random.default_rng(11)
    a = mixture(product.a, (40 * 5, product.k), rng).reshape(40, 5, product.k)
    b = mixture(product.b, (40 * 3, product.k), rng).reshape(40, 3, product.k).swapaxes(1, 2)
    c = mixture(product.c, (40 * 5, 3), rng).reshape(40, 5, 3)
    batch = matmul(product, a, b, c)
    one = np.stack([matmul(product, *operands) for operands in zip(a, b, c, strict=True)])
    np.testing.assert_array_equal(batch, one)


def test_an_unknown_engine_is_rejected_by_name():
    product = next(iter(PRODUCTS.values()))
    z = np.zeros((1, product.k), product.a.storage)
    with pytest.raises(
        UnsupportedInstructionError,
        match=r"there is no engine 'cuda'; did you mean 'cupy'\? The engines are 'auto', 'reference', 'numpy', ",
    ):
        matmul(product, z, z.T, np.zeros((1, 1), product.c.storage), engine="cuda")


def test_a_k_between_multiples_is_rejected():
    product = FMA_F32
    other = next(p for p in PRODUCTS.values() if p.k == 16 and p.chains)
    assert product.k == 1
    z = np.zeros((1, 17), other.a.storage)
    with pytest.raises(FragmentMismatchError, match="K = 17 is not 16, nor a multiple of it"):
        matmul(other, z, z.T, np.zeros((1, 1), other.c.storage))


@pytest.mark.parametrize("name", [n for n, p in PRODUCTS.items() if p.chains][::7])
def test_panels_tiles_and_depth_of_the_numpy_engine_do_not_affect_bits(name, monkeypatch):
    product = PRODUCTS[name]
    rng = np.random.default_rng(3)
    a = mixture(product.a, (13, 4 * product.k), rng)
    b = mixture(product.b, (21, 4 * product.k), rng).T
    c = mixture(product.c, (13, 21), rng)
    whole = matmul(product, a, b, c)
    for constant, value in (("_TILE_COLUMNS", 8), ("_TILE_ELEMENTS", 24), ("_MAX_DEPTH", 2 * product.k)):
        monkeypatch.setattr(numpy_engine, constant, value)
    np.testing.assert_array_equal(matmul(product, a, b, c), whole)


@pytest.mark.sweep(keep=1 / 16)
@pytest.mark.parametrize("name", distinct_products())
def test_engines_agree_on_adversarial_inputs(name):
    for a, b, c in adversarial_operands(name, 5):
        assert_engines_agree(PRODUCTS[name], a[:, :4], b[..., :4], c[:, :4, :4])
