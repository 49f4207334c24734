# SPDX-License-Identifier: MIT
"""The rules of textures and surfaces, one fact each: texels, coordinates, address modes, filtering, fractions."""

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.errors import ArgumentError, ArgumentValueError, OptionError, ShapeError
from wmma_emu.ptx.textures.accesses import surface_place
from wmma_emu.ptx.textures.coordinates import Axis, nearest, neighbours, placed
from wmma_emu.ptx.textures.facts import FACTS
from wmma_emu.ptx.textures.fetches import filtered_texels, gathered, indexed, sampled
from wmma_emu.ptx.textures.stores import saturated
from wmma_emu.ptx.textures.sums import filtered
from wmma_emu.ptx.textures.values import words_of
from wmma_emu.ptx.textures.weights import weights_of


def floats(*values):
    return np.array(values, np.float32)


def test_the_last_axis_of_an_array_is_x_and_rows_follow_one_another():
    texels = we.ptx.texture(np.zeros((2, 3, 5), np.uint16)).texels
    assert texels.extents == (5, 3, 2) and texels.row_bytes == 10
    assert texels.rows((np.array([2]), np.array([1])), None).tolist() == [50]  # y = 2, z = 1: row 5


def test_layers_are_the_first_axis_and_channels_the_last():
    texels = we.ptx.texture(np.zeros((7, 3, 5, 4), np.uint8), channels=4, layers=True).texels
    assert texels.extents == (5, 3) and texels.layers == 7 and texels.texel_bytes == 4
    assert texels.rows((np.array([1]),), np.array([2])).tolist() == [20 * (2 * 3 + 1)]


def test_point_sampling_takes_the_texel_below_a_coordinate():
    x = floats(-0.25, 0.0, 0.99, 1.0, 3.5, 4.0)
    assert nearest(x, Axis(4, "clamp", False)).texel.tolist() == [0, 0, 0, 1, 3, 3]
    assert nearest(floats(0.0, 0.25, 0.99), Axis(4, "clamp", True)).texel.tolist() == [0, 1, 3]


def test_an_address_mode_moves_the_indices_outside_of_a_texture():
    index = np.array([-4, -1, 0, 2, 3, 5, 6])
    assert placed(index, Axis(3, "clamp", True)).texel.tolist() == [0, 0, 0, 2, 2, 2, 2]
    assert placed(index, Axis(3, "wrap", True)).texel.tolist() == [2, 2, 0, 2, 0, 2, 0]
    assert placed(index, Axis(3, "mirror", True)).texel.tolist() == [2, 0, 0, 2, 2, 0, 0]
    border = placed(index, Axis(3, "border", True))
    assert border.inside.tolist() == [False, False, True, True, False, False, False]


def test_a_coordinate_that_is_not_a_number_is_zero_and_an_infinite_one_is_outside():
    x = floats(np.nan, np.inf, -np.inf)
    assert nearest(x, Axis(4, "clamp", False)).texel.tolist() == [0, 3, 0]


def test_the_middle_of_a_texel_has_all_of_the_weight():
    low, high, weight = neighbours(floats(0.5, 1.0, 1.25, 0.0), Axis(4, "clamp", False))  # and before texel 0
    assert low.texel.tolist() == [0, 0, 0, 0]
    assert high.texel.tolist() == [1, 1, 1, 0]  # the last one is between texels -1 and 0
    assert weight.tolist() == [0, 128, 192, 0]


def test_a_weight_has_eight_bits_of_fraction_and_ties_go_up():
    x = floats(0.5 + 1 / 512, 0.5 + 1 / 512 - 2**-20, 0.5 + 3 / 512)
    assert neighbours(x, Axis(4, "clamp", False))[2].tolist() == [1, 0, 2]


def test_a_texel_that_is_both_neighbours_has_all_of_the_weight():
    x = floats(0.25, 3.75, 4.5)
    low, high, weight = neighbours(x, Axis(4, "clamp", False))
    assert low.texel.tolist() == high.texel.tolist() == [0, 3, 3] and weight.tolist() == [0, 0, 0]
    low, high, weight = neighbours(x, Axis(4, "border", False))
    assert weight.tolist() == [192, 64, 0]  # the neighbour of texel 3 is outside, with texel 3's index
    assert low.inside.tolist() == [False, True, False] and high.inside.tolist() == [True, False, False]


