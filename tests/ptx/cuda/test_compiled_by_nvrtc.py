# SPDX-License-Identifier: MIT
"""CUDA C++ through NVRTC, without a GPU or a driver."""

from pathlib import Path

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.errors import BackendUnavailableError, CompilationError, FragmentMismatchError, KernelFindingsError
from wmma_emu.ptx.cuda import compile as cuda_compile
from wmma_emu.ptx.cuda import nvrtc, packages
from wmma_emu.ptx.cuda.messages import errors_of

pytestmark = pytest.mark.thorough

EXAMPLES = Path(__file__).parents[3] / "examples" / "ptx"

TWO = """
#include <cstdint>
#include <cuda_fp16.h>
namespace my {
template <typename T, int N> __global__ void fill(T* out, T value, int n)
{
    int i = blockIdx.x * N + threadIdx.x;
    if (i < n)
        out[i] = value;
}
}
struct Line { float slope, start; int8_t n; };
__global__ void line(float* y, Line l) { if (threadIdx.x < l.n) y[threadIdx.x] = l.slope * threadIdx.x + l.start; }
__global__ void half_of(half* x) { x[threadIdx.x] = __hmul(x[threadIdx.x], __float2half(0.5f)); }
"""


@pytest.fixture(scope="module")
def two():
    pytest.importorskip("nvidia", reason="NVRTC is not installed")
    try:
        return we.ptx.Module.from_cuda(TWO, "sm_80", instantiate=["my::fill<int, 32>", "my::fill<double, 8>"])
    except BackendUnavailableError as error:
        pytest.skip(str(error))


def test_templates_are_found_by_the_requested_names(two):
    ints, doubles = np.zeros(40, np.int32), np.zeros(20)
    two["my::fill<int, 32>"][2, 32](ints, -7, 40)
    two["my::fill<double, 8>"][2, 8](doubles, 0.1, 15)
    assert ints.tolist() == [-7] * 40 and doubles.tolist() == [0.1] * 15 + [0] * 5


def test_kernels_are_found_by_their_plain_names_and_take_structs(two):
    y = np.zeros(32, np.float32)
    two["line"][1, 32](y, we.ptx.Struct(np.float32(0.5), np.float32(1), np.int8(9)))
    assert y[:10].tolist() == [1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 0]
    x = np.arange(8, dtype=np.float16)
    two["half_of"][1, 8](x)
    assert x.tolist() == [i / 2 for i in range(8)]


def test_findings_name_the_line_of_the_source(two):
    report = two["half_of"][1, 9](np.zeros(8, np.float16), findings="report")
    assert {str(x.source) for x in report.findings if x.source} >= {"kernel.cu:14"}


def test_the_compilers_message_is_the_error(two):
    with pytest.raises(CompilationError, match=r"x\.cu does not compile:\nx\.cu\(1\): error: identifier \"nothing\""):
        we.ptx.Module.from_cuda("__global__ void k() { nothing; }", name="x.cu")
    with pytest.raises(CompilationError, match="does not compile"):
        we.ptx.Module.from_cuda("", options=["--no-such-option"])
    with pytest.raises(FragmentMismatchError, match=r"a CUDA source is a str, not .*Module\.from_file reads files"):
        we.ptx.Module.from_cuda(EXAMPLES / "naive_wmma.cu")


def test_errors_come_before_warnings_of_their_line_and_of_options():
    warnings = "nvcc warning : an option is old\nk.cu(1): warning #177-D: unused"
    said = errors_of(f'{warnings}\nk.cu(1): error: identifier "y" is undefined\nk.cu(2): warning #177-D: unused', {})
    assert said.split("\n\n") == ['k.cu(1): error: identifier "y" is undefined', *warnings.splitlines()]


def test_a_chip_that_the_compiler_no_longer_supports_is_named(two):
    with pytest.raises(CompilationError, match=r"compiles for sm_\d+ and later, not for sm_70"):
        we.ptx.Module.from_cuda("", "sm_70")


def test_options_and_folders_reach_the_compiler(two, tmp_path):
    (tmp_path / "value.h").write_text("#define VALUE 3\n")
    source = '#include "value.h"\n__global__ void k(int* x) { *x = VALUE * FACTOR; }'
    x = np.zeros(1, np.int32)
    options = ["-DFACTOR=5", "-std=c++20", "--generate-line-info"]
    we.ptx.Module.from_cuda(source, options=options, include=[tmp_path])["k"][1, 1](x)
    assert x.tolist() == [15]
    (tmp_path / "k.cu").write_text(source)
    we.ptx.Module.from_file(tmp_path / "k.cu", options=["-DFACTOR=7"])["k"][1, 1](x)
    assert x.tolist() == [21]


def test_a_wmma_kernel_runs_as_it_is_with_the_bits_of_the_instruction(two):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 32, 32)).astype(np.float16)
    d = np.zeros((32, 32), np.float32)
    module = we.ptx.Module.from_file(EXAMPLES / "naive_wmma.cu", "sm_80")
    report = module["naive_wmma"][(2, 2), 32](a, b, d, 32, 32, 32)
    expected = we.gemm(a, b.T, instr="wmma.mma.m16n16k16.f32.f32", arch="sm_80")
    assert d.tobytes() == expected.tobytes() and report.findings == ()


