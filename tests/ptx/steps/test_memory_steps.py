# SPDX-License-Identifier: MIT
"""ld, st, cvta and other memory instructions."""

import numpy as np
import pytest

from tests.ptx.memory.single_wave import SingleWave
from tests.ptx.steps.memory_states import Stepper
from tests.ptx.texts_of_kernels import launch, numbers, put
from wmma_emu.errors import UnsupportedInstructionError

LANES = np.arange(32, dtype=np.uint64)


def stepper(**more) -> Stepper:
    x = np.arange(256, dtype=np.uint8)
    x[:8] = [0x80, 0xFF, 0x00, 0x80, 0x01, 0x00, 0x00, 0x80]
    made = Stepper(
        SingleWave(
            **({"arrays": {"x": x, "y": np.zeros(256, np.uint8)}, "shared_bytes": 256, "local_bytes": 64} | more)
        )
    )
    made.set("rd0", made.chunk.address.get("x", 0))
    made.set("rd1", made.chunk.address.get("y", 0))
    return made


@pytest.mark.parametrize(
    ("opcode", "register", "expected"),
    [
        ("ld.global.u8", "r0", 0x80), ("ld.global.s8", "r0", 0xFFFFFF80), ("ld.global.s8", "rd2", 0xFFFFFFFFFFFFFF80),
        ("ld.global.b8", "h0", 0x80), ("ld.global.s16", "r0", 0xFFFFFF80), ("ld.global.u16", "rd2", 0xFF80),
        ("ld.global.s32", "rd2", 0xFFFFFFFF8000FF80), ("ld.global.u32", "rd2", 0x8000FF80),
        ("ld.global.f32", "r0", 0x8000FF80), ("ld.global.f64", "rd2", 0x800000018000FF80),
        ("ld.global.nc.L1::no_allocate.L2::128B.b64", "rd2", 0x800000018000FF80), ("ldu.global.u8", "r0", 0x80),
        ("ld.volatile.global.b32", "r0", 0x8000FF80), ("ld.relaxed.gpu.global.b32", "r0", 0x8000FF80),
        ("ld.acquire.sys.global.b32", "r0", 0x8000FF80), ("ld.u8", "r0", 0x80),
    ],
)  # fmt: skip
def test_a_load_extends_by_its_type(opcode, register, expected):
    made = stepper()
    made.do(opcode, register, "[rd0]")
    assert made.get(register).flat[0] == expected


def test_a_store_keeps_the_low_bits():
    made = stepper()
    made.set("r0", 0x12345678)
    made.do("st.global.u8", "[rd1]", "r0")
    made.do("st.global.b16", "[rd1+2]", "r0")
    made.do("st.global.b32", "[rd1+4]", -1)
    made.chunk.heap.copy_back()
    assert made.chunk.arrays["y"][:8].tolist() == [0x78, 0, 0x78, 0x56, 255, 255, 255, 255]


def test_a_load_to_the_sink_writes_no_register():
    made = stepper()
    made.do("ld.global.v4.b32", "{r0,_,r1,_}", "[rd0+16]")
    assert (made.get("r0").flat[0], made.get("r1").flat[0]) == (0x13121110, 0x1B1A1918)


def test_a_vector_is_stored_and_loaded():
    made = stepper()
    made.set("rd0", LANES * 8)
    made.set("r0", LANES)
    made.set("r1", 7)
    made.do("st.shared.v2.b32", "[rd0]", "{r0,r1}")
    made.do("ld.shared.v2.u32", "{r2,r3}", "[rd0]")
    assert made.get("r2").ravel().tolist() == list(range(32))
    assert (made.get("r3") == 7).all()


def test_a_32_bit_address_wraps_at_32_bits():
    made = stepper()
    made.set("r0", 0xFFFF_FFF8)
    made.set("r1", 5)
    made.do("st.shared.b32", "[r0+16]", "r1")
    made.meet_lanes()
    made.do("ld.shared.b32", "r2", "[8]")
    assert (made.get("r2") == 5).all()
    assert not made.kinds()


@pytest.mark.parametrize("space", ["shared", "local", "param", "global", "const"])
def test_an_address_is_converted_to_generic_and_back(space):
    made = stepper()
    made.set("rd2", 0x40 if space in ("shared", "local", "param") else made.chunk.address["x"])
    made.do(f"cvta.{space}.u64", "rd3", "rd2")
    made.do(f"cvta.to.{space}.u64", "rd4", "rd3")
    assert (made.get("rd4") == made.get("rd2")).all()
    for other in ("shared", "local", "param", "global", "const"):
        made.do(f"isspacep.{other}", "p0", "rd3")
        assert made.get("p0").all() == (other == (space if space != "const" else "global"))


def test_a_generic_store_reaches_shared_memory():
    made = stepper()
    made.set("rd2", LANES * 4)
    made.do("cvta.shared.u64", "rd3", "rd2")
    made.set("r0", LANES)
    made.do("st.b32", "[rd3]", "r0")
    made.do("ld.shared::cta.b32", "r1", "[rd2]")
    assert made.get("r1").ravel().tolist() == list(range(32))


