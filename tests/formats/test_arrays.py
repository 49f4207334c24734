# SPDX-License-Identifier: MIT
"""The objects that are read as integers; arrays are tested with the dtypes."""

import enum
import sys
from types import ModuleType

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.errors import DivergenceError
from wmma_emu.formats.arrays import integer_of, is_masked
from wmma_emu.kernels import Lanes
from wmma_emu.layouts import fragment_layout
from wmma_emu.warp.shuffle import shuffled


class Index:
    """A user-defined integer, or one that raises."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        if isinstance(self.value, Exception):
            raise self.value
        return self.value


class Member(enum.IntEnum):
    three = 3


@pytest.mark.parametrize(
    "given", [3, np.int8(3), np.uint64(3), np.array(3), Index(3), Member.three, Lanes(np.full(32, 3))], ids=type
)
def test_an_object_with_an_index_method_is_an_integer(given):
    assert integer_of(given) == 3


def test_integers_of_any_size_and_sign_are_read():
    assert [integer_of(x) for x in (-1, 2**70, np.int64(-(2**63)))] == [-1, 2**70, -(2**63)]


NO_INTEGERS = [True, np.True_, 3.0, np.float64(3), "3", None, [3], np.array([3]), np.arange(32), Index("3"),
               Index(TypeError("no")), Index(RuntimeError("no")), Index(ValueError("no"))]  # fmt: skip


@pytest.mark.parametrize("given", NO_INTEGERS, ids=type)
def test_anything_else_is_none_including_bools(given):
    assert integer_of(given) is None


def test_only_an_error_of_the_package_propagates():
    with pytest.raises(DivergenceError, match="lane"):
        integer_of(Lanes(np.arange(32)))
    with pytest.raises(we.OutOfBoundsError, match="far away"):
        integer_of(Index(we.OutOfBoundsError("far away")))
    with pytest.raises(KeyboardInterrupt):
        integer_of(Interrupted())


class Interrupted:
    def __index__(self):
        raise KeyboardInterrupt


A = np.ones((16, 16), np.float16)
USES = {
    "explain, row": lambda x: we.explain("m16n8k16.f32.f16.f16.f32", A, A[:, :8], row=x, col=0),
    "explain, col": lambda x: we.explain("m16n8k16.f32.f16.f16.f32", A, A[:, :8], row=0, col=x),
    "fragment": lambda x: we.wmma.fragment(we.wmma.accumulator, 16, x, 16, we.wmma.half),
    "shuffle, width": lambda x: shuffled("idx", 0xFFFFFFFF, np.arange(32), 0, x),
    "layout, lane": lambda x: fragment_layout("matrix_a", 16, 16, 16, "f16", "row", "sm_90").element_at(x, 0),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("given", [True, 1.0, "1", None, Index(RuntimeError("no"))], ids=type)
def test_integer_arguments_accept_any_object_with_an_index_method(use, given):
    with pytest.raises(
        (we.FragmentMismatchError, we.UnsupportedInstructionError),
        match=r"not an integer|expected an integer|is an integer|expected an integer|the width of a shuffle is",
    ):
        USES[use](given)


@pytest.mark.parametrize("use", USES)
def test_lanes_that_differ_are_named_wherever_an_integer_is_read(use):
    with pytest.raises(DivergenceError, match="lane"):
        USES[use](Lanes(np.arange(32)))


def test_an_array_is_not_masked_while_another_thread_imports_masked_arrays(monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy.ma", ModuleType("numpy.ma"))
    assert not is_masked(np.zeros(3))