LIBRARIES = """
#include <cassert>
#include <cstdio>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/std/array>
#include <cuda/std/limits>
#include <cub/block/block_reduce.cuh>
namespace cg = cooperative_groups;

extern "C" __global__ void groups(const int* x, int* sums, int* scans, int* neighbours, int* active)
{
    __shared__ int tile[64];
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    auto eight = cg::tiled_partition<8>(warp);
    int i = cg::this_grid().thread_rank();
    cg::memcpy_async(block, tile, x + block.group_index().x * 64, sizeof(tile));
    cg::wait(block);
    int mine = tile[block.thread_rank()];
    sums[i] = cg::reduce(eight, mine, cg::plus<int>());
    scans[i] = cg::inclusive_scan(warp, mine, cg::plus<int>());
    neighbours[i] = warp.shfl_down(tile[63 - block.thread_rank()], 1);
    if (mine & 1) {
        auto group = cg::coalesced_threads();
        active[i] = group.size() * 100 + group.thread_rank();
    }
}

extern "C" __global__ void reversed(const int* x, int* y)
{
    __shared__ int tile[2][64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    for (int i = 0; i < 5; ++i) {
        if (i < 4) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, tile[i & 1], x + i * 64, sizeof(tile[0]), pipe);
            pipe.producer_commit();
        }
        if (i > 0) {
            pipe.consumer_wait();
            y[(i - 1) * 64 + threadIdx.x] = tile[(i - 1) & 1][63 - threadIdx.x];
            pipe.consumer_release();
        }
    }
}

extern "C" __global__ void library(int* x, int* sum, int n)
{
    using Reduce = cub::BlockReduce<int, 64>;
    __shared__ typename Reduce::TempStorage storage;
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    __shared__ int tile[64];
    cuda::std::array<int, 3> factors{2, 3, 5};
    if (threadIdx.x == 0)
        init(&barrier, blockDim.x);
    __syncthreads();
    auto pipe = cuda::make_pipeline();
    pipe.producer_acquire();
    cuda::memcpy_async(tile + threadIdx.x, x + threadIdx.x, 4, pipe);
    pipe.producer_commit();
    pipe.consumer_wait();
    barrier.arrive_and_wait();
    int other = tile[threadIdx.x ^ 33] * factors[threadIdx.x % 3];
    pipe.consumer_release();
    assert(other <= cuda::std::numeric_limits<short>::max());
    int total = Reduce(storage).Sum(other);
    if (threadIdx.x == 0) {
        std::printf("%d\\n", total);
        cuda::atomic_ref<int, cuda::thread_scope_device>(*sum).fetch_add(total);
    }
}
"""


@pytest.fixture(scope="module")
def libraries(two):
    headers = [x / "nv" / "target" for x in packages.include_folders()]
    if not any(x.exists() for x in headers):
        pytest.skip("nvidia-cuda-cccl is not installed")
    return we.ptx.Module.from_cuda(LIBRARIES, "sm_90", findings="raise")


def test_cooperative_groups_run_as_they_are(libraries):
    x = np.arange(128, dtype=np.int32) ** 2 % 101
    sums, scans, neighbours, active = np.zeros((4, 128), np.int32)
    libraries["groups"][2, 64](x, sums, scans, neighbours, active, schedules=2)
    assert np.array_equal(sums, x.reshape(-1, 8).sum(1).repeat(8))
    assert np.array_equal(scans, x.reshape(-1, 32).cumsum(1).ravel())
    turned = x.reshape(2, 64)[:, ::-1].reshape(-1, 32)
    assert np.array_equal(neighbours, np.hstack([turned[:, 1:], turned[:, -1:]]).ravel())
    odd = (x & 1).reshape(-1, 32)
    ranks = odd * (100 * odd.sum(1, keepdims=True) + odd.cumsum(1) - 1)
    assert np.array_equal(active, ranks.ravel())


def test_a_pipeline_of_the_block_ends_its_barriers_without_a_race(libraries):
    x, y = np.arange(256, dtype=np.int32), np.zeros(256, np.int32)
    libraries["reversed"][1, 64](x, y, schedules=2, asynchrony="both")
    assert np.array_equal(y.reshape(4, 64), x.reshape(4, 64)[:, ::-1])


def test_barriers_pipelines_atomics_and_blocks_of_the_libraries_run(libraries):
    x, total = np.arange(64, dtype=np.int32), np.zeros(1, np.int32)
    report = libraries["library"][1, 64](x, total, 64)
    i = np.arange(64)
    expected = int((x[i ^ 33] * np.array([2, 3, 5])[i % 3]).sum())
    assert total.tolist() == [expected] and report.output == f"{expected}\n"
    with pytest.raises(KernelFindingsError, match=r"assertion 'other <= cuda::std::numeric_limits<short>::max\(\)'"):
        libraries["library"][1, 64](x + 30000, total, 64)


@pytest.fixture
def no_compilers(monkeypatch):
    """As if neither NVRTC nor nvcc were installed, and nothing had been compiled before."""

    def missing():
        raise BackendUnavailableError("nvcc is not installed")

    monkeypatch.setenv("WMMA_EMU_CACHE", "off")
    monkeypatch.setattr(nvrtc, "nvidia_folders", lambda: [])
    monkeypatch.setattr(cuda_compile, "find_nvcc", missing)
    nvrtc._library.cache_clear()
    yield
    nvrtc._library.cache_clear()


def test_without_a_compiler_the_error_says_what_to_install_and_how_to_make_ptx_elsewhere(no_compilers, monkeypatch):
    monkeypatch.setattr(cuda_compile.sys, "platform", "linux")
    with pytest.raises(BackendUnavailableError, match=r"from a clone .*: pip install '\.\[nvrtc\]'.*nvcc -ptx"):
        we.ptx.Module.from_cuda("")
    monkeypatch.setattr(cuda_compile.sys, "platform", "darwin")
    with pytest.raises(BackendUnavailableError, match=r"no compiler for macOS\. nvcc -ptx .*from_file") as caught:
        we.ptx.Module.from_cuda("")
    assert "pip install" not in str(caught.value)