def test_a_normalised_coordinate_keeps_21_bits_of_fraction():
    seventh = np.nextafter(np.float32(1 / 7), np.float32(1))  # 7 times this is above 1, and was texel 0 on a GPU
    x = np.array([seventh, 0.2857143, 0.2857147], np.float32)
    assert nearest(x, Axis(7, "clamp", True)).texel.tolist() == [0, 1, 2]
    assert nearest(floats(-1e-40, -(2.0**-21)), Axis(8, "wrap", True)).texel.tolist() == [0, 7]


def test_the_weights_of_two_axes_are_products_rounded_to_256ths():
    texture = we.ptx.texture(np.zeros((4, 8), np.float32), filter="linear")
    found = filtered_texels(texture, (floats(2.75), floats(1.75)), None)
    # x: 2.25 past texel centres, weight 64 of 256; y: 1.25, weight 64
    assert [x.weight.item() for x in found] == [144, 48, 48, 16]
    assert [x.position.item() for x in found] == [4 * (8 * y + x) for y in (1, 2) for x in (2, 3)]
    x, y = np.array([85, 169, 86, 43]), np.array([85, 169, 128, 128])  # of the recording: 28.2, 111.6
    assert weights_of([x, y])[3].tolist() == [28, 112, 43, 22]  # 43 * 128 is the tie 21.5


def test_the_weights_of_three_axes_are_shared_out_along_z_then_x_then_y():
    # from a recording: the only weights near the exact products that explain the sums
    one, other = (134, 202, 212), (193, 43, 128)
    found = weights_of([np.array(k) for k in zip(one, other, strict=True)])
    assert [[w[k].item() for w in found] for k in (0, 1)] == [
        [4, 5, 17, 18, 21, 23, 80, 88],  # the sum along y is 203, not 202
        [26, 81, 5, 16, 26, 81, 5, 16],  # 193 * 128 / 256 is the tie 96.5
    ]


def test_a_gather_is_counter_clockwise_from_the_lower_left():
    texture = we.ptx.texture(np.zeros((4, 8), np.uint8))
    found = gathered(texture, (floats(3.0), floats(2.0)), None)
    assert [x.position.item() for x in found] == [8 * 2 + 2, 8 * 2 + 3, 8 * 1 + 3, 8 * 1 + 2]


def test_a_texel_outside_of_an_integer_fetch_is_marked():
    texels = we.ptx.texture(np.zeros((2, 4), np.int32)).texels
    found = indexed(texels, (np.array([3, 4, -1], np.int32), np.array([1, 0, 0], np.int32)), None)
    assert found.inside.tolist() == [True, False, False] and found.position[0] == 28


def test_layers_beyond_the_last_are_the_last():
    from wmma_emu.ptx.textures.fetches import layer_of

    texels = we.ptx.texture(np.zeros((3, 4), np.float32), layers=True).texels
    assert layer_of(texels, np.array([0, 2, 3, 0xFFFFFFFF], np.uint32)).tolist() == [0, 2, 2, 2]


def test_elements_are_extended_to_registers_of_32_bits():
    def words(dtype, bits):
        texels = we.ptx.texture(np.zeros(1, dtype)).texels
        return [hex(x) for x in words_of(np.array(bits, f"u{np.dtype(dtype).itemsize}"), texels, as_fractions=False)]

    assert words(np.uint8, [0xFF]) == ["0xff"] and words(np.int8, [0xFF]) == ["0xffffffff"]
    assert words(np.int16, [0x8000, 0x7FFF]) == ["0xffff8000", "0x7fff"]
    assert words(np.float16, [0x3C00, 0x0001, 0xFC00]) == ["0x3f800000", "0x33800000", "0xff800000"]
    assert words(np.float32, [0x7FA00001]) == ["0x7fa00001"]  # every bit of a NaN is kept


def test_integers_are_fractions_of_their_largest_number():
    def fractions(dtype, bits):
        texels = we.ptx.texture(np.zeros(1, dtype), read="normalised").texels
        return [hex(x) for x in words_of(np.array(bits, f"u{np.dtype(dtype).itemsize}"), texels, as_fractions=True)]

    assert fractions(np.uint8, [0, 255, 51]) == ["0x0", "0x3f800000", "0x3e4ccccd"]  # 51 / 255 is 0.2
    assert fractions(np.int8, [0x7F, 0x81, 0x80]) == ["0x3f800000", "0xbf800000", "0xbf800000"]
    assert fractions(np.uint16, [0xFFFF, 13107]) == ["0x3f800000", "0x3e4ccccd"]
    assert fractions(np.int16, [0x8000, 0x8001]) == ["0xbf800000", "0xbf800000"]


