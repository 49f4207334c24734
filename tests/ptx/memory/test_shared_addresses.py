# SPDX-License-Identifier: MIT
"""The addresses of shared memory: where it begins on each chip, and what is before it."""

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from tools.record_shared_addresses import LAYOUTS, TARGETS, TOUCHED, addresses_kernel, touching_kernel
from wmma_emu.instructions import ARCHS
from wmma_emu.instructions.shared_addresses import FIRST_SHARED, first_shared_address
from wmma_emu.ptx import Module

RECORDED = json.loads((Path(__file__).parent / "data" / "shared_addresses.json").read_text(encoding="utf-8"))
"""What `tools.record_shared_addresses` recorded on an NVIDIA H200 (driver 580.159.04, 2026-11-28)."""

HEAD = ".version 8.0\n.target sm_70\n.address_size 64\n"

ADDRESSES = f"""{HEAD}.shared .align 4 .b8 a[4]; .extern .shared .align 1024 .b8 d[];
.visible .entry k(.param .u64 x) {{
.reg .b32 %r<4>; .reg .b64 %d<4>; ld.param.u64 %d1, [x];
mov.u32 %r0, a; mov.u32 %r1, d;
mov.u64 %d2, a; cvta.shared.u64 %d2, %d2; cvta.to.shared.u64 %d3, %d2; cvt.u32.u64 %r2, %d3;
st.shared.u32 [a], 5; ld.u32 %r3, [%d2]; st.global.v4.u32 [%d1], {{%r0, %r1, %r2, %r3}}; ret; }}
"""

STORE = f"""{HEAD}.shared .align 4 .b8 a[100];
.visible .entry k(.param .u32 at) {{
.reg .b32 %r; ld.param.u32 %r, [at]; st.shared.u32 [a], 1;
st.shared.u32 [%r], 1; ret; }}
"""


@pytest.mark.parametrize("arch", ARCHS)
def test_shared_variables_begin_where_they_do_on_the_chip(arch):
    x, first = np.zeros(4, np.uint32), first_shared_address(ARCHS[arch]).value
    Module(ADDRESSES, arch, findings="raise")["k"][1, 1, 64](x)
    assert x.tolist() == [first, first + 1024, first, 5]
    assert first == (1024 if ARCHS[arch].number >= 90 else 0)


@pytest.mark.parametrize(("arch", "address", "text"), [
    ("h100", 0, "writes a - 1024 bytes (4 bytes): 1024 bytes before the beginning of a (100 bytes at 0x400)"),
    ("h100", 1020, "4 bytes before the beginning of a (100 bytes at 0x400)"),
    ("h100", 1124, "just past the end of a (100 bytes at 0x400)"),
    ("a100", 100, "just past the end of a (100 bytes at 0x0)"),
])  # fmt: skip
def test_a_store_before_or_after_the_variables_is_out_of_bounds(arch, address, text):
    (found,) = Module(STORE, arch, findings="report")["k"][1, 1](address).findings
    assert found.kind == "out of bounds" and text in " ".join(str(found).split())


def test_the_first_addresses_have_evidence():
    assert [fact.evidence.status for _, fact in FIRST_SHARED] == ["inferred", "measured", "inferred"]


@pytest.mark.parametrize(("layout", "target"), list(product(LAYOUTS, TARGETS)))
def test_addresses_and_registers_match_an_h200(layout, target):
    text, names = addresses_kernel(layout, target)
    out = np.zeros(len(names), np.uint64)
    Module(text, "h100", findings="raise")["k"][1, 1, 64 if "dynamic" in layout else 0](out)
    recorded = {name: int(value, 0) for name, value in RECORDED["layouts"][f"{layout}, {target}"].items()}
    for name, value in zip(names, out.tolist(), strict=True):
        if (layout, name) == ("100 bytes, then 8", "b"):  # it is after a gap here
            assert value == recorded[name] + 128
        else:
            assert value & 0xFFFFFFFF == recorded[name] & 0xFFFFFFFF, name


@pytest.mark.parametrize("is_store", [False, True])
def test_every_access_that_stops_an_h200_is_an_error_here(is_store):
    kernel, out = Module(touching_kernel(is_store), "h100", findings="report")["k"], np.zeros(1, np.uint64)
    for address in TOUCHED:
        recorded = RECORDED["accesses"][f"{'store' if is_store else 'load'} {address:#x}"]
        found = {x.kind for x in kernel[1, 1](out, address).findings}
        assert ("out of bounds" in found) == (not 1024 <= address <= 1120), address
        assert isinstance(recorded, list) or "out of bounds" in found
