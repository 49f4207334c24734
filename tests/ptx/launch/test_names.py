# SPDX-License-Identifier: MIT
"""Kernels are found by their plain names of C++."""

import pytest

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.ptx.cpp.demangle import plain_name
from wmma_emu.ptx.launch.names import find


@pytest.mark.parametrize(("mangled", "plain"), [
    ("_Z9tile_gemmPK6__halfS1_Pf", "tile_gemm"),
    ("_Z4sgemILi64ELi32EfEvPKT1_S2_Ps", "sgem"),
    ("_ZN2ns6kernelILi4EEEvPf", "ns::kernel"),
    ("_ZN2ns3FooILi3EN1a1bEE3barEv", "ns::Foo::bar"),
    ("_ZN12_GLOBAL__N_16kernelEPf", "(anonymous namespace)::kernel"),
    ("_ZN3abcILb1EE1kE", "abc::k"),
    ("plain", None),
    ("_Z", None),
    ("_Z99short", None),
    ("_ZN3a", None),
    ("_ZZ1fvE1x", "f()::x"),
    ("_ZN6cudapy8__main__5saxpyB2v1B4cw51E5ArrayIfLi1E1C7mutable7alignedEf", "cudapy::__main__::saxpy"),
    ("__nv_static_28__96626824_7_hard_cu_9660309f__Z2k8Pf", "k8"),
    ("_ZN25_INTERNAL_8_a_cu_123456786kernelEPf", "kernel"),
])  # fmt: skip
def test_a_mangled_name_gives_its_plain_one_and_anything_else_none(mangled, plain):
    assert plain_name(mangled) == plain


NAMES = ["_Z5scaleIfEvPT_", "_Z5scaleIdEvPT_", "_ZN2my4copyEPf", "raw"]


@pytest.mark.parametrize(("wanted", "found"), [
    ("raw", "raw"), ("copy", NAMES[2]), ("my::copy", NAMES[2]), (NAMES[0], NAMES[0]), ("scale<float>", NAMES[0]),
])  # fmt: skip
def test_a_kernel_is_found_by_each_of_its_names(wanted, found):
    assert find(NAMES, wanted, {"scale<float>": NAMES[0]}, "x.cu") == found


@pytest.mark.parametrize(("wanted", "message"), [
    ("scale", "2 kernels of x.cu are called scale; use a full name: scale<float>, scale<double>"),
    ("cop", r"x.cu has no kernel 'cop'; did you mean '(my::copy|raw)'\? It has scale, scale, my::copy, raw"),
    (3, "x.cu has no kernel 3"),
])  # fmt: skip
def test_a_name_that_matches_no_kernel_or_two_is_rejected(wanted, message):
    with pytest.raises(UnsupportedInstructionError, match=message):
        find(NAMES, wanted, {}, "x.cu")


def test_ptx_without_kernels_is_an_error_when_a_kernel_is_looked_up():
    with pytest.raises(UnsupportedInstructionError, match=r"x\.ptx has no kernel; declare one with __global__"):
        find([], "k", {}, "x.ptx")
