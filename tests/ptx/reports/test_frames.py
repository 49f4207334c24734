# SPDX-License-Identifier: MIT
"""A finding names the source line in the user's code at which two instructions differ."""

import pytest

from wmma_emu.ptx.findings import Place
from wmma_emu.ptx.program.program import SourceLine
from wmma_emu.ptx.reports.frames import frames_of, own_frames, parting, short_path

TOOLCHAIN = [
    "/usr/local/cuda/include/crt/mma.hpp",
    "/usr/local/cuda-13.0/include/cuda_fp16.hpp",
    "/usr/local/cuda-13.0/targets/x86_64-linux/include/cooperative_groups/details/sync.h",
    "/opt/cuda/include/cuda/std/atomic",
    "/apps/cuda/12.4/include/cuda_pipeline.h",
    "/opt/conda/envs/gpu/targets/x86_64-linux/include/cuda/barrier",
    r"C:\Program Files\NVIDIA GPU Computing Toolkit\CUDA\v12.4\include\crt\sm_80_rt.hpp",
    "/home/me/venv/lib/python3.11/site-packages/nvidia/cu13/include/cuda_bf16.hpp",
    "/home/me/venv/lib/python3.11/site-packages/triton/language/standard.py",
    "/home/me/src/triton/python/triton/language/standard.py",
    "/home/me/venv/lib/python3.11/site-packages/numba/cuda/mathimpl.py",
    "/home/me/venv/lib/python3.11/site-packages/numba_cuda/numba/cuda/simulator.py",
    "/home/me/src/cccl/cub/cub/warp/warp_scan.cuh",
    "sm_30_intrinsics.hpp",
    "sm_32_intrinsics.hpp",
    "device_atomic_functions.hpp",
    "mma.h",
    "/home/me/project/__nv_nvrtc_builtin_header.h",
    "texture_indirect_functions.h",
    "surface_indirect_functions.h",
]
OWN = [
    "/home/me/gemm.cu",
    "/home/me/cuda_project/include/gemm.cuh",
    "/home/me/project/include/cuda/softmax.cuh",
    "/home/me/cuda/include_all.cu",
    "/home/me/cuda_utils.h",
    "/home/me/mma.h",
    "/home/me/vector_add.h",
    "vector_add.h",
    "cuda_kernels.h",
    "mma.cu",
    "/home/me/triton/my_kernels.py",
    "/home/me/venv/lib/python3.11/site-packages/flash/kernel.py",
]


def chain(*frames: tuple[str, int]) -> SourceLine:
    """Return an inlined line; the frames are innermost first."""
    line = None
    for file, number in reversed(frames):
        line = SourceLine(file, number, line)
    return line


def lines(source) -> list[tuple[str, int]]:
    return [(x.file, x.line) for x in source]


@pytest.mark.parametrize("file", TOOLCHAIN)
def test_lines_of_the_toolchain_are_left_out(file):
    assert lines(own_frames(chain((file, 91), ("gemm.cu", 47), ("gemm.cu", 60)))) == [("gemm.cu", 47), ("gemm.cu", 60)]


@pytest.mark.parametrize("file", OWN)
def test_user_files_with_similar_names_to_toolchain_files_are_not_toolchain_files(file):
    assert lines(own_frames(chain((file, 91), ("main.cu", 47)))) == [(file, 91), ("main.cu", 47)]


def test_a_toolchain_line_between_two_user_lines_is_left_out_too():
    source = chain(("op.h", 3), ("/usr/local/cuda/include/cub/reduce.cuh", 8), ("gemm.cu", 47))
    assert lines(own_frames(source)) == [("op.h", 3), ("gemm.cu", 47)]


def test_if_all_lines_belong_to_the_toolchain_they_are_named():
    source = chain(("/usr/local/cuda/include/crt/mma.hpp", 91), ("sm_30_intrinsics.hpp", 5))
    assert own_frames(source) == tuple(frames_of(source))


def test_a_line_without_a_source_has_no_frames():
    assert own_frames(None) == ()
    assert parting(Place(7), Place(9)) == (None, None)


def test_a_template_that_calls_itself_has_one_line():
    source = chain(("sum.h", 5), ("sum.h", 7), ("sum.h", 7), ("sum.h", 7), ("gemm.cu", 47))
    assert lines(own_frames(source)) == [("sum.h", 5), ("sum.h", 7), ("gemm.cu", 47)]


def test_two_levels_of_a_recursion_differ_at_their_calling_lines():
    shallow, deep = chain(("sum.h", 7), ("gemm.cu", 47)), chain(("sum.h", 5), ("sum.h", 7), ("gemm.cu", 47))
    assert lines(parting(Place(1, shallow), Place(2, deep))) == [("sum.h", 7), ("sum.h", 5)]


def test_two_sides_in_one_function_differ_at_their_own_lines():
    one, other = (Place(i, chain(("tile.h", line), ("gemm.cu", 47))) for i, line in ((1, 3), (2, 5)))
    assert lines(parting(one, other)) == [("tile.h", 3), ("tile.h", 5)]


def test_a_helper_that_both_sides_call_at_two_lines_is_named_by_its_callers():
    one, other = (Place(i, chain(("tile.h", 3), ("gemm.cu", line))) for i, line in ((1, 40), (2, 44)))
    assert lines(parting(one, other)) == [("gemm.cu", 40), ("gemm.cu", 44)]


def test_an_accessor_within_a_helper_is_named_by_the_innermost_callers_that_differ():
    at = [chain(("at.h", 3), ("tile.h", line), ("gemm.cu", 40)) for line in (8, 9)]
    assert lines(parting(Place(1, at[0]), Place(2, at[1]))) == [("tile.h", 8), ("tile.h", 9)]


def test_a_helper_that_both_sides_call_at_one_line_is_named_itself():
    one = Place(1, chain(("tile.h", 3), ("gemm.cu", 40)))
    assert lines(parting(one, Place(2, one.source))) == [("tile.h", 3), ("tile.h", 3)]


def test_calls_of_two_toolchain_headers_are_named_by_their_callers():
    load = chain(("/usr/local/cuda/include/crt/mma.hpp", 91), ("gemm.cu", 44))
    store = chain(("sm_30_intrinsics.hpp", 12), ("gemm.cu", 51))
    assert lines(parting(Place(1, load), Place(2, store))) == [("gemm.cu", 44), ("gemm.cu", 51)]


def test_one_side_without_a_source_leaves_the_other_one_its_line():
    assert parting(Place(1, chain(("gemm.cu", 44))), Place(2)) == (SourceLine("gemm.cu", 44), None)


@pytest.mark.parametrize(
    ("file", "short"),
    [("/home/me/kernels/gemm.cu", "gemm.cu"), (r"C:\me\gemm.cu", "gemm.cu"), ("gemm.cu", "gemm.cu"),
     ("/usr/local/cuda/include/crt/mma.hpp", "crt/mma.hpp"), ("sm_30_intrinsics.hpp", "sm_30_intrinsics.hpp")],
)  # fmt: skip
def test_a_file_is_named_by_its_last_part_and_one_of_the_toolchain_by_two(file, short):
    assert short_path(file) == short
