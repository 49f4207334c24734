# SPDX-License-Identifier: MIT
"""Lanes: arithmetic lane by lane, and a single value where Python requires one."""

import copy
import operator
import pickle

import ml_dtypes
import numpy as np
import pytest

from wmma_emu.errors import DivergenceError, FragmentMismatchError
from wmma_emu.kernels import Lanes

LANE = Lanes(np.arange(32))
THREE = Lanes(np.full(32, 3))
ARITHMETIC = {
    operator.add: operator.iadd, operator.sub: operator.isub, operator.mul: operator.imul,
    operator.floordiv: operator.ifloordiv, operator.truediv: operator.itruediv, operator.mod: operator.imod,
    operator.pow: operator.ipow, operator.and_: operator.iand, operator.or_: operator.ior,
    operator.xor: operator.ixor, operator.lshift: operator.ilshift, operator.rshift: operator.irshift,
}  # fmt: skip
COMPARISONS = [operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge]
DIFFER = "one value is needed for the whole warp, and the lanes differ: "
CHOOSE = "; let all lanes continue, and select with numpy.where(c, x, y), or write with a[i[c]] = x[c]"
TAKE = "; use an array, which each lane indexes separately, or a value that all lanes share"


@pytest.mark.parametrize("op", [*ARITHMETIC, *COMPARISONS])
@pytest.mark.parametrize("other", [3, THREE, np.full(32, 3)], ids=["int", "Lanes", "array"])
def test_operators_go_lane_by_lane_and_give_lanes(op, other):
    for result, expected in [
        (op(LANE + 1, other), [op(x + 1, 3) for x in range(32)]),
        (op(other, LANE % 5 + 1), [op(3, x % 5 + 1) for x in range(32)]),
    ]:
        assert type(result) is Lanes
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("op", ARITHMETIC)
def test_an_assignment_with_an_operator_changes_the_variable_and_no_copy_of_it(op):
    i = j = Lanes(np.arange(1, 33))
    i = ARITHMETIC[op](i, 2)
    assert type(i) is Lanes
    np.testing.assert_array_equal(j, np.arange(1, 33))
    np.testing.assert_array_equal(i, op(np.arange(1, 33), 2))


def test_functions_of_numpy_give_lanes_and_reductions_numbers():
    for result in (np.where(LANE < 3, LANE, 0), np.minimum(LANE, 5), np.abs(-LANE), np.roll(LANE, 1), LANE.copy(),
                   LANE.astype(np.float32), np.sqrt(LANE), np.clip(LANE, 1, 2), np.full_like(LANE, 2), -LANE, ~LANE,
                   divmod(LANE, 7)[0], LANE.reshape(4, 8), LANE[:5], np.stack([LANE, LANE])):  # fmt: skip
        assert type(result) is Lanes
    for result, expected in ((LANE.sum(), 496), (np.sum(LANE), 496), (LANE.max(), 31), (np.min(LANE), 0), (LANE[7], 7)):
        assert isinstance(result, np.int64) and result == expected
    assert (LANE < 40).all() and not (LANE > 40).any()
    np.testing.assert_array_equal(np.add.reduce(np.stack([LANE, LANE]), axis=0), LANE * 2)


@pytest.mark.parametrize("value", [0, 1, -3, 2**40])
def test_a_value_that_all_lanes_share_is_that_value_wherever_python_requires_one(value):
    x = Lanes(np.full(32, value))
    assert (bool(x), int(x), float(x), operator.index(x)) == (bool(value), value, float(value), value)
    assert (x.uniform(), f"{x:05d}", f"{x:x}") == (value, f"{value:05d}", f"{value:x}")
    assert type(x.uniform()) is int
    assert f"{x}" == str(np.full(32, value))


def test_uniform_lanes_index_slice_and_count():
    warp, numbers, array = THREE, list(range(10)), np.arange(10)
    assert (numbers[warp], numbers[warp:], numbers[:warp]) == (3, [3, 4, 5, 6, 7, 8, 9], [0, 1, 2])
    assert (numbers[::warp], list(range(warp))) == ([0, 3, 6, 9], [0, 1, 2])
    np.testing.assert_array_equal(array[warp * 2 :], array[6:])
    assert np.zeros((warp, 2)).shape == (3, 2)


