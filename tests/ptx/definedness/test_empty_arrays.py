# SPDX-License-Identifier: MIT
"""Uninitialised arrays: what counts as initialised, for kernels, NumPy and launches."""

import copy
import pickle

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.errors import FragmentMismatchError, KernelFindingsError, MemoryLimitError
from wmma_emu.ptx.definedness.empty_arrays import EmptyArray, uninitialised_bits_of
from wmma_emu.ptx.launch.emulated_gpu import EmulatedGpu

ADD_ONE = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry add_one(.param .u64 x, .param .u64 y)
{
    .reg .b32 %r<4>; .reg .b64 %a<5>;
    ld.param.u64 %a0, [x];
    ld.param.u64 %a1, [y];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %a2, %r0, 4;
    add.s64 %a3, %a0, %a2;
    add.s64 %a4, %a1, %a2;
    ld.global.u32 %r1, [%a3];
    add.s32 %r2, %r1, 1;
    st.global.u32 [%a4], %r2;
    ret;
}"""


def uninitialised(array):
    """The uninitialised elements, as flat indices; an element is initialised as a whole or not at all."""
    flags = np.zeros(array.nbytes, np.uint8)
    for lo, bits in uninitialised_bits_of(array):
        flags[lo : lo + len(bits)] = bits
    return np.flatnonzero(flags.reshape(-1, array.itemsize).any(axis=-1)).tolist()


def launch(x, y, **options):
    return we.ptx.Module(ADD_ONE, arch="sm_90", **{"findings": "report", **options})["add_one"][1, 8](x, y)


def test_the_finding_of_an_uninitialised_read_names_the_array():
    x, y = we.ptx.empty(8, np.int32), np.zeros(8, np.int32)
    x[:3] = 5
    (finding,) = launch(x, y).findings
    assert (finding.kind, finding.severity, finding.line, finding.count) == ("uninitialised", "error", 16, 5)
    assert finding.thread == (3, 0, 0)
    assert finding.message == (
        "the value that is stored to global memory depends on x + 12 bytes (4 bytes), which was never written; it is "
        "loaded at line 14 of the PTX"
    )
    (sighting,) = finding.sightings
    assert sighting.message.endswith(
        " depends on 4 bytes at 0x17f000001000c of global memory (argument 0 (x) of add_one + 12), which was never "
        "written; it is loaded at line 14"
    )


def test_elements_that_a_kernel_wrote_are_initialised_at_the_next_launch():
    x, y = np.arange(8, dtype=np.int32), we.ptx.empty(8, np.int32)
    assert not launch(x, y).findings
    assert uninitialised(y) == []
    z = np.zeros(8, np.int32)
    assert not launch(y, z).findings
    assert z.tolist() == list(range(2, 10))


def test_a_launch_without_the_check_marks_everything_it_may_have_written_as_initialised():
    x, y = np.arange(8, dtype=np.int32), we.ptx.empty(16, np.int32)
    assert not launch(x, y, checks=()).findings
    assert uninitialised(y) == []


def test_a_failed_launch_initialises_nothing():
    x, y = we.ptx.empty(8, np.int32), we.ptx.empty(8, np.int32)
    gpu = EmulatedGpu()
    with pytest.raises(KernelFindingsError, match="which was never written"):
        gpu.ptx(ADD_ONE)["add_one"][1, 8](x, y)
    assert uninitialised(y) == list(range(8))


def test_the_fixture_makes_uninitialised_arrays():
    y = EmulatedGpu().empty((2, 4), np.int32)
    assert not launch(np.zeros(8, np.int32), y).findings
    assert uninitialised(y) == []


def test_views_share_their_initialised_elements_and_may_be_passed():
    x = we.ptx.empty((4, 4), np.float32)
    x[1:3].T[0] = 1  # elements (1, 0) and (2, 0)
    x.reshape(-1).view(np.uint32)[15] = 7
    assert uninitialised(x) == sorted(set(range(16)) - {4, 8, 15})
    assert uninitialised(x[1]) == [1, 2, 3]
    x[2, 1:] = 0
    assert not launch(x[2].view(np.int32), np.zeros(4, np.int32)).findings == ()  # lanes 4 to 7 are beyond the row
    assert uninitialised(x[2]) == []


@pytest.mark.parametrize(
    ("write", "left"),
    [
        (lambda x: x.fill(1), []),
        (lambda x: x.__setitem__([1, 3], 2), [0, 2]),
        (lambda x: x.__setitem__(np.array([True, False, False, True]), 2), [1, 2]),
        (lambda x: x.__setitem__(Ellipsis, 2), []),
        (lambda x: x.put([0], 9), [1, 2, 3]),
        (lambda x: x.sort(), []),
        (lambda x: np.copyto(x, 1), []),
        (lambda x: np.copyto(x, 1, where=np.array([True, True, False, False])), [2, 3]),
        (lambda x: np.putmask(x, np.array([True, False, True, True]), 1), [1]),
        (lambda x: np.add(1, 2, out=x), []),
        (lambda x: np.add(1, 2, out=x, where=np.array([False, True, True, True])), [0]),
        (lambda x: np.add.at(x, [2], 1), [0, 1, 3]),
        (lambda x: np.cumsum(np.ones(4, np.int32), out=x), []),
        (lambda x: np.dot(np.eye(4, dtype=np.int32), np.ones(4, np.int32), out=x), []),
        (lambda x: x.__iadd__(1), []),
        (lambda x: x.mark_written(), []),
        (lambda x: x.flat.__setitem__(slice(2, None), 1), [0, 1]),
        (lambda x: setattr(x, "flat", 1), []),
        (lambda x: memoryview(x).cast("B").__setitem__(slice(4, 6), b"ab"), [0, 2, 3]),
        (lambda x: np.random.default_rng(0).random(dtype=np.float32, out=x.view(np.float32)), []),
        (lambda x: np.asarray(x).fill(3), []),
        (lambda x: np.asarray(x).fill(-1), [0, 1, 2, 3]),
        (lambda x: x + 1, [0, 1, 2, 3]),
        (lambda x: x[1:].sum(), [0, 1, 2, 3]),
    ],
)
def test_elements_that_numpy_writes_are_initialised(write, left):
    x = we.ptx.empty(4, np.int32)
    write(x)
    assert uninitialised(x) == left


def test_copies_and_results_are_ordinary_arrays():
    x = we.ptx.empty(4, np.int32)
    for made in (x.copy(), copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x + 1, np.sum(x, axis=0)):
        assert not isinstance(made, EmptyArray)
        assert uninitialised(np.asarray(made).reshape(-1)) == []
    assert uninitialised(x) == [0, 1, 2, 3]
    assert x.tobytes() == b"\xff" * 16


def test_a_view_with_gaps_is_passed_by_raw():
    x = we.ptx.empty((8, 2), np.int32)
    x[:, 0] = np.arange(8)
    (finding,) = launch(we.ptx.raw(x[:, :1]), np.zeros(8, np.int32)).findings
    assert (finding.kind, finding.count, finding.thread) == ("uninitialised", 4, (1, 0, 0))
    x[:4, 1] = 0
    assert not launch(we.ptx.raw(x[:, :1]), np.zeros(8, np.int32)).findings


def test_an_array_without_elements_has_no_uninitialised_bits():
    assert uninitialised(we.ptx.empty((0, 3), np.int32)) == []


@pytest.mark.parametrize("shape", [(), 3, [2, 0], (np.int64(2), 3), np.array([4, 2])])
def test_shapes_are_accepted_as_numpy_accepts_them(shape):
    assert we.ptx.empty(shape, np.int16).shape == np.empty(shape).shape


@pytest.mark.parametrize(
    ("shape", "dtype", "said"),
    [
        (4, object, "the elements of object are not plain bytes"),
        (4, "flaot32", "dtype='flaot32' is not a dtype; did you mean 'float32'"),
        ((-1, 2), np.int32, r"shape=\(-1, 2\) is not a shape; pass a non-negative integer"),
        (3.5, np.int32, "shape=3.5 is not a shape"),
        ((2, 3.0), np.int32, "is not a shape"),
        ("3", np.int32, "shape='3' is not a shape"),
    ],
)
def test_illegal_shapes_and_dtypes_are_refused(shape, dtype, said):
    with pytest.raises(FragmentMismatchError, match=said):
        we.ptx.empty(shape, dtype)


def test_an_array_larger_than_the_memory_of_the_machine_is_refused():
    with pytest.raises(MemoryLimitError, match=r"takes .* GiB, and this machine has"):
        we.ptx.empty((1 << 40, 1 << 40), np.float32)