def weighted(dtype, *terms):
    """Filter texels by weights in units of 1/256: (weight, value), ..."""
    texels = we.ptx.texture(np.zeros(1, dtype)).texels
    unsigned = f"u{np.dtype(dtype).itemsize}"
    found = filtered([(np.array([w]), np.array([v], dtype).view(unsigned)) for w, v in terms], texels)
    return hex(found[0])


def test_a_weighted_sum_of_floats_is_rounded_to_their_format_and_ties_go_away_from_zero():
    assert weighted(np.float32, (128, 1), (128, 1 + 2.0**-23)) == "0x3f800001"
    assert weighted(np.float32, (128, -1), (128, -1 - 2.0**-23)) == "0xbf800001"
    assert weighted(np.float16, (128, 1), (128, 1 + 2.0**-10)) == "0x3f802000"
    assert weighted(np.float16, (192, 1), (64, 1 + 2.0**-10)) == "0x3f800000"


def test_texels_are_truncated_below_the_largest_that_has_a_weight():
    big, small = 652288 * 2.0**-18, -4184 * 2.0**-18  # of a recording
    assert weighted(np.float16, (255, small), (1, big)) == hex(np.float32(-1596 * 2.0**-18).view(np.uint32))
    assert weighted(np.float32, (64, 1), (192, -1), (0, np.inf)) == "0xbf000000"
    assert weighted(np.float32, (1, 2.0**27), (255, 1.75)) == weighted(np.float32, (1, 2.0**27), (255, 1))


def test_the_two_z_of_a_sum_are_truncated_apart():
    terms = [(128, 1.75), *[(0, 0)] * 3, (1, 2.0**14), *[(127, 0), (0, 0), (0, 0)]]
    assert weighted(np.float16, *terms) == "0x4281c000"  # 64 + 0.875
    assert weighted(np.float16, (128, 1.75), (1, 2.0**14)) == "0x42810000"  # of one z, 1.75 is 1


def test_a_sum_of_zeros_and_subnormal_numbers_is_a_zero_of_their_sign():
    assert weighted(np.float32, (256, -0.0), (0, 1.0)) == "0x80000000"
    assert weighted(np.float32, (256, -1e-45), (0, 3e38)) == "0x80000000"
    assert weighted(np.float32, (144, 1e-45), (112, -1e-45)) == "0x0"


def test_what_is_not_finite_counts_if_it_has_a_weight():
    assert weighted(np.float32, (255, 1.0), (1, np.inf)) == "0x7f800000"
    assert weighted(np.float32, (255, -np.inf), (1, np.inf)) == "0x7fffffff"
    assert weighted(np.float32, (256, 1.0), (0, np.nan)) == "0x3f800000"


def test_a_weighted_sum_of_integers_is_a_fraction_of_sixteen_bits():
    def of(dtype, largest, *terms):
        return float(np.uint32(int(weighted(dtype, *terms), 16)).view(np.float32)) * largest

    assert round(of(np.uint8, 65535, (31, 223), (225, 144))) == 39467  # from here to the end: of a recording
    assert round(of(np.uint16, 65535, (31, 4125), (225, 56856))) == 50471
    assert round(of(np.int16, 32767, (31, -24968), (225, 4722))) == 1127
    assert round(of(np.int8, 32767, (31, 78), (225, 95))) == 23980
    assert round(of(np.int8, 32767, (220, 78), (36, 95))) == 20741
    assert round(of(np.int8, 32767, (256, -85))) == -21931


def test_an_access_to_a_surface_counts_bytes_and_stays_in_its_row():
    texels = we.ptx.surface(np.zeros((2, 4), np.float32)).texels
    x, y = np.array([0, 12, 16, -4, 2], np.int32), np.array([1, 0, 0, 0, 0], np.int32)
    place = surface_place(texels, (x, y), None, 4, "trap", counts_texels=False)
    assert place.inside.tolist() == [True, True, False, False, True]
    assert place.aligned.tolist() == [True, True, True, True, False]
    clamped = surface_place(texels, (x, y), None, 8, "clamp", counts_texels=False)
    assert clamped.position.tolist()[:4] == [16, 8, 8, 0] and clamped.inside.all()


