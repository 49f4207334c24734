# SPDX-License-Identifier: MIT
"""Strategies of block scales: shapes, formats, the result of shrinking; and instructions that cannot be probed."""

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings

import wmma_emu as we
from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.instructions import lookup
from wmma_emu.testing import probe
from wmma_emu.testing.strategies import registers, scales

MXF4 = "m16n8k64.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"
NVF4 = "mma.sp::ordered_metadata.m16n8k128.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
ANEW = settings(database=None, phases=[Phase.generate, Phase.shrink], max_examples=200)
FEW = settings(database=None, max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize(("name", "one"), [(MXF4, 0x7F), (NVF4, 0x38)])
def test_scales_have_the_shapes_of_the_instruction_and_shrink_to_ones(name, one):
    row = lookup(name)
    a, b = find(scales(row), lambda drawn: True, settings=ANEW)
    assert (a.shape, b.shape) == ((row.m, row.scale_vec), (row.scale_vec, row.n))
    assert (a.view(np.uint8) == one).all() and (b.view(np.uint8) == one).all()
    a, b = find(scales(row), lambda drawn: drawn[0].view(np.uint8)[3, 0] != one, settings=ANEW)
    assert a.view(np.uint8)[3, 0] != one


@pytest.mark.thorough
def test_nan_comes_unless_it_is_refused():
    many = settings(ANEW, max_examples=20_000)  # sometimes none of 200 has one
    assert find(scales(MXF4), lambda drawn: (drawn[1].view(np.uint8) == 0xFF).any(), settings=many)

    @FEW
    @given(scales(MXF4, allow_nan=False))
    def none(drawn):
        assert not any((x.view(np.uint8) == 0xFF).any() for x in drawn)

    none()


@pytest.mark.filterwarnings("ignore::wmma_emu.UnverifiedModelWarning")
@pytest.mark.parametrize("name", [MXF4, NVF4])
def test_registers_include_scales_and_selectors_and_give_the_result_of_a_call(name):
    ins = we.instruction(name, arch="sm_120")
    seen = set()

    @FEW
    @given(registers(ins))
    def same(drawn):
        o = drawn.options
        seen.add((o["byte_id_a"], o["thread_id_a"], o["byte_id_b"], o["thread_id_b"]))
        d = ins.d.unpack_bits(ins.execute(*drawn, **o))
        if ins.instruction.is_sparse:
            return
        a, b, c = (x.unpack(words) for x, words in zip((ins.a, ins.b, ins.c), drawn, strict=True))
        s, t = (x.unpack(o[f"scale_{n}"], o[f"byte_id_{n}"], o[f"thread_id_{n}"])
                for n, x in (("a", ins.scale_a), ("b", ins.scale_b)))  # fmt: skip
        assert (ins(a, b, c, scale_a=s, scale_b=t).view(np.uint32) == d).all()

    same()
    assert len(seen) > 1
    least = find(registers(ins), lambda drawn: True, settings=ANEW).options
    one = 0x7F if ins.instruction.scale == "ue8m0" else 0x38
    for n, x in (("a", ins.scale_a), ("b", ins.scale_b)):
        assert (x.unpack_bits(least[f"scale_{n}"], least[f"byte_id_{n}"], least[f"thread_id_{n}"]) == one).all()


@pytest.mark.parametrize(("call", "message"), [
    (lambda: find(scales("m16n8k16.f32.f16.f16.f32"), bool, settings=ANEW), "has no block scales; use an instruction"),
    (lambda: probe(lambda a, b, c: c, like=MXF4), "reads block scales, but probe calls f.a, b, c. without them"),
])  # fmt: skip
def test_what_has_no_scales_or_cannot_be_probed_is_refused(call, message):
    with pytest.raises(UnsupportedInstructionError, match=message):
        call()
