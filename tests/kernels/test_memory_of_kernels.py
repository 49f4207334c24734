# SPDX-License-Identifier: MIT
"""Memory in a kernel: the caller's own, indexed as NumPy does except that nothing wraps, and no pointer."""

import copy
import operator
import pickle

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from wmma_emu import wmma
from wmma_emu.errors import AlignmentError, DivergenceError, FragmentMismatchError, OutOfBoundsError
from wmma_emu.kernels import Lanes, Memory

I = Lanes(np.arange(32))  # noqa: E741
MASK = "; mask the lanes, c = i < n; D[i[c]] = v[c], or clamp the index, A[np.minimum(i, n - 1)]"

BOUND = (
    " on axis 0, which has 40 elements: negative bounds do not wrap; bounds count from the first element; "
    "len(A) - n is n before the end"
)


def memory(*shape, dtype=np.float32):
    return np.arange(np.prod(shape)).astype(dtype).reshape(shape).view(Memory)


def in_kernel(function, *args):
    """What a function of the arguments as the kernel sees them returns."""
    results = []
    we.kernel(lambda t, *args: results.append(function(*args)))[1, 32](*args)
    return results[0]


def same(result, expected):
    assert np.asarray(result).dtype == np.asarray(expected).dtype
    assert np.asarray(result).tobytes() == np.asarray(expected).tobytes()


def test_arrays_are_memory_in_a_kernel_and_other_arguments_are_unchanged():
    array, others = np.zeros(4), [np.float32(2), np.array(2.0), 3, None, "x", [np.zeros(2)], Lanes(range(32))]
    seen = in_kernel(lambda *args: args, array, *others)
    assert type(seen[0]) is Memory and np.shares_memory(seen[0], array)
    assert all(a is b for a, b in zip(seen[1:], others, strict=True))
    assert type(array) is np.ndarray


def test_keywords_and_arrays_in_shared_memory_are_memory_too():
    seen = []
    we.kernel(lambda t, *, x: seen.extend([x, t.shared((2, 3), np.float16)]))[1, 32](x=np.zeros(3))
    assert [type(x) for x in seen] == [Memory, Memory]


@pytest.mark.parametrize("kind", [np.matrix, np.recarray, np.memmap], ids=lambda x: x.__name__)
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_writes_reach_arrays_of_other_classes(kind, tmp_path):
    array = (
        np.memmap(tmp_path / "x", np.int32, "w+", shape=(2, 3))
        if kind is np.memmap
        else np.zeros((2, 3), int).view(kind)
    )
    in_kernel(lambda x: operator.setitem(x, (1, 2), 7), array)
    assert array.tolist() == [[0, 0, 0], [0, 0, 7]]


def test_a_masked_array_is_refused_before_any_warp_runs():
    with pytest.raises(FragmentMismatchError, match="an argument is a masked array, but memory has no mask"):
        in_kernel(lambda x: 1 / 0, np.ma.array([1, 2], mask=[0, 1]))


KEYS = [
    0, 5, np.int8(3), np.uint64(7), I // 32 + 2, slice(None), slice(2, 5), slice(I // 32 + 1, None), slice(7, 2, -2),
    slice(100, None), slice(None, None, -1), Ellipsis, None, (), [1, 2], [], range(3), np.array(4), True,
    np.bool_(False), np.arange(6).reshape(2, 3), np.arange(5) % 2 == 0, np.arange(8) % 3 == 0, np.array([], int), I % 8,
    I % 8 % 5,
]  # fmt: skip


