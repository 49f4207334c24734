# SPDX-License-Identifier: MIT
"""The rules of PTX execution that all parts share, one fact each: names, widths, constants, threads, orders, fills.

Each part, such as memory or syntax, has its own rules in its own folder.
"""

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.texts_of_kernels import launch, numbers, put, text_of
from wmma_emu.errors import OptionError, UnsupportedInstructionError
from wmma_emu.ptx.constants import constant
from wmma_emu.ptx.fills import Fill
from wmma_emu.ptx.orders import BACKWARDS, order_of
from wmma_emu.ptx.pages import zeroed
from wmma_emu.ptx.program.program import Immediate
from wmma_emu.ptx.threads import Dim3, Threads, Warps, index_of, linear_of
from wmma_emu.ptx.widths import bits_of_type, dtype_of_bits


def test_a_kernel_runs_on_arrays_of_numpy_in_place():
    x = numbers(32)
    report = launch("add.u32 %r2, %r0, 5;\n" + put("%r2") + "ret;", x)
    assert x.tolist() == list(range(5, 37))
    assert report.completed and report.findings == ()


def test_a_finding_is_a_warning_an_error_or_only_in_the_report():
    kernel = we.ptx.Module(text_of("st.global.u32 [%rd1+400], 1;\nret;"))["k"]
    with pytest.warns(we.KernelFindingsWarning, match="out of bounds"):
        kernel[1, 1](numbers(4))
    with pytest.raises(we.KernelFindingsError, match="out of bounds"):
        kernel[1, 1](numbers(4), findings="raise")
    assert [x.kind for x in kernel[1, 1](numbers(4), findings="report").findings] == ["out of bounds"]


@pytest.mark.parametrize(("name", "bits"), [
    ("u32", 32), ("b8", 8), ("f16x2", 32), ("bf16", 16), ("tf32", 32), ("pred", 1),
])  # fmt: skip
def test_the_name_of_a_type_states_its_width(name, bits):
    assert bits_of_type(name) == bits


def test_a_name_without_a_number_is_not_a_type():
    with pytest.raises(UnsupportedInstructionError, match="'word' is not a PTX type with a number of bits"):
        bits_of_type("word")


def test_a_register_is_an_unsigned_integer_of_its_width_and_a_predicate_a_bool():
    assert [dtype_of_bits(x) for x in (1, 8, 16, 32, 64)] == [np.bool_, np.uint8, np.uint16, np.uint32, np.uint64]
    with pytest.raises(UnsupportedInstructionError, match="registers of 128 bits are not modelled"):
        dtype_of_bits(128)


def test_an_integer_constant_is_taken_modulo_the_width():
    assert constant(Immediate("int", -1), "u16").item() == 0xFFFF
    assert constant(Immediate("int", 0x1_0000_0005), "u32").item() == 5


def test_a_floating_point_constant_is_rounded_once_to_the_type_of_the_operand():
    assert constant(Immediate("f64", 0x3FF0_0000_0000_0000), "f32").item() == 0x3F80_0000
    # 1 + 2**-24 is halfway between two numbers of f32: to nearest even, it is 1.
    assert constant(Immediate("f64", 0x3FF0_0000_1000_0000), "f32").item() == 0x3F80_0000
    assert constant(Immediate("f64", 0x3FF0_0000_1000_0001), "f32").item() == 0x3F80_0001
    assert constant(Immediate("f32", 0x7FC0_1234), "f32").item() == 0x7FC0_1234


def test_threads_and_blocks_are_numbered_with_x_fastest():
    assert index_of(5, Dim3(2, 2, 2)) == (1, 0, 1)
    assert linear_of((1, 0, 1), Dim3(2, 2, 2)) == 5


def test_32_successive_threads_are_a_warp_and_the_last_warp_may_be_partial():
    threads = Threads(Dim3(1), Dim3(16, 3), np.arange(1))
    assert threads.shape == (1, 2, 32)
    assert threads.special("tid.y")[0, :, 0].tolist() == [0, 2]
    assert threads.exists.sum(axis=-1).tolist() == [[32, 16]]
    assert threads.name_thread(1, 1) == (1, 2, 0)


def test_special_registers_name_the_thread_and_its_place_in_the_launch():
    threads = Threads(Dim3(2, 2), Dim3(64), np.arange(4))
    assert threads.special("ctaid.x")[:, 0, 0].tolist() == [0, 1, 0, 1]
    assert threads.special("nctaid.y").item() == 2 and threads.special("ntid.x").item() == 64
    assert threads.special("laneid")[0, 0, 31] == 31 and threads.special("warpid")[0, 1, 0] == 1
    assert [hex(x) for x in threads.special("lanemask_lt")[0, 0, [0, 1, 31]]] == ["0x0", "0x1", "0x7fffffff"]


def test_only_warps_with_an_active_lane_execute_and_the_others_get_zeros():
    active = np.zeros((1, 2, 32), np.bool_)
    active[0, 1, 3] = True
    warps = Warps((1, 2, 32), active)
    assert (warps.count, warps.numbers().tolist()) == (1, [1])
    assert warps.scatter(np.full((1, 32), 7))[0, :, 3].tolist() == [0, 7]


def test_a_schedule_is_the_order_of_numbers_the_reverse_or_drawn_from_a_seed():
    assert order_of(None) is None
    assert order_of(BACKWARDS).permutation(4).tolist() == [3, 2, 1, 0]
    assert order_of(7).permutation(9).tolist() == order_of(7).permutation(9).tolist() != list(range(9))


@pytest.mark.parametrize(("fill", "byte"), [("zeros", 0x00), ("ones", 0xFF)])
def test_memory_and_registers_start_with_the_bits_of_the_fill(fill, byte):
    assert Fill(fill).memory(2).tolist() == [byte, byte]
    assert Fill(fill).register(np.dtype(np.uint16), (1, 1, 32)).item() == byte * 0x101


def test_a_seed_fills_with_bytes_that_repeat_for_the_same_seed():
    assert Fill(7).memory(8).tolist() == Fill(7).memory(8).tolist() != Fill(8).memory(8).tolist()


@pytest.mark.parametrize("fill", [-1, "noughts", 1.5, None])
def test_anything_else_is_not_a_fill(fill):
    with pytest.raises(OptionError, match="is neither 'zeros' nor 'ones' nor a seed"):
        Fill(fill)


def test_large_arrays_of_zeros_are_ordinary_arrays():
    assert zeroed(1 << 26, np.uint16)[-1] == 0 and zeroed((2, 3), np.int32).shape == (2, 3)
