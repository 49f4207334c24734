# SPDX-License-Identifier: MIT
"""Dask arrays: chunks of D as tasks, with the bits of the whole product, on any scheduler, even if workers die."""

import os
import re
import signal

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.gemm.dask_arrays import check_known, is_dask

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")

RAW = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def _normal(shape, dtype=np.float16, seed=0):
    return np.random.default_rng(seed).standard_normal(shape, np.float32).astype(dtype)


def _bits(array):
    return array.view(RAW[array.dtype.itemsize])


def _same(found, expected):
    """Bits, dtype, shape; and that the plan knew dtype and shape before anything was computed."""
    assert is_dask(found)
    computed = found.compute(scheduler="threads")
    assert found.dtype == computed.dtype == expected.dtype
    assert found.shape == computed.shape == expected.shape
    np.testing.assert_array_equal(_bits(computed), _bits(expected))


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize(
    ("dtype", "options"),
    [(np.float16, {}), (np.float16, {"arch": "sm_70", "out_dtype": np.float16}), (ml_dtypes.bfloat16, {}),
     (ml_dtypes.float8_e4m3fn, {}), (ml_dtypes.float8_e5m2, {"out_dtype": ml_dtypes.float8_e5m2}),
     (np.int8, {}), (ml_dtypes.int4, {}), (np.float64, {}), (np.float32, {"instr": "m16n8k8.f32.tf32.tf32.f32"})],
    ids=["f16", "f16 to f16 on sm_70", "bf16", "e4m3", "e5m2 to e5m2", "s8", "s4", "f64", "tf32"],
)  # fmt: skip
def test_chunks_have_the_bits_of_the_whole_product(dtype, options):
    A, B = _normal((40, 72), dtype), _normal((72, 24), dtype, seed=1)
    C = we.gemm(A[:, :1], B[:1], **{**options, "out_dtype": None})
    found = we.gemm(da.from_array(A, (16, 32)), da.from_array(B, (24, 9)), da.from_array(C, (7, 11)), **options)
    assert found.chunks == ((16, 16, 8), (9, 9, 6))
    _same(found, we.gemm(A, B, C, **options))


def test_nothing_is_computed_before_the_result_is_requested():
    def fails(*_):
        raise AssertionError("computed")

    A = da.ones((64, 64), chunks=32, dtype=np.float16).map_blocks(fails, dtype=np.float16, meta=np.empty((0, 0), "f2"))
    found = we.gemm(A, A)
    assert (found.shape, found.dtype, type(found._meta)) == ((64, 64), np.dtype(np.float32), np.ndarray)


def test_k_is_whole_in_every_task_and_each_chunk_of_d_one_task():
    A, B = da.ones((64, 96), chunks=(16, 10), dtype=np.float16), da.ones((96, 40), chunks=(96, 20), dtype=np.float16)
    found = we.gemm(A, B)
    assert found.numblocks == (4, 2)
    own = found.dask.layers[found.name]
    assert len(own) == 8


def test_leading_axes_broadcast_as_in_matmul():
    A, B, C = _normal((3, 1, 20, 32)), _normal((2, 32, 12), seed=1), _normal((2, 20, 12), np.float32, seed=2)
    whole = we.gemm(A, B, C)
    for chunks_a, chunks_b in [((1, 1, 8, 8), (2, 32, 5)), ((3, 1, 20, 32), (1, 8, 12))]:
        found = we.gemm(da.from_array(A, chunks_a), da.from_array(B, chunks_b), da.from_array(C, (1, 20, 12)))
        _same(found, whole)
    _same(we.gemm(da.from_array(A[0, 0], 16), B, C), we.gemm(A[0, 0], B, C))


@pytest.mark.parametrize("which", range(3))
def test_arrays_of_numpy_and_of_dask_can_be_combined(which):
    arrays = [_normal((40, 33)), _normal((33, 24), seed=1), _normal((40, 24), np.float32, seed=2)]
    given = [da.from_array(x, 16) if i == which else x for i, x in enumerate(arrays)]
    _same(we.gemm(*given), we.gemm(*arrays))


def test_an_array_of_numpy_is_in_the_graph_once():
    A, B = _normal((64, 32)), np.arange(32 * 16, dtype=np.float16).reshape(32, 16)
    found = we.gemm(da.from_array(A, (4, 32)), B)
    holding = [key for key, task in dict(found.dask).items() if _holds(task, B.nbytes)]
    assert len(found.dask) >= 16 and len(holding) == 1