@pytest.mark.parametrize("shape", [(8,), (8, 8), (5, 6, 7)], ids=str)
def test_what_numpy_takes_without_wrapping_gives_and_writes_the_same(shape):
    rng, taken = np.random.default_rng(20261121), 0
    for _ in range(1500):
        picked = [KEYS[k] for k in rng.integers(0, len(KEYS), rng.integers(1, len(shape) + 2))]
        key = tuple(picked) if len(picked) > 1 or rng.random() < 0.3 else picked[0]
        plain, checked = memory(*shape).view(np.ndarray), memory(*shape)
        try:
            expected = plain[key]
        except IndexError as error:
            with pytest.raises(IndexError) as caught:
                checked[key]
            assert isinstance(caught.value, OutOfBoundsError) or str(caught.value) == str(error)
            continue
        given = key if isinstance(key, tuple) else (key,)
        kinds = [np.asarray(x).dtype.kind for x in given if not isinstance(x, list | range) or len(x)]
        if any(isinstance(x, Lanes) for x in given) and {*kinds} <= {"i", "u"} and len(given) < len(shape):
            continue  # a row for each lane, which is refused below
        taken += 1
        same(checked[key], expected)
        plain[key] = checked[key] = -1
        same(checked, plain)
    assert taken > 400


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (-1, "index -1 is out of bounds for axis 0, which has 40 elements; negative indices do not wrap"),
        (np.int8(-40), "index -40 is out of bounds for axis 0, which has 40 elements; negative indices do not wrap"),
        (40, "index 40 is out of bounds for axis 0, which has 40 elements"),
        (np.array(40), "index 40 is out of bounds for axis 0, which has 40 elements"),
        (np.uint64(2**63), f"index {2**63} is out of bounds for axis 0, which has 40 elements"),
        (10**30, f"index {10**30} is out of bounds for axis 0, which has 40 elements"),
        ([3, 40, -1], "index 40 at 1 of the index array is out of bounds for axis 0, which has 40 elements"),
        (np.array([[3], [-2]]), "index -2 at (1, 0) of the index array is out of bounds for axis 0, "
                                "which has 40 elements; negative indices do not wrap"),
        (I + 8 + 1, "index 40 in lane 31 is out of bounds for axis 0, which has 40 elements" + MASK),
        (I + 16, "index 40 in lane 24 (others in lanes 25-31) is out of bounds for axis 0, which has 40 elements"
                 + MASK),
        (np.where(I < 8, I, 40), "index 40 in lanes 8-31 is out of bounds for axis 0, which has 40 elements" + MASK),
        (np.stack([I, I + 9]), "index 40 in lane 31 is out of bounds for axis 0, which has 40 elements" + MASK),
        (I[I > 8] + 30, "index 40 in entry 1 (others in entries 2-22) is out of bounds for axis 0, "
                        "which has 40 elements" + MASK),
        (I - 1, "index -1 in lane 0 is out of bounds for axis 0, which has 40 elements; mask the lanes, c = i >= 0; "
                "D[i[c]] = v[c], or clamp the index, A[np.maximum(i, 0)]"),
        (slice(-8, None), "a slice starts at -8" + BOUND),
        (slice(None, I * 0 - 1), "a slice stops at -1" + BOUND),
    ],
    ids=str,
)  # fmt: skip
def test_an_index_outside_is_named_for_reads_and_writes_and_nothing_is_written(key, text):
    A = memory(40)
    for access in (lambda: A[key], lambda: A[(key,)], lambda: operator.setitem(A, key, 0)):
        with pytest.raises(OutOfBoundsError) as caught:
            access()
        assert str(caught.value) == text
    same(A, np.arange(40, dtype=np.float32))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint32, np.int32, np.int64, np.uint64])
def test_the_bounds_are_exact_in_every_integer_dtype(dtype):
    for length in (1, 31, 127, 128, 200, 300):
        A = memory(length)
        top = min(length - 1, np.iinfo(dtype).max)
        same(A[np.array([0, top], dtype)], np.array([0, top], np.float32))
        for wrong in (-1, np.iinfo(dtype).min, length, np.iinfo(dtype).max):
            if np.iinfo(dtype).min <= wrong <= np.iinfo(dtype).max and not 0 <= wrong < length:
                with pytest.raises(OutOfBoundsError):
                    A[np.array([0, wrong], dtype)]


