# SPDX-License-Identifier: MIT
"""Recordings of unmodified programs: what the recorder writes becomes bundles that the emulator runs."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tools.hopper_programs.programs import PROGRAMS
from tools.hopper_programs.table import compared
from tools.launch_bundles import emulated_bundle
from tools.launch_recorder.__main__ import main
from tools.launch_recorder.building import build_recorder, toolkit
from tools.launch_recorder.one_kernel import kernels_in, only_kernel

TEXT = """.version 8.0
.target sm_90
.address_size 64
.global .align 4 .b8 factor[4];
.global .align 4 .b8 unused[4];
.visible .entry other(.param .u64 x)
{
	// begin inline asm
	{ ret; }
	// end inline asm
}
.weak .entry scale(.param .align 8 .b8 given[24])
{ .reg .b32 %r<4>; .reg .b64 %a<4>;
    mov.u32 %r0, %tid.x; ld.param.u64 %a0, [given+8]; mul.wide.u32 %a1, %r0, 4; add.s64 %a0, %a0, %a1;
    ld.global.u32 %r1, [%a0]; ld.global.u32 %r2, [factor]; mul.lo.u32 %r1, %r1, %r2; st.global.u32 [%a0], %r1; ret; }
"""

X = np.arange(32, dtype=np.uint32)
ADDRESS = 0x7F0000000000


def write_raw(folder, factor=3, **said):
    """Write what the recorder writes for a launch of ``scale`` on 32 numbers that start 16 bytes into an allocation."""
    folder.mkdir(parents=True)
    allocation = np.concatenate([np.zeros(4, np.uint32), X])
    contents = [allocation, np.zeros(4, np.uint32), np.array([factor], np.uint32), np.zeros(1, np.uint32)]
    names = ["allocation_0", "allocation_1", "factor", "unused"]
    for number, content in enumerate(contents):
        content.tofile(folder / f"{number}.before")
    allocation[4:] *= factor
    allocation.tofile(folder / "0.after")
    given = b"".join(x.to_bytes(8, "little") for x in (1, ADDRESS + 16, 2))
    argument = {"bytes": given.hex(), "pointers": [[8, "allocation_0", 16]]}
    regions = [
        {"name": name, "address": ADDRESS + 4096 * i, "bytes": content.nbytes, "variable": i > 1, "changed": i == 0}
        for i, (name, content) in enumerate(zip(names, contents, strict=True))
    ]
    launch = {"kernel": "scale", "grid": [1, 1, 1], "block": [32, 1, 1], "cluster": [1, 1, 1], "shared": 0}
    launch |= {"attributes": [], "error": "", "unsteady": [], "arguments": [argument], "regions": regions}
    (folder / "launch.json").write_text(json.dumps(launch | said))


@pytest.fixture
def packed(tmp_path):
    def pack(**said):
        write_raw(tmp_path / "raw" / "0000", **said)
        (tmp_path / "program.ptx").write_text(TEXT)
        given = [tmp_path / "raw", tmp_path / "bundles" / "program", tmp_path / "recorded"]
        assert main(["pack", *map(str, given), "--ptx", str(tmp_path / "program.ptx"), "--arch", "sm_90"]) == 0
        return tmp_path / "bundles" / "program" / "0000", tmp_path / "recorded"

    return pack


def test_a_recorded_launch_becomes_a_bundle_that_the_emulator_runs(packed):
    bundle, recorded = packed()
    arrays, report = emulated_bundle(bundle)
    assert arrays["allocation_0"].view(np.uint32)[4:].tolist() == (3 * X).tolist()
    assert sorted(arrays) == ["allocation_0", "factor"], "what the kernel cannot reach is left out"
    assert not report.findings
    assert compared(bundle, recorded, {}).verdict == "equal"


LIST = """.version 8.0
.target sm_90
.address_size 64
.visible .entry scale(.param .align 8 .b8 given[24])
{ .reg .b32 %r<4>; .reg .b64 %a<4>;
    ld.param.u64 %a0, [given+8]; ld.global.u64 %a1, [%a0]; ld.global.u32 %r1, [%a1]; add.u32 %r1, %r1, 1;
    st.global.u32 [%a1], %r1; add.s64 %a1, %a1, 4; st.global.u64 [%a0], %a1; ret; }
