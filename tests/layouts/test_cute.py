# SPDX-License-Identifier: MIT
"""Layouts in CuTe's notation: against CUTLASS's own traits, there and back, and the algebra by brute force."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmma_emu.errors import FragmentMismatchError, OutOfBoundsError, WmmaEmuError
from wmma_emu.instructions import INSTRUCTIONS, lookup
from wmma_emu.instructions.notation import meaning_of
from wmma_emu.layouts import LaneMap, layout_for
from wmma_emu.layouts.cute import lane_map_of_cute
from wmma_emu.layouts.cute_layout import CuteLayout

TRAITS = [
    line.partition("  ")
    for line in (Path(__file__).parent / "data" / "cute_traits.txt").read_text().splitlines()
    if not line.startswith("#")
]


@pytest.mark.parametrize(("layouts", "names"), [(x[0].split(), x[2].split()) for x in TRAITS], ids=lambda x: x[0])
def test_every_layout_of_cutlass_is_ours_element_by_element(layouts: list[str], names: list[str]):
    for name in names:
        instruction = meaning_of(name).instruction
        for operand, theirs in zip("abc", layouts[1:], strict=True):
            if theirs in "-?":
                continue
            own = layout_for(instruction, operand, instruction.archs[0]).cute
            if operand == "a" and instruction.is_sparse:  # packed here; CuTe counts two k for each packed element
                height, table = instruction.m, own.layout.table()
                row, k = table % height, table // height
                both = np.stack((row + height * 2 * k, row + height * (2 * k + 1)), axis=-1)
                assert (both.reshape(len(table), -1) == CuteLayout.parse(theirs).table()).all()
            else:
                assert own.difference(theirs) == ""
        if layouts[0] != "-":
            own = layout_for(instruction, "c", instruction.archs[0]).cute
            assert own.threads.table().tolist() == CuteLayout.parse(layouts[0]).table().tolist()


def test_two_recorded_traits_have_no_layouts_of_which_cutlass_is_sure():
    assert [name for x in TRAITS if "?" in x[0] for name in x[2].split()] == [
        "SM80_16x8x128_S32U1U1S32_TN_ANDPOPC", "SM80_16x8x128_S32U1U1S32_TN_XORPOPC",
    ]  # fmt: skip


def distinct_layouts() -> list[LaneMap]:
    """Every layout of the tables, once."""
    found: dict[LaneMap, None] = {}
    for row in INSTRUCTIONS.values():
        for arch in row.archs:
            for operand in "abcd":
                if not (row.is_warpgroup and operand == "b"):
                    found[layout_for(row, operand, arch)] = None
    return list(found)


def test_every_layout_of_every_instruction_has_an_invertible_notation():
    layouts = distinct_layouts()
    assert {
        layout_for(lookup(name), operand, arch)
        for name, operand, arch in (
            ("m16n8k16.f32.f16.f16.f32", "a", "sm_80"), ("m16n8k32.s32.s8.s8.s32", "b", "sm_90"),
            ("wmma.mma.m16n16k16.f32.f32", "a", "sm_70"), ("wmma.mma.m16n16k16.f32.f32", "a", "sm_75"),
            ("mma.sp.m16n8k16.f32.f16.f16.f32", "a", "sm_80"), ("wgmma.m64n256k16.f32.f16.f16", "d", "sm_90"),
        )
    } <= set(layouts)  # fmt: skip
    for layout in layouts:
        text = str(layout.cute)
        back = lane_map_of_cute(text, layout.rows, layout.cols, layout.element_bits, layout.of_b)
        assert (back.coords == layout.coords).all() and (back.matrix_of_lane == layout.matrix_of_lane).all(), text
        assert layout.cute.difference(layout.cute.cpp) == layout.cute.difference(text) == ""
        assert str(back.cute) == text


def test_elements_that_are_held_twice_have_a_stride_of_nothing():
    turing = layout_for(lookup("wmma.mma.m16n16k16.f32.f32"), "a", "sm_75").cute
    assert str(turing) == "((4,8),(2,2,2,2)):((32,1),(16,8,128,0))"
    volta = layout_for(lookup("wmma.mma.m16n16k16.f32.f32"), "a", "sm_70").cute
    assert volta.layout.mode(0).modes()[-2:] != [] and 0 in [stride for _, stride in volta.layout.mode(0).modes()]


def test_a_layout_whose_thread_and_value_do_not_add_up_has_no_notation():
    coords = np.zeros((1, 32, 2), np.int64)
    coords[0, :, 0] = np.roll(np.arange(32), 1)
    with pytest.raises(FragmentMismatchError, match="no sizes and strides"):
        LaneMap(coords, 32, 1, 32, 1, "mine", "inferred").cute.cpp
    swizzled = np.stack((np.arange(32) ^ np.arange(2)[:, None], np.zeros((2, 32), np.int64)), axis=-1)
    with pytest.raises(FragmentMismatchError, match="thread and value do not add up"):
        LaneMap(swizzled, 32, 1, 16, 2, "mine", "inferred").cute.cpp


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("((4,8),(2,2,2)):((32,1),(16,8,256))", "goes up to element 383; a 16 x 16 matrix has 256"),
        ("(16,16):(1,16)", "the first of size 16; expected two modes, the first being the thread"),
        ("32:1", "it has 1 modes"),
        ("(32,999999999):(1,0)", "at most 4194304 can be listed"),
        ("(32,3):(1,32)", "do not fill registers"),
        ("((4,8),(2,2):((32,1),(16,8))", "its brackets do not close"),
        ("((4,8),2)):((32,1),16)", "a bracket closes that is not open"),
        ("(4,8):(1)", "not nested alike"),
        ("(4,0):(1,2)", "there is no mode 0:2"),
        ("m16n8k16", "is not an integer or a bracket"),
        ("", "it is empty"),
        ("4_0:1", "a comma is missing before '0'"),
        ("4:99999999999999999999", "99999999999999999999 has more than 9 digits"),
        ("4:1:1", "it has more than one ':'"),
        ("(4 8)", "a comma is missing before '8'"),
        ("4,8", "which must be in brackets"),
        ("(4,", "missing at its end"),
        ("(4,)", "missing before ')'"),
        ("(" * 3000, "a string of 3000 characters is too long"),
        (7, "a CuTe layout is a string"),
    ],
)
def test_the_error_for_a_wrong_layout_string_names_the_reason(text: object, said: str):
    with pytest.raises(FragmentMismatchError) as caught:
        lane_map_of_cute(text, 16, 16, 16)  # type: ignore[arg-type]
    assert said in str(caught.value)


def test_a_difference_names_elements():
    own = layout_for(lookup("m16n8k16.f32.f16.f16.f32"), "a", "sm_80").cute
    assert own.difference("((8,4),(2,2,2)):((32,1),(16,8,128))").startswith("value 0 of thread 4 is element 1, at")
    assert own.difference("((4,8),(2,2)):((32,1),(16,8))") == (
        "this layout is of 32 threads x 8 values, ((4,8),(2,2)):((32,1),(16,8)) of 32 x 4"
    )


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("( _4 , ( 2,3 ) ) : ( 1, (4, 8) )", "(4,(2,3)):(1,(4,8))"),
        ("cute::Layout<cute::Shape<_4,_8>, cute::Stride<_8,_1>>{}", "(4,8):(8,1)"),
        ("Layout<Shape<Int<4>, C<8>>, Stride<Int<8>, _1>>;", "(4,8):(8,1)"),
        ("make_layout(make_shape(4, 8), make_stride(8, 1))", "(4,8):(8,1)"),
        ("Layout<Shape<_4,_8>>", "(4,8):(1,4)"),
        ("Layout<_32>", "32:1"),
        ("(2,(3,4))", "(2,(3,4)):(1,(2,6))"),
    ],
)
def test_a_layout_is_read_as_it_is_printed_or_as_it_is_written_in_cpp(text: str, plain: str):
    assert str(CuteLayout.parse(text)) == plain


def by_hand(layout: CuteLayout) -> list[int]:
    return [layout(i) for i in range(layout.size)]


MODES = st.lists(st.tuples(st.integers(1, 4), st.integers(0, 9)), min_size=1, max_size=4)


@given(MODES)
def test_a_coalesced_layout_gives_the_same_indices(modes: list[tuple[int, int]]):
    layout = CuteLayout(tuple(s for s, _ in modes), tuple(d for _, d in modes))
    assert by_hand(layout.coalesce()) == by_hand(layout) == layout.table().ravel(order="F").tolist()
    assert layout.cosize == max(by_hand(layout)) + 1
    assert len(layout.coalesce().modes()) <= max(1, sum(s > 1 for s, _ in modes))


@given(MODES, MODES)
def test_a_composition_asks_the_inner_layout_first(outer: list[tuple[int, int]], inner: list[tuple[int, int]]):
    f = CuteLayout(tuple(s for s, _ in outer), tuple(d for _, d in outer))
    g = CuteLayout(tuple(s for s, _ in inner), tuple(d for _, d in inner))
    try:
        both = f.composition(g)
    except FragmentMismatchError:
        return
    assert by_hand(both) == [f(g(i)) for i in range(g.size)]
    assert both.rank == g.rank


def test_a_composition_that_exists_is_found():
    f = CuteLayout.parse("((4,8),(2,2,2)):((32,1),(16,8,128))")
    for text in ("(4,8):(1,4)", "(8,4):(4,1)", "(32,8):(1,32)", "(2,2):(32,128)", "4:0", "(2,(2,2)):(1,(4,64))"):
        g = CuteLayout.parse(text)
        assert by_hand(f.composition(g)) == [f(g(i)) for i in range(g.size)]


def test_a_coordinate_is_checked():
    layout = CuteLayout.parse("((4,8),2):((32,1),16)")
    assert layout(63) == layout(31, 1) == layout((3, 7), 1) == 96 + 7 + 16
    for wrong in ((64,), (32, 0), (0, 2), (-1,)):
        with pytest.raises(OutOfBoundsError):
            layout(*wrong)
    for nested in ((0, 0, 0), ((0, 0, 0), 0), (0, (0, 0))):
        with pytest.raises(FragmentMismatchError):
            layout(*nested)
    with pytest.raises(OutOfBoundsError):
        layout.mode(2)


def test_the_largest_layout_that_is_written_out_has_2_to_the_22_elements():
    table = CuteLayout.parse("(4194304):(3)").table()
    assert table.shape == (1 << 22,) and table[[0, 1, -1]].tolist() == [0, 3, 3 * 4194303]
    with pytest.raises(WmmaEmuError, match="has 4194305 elements; at most 4194304 can be listed"):
        CuteLayout.parse("(4194305):(3)").table()