@pytest.mark.parametrize(
    ("key", "axis"),
    [
        ((0, 6), 1), ((I % 5, I), 1), ((..., -1), 1), ((-1, ...), 0), ((None, 5), 0), ((slice(None), None, 6), 1),
        ((slice(-1, None), 0), 0), ((np.ones(5, bool), 6), 1), ((0, slice(None, -1)), 1), ((None, ..., 6, None), 1),
    ],
    ids=str,
)  # fmt: skip
def test_every_axis_has_its_own_length(key, axis):
    with pytest.raises(OutOfBoundsError, match=f"axis {axis}, which has {(5, 6)[axis]} elements"):
        memory(5, 6)[key]


def test_an_axis_without_elements_and_one_with_a_single_one():
    with pytest.raises(OutOfBoundsError, match="index 0 is out of bounds for axis 0, which has 0 elements"):
        memory(0)[0]
    with pytest.raises(OutOfBoundsError, match=r"axis 0, which has 1 element\b"):
        memory(1)[1]


@pytest.mark.parametrize("key", [1.0, I / 2, slice(0.5), [0.5], np.float32(1)], ids=str)
def test_a_float_is_refused_as_an_index(key):
    with pytest.raises(
        FragmentMismatchError, match=r"must be an integer, not .*; for the integer division / of C.. write //"
    ):
        memory(40)[key]


def test_slices_are_memory_again_and_so_are_reshaped_and_transposed_arrays_and_rows():
    A = memory(8, 8)
    for part in (
        A[2:],
        A[2:, 3:],
        A[3],
        A[...],
        A[None],
        A.reshape(-1),
        A.T,
        A.view(np.uint32),
        np.reshape(A, (4, 16)),
        A[::-1],
    ):
        assert type(part) is Memory and np.shares_memory(part, A)
        with pytest.raises(OutOfBoundsError):
            part[-1]
    assert type(A[3, 4]) is np.float32 and type(A[3][4]) is np.float32