def _holds(task, nbytes):
    value = getattr(task, "value", task)
    return isinstance(value, np.ndarray) and value.nbytes == nbytes


def test_a_bias_is_chunked_like_the_columns():
    A, B, bias = _normal((20, 32)), _normal((32, 24), seed=1), _normal((24,), np.float32, seed=2)
    whole = we.gemm(A, B, bias=bias)
    _same(we.gemm(da.from_array(A, 8), da.from_array(B, 8), bias=bias), whole)
    _same(we.gemm(A, B, bias=da.from_array(bias, 5)), whole)


def test_every_task_has_the_order_of_k_and_the_epilogue_of_the_whole():
    A, B, C = _normal((40, 256)), _normal((256, 24), seed=1), _normal((40, 24), np.float32, seed=2)
    bias = _normal((24,), np.float32, seed=3)
    options = {"alpha": 0.3, "beta": 0.7, "k_order": we.KOrder(splits=3, partials="bf16"), "out_dtype": np.float16}
    found = we.gemm(da.from_array(A, 16), da.from_array(B, 9), da.from_array(C, 8), bias=bias, **options)
    _same(found, we.gemm(A, B, C, bias=bias, **options))


@pytest.mark.parametrize(
    ("fmt", "instr"), [("s4", "m16n8k64.s32.s4.s4.s32"), ("b1", "m16n8k256.s32.b1.b1.s32.and.popc")]
)
def test_packed_matrices_are_packed_along_k_in_their_chunks(fmt, instr):
    rng = np.random.default_rng(0)
    A, B = rng.integers(0, 256, (24, 40), np.uint8), rng.integers(0, 256, (40, 20), np.uint8)
    options = {"instr": instr, "arch": "sm_80", "a_format": fmt, "b_format": fmt}
    found = we.gemm(da.from_array(A, (8, 16)), da.from_array(B, (16, 8)), **options)
    _same(found, we.gemm(A, B, **options))


def test_a_packed_matrix_and_an_unpacked_one_can_be_combined():
    A, B = np.full((16, 32), 0x21, np.uint8), np.ones((64, 8), ml_dtypes.int4)
    options = {"arch": "sm_80", "a_format": "s4"}
    _same(we.gemm(da.from_array(A, 8), B, **options), we.gemm(A, B, **options))


@pytest.mark.parametrize(("m", "k", "n"), [(0, 16, 4), (4, 16, 0), (4, 0, 3), (1, 1, 1), (17, 31, 13)])
def test_odd_and_empty_sizes(m, k, n):
    A, B = _normal((m, k)), _normal((k, n), seed=1)
    _same(we.gemm(da.from_array(A, 7), da.from_array(B, 5)), we.gemm(A, B))


@pytest.mark.parametrize(
    ("shapes", "options"),
    [(((4, 16), (15, 4)), {}), (((16,), (16, 4)), {}), (((2, 4, 16), (3, 16, 4)), {}), (((4, 16), (16, 4), (4, 5)), {}),
     (((4, 16), (16, 4)), {"instr": "m16n8k9.f32.f16.f16.f32"}), (((4, 16), (16, 4)), {"arch": "sm_1"}),
     (((4, 16), (16, 4)), {"engine": "abacus"}), (((4, 16), (16, 4)), {"out_dtype": np.int64}),
     (((4, 32), (32, 4)), {"instr": "m16n8k16.f32.f16.f16.f16"}), (((4, 16), (16, 4)), {"a_format": "s4"}),
     (((4, 16), (16, 4)), {"a_format": "f17"}), (((4, 16), (16, 4)), {"beta": 1.0}),
     (((4, 16), (16, 4)), {"k_order": 5}), (((4, 16), (16, 4)), {"threads": 0})],
)  # fmt: skip
def test_what_does_not_fit_is_refused_at_once_and_in_the_words_of_gemm(shapes, options):
    arrays = [np.ones(shape, np.float16 if i < 2 else np.float32) for i, shape in enumerate(shapes)]
    with pytest.raises((FragmentMismatchError, UnsupportedInstructionError)) as expected:
        we.gemm(*arrays, **options)
    with pytest.raises(type(expected.value), match=re.escape(str(expected.value))):
        we.gemm(*(da.from_array(x) for x in arrays), **options)


def test_a_bias_of_another_length_is_refused_in_the_words_of_gemm():
    A, B, bias = np.ones((4, 16), np.float16), np.ones((16, 8), np.float16), np.ones(7, np.float32)
    with pytest.raises(FragmentMismatchError) as expected:
        we.gemm(A, B, bias=bias)
    with pytest.raises(FragmentMismatchError, match=re.escape(str(expected.value))):
        we.gemm(da.from_array(A), B, bias=bias)