def test_an_array_gives_every_lane_its_own_element_and_takes_one_from_each():
    array = np.arange(64.0)
    np.testing.assert_array_equal(array[63 - 2 * LANE], [63 - 2 * x for x in range(32)])
    array[LANE * 2] = -LANE
    assert array.tolist() == [-x / 2 if x % 2 == 0 else x for x in range(64)]
    table = np.arange(64).reshape(8, 8)
    np.testing.assert_array_equal(table[LANE // 4, LANE % 4], [8 * (x // 4) + x % 4 for x in range(32)])
    np.testing.assert_array_equal(array[LANE][LANE < 3], array[:3])


def test_lanes_that_write_one_element_leave_the_value_of_the_highest():
    x = np.zeros(16)
    x[LANE // 2] = LANE
    assert x.tolist() == [2 * i + 1 for i in range(16)]
    x[:] = 0
    x[LANE // 2] += 1
    assert x.tolist() == [1] * 16
    np.add.at(x, LANE // 2, 1)
    assert x.tolist() == [3] * 16


def test_a_condition_on_which_lanes_disagree_says_which_and_what_to_do():
    for condition, groups in [
        (LANE == 0, "True in lane 0, False in lanes 1-31"),
        (LANE < 31, "True in lanes 0-30, False in lane 31"),
        (LANE, "False in lane 0, True in lanes 1-31"),
    ]:  # fmt: skip
        with pytest.raises(DivergenceError) as caught:
            bool(condition)
        assert str(caught.value) == DIFFER + groups + CHOOSE


def test_lanes_that_are_all_true_agree_whatever_their_values():
    assert LANE + 1
    assert not LANE * 0.0
    assert Lanes(np.full(32, np.nan))
    assert not Lanes(np.where(LANE < 3, 0.0, -0.0))


def test_a_value_on_which_lanes_disagree_is_reported_by_lane():
    for values, groups in [
        (LANE // 16, "0 in lanes 0-15, 1 in lanes 16-31"),
        (LANE // 8, "0 in lanes 0-7, 1 in lanes 8-15, and 2 other values"),
        (LANE // 11, "0 in lanes 0-10, 1 in lanes 11-21, and 1 other value"),
        (Lanes(np.arange(64).reshape(2, 32)), "an array of shape (2, 32)"),
    ]:
        for use in (operator.index, int, float, lambda x: [][x:], lambda x: f"{x:d}", Lanes.uniform):
            with pytest.raises(DivergenceError) as caught:
                use(values)
            assert str(caught.value) == DIFFER + groups + TAKE


def test_bits_decide_whether_lanes_agree():
    nan = np.array([0x7FC00000] * 31 + [0x7FC00001], np.uint32).view(np.float32)
    assert np.isnan(Lanes(np.full(32, np.nan, np.float32)).uniform())
    with pytest.raises(DivergenceError, match=r"nan in lanes 0-30, nan in lane 31"):
        Lanes(nan).uniform()
    with pytest.raises(DivergenceError, match=r"0.0 in lanes 0-2, -0.0 in lanes 3-31"):
        Lanes(np.where(LANE < 3, 0.0, -0.0)).uniform()


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float16, np.float64, ml_dtypes.bfloat16, np.complex64])
def test_any_number_can_be_shared(dtype):
    assert Lanes(np.ones(32, dtype)).uniform() == 1


@pytest.mark.parametrize("values", [5, np.int32(5), np.full((2, 32), 5), np.array(5)])
def test_numbers_and_batches_have_a_shared_value_too(values):
    assert Lanes(values).uniform() == 5


@pytest.mark.parametrize("use", [operator.index, range, lambda x: [1][x], lambda x: [1][x:]])
def test_a_float_is_refused_as_an_index_even_if_all_lanes_share_it(use):
    with pytest.raises(FragmentMismatchError) as caught:
        use(THREE / 1)
    assert str(caught.value) == (
        "an index, a bound or a size must be an integer, not float64; for the integer division / of C++ write //"
    )


@pytest.mark.parametrize("values", [[], ["a", "b"], [None] * 32, np.zeros(32, "M8[s]")])
def test_lanes_hold_numbers(values):
    with pytest.raises(FragmentMismatchError, match="lanes must contain numbers, not "):
        Lanes(values).uniform()


def test_lanes_are_copied_and_pickled():
    for twin in (copy.copy(LANE), copy.deepcopy(LANE), pickle.loads(pickle.dumps(LANE))):
        assert type(twin) is Lanes
        np.testing.assert_array_equal(twin, LANE)