def test_reads_return_lanes_if_the_last_axis_of_the_result_is_the_lanes():
    A, S = memory(64), memory(64, 32)
    for values in (
        A[I], A[I // 32], A[np.stack([I, I])], S[I, I], S[I, 3], S[3, I], S[:, I], S[..., I], S[I[:, None] * 0, I],
        S[None, 1, I], A[I[I < 5]],
    ):  # fmt: skip
        assert type(values) is Lanes
    for values in (
        S[I, :], S[I, None, 0], A[np.arange(32)], A[[1, 2]], A[:32][I < 5], A[I, None], S[I[:, None], np.arange(32)],
        S[I[:, None], np.arange(8)], S[np.arange(64) < 32, I],
    ):  # fmt: skip
        assert type(values) is np.ndarray


def test_lanes_of_memory_diverge_and_agree_like_any():
    A = memory(64)
    with pytest.raises(DivergenceError, match=r"False in lanes 0-4, True in lanes 5-31"):
        bool(A[I] > 4)
    assert A[I] < 32
    assert A[I // 32 + 7].uniform() == 7
    assert type(A[I] * 2 + A[:32]) is Lanes and type(A[:32] + A[I]) is Lanes


def test_a_row_for_each_lane_must_be_requested_with_a_colon():
    S = memory(64, 16)
    for row in (I, I // 32, (I,)):
        with pytest.raises(DivergenceError, match="would copy a row for each lane"):
            S[row]
    same(S[I, :], np.asarray(S)[:32])
    S[I] = 0
    assert not S[:32].any() and S[32:].all()


@pytest.mark.parametrize("shape", [(40,), (8, 5)], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("n", [256, np.int64(256), True, I, np.array(4)], ids=["int", "int64", "bool", "Lanes", "0-d"])
def test_memory_plus_an_integer_does_not_move_a_pointer(shape, dtype, n):
    A = memory(*shape, dtype=dtype)
    before = A.tobytes()
    for op in (operator.add, operator.sub, operator.iadd, operator.isub, lambda a, b: b + a):
        with pytest.raises(
            FragmentMismatchError,
            match=r"does not move a pointer in Python; use the slice .*:\]; .*\.(add|subtract)\(A, ",
        ):
            op(A, n)
    assert A.tobytes() == before


def test_other_arithmetic_is_numpys_and_gives_plain_arrays():
    A, plain = memory(32), np.arange(32, dtype=np.float32)
    for result, expected in [
        (np.add(A, 256), plain + 256), (np.subtract(A, I), plain - I), (A + 1.5, plain + 1.5), (A * 2, plain * 2),
        (256 - A, 256 - plain), (A + A, plain + plain), (A - plain, plain * 0), (A == plain, plain == plain),
        (-A, -plain),
        (A + np.arange(32), plain + np.arange(32)), (np.diff(A), np.diff(plain)), (A.cumsum(), plain.cumsum()),
        (np.concatenate([A, A]), np.concatenate([plain, plain])),
        (np.where(A > 3, A, 0), np.where(plain > 3, plain, 0)),
        (A.reshape(4, 8).sum(axis=0), plain.reshape(4, 8).sum(axis=0)), (divmod(A, 7)[1], divmod(plain, 7)[1]),
        (np.minimum.reduceat(A, [0, 4]), np.minimum.reduceat(plain, [0, 4])),
    ]:  # fmt: skip
        assert type(result) is (Lanes if isinstance(expected, Lanes) else np.ndarray)
        same(result, expected)
    for result, expected in ((A.sum(), 496), (np.max(A), 31), (A.mean(), 15.5), (np.median(A), 15.5), (A @ A, 10416)):
        assert type(result) is np.float32 and result == expected


def test_a_copy_holds_values_to_which_integers_are_added():
    A = memory(32, dtype=np.int32)
    for values in (A.copy(), A.astype(np.int64), A[4:].copy()[2:], A.flatten(), A.take([1, 2])):
        same(values + 1, np.asarray(values) + 1)


def test_memory_is_changed_in_place():
    A = A0 = memory(32)
    A *= 2
    A += 0.5
    assert A is A0 and type(A) is Memory
    assert np.add(A, 1, out=A) is A
    np.copyto(A[:2], 0)
    same(A, np.array([0, 0, *(2 * x + 1.5 for x in range(2, 32))], np.float32))


def test_an_atomic_add_checks_its_indices():
    A = memory(32, dtype=np.int32)
    np.add.at(A, I // 2, 1)
    np.add.at(A[16:], 0, 5)
    before = A.copy()
    for wrong in (I - 1, I + 1, -1, [32]):
        with pytest.raises(OutOfBoundsError):
            np.add.at(A, wrong, 1)
    same(A, before)
    assert A[0] == 2 and A[16] == 16 + 5


@pytest.mark.parametrize("shape", [(6,), (2000,), (50, 50), (0,)], ids=str)
def test_memory_prints_as_arrays_do(shape):
    A = memory(*shape)
    assert (repr(A), str(A), f"{A}") == (repr(np.asarray(A)), str(np.asarray(A)), f"{np.asarray(A)}")


def test_what_escapes_a_kernel_is_of_use_outside():
    array, kept = np.arange(8.0), []
    we.kernel(lambda t, x: kept.append(x[2:]))[1, 32](array)
    escaped = kept[0]
    for again in (pickle.loads(pickle.dumps(escaped)), copy.copy(escaped), copy.deepcopy(escaped), np.array(escaped)):
        same(again, array[2:])
        assert not np.shares_memory(again, array)
    assert type(np.asarray(escaped)) is np.ndarray and np.shares_memory(np.asarray(escaped), array)
    assert list(escaped) == escaped.tolist() == [2, 3, 4, 5, 6, 7]


def test_read_only_memory_stays_so():
    array = np.zeros(32, np.float32)
    array.flags.writeable = False
    with pytest.raises(FragmentMismatchError, match="mem is read-only"):
        in_kernel(lambda x: operator.setitem(x, I, 1), array)
    with pytest.raises(ValueError, match="read-only"):
        in_kernel(lambda x: operator.imul(x, 2), array)


def test_fields_of_structures_are_memory():
    array = np.zeros(40, [("x", np.float32), ("n", np.int32)])
    in_kernel(lambda a: operator.setitem(a["n"], I + 8, I), array)
    same(array["n"], np.concatenate([np.zeros(8, np.int32), np.arange(32, dtype=np.int32)]))
    with pytest.raises(OutOfBoundsError):
        in_kernel(lambda a: a["n"][I + 9], array)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_fragments_load_and_store_through_slices_pointers_and_views_with_the_callers_alignment_and_end(dtype):
    owner = np.arange(1024).astype(dtype)
    array, D = owner[16:], np.zeros(512, np.float32)
    kind = wmma.half if dtype is np.float16 else wmma.bfloat16

    def load(*tile):
        a = wmma.fragment(wmma.matrix_a, 16, 16, 16, kind, wmma.row_major)
        wmma.load_matrix_sync(a, *tile)
        return a.to_matrix()

    expected = load(array[32:], 16)
    same(in_kernel(lambda A: load(A[32:], 16), array), expected)
    same(in_kernel(lambda A: load(we.Pointer(A, 32), 16), array), expected)
    same(in_kernel(lambda A: load(we.Pointer(A, I // 32 + 32), 16), array), expected)
    same(in_kernel(lambda A: load(A.reshape(-1, 16)[2:, 0:]), array), expected)
    for argument in (array, owner):
        with pytest.raises(AlignmentError) as caught:
            in_kernel(lambda A: load(A[4:], 16), argument)
        with pytest.raises(AlignmentError) as outside:
            load(argument[4:], 16)
        assert str(caught.value) == str(outside.value)
    with pytest.raises(OutOfBoundsError, match="the slice ends before its array does"):
        in_kernel(lambda A: load(A[32:64], 16), array)

    def store(D):
        c = wmma.fragment(wmma.accumulator, 16, 16, 16, wmma.float32)
        wmma.fill_fragment(c, 3)
        wmma.store_matrix_sync(D[256:], c, 16, wmma.mem_row_major)

    in_kernel(store, D)
    assert (D[:256] == 0).all() and (D[256:] == 3).all()


def test_the_guards_that_the_message_suggests_by_a_mask_and_by_a_clamp_work():
    x, y = np.arange(40, dtype=np.float32), np.zeros(40, np.float32)

    @we.kernel
    def scale(t, x, y):
        i = t.blockIdx.x * t.blockDim.x + t.threadIdx.x
        c = i < 40
        v = x[np.minimum(i, 39)] * 2
        y[i[c]] = v[c]

    scale[1, 64](x, y)
    same(y, x * 2)


@pytest.mark.parametrize(
    ("write", "error", "message"),
    [
        (lambda x: operator.setitem(x, I, None), FragmentMismatchError, "memory of float32 takes numbers, not None"),
        (lambda x: operator.setitem(x, I, "1"), FragmentMismatchError, "memory of float32 takes numbers, not '1'"),
        (lambda x: operator.setitem(x, I, np.arange(31)), FragmentMismatchError, "was not written: "),
        (
            lambda x: operator.setitem(x, slice(60, 70), 1),
            OutOfBoundsError,
            "a slice stops at 70 on axis 0, which has 64",
        ),
        (lambda x: operator.setitem(x, I < 5, 1), OutOfBoundsError, r"memory of shape \(64,\) takes 1 indices"),
        (lambda x: x[0, 0], OutOfBoundsError, r"memory of shape \(64,\) takes 1 indices"),
        (lambda x: x[I.astype(ml_dtypes.bfloat16)], FragmentMismatchError, "bfloat16"),
    ],
)
def test_what_memory_does_not_take_writes_nothing(write, error, message):
    array = np.zeros(64, np.float32)
    with pytest.raises(error, match=message):
        in_kernel(write, array)
    assert not array.any()


def test_an_integer_is_added_to_the_elements_as_the_message_says():
    array = np.arange(4, dtype=np.float32)
    in_kernel(lambda x: np.add(x, 256, out=x), array)
    assert array.tolist() == [256, 257, 258, 259]