def test_a_dtype_that_determines_no_format_is_refused():
    A = da.ones((16, 16), dtype=np.int64)
    with pytest.raises(FragmentMismatchError, match="int64, which does not determine a format"):
        we.gemm(A, A)


def test_chunks_of_unknown_size_are_refused_with_the_way_out():
    A = da.ones((16, 16), chunks=8, dtype=np.float16)
    with pytest.raises(FragmentMismatchError, match=r"B has chunks of unknown size .*B.compute_chunk_sizes\(\)"):
        we.gemm(A, A[A[:, 0] > 0])


@pytest.mark.parametrize("which", range(4))
def test_every_operand_of_unknown_size_is_named_before_other_checks(which):
    arrays = [np.ones((16, 16), np.float16), None, np.ones((16, 16)), None]
    check_known(*arrays)
    A = da.ones((16, 16), chunks=8, dtype=np.float16)
    arrays[which] = A[A[:, 0] > 0]
    name = ("A", "B", "C", "bias")[which]
    with pytest.raises(
        FragmentMismatchError, match=rf"^{name} has chunks of unknown size .*{name}.compute_chunk_sizes"
    ):
        check_known(*arrays)


# A beta of 0


def _fails(chunk):
    raise RuntimeError("computed")


@pytest.mark.parametrize("beta", [0, 0.0, -0.0, np.float32(0), 1e-60], ids=str)
@pytest.mark.parametrize("shape", [(24, 20), (3, 24, 20), (2, 3, 24, 20), (5,), (7, 9)], ids=str)
def test_a_beta_of_zero_reads_no_c_and_takes_no_shape_from_it(shape, beta):
    A, B = _normal((24, 32)), _normal((32, 20), seed=1)
    bias = _normal((20,), np.float32, seed=2)
    unread = da.ones(shape, chunks=2, dtype=np.float32).map_blocks(_fails, dtype="f4", meta=np.empty((0,) * len(shape)))
    whole = we.gemm(A, B, np.ones(shape, np.float32), alpha=0.3, beta=beta, bias=bias)
    assert whole.shape == (24, 20)
    _same(we.gemm(da.from_array(A, 8), B, unread, alpha=0.3, beta=beta, bias=bias), whole)
    _same(we.gemm(A, B, unread, alpha=0.3, beta=beta, bias=bias), whole)


def test_a_beta_of_zero_asks_nothing_of_c():
    A, B = _normal((24, 32)), _normal((32, 20), seed=1)
    x = da.ones((24, 20), chunks=8, dtype=np.float32)
    for C in (x[x[:, 0] > 0], x.astype(np.int64), [1, 2]):
        _same(we.gemm(da.from_array(A, 8), B, C, beta=0), we.gemm(A, B))


def test_another_beta_reads_c_and_its_leading_axes():
    A, B, C = _normal((24, 32)), _normal((32, 20), seed=1), _normal((3, 24, 20), np.float32, seed=2)
    for options in ({"beta": 0.5}, {"beta": 1}, {}):
        _same(we.gemm(da.from_array(A, 8), B, da.from_array(C, 7), **options), we.gemm(A, B, C, **options))


# Chunks that are not what their array says


def _declared(array, dtype, chunks):
    """A Dask array that says one dtype and has another."""
    meta = np.empty((0,) * array.ndim, dtype)
    return da.from_array(array, chunks).map_blocks(np.copy, dtype=dtype, meta=meta)


PRETENDED = [
    (np.float16, ml_dtypes.bfloat16), (ml_dtypes.bfloat16, np.float16), (np.float16, np.int16), (np.float16, np.uint16),
    (ml_dtypes.bfloat16, np.uint16), (ml_dtypes.bfloat16, np.int16), (np.int8, np.uint8), (np.uint8, np.int8),
    (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2), (ml_dtypes.int4, ml_dtypes.uint4), (ml_dtypes.int4, np.uint8),
    (np.float16, np.float64), (np.float16, np.float32), (np.float64, np.uint64),
]  # fmt: skip