def test_wrap_and_mirror_are_clamp_without_normalised_coordinates():
    assert we.ptx.texture(np.zeros(4, np.float32), address="wrap").address == ("clamp",)
    both = we.ptx.texture(np.zeros((4, 4), np.float32), address=("wrap", "mirror", "clamp"), coordinates="normalized")
    assert both.address == ("wrap", "mirror")


def test_only_filtering_along_three_axes_has_a_caveat():
    x = np.zeros((4, 4, 4), np.float32)
    assert we.ptx.texture(x, filter="linear").caveats == (FACTS["products"].caveat,)
    assert we.ptx.texture(x).caveats == ()
    assert we.ptx.texture(x[0], filter="linear", coordinates="normalised", address="wrap").caveats == ()


def test_a_register_saturates_to_the_integers_of_a_texel():
    words = np.array([0x80, 0xFFFF, 0x10000, 0xFFFFFFFF, 0xBF000000], np.uint32)
    assert saturated(words, "u1").tolist() == [0x80, 0xFF, 0xFF, 0xFF, 0xFF]
    assert saturated(words, "i1").tolist() == [0x7F, 0x7F, 0x7F, 0xFF, 0x80]
    assert saturated(words, "u2").tolist() == [0x80, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF]
    assert saturated(words, "i2").tolist() == [0x80, 0x7FFF, 0x7FFF, 0xFFFF, 0x8000]


@pytest.mark.parametrize(
    ("array", "options", "error", "why"),
    [
        ([1.0], {}, ArgumentError, "needs a NumPy array"),
        (np.zeros(4), {}, ArgumentError, "not float64; as in CUDA, wider elements are two channels"),
        (np.zeros((4, 3), np.uint8), {"channels": 3}, ArgumentValueError, "channels=3 is not 1, 2 or 4"),
        (np.zeros((4, 3), np.uint8), {"channels": 4}, ShapeError, r"shape \(4, 3\)"),
        (np.zeros((2, 2, 2, 2), np.uint8), {}, ShapeError, "1 to 3 axes"),
        (np.zeros(4, np.uint8), {"layers": True}, ShapeError, "1 to 2 axes after that of the layers"),
        (np.zeros((4, 0), np.uint8), {}, ShapeError, "none of length 0"),
        (np.zeros((4, 4), np.uint8).T[1:], {}, ArgumentValueError, "np.ascontiguousarray"),
        (np.zeros(4, np.uint8), {"filter": "linear"}, OptionError, "read as floats, not uint8"),
        (np.zeros(4, np.uint32), {"read": "normalised"}, OptionError, "integers of 8 and 16 bits, not uint32"),
        (np.zeros(4, np.uint8), {"address": "repeat"}, OptionError, "is not one of 'clamp', 'border', 'wrap'"),
        (np.zeros((4, 4), np.uint8), {"address": ("clamp",)}, OptionError, "names 1 address mode; the texture has 2"),
        (np.zeros(4, np.float32), {"linear": True, "filter": "linear"}, OptionError, "neither filtered nor normalised"),
        (np.zeros((4, 4), np.uint8), {"linear": True}, ArgumentValueError, "arrays of one dimension"),
        (np.zeros(4, np.uint8), {"linear": 1}, OptionError, "linear=1 is neither True nor False"),
        (np.zeros(4, np.uint8), {"address": None}, OptionError, "address=None is not one of 'clamp'"),
        (np.zeros(4, np.uint8), {"address": ["clamp"] * 4}, OptionError, "names 4 address modes; .* has 1 axis"),
        (np.zeros((4, 1), np.uint8), {"channels": True}, ArgumentValueError, "channels=True is not 1, 2 or 4"),
        (np.zeros((4, 4), np.uint8), {"channels": np.arange(3)}, ArgumentValueError, "is not 1, 2 or 4"),
    ],
)
def test_a_texture_that_cuda_does_not_have_is_refused(array, options, error, why):
    with pytest.raises(error, match=why):
        we.ptx.texture(array, **options)


def test_a_point_of_a_texture_is_one_texel():
    found = sampled(we.ptx.texture(np.zeros((2, 4), np.uint32)), (floats(3.9), floats(1.0)), None)
    assert found.position.tolist() == [28] and found.inside is None and found.weight == 1