def test_an_uninitialised_address_is_a_finding():
    made = stepper()
    made.do("ld.global.b32", "r0", "[rd5]", line=4)
    assert ("uninitialised", 4) in made.kinds()
    assert "the address depends on %rd5" in made.chunk.found[0].message


def test_an_undefined_register_stays_undefined_through_memory():
    made = stepper()
    made.do("st.shared.b32", "[16]", "r5")
    made.meet_lanes()
    made.do("ld.shared.b32", "r6", "[16]")
    assert (made.state.undefined_in(made.names["r6"], np.dtype(np.uint32)).bits == 0xFFFF_FFFF).all()
    assert not made.kinds()
    made.do("st.global.b32", "[rd1]", "r6", line=9)
    assert made.kinds() == [("uninitialised", 9)]
    assert "depends on %r5, which was never written" in made.chunk.found[0].message


def test_hints_and_fences_change_nothing():
    made = stepper()
    for opcode, *operands in (
        ("prefetch.global.L2", "[rd0]"), ("prefetchu.L1", "[rd0]"),
        ("applypriority.global.L2::evict_normal", "[rd0]", 128),
        ("membar.gl",), ("fence.acq_rel.gpu",), ("fence.proxy.async",),
        ("nanosleep.u32", 100), ("griddepcontrol.wait",),
        ("fence.mbarrier_init.release.cluster",), ("discard.global.L2", "[rd1]", 128),
        ("createpolicy.fractional.L2::evict_last.b64", "rd5"),
    ):  # fmt: skip
        made.do(opcode, *operands)
    made.do("ld.global.L2::cache_hint.b32", "r0", "[rd0]", "rd5")
    assert made.get("r0").flat[0] == 0x8000FF80
    assert not made.kinds()


def test_the_block_of_rank_0_is_the_block_itself():
    made = stepper()
    made.set("r0", 0x20)
    made.set("r1", [[LANES == 3]])
    made.do("mapa.shared::cluster.u32", "r2", "r0", 0)
    made.do("getctarank.shared::cluster.u32", "r3", "r0")
    assert (made.get("r2") == 0x20).all()
    assert not made.get("r3").any()
    made.do("mapa.shared::cluster.u32", "r2", "r0", "r1", line=8)
    assert made.kinds() == [("illegal operand", 8)]


@pytest.mark.parametrize(
    ("opcode", "operands", "words"),
    [
        ("ld.global.b128", ("rd0", "[rd0]"), "b128"), ("ld.global.v2.b32", ("r0", "[rd0]"), "vector of 1 registers"),
        ("ld.global.fast.b32", ("r0", "[rd0]"), ".fast is not a modifier"),
        ("ld.global.pred", ("p0", "[rd0]"), "is not a type"), ("ld.global.b8", ("p0", "[rd0]"), "selp|setp"),
        ("st.const.b32", ("[rd0]", "r0"), "cannot write constant memory"),
        ("st.global.b32", ("[rd0]", "p0"), "selp"), ("ld.global.v4.b64", ("{rd0,rd1}", "[rd0]"), "vector of 2"),
        ("ld.global.b32", ("r0",), "expects an address"), ("cvta.u64", ("rd0", "rd1"), "state space"),
    ],
)  # fmt: skip
def test_an_illegal_instruction_is_refused_with_its_line(opcode, operands, words):
    with pytest.raises(UnsupportedInstructionError, match=rf"line 1: {opcode}.*({words})"):
        stepper().build(opcode, *operands)


CONSTANT = ".const .align 4 .b32 table[4] = {5, 6, 7, 8};"


@pytest.mark.parametrize(
    "body",
    [
        "mov.u32 %r3, table; ld.const.u32 %r4, [%r3+4];",
        "mov.u64 %rd3, table; cvt.u32.u64 %r3, %rd3; ld.const.u32 %r4, [%r3+4];",
        "ld.const.u32 %r4, [table+4];",
        "mov.u64 %rd3, table; cvta.const.u64 %rd3, %rd3; ld.u32 %r4, [%rd3+4];",
        "mov.u64 %rd3, table; cvta.const.u64 %rd4, %rd3; cvta.to.const.u64 %rd5, %rd4; ld.const.u32 %r4, [%rd5+4];",
    ],
)
def test_addresses_of_constants_fit_their_registers(body):
    out = numbers()
    report = launch(body + put("%r4") + "ret;", out, before=CONSTANT)
    assert not report.findings
    assert out.tolist() == [6] * 32


def test_a_store_to_a_kernels_own_parameter_is_refused():
    with pytest.raises(UnsupportedInstructionError, match="p1 is a parameter of the kernel, which is read-only"):
        launch("st.param.u32 [p1], %r0; ret;", numbers())
    report = launch("mov.b64 %rd3, p1; st.param.u32 [%rd3], %r0; ret;", numbers())
    assert [x.kind for x in report.findings] == ["read-only"]


def test_a_parameter_is_not_read_past_its_end():
    for body in ("ld.param.u32 %r3, [p1+8];", "mov.b64 %rd3, p1; ld.param.u32 %r3, [%rd3+8];"):
        assert [x.kind for x in launch(body + "ret;", numbers()).findings] == ["out of bounds"]