@pytest.mark.parametrize("chunks", [(8, 16), (32, 64)], ids=["cut along k", "whole"])
@pytest.mark.parametrize(("declared", "real"), PRETENDED, ids=lambda x: np.dtype(x).name)
def test_a_chunk_of_another_dtype_is_refused_with_both_names(declared, real, chunks):
    A, B = np.ones((32, 64), real), np.ones((64, 16), declared)
    x = _declared(A, declared, chunks)
    names = np.dtype(declared).name, np.dtype(real).name
    with pytest.raises(
        FragmentMismatchError,
        match=f"A was declared as an array of {names[0]}, and a chunk of it is {names[1]}.*A.astype",
    ):
        we.gemm(x, B).compute(scheduler="sync")


@pytest.mark.parametrize("name", ["B", "C", "bias"])
def test_the_operand_whose_chunk_has_another_dtype_is_named(name):
    given = {
        "A": np.ones((8, 16), "f2"),
        "B": np.ones((16, 8), "f2"),
        "C": np.ones((8, 8), "f4"),
        "bias": np.ones(8, "f4"),
    }
    given[name] = _declared(given[name].astype(np.int32), given[name].dtype, 4)
    arrays = [given.pop(x) for x in "ABC"]
    with pytest.raises(FragmentMismatchError, match=f"^{name} was declared as an array of float.*chunk of it is int32"):
        we.gemm(*arrays, beta=1, **given).compute(scheduler="sync")


def test_astype_with_the_dtype_of_the_chunks_resolves_the_error():
    A, B = _normal((32, 64), ml_dtypes.bfloat16), _normal((64, 16), ml_dtypes.bfloat16, seed=1)
    _same(we.gemm(_declared(A, np.float16, 16).astype(ml_dtypes.bfloat16), B), we.gemm(A, B))


def test_one_chunk_of_another_dtype_among_many_is_refused_before_they_are_joined():
    A = da.concatenate([da.ones((8, 16), dtype="f2"), _declared(np.full((8, 16), 1e-9), np.float16, 16)], axis=1)
    with pytest.raises(FragmentMismatchError, match="a chunk of it is float64"):
        we.gemm(A, np.ones((32, 8), np.float16)).compute(scheduler="sync")


def test_chunks_in_the_graph_with_another_dtype_are_refused_at_once():
    chunk = np.ones((8, 16), np.uint16)
    A = da.Array({("lies", 0, 0): chunk}, "lies", ((8,), (16,)), dtype=ml_dtypes.bfloat16)
    with pytest.raises(FragmentMismatchError, match="declared as an array of bfloat16, and a chunk of it is uint16"):
        we.gemm(A, np.ones((16, 8), ml_dtypes.bfloat16))


def test_a_chunk_that_has_no_dtype_is_refused():
    A = da.from_array(np.ones((8, 16), "f2")).map_blocks(np.ndarray.tolist, dtype="f2", meta=np.empty((0, 0), "f2"))
    with pytest.raises(FragmentMismatchError, match=r"A has a chunk that is list, .*map_blocks"):
        we.gemm(A, np.ones((16, 8), np.float16)).compute(scheduler="sync")


def test_the_order_of_bytes_of_a_chunk_is_its_own():
    A, B = _normal((16, 32)), _normal((32, 8), seed=1)
    for declared, real in (("<f2", ">f2"), (">f2", "<f2"), (">f2", ">f2")):
        _same(we.gemm(_declared(A.astype(real), declared, 8), B), we.gemm(A, B))


def test_the_same_bytes_in_two_formats_are_two_products():
    raw = np.random.default_rng(0).integers(0, 16, (16, 32), np.uint8)
    x = da.from_array(np.eye(32, dtype=ml_dtypes.int4))
    formats = ml_dtypes.int4, ml_dtypes.uint4
    plans = [we.gemm(raw.view(fmt), x, arch="sm_80") for fmt in formats]
    found = dask.compute(*plans, scheduler="sync")
    for fmt, d in zip(formats, found, strict=True):
        np.testing.assert_array_equal(d, we.gemm(raw.view(fmt), x.compute(), arch="sm_80"))
    assert plans[0].name != plans[1].name and not np.array_equal(*found)


# What tasks say, and how large they are


def test_the_error_for_a_sparse_matrix_counts_rows_within_the_chunk():
    A = np.zeros((20, 64), np.float16)
    A[18, 4:7] = 1
    instr = "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
    found = we.gemm(da.from_array(A, (6, 64)), np.ones((64, 8), np.float16), instr=instr, arch="sm_90")
    place = (
        r"^row 0, columns 4 to 7 of A .*in one chunk of A, of shape \(2, 64\): its rows and matrices are counted from"
    )
    with pytest.raises(FragmentMismatchError, match=place):
        found.compute(scheduler="sync")


