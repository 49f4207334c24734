# SPDX-License-Identifier: MIT
"""Native matrix instructions: what raises a flag, and which instructions share code."""

import pytest

pytest.importorskip("llvmlite")

from llvmlite import ir

from tests.ptx.native.products.product_rows import bound, computed, drawn
from wmma_emu.instructions import lookup
from wmma_emu.llvm.compile import object_code
from wmma_emu.ptx.native.context import Flag
from wmma_emu.ptx.native.products.mma import WarpProduct


def test_illegal_metadata_raises_a_flag_and_changes_nothing():
    product = WarpProduct.of(bound(lookup("mma.sp.m16n8k16.f32.f16.f16.f32", "sm_80"), "sm_80"))
    given = drawn(product.matrix, 1, 0)
    given.metadata[...] = 0
    d, flags = computed(product, given)
    assert flags == Flag.UNSUPPORTED
    assert not d.any()


def test_an_incomplete_warp_raises_a_flag_and_changes_nothing():
    product = WarpProduct.of(bound(lookup("m16n8k16.f32.f16.f16.f32", "sm_90"), "sm_90"))
    d, flags = computed(product, drawn(product.matrix, 1, 0), mask=0x7FFF_FFFF)
    assert flags == Flag.COLLECTIVE
    assert not d.any()


def test_the_functions_of_two_products_can_be_in_one_module():
    module = ir.Module()
    for arch in ("sm_80", "sm_90"):
        WarpProduct.of(bound(lookup("m16n8k16.f32.f16.f16.f32", arch), arch)).define(module)
    assert object_code(str(module), level=0)


def test_chips_with_the_same_arithmetic_share_the_code_of_a_product():
    names = {
        arch: WarpProduct.of(bound(lookup("m16n8k16.f32.f16.f16.f32", arch), arch)).name
        for arch in ("sm_80", "sm_86", "sm_90", "sm_100")
    }
    assert names["sm_80"] == names["sm_86"] != names["sm_90"] == names["sm_100"]