"""


def test_arrays_hold_addresses_of_the_gpu_before_and_after_a_launch(tmp_path):
    raw = tmp_path / "raw" / "0000"
    write_raw(raw)
    first = np.fromfile(raw / "0.before", np.uint64)
    first[2] = ADDRESS + 4096 + 8  # of allocation_1, where the parameter points to
    first.tofile(raw / "0.before")
    first[2] += 4
    first.tofile(raw / "0.after")
    np.array([0, 0, 1, 0], np.uint32).tofile(raw / "1.after")
    said = json.loads((raw / "launch.json").read_text())
    said["regions"][1]["changed"] = True
    (raw / "launch.json").write_text(json.dumps(said))
    (tmp_path / "program.ptx").write_text(LIST)
    given = [tmp_path / "raw", tmp_path / "bundles" / "program", tmp_path / "recorded"]
    main(["pack", *map(str, given), "--ptx", str(tmp_path / "program.ptx"), "--arch", "sm_90"])
    outcome = compared(tmp_path / "bundles" / "program" / "0000", tmp_path / "recorded", {})
    assert (outcome.verdict, outcome.text) == ("equal", "")


def test_other_bits_of_the_gpu_are_counted(packed):
    bundle, recorded = packed()
    path = recorded / "program__0000--module.ptx.gz.npz"
    with np.load(path) as file:
        after = file["allocation_0"]
    after[20] ^= 1
    np.savez_compressed(path, allocation_0=after)
    outcome = compared(bundle, recorded, {})
    assert (outcome.verdict, outcome.text) == ("differs", "1 of 144 bytes of allocation_0")


def test_a_launch_that_failed_on_the_gpu_has_no_recording(packed):
    bundle, recorded = packed(error="CUDA_ERROR_ILLEGAL_ADDRESS")
    outcome = compared(bundle, recorded, {})
    assert (outcome.verdict, outcome.text) == ("not recorded", "CUDA_ERROR_ILLEGAL_ADDRESS")


def test_arrays_that_were_not_the_same_twice_are_named(packed):
    _, recorded = packed(unsteady=["allocation_0"])
    status = (recorded / "program__0000--module.ptx.gz.txt").read_text()
    assert status == "not the same twice: allocation_0\n"


def test_a_kernel_that_no_text_has_is_an_error(packed):
    with pytest.raises(OSError, match="no PTX file has the kernel another; the files have 2 others"):
        packed(kernel="another")


def test_one_kernel_of_a_text_keeps_the_variables_and_loses_the_other_kernels():
    assert kernels_in(TEXT) == ["other", "scale"]
    kept = only_kernel(TEXT, "scale")
    assert kernels_in(kept) == ["scale"]
    assert kept.startswith(TEXT[: TEXT.index(".visible")])
    assert kept.endswith(TEXT[TEXT.index(".weak") :])


def test_every_program_has_its_own_name_and_a_file_of_the_checkout():
    assert len({x.name for x in PROGRAMS}) == len(PROGRAMS)
    assert all(x.file.startswith(("examples/", "test/unit/")) and x.file.endswith(".cu") for x in PROGRAMS)


RUNTIME = r"""
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cstdlib>
#include <cstring>
extern "C" {  // a runtime and a driver whose GPU is the host, with one kernel: scale
cudaError_t cudaMalloc(void **place, size_t bytes) { *place = calloc(bytes, 1); return cudaSuccess; }
cudaError_t cudaFree(void *place) { free(place); return cudaSuccess; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaGetFuncBySymbol(cudaFunction_t *f, const void *s) { *f = (cudaFunction_t)s; return cudaSuccess; }
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *c, const void *, void **values) {
    char *given = (char *)values[0];
    unsigned *x = *(unsigned **)(given + 8);
    for (unsigned i = 0; i < c->blockDim.x; i++) x[i] *= 3;
    return cudaSuccess;
}
CUresult cuFuncGetName(const char **name, CUfunction) { *name = "scale"; return CUDA_SUCCESS; }
CUresult cuFuncGetParamInfo(CUfunction, size_t i, size_t *offset, size_t *bytes) {
    *offset = 0; *bytes = 24;
    return i ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CUresult cuFuncGetModule(CUmodule *, CUfunction) { return CUDA_ERROR_NOT_FOUND; }
CUresult cuCtxSynchronize() { return CUDA_SUCCESS; }
CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t n) { memcpy(to, (void *)from, n); return CUDA_SUCCESS; }
CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t n) { memcpy((void *)to, from, n); return CUDA_SUCCESS; }
}
"""

PROGRAM = r"""
#include <cuda_runtime_api.h>
#include <cstdio>
struct Global { void *x = nullptr; ~Global() { cudaFree(x); } } global;
int main() {
    unsigned *x, *other;
    cudaMalloc((void **)&other, 64);
    cudaMalloc((void **)&x, 36 * 4);
    cudaFree(other);
    cudaMalloc(&global.x, 4);
    cudaFree(global.x);
    global.x = nullptr;
    for (unsigned i = 0; i < 32; i++) x[4 + i] = i;
    struct { long n; void *x; long m; } given = {1, x + 4, 2};
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = 2; attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t size = {};
    size.gridDim = dim3(2); size.blockDim = dim3(32); size.attrs = &attribute; size.numAttrs = 1;
    void *values[] = {&given};
    for (int i = 0; i < 2; i++) cudaLaunchKernelExC(&size, (const void *)main, values);
    printf("%u\n", x[5 + 30]);
}
"""


def compiled(folder, name, source, *options):
    (folder / f"{name}.cpp").write_text(source)
    include = toolkit("nvcc") / "include"
    command = ["g++", "-w", f"-I{include}", "-o", str(folder / name), str(folder / f"{name}.cpp"), *options]
    subprocess.run(command, check=True, capture_output=True)
    return folder / name


@pytest.mark.thorough
@pytest.mark.skipif(not (shutil.which("nvcc") and shutil.which("g++")), reason="needs nvcc and g++")
def test_the_recorder_records_the_first_launch_of_a_program_twice_and_leaves_its_results(tmp_path):
    library = compiled(tmp_path, "libruntime.so", RUNTIME, "-shared", "-fPIC")
    program = compiled(tmp_path, "program", PROGRAM, f"-L{tmp_path}", "-l:libruntime.so", f"-Wl,-rpath,{tmp_path}")
    (tmp_path / "libcuda.so.1").symlink_to(library)
    recorder = tmp_path / "liblaunch_recorder.so"
    build_recorder(recorder, toolkit("nvcc"))
    raw = tmp_path / "raw"
    environment = {"LD_PRELOAD": str(recorder), "LAUNCH_RECORDER_OUT": str(raw), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == f"{31 * 9}\n", "the program continues as if each launch was done once"
    assert [x.name for x in Path(raw).iterdir()] == ["0000"], "a kernel is recorded once"
    said = json.loads((raw / "0000" / "launch.json").read_text())
    assert (said["grid"], said["block"], said["cluster"]) == ([2, 1, 1], [32, 1, 1], [2, 1, 1])
    assert said["arguments"][0]["pointers"] == [[8, "allocation_1", 16]]
    assert [x["name"] for x in said["regions"]] == ["allocation_1"], "freed memory is forgotten"
    before, after = (np.fromfile(raw / "0000" / f"0.{x}", np.uint32)[4:] for x in ("before", "after"))
    assert (before.tolist(), after.tolist()) == (X.tolist(), (3 * X).tolist())
    assert said["unsteady"] == []
