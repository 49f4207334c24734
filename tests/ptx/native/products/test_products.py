# SPDX-License-Identifier: MIT
"""Native products of the registers of a warp have the bits of the NumPy machine, on adversarial data."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")


from tests.ptx.native.products.product_rows import bound, computed, drawn, expected, native_products
from wmma_emu.instructions import lookup
from wmma_emu.layouts.metadata import selectors_of
from wmma_emu.ptx.native.products.mma import WarpProduct

FAMILIES = ("mma.sync", "wmma.mma", "mma.sp", "mma.sp::ordered_metadata")


def of_family(family):
    return [(name, x) for name, x in native_products() if x.matrix.instruction.family == family]


def check(name, product, tiles, seed=0, engine="numpy"):
    given = drawn(product.matrix, tiles, seed, product.selector)
    d, flags = computed(product, given)
    assert flags == 0, name
    wrong = np.argwhere(d != expected(product.matrix, given, product.selector, engine))
    assert not len(wrong), (name, wrong[0].tolist(), len(wrong))


@pytest.mark.parametrize(
    "family", [pytest.param(x, marks=[pytest.mark.slow] if x.startswith("mma.sp") else ()) for x in FAMILIES]
)
def test_each_arithmetic_of_a_family_has_the_bits_of_the_numpy_machine(family):
    seen = {}
    for name, product in of_family(family):
        seen.setdefault(product.matrix.product.model.parameters, (name, product))
    for name, product in seen.values():
        check(name, product, tiles=3)
    assert len(seen) > 4


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_every_product_of_a_family_has_the_bits_of_the_numpy_machine(family):
    for seed, (name, product) in enumerate(of_family(family)):
        check(name, product, tiles=40, seed=seed)


@pytest.mark.parametrize(
    "mnemonic", ["m16n8k16.f32.f16.f16.f32", "m16n8k32.f32.e4m3.e4m3.f32", "m8n8k4.f64.f64.f64.f64"]
)
def test_a_product_has_the_bits_of_the_reference_engine(mnemonic):
    check(mnemonic, WarpProduct.of(bound(lookup(mnemonic, "sm_90"), "sm_90")), tiles=1, engine="reference")


@pytest.mark.parametrize("mnemonic", ["mma.sp.m16n8k16.f32.f16.f16.f32", "mma.sp.m16n8k8.f32.tf32.tf32.f32"])
def test_metadata_is_read_from_the_lanes_that_the_selector_chooses(mnemonic):
    matrix = bound(lookup(mnemonic, "sm_80"), "sm_80")
    for selector in selectors_of(matrix.instruction):
        check(mnemonic, WarpProduct.of(matrix, selector), tiles=1)