def test_long_arrays_of_numpy_are_cut_so_that_chunks_of_d_stay_bounded():
    A, B = _normal((9000, 16)), _normal((16, 10000), seed=1)
    thin = da.from_array(A[:40], 16)
    assert we.gemm(thin, B).chunks == ((16, 16, 8), (4096, 4096, 1808))
    assert we.gemm(A, da.from_array(B[:, :8], 4)).chunks == ((4096, 4096, 808), (4, 4))
    assert max(map(max, we.gemm(A, B, bias=da.zeros(10000, dtype="f4")).chunks)) == 4096
    _same(we.gemm(da.from_array(A[:3], 2), B), we.gemm(A[:3], B))


def test_without_dask_arrays_dask_is_not_imported():
    import subprocess
    import sys

    code = ("import sys, numpy as np, wmma_emu as we; x = np.ones((2, 2), np.float16); we.gemm(x, x); "
            "sys.exit('dask' in sys.modules)")  # fmt: skip
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# On workers


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    with (
        dask.config.set({"distributed.comm.retry.count": 3}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


FORMATS = [np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.int4, np.bool_]


@pytest.mark.sweep(keep=1 / 3)
@pytest.mark.parametrize("dtype", FORMATS, ids=lambda x: np.dtype(x).name)
def test_every_dtype_travels_to_workers_and_back(client, dtype):
    A, B = _normal((32, 64), dtype), _normal((64, 16), dtype, seed=1)
    options = {"arch": "sm_80"} if dtype == np.bool_ else {}
    if np.dtype(dtype).itemsize == 1 and dtype not in (np.bool_, ml_dtypes.int4):
        options = {"out_dtype": dtype}
    expected = we.gemm(A, B, **options)
    found = we.gemm(da.from_array(A, (16, 24)), da.from_array(B, (32, 8)), **options)
    np.testing.assert_array_equal(_bits(client.compute(found, sync=True)), _bits(expected))


def test_chunks_that_workers_hold_are_multiplied_on_these_workers(client):
    A, B = _normal((48, 64), ml_dtypes.float8_e5m2), _normal((64, 16), ml_dtypes.float8_e5m2, seed=1)
    x = da.from_array(A.view(np.uint8), (8, 24)).view(A.dtype).persist()
    found = we.gemm(x, B)
    np.testing.assert_array_equal(_bits(client.compute(found, sync=True)), _bits(we.gemm(A, B)))


def _kill_once(chunk, marker=None):
    """The first task that calls this kills its worker."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return chunk
    os.kill(os.getpid(), signal.SIGKILL)
    return chunk


@pytest.mark.thorough
def test_a_worker_that_is_killed_in_the_middle_changes_no_bit(client, tmp_path):
    A, B = _normal((128, 64)), _normal((64, 64), seed=1)
    marker = tmp_path / "killed"
    before = set(client.run(os.getpid).values())
    x = da.from_array(A, (16, 64)).map_blocks(_kill_once, marker=str(marker), dtype=A.dtype, meta=A[:0, :0])
    found = client.compute(we.gemm(x, da.from_array(B, (64, 16))), sync=True)
    np.testing.assert_array_equal(_bits(found), _bits(we.gemm(A, B)))
    assert marker.exists()
    assert len(before & set(client.run(os.getpid).values())) == 1


@pytest.mark.slow  # the scheduler gives the worker up after half a minute
def test_results_that_a_killed_worker_held_are_computed_again(client):
    distributed = pytest.importorskip("distributed")
    client.wait_for_workers(2, timeout=30)
    A, B = _normal((64, 32)), _normal((32, 64), seed=1)
    held = we.gemm(da.from_array(A, (8, 32)), da.from_array(B, (32, 16))).persist()
    distributed.wait(held)
    victim = next(address for address, keys in client.has_what().items() if keys)
    pids = client.run(os.getpid)
    os.kill(pids[victim], signal.SIGKILL)
    np.testing.assert_array_equal(_bits(held.compute()), _bits(we.gemm(A, B)))


@pytest.mark.thorough
def test_a_preset_asks_for_known_sizes_first():
    unknown = da.from_array(np.ones((4, 16, 16), np.float16), chunks=(1, 16, 16))
    unknown = unknown[unknown[:, 0, 0] > 0]
    with pytest.raises(we.FragmentMismatchError, match="unknown"):
        we.gemm(unknown, np.ones((16, 16), np.float16), like="cublas-sm90-f16")
