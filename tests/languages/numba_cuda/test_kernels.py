# SPDX-License-Identifier: MIT
"""Programs of numba-cuda on the emulator: arguments, the API of the device, findings, and that all of it is undone."""

import re
import subprocess
import sys

import numpy as np
import pytest

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.filterwarnings("ignore:Grid size .* will likely result in GPU under-utilization"),
]
pytest.importorskip("numba_cuda", reason="numba-cuda is not installed: it is not a dependency of the tests")
cuda = pytest.importorskip("numba.cuda")

import wmma_emu as we  # noqa: E402
from wmma_emu.errors import KernelFindingsError, KernelFindingsWarning  # noqa: E402
from wmma_emu.languages import emulate  # noqa: E402


@pytest.fixture
def emulation():
    with emulate("h100", languages=["numba-cuda"], findings="raise") as session:
        yield session


@pytest.fixture
def copy(emulation):
    @cuda.jit
    def copy(x, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = x[i]

    return copy


@pytest.mark.parametrize("kind", ["?", "i1", "u2", "i8", "f2", "f4", "f8", "c8", "c16", "M8[s]"])
def test_arrays_of_every_type(copy, kind):
    x = np.arange(6).astype(kind)
    y = np.zeros_like(x)
    copy[1, 32](x, y)
    assert x.tobytes() == y.tobytes()


def test_arrays_of_bfloat16(copy):
    import ml_dtypes

    x = np.arange(6).astype(ml_dtypes.bfloat16)
    y = np.zeros_like(x)
    copy[1, 32](x, y)
    assert x.tobytes() == y.tobytes()


def test_views_that_are_strided_reversed_or_read_only(copy):
    x, y = np.arange(12.0), np.zeros((6, 2))
    x.flags.writeable = False
    copy[1, 32](x[::-2], y[:, 1])
    assert y[:, 1].tolist() == [11, 9, 7, 5, 3, 1]
    assert not y[:, 0].any()


def test_device_arrays_and_views_of_them(copy):
    x = cuda.to_device(np.arange(8.0))
    y = cuda.device_array_like(x)
    copy[1, 8](x, y)
    copy[1, 8](x[2:5], y[5:])
    assert y.copy_to_host().tolist() == [0, 1, 2, 3, 4, 2, 3, 4]


def test_tuples_records_and_scalars(emulation):
    @cuda.jit
    def mixed(record, pair, z, out):
        out[0] = record["a"] + pair[0] + pair[1][0] + z.imag

    record = np.zeros(1, [("a", "i4"), ("b", "f8")])
    record["a"] = 3
    out = np.zeros(1)
    mixed[1, 1](record[0], (1, (np.float32(0.5),)), 2j, out)
    assert out[0] == 6.5


def test_dynamic_shared_memory_and_printing(emulation, capsys):
    @cuda.jit
    def rotate(x):
        row = cuda.shared.array(0, dtype=np.float32)
        t = cuda.threadIdx.x
        row[t] = x[t]
        cuda.syncthreads()
        x[t] = row[(t + 1) % 64]
        if t == 0:
            print("first", x[t])

    x = np.arange(64, dtype=np.float32)
    rotate[1, 64, 0, 256](x)
    assert x[0] == 1
    assert x[63] == 0
    assert capsys.readouterr().out == "first 1.000000\n"


def test_a_grid_that_synchronises(emulation):
    @cuda.jit
    def turn(x, y):
        i = cuda.grid(1)
        x[i] = i
        cuda.cg.this_grid().sync()
        y[i] = x[x.size - 1 - i]

    x, y = np.zeros(64, np.int32), np.zeros(64, np.int32)
    turn[2, 32](x, y)
    assert y.tolist() == list(range(63, -1, -1))


def test_an_exception_in_debug_mode_names_its_thread(emulation):
    @cuda.jit(debug=True, opt=False)
    def check(x):
        if x[cuda.grid(1)] > 5:
            raise ValueError("too large")

    check[1, 4](np.arange(4))
    with pytest.raises(ValueError, match=r"tid=\[0, 0, 2\] ctaid=\[0, 0, 1\]: too large"):
        check[2, 4](np.arange(8))


def test_reductions_and_universal_functions(emulation):
    from numba import float64, vectorize

    total = cuda.reduce(lambda a, b: a + b)
    assert total(np.arange(1000.0)) == 499500

    @vectorize([float64(float64, float64)], target="cuda")
    def fused(a, b):
        return a * b + 1

    assert fused(np.arange(4.0), 2.0).tolist() == [1, 3, 5, 7]


def test_generalised_universal_functions(emulation):
    from numba import float32, guvectorize

    @guvectorize([(float32[:], float32[:], float32[:])], "(n),(n)->()", target="cuda")
    def dot(a, b, out):
        total = np.float32(0)
        for i in range(a.size):
            total += a[i] * b[i]
        out[0] = total

    a = np.arange(12, dtype=np.float32).reshape(4, 3)
    assert dot(a, np.float32([1, 2, 3])).tolist() == [8, 26, 44, 62]
    assert dot(a, a).dtype == np.float32


def test_universal_functions_of_numpy_in_a_kernel(emulation):
    @cuda.jit
    def hypotenuse(x, y, out):
        np.hypot(x, y, out)

    out = np.zeros(2, np.float32)
    hypotenuse[1, 1](np.float32([3, 5]), np.float32([4, 12]), out)
    assert out.view(np.uint32).tolist() == [0x40A00000, 0x41500000]  # 5 and 13


def test_constant_arrays(emulation):
    table = np.float32([0.5, 1.5, 2.5, 3.5])

    @cuda.jit
    def look_up(out):
        values = cuda.const.array_like(table)
        out[cuda.grid(1)] = values[3 - cuda.grid(1)]

    out = np.zeros(4, np.float32)
    look_up[1, 4](out)
    assert out.tolist() == [3.5, 2.5, 1.5, 0.5]


def test_reductions_of_several_sizes(emulation):
    reduce = cuda.reduce(lambda a, b: a if a > b else b)
    for size in (1, 31, 257):
        x = np.arange(size, dtype=np.int64) * 7 % (size + 3)
        assert reduce(x) == x.max()


def test_a_group_of_a_grid_has_a_size(emulation):
    @cuda.jit
    def size(out):
        grid = cuda.cg.this_grid()
        grid.sync()
        if cuda.grid(1) == 0:
            out[0] = cuda.gridsize(1)

    out = np.zeros(1, np.int64)
    size[3, 32](out)
    assert out[0] == 96


def test_a_warning_about_findings_names_the_line_of_the_program():
    @cuda.jit
    def last(x):
        x[0] = cuda.grid(1)

    with emulate("h100", languages=["numba-cuda"]), pytest.warns(KernelFindingsWarning) as caught:
        last[1, 64](np.zeros(1, np.int32))
    assert [x.filename for x in caught if x.category is KernelFindingsWarning] == [__file__]


def test_a_block_that_is_too_large_raises_the_exception_of_the_driver(emulation):
    from cuda.core._utils.cuda_utils import CUDAError

    @cuda.jit(launch_bounds=64)
    def one(x):
        x[0] = 1

    x = np.zeros(1)
    with pytest.raises(CUDAError, match=r"CUDA_ERROR_INVALID_VALUE: .*64"):
        one[1, 128](x)
    assert x[0] == 0
    assert [bool(y.refusal) for y in emulation.report.launches] == [True]


def test_a_copy_of_an_argument_warns_where_the_program_asks_for_it(copy, monkeypatch):
    from numba.cuda.core import config
    from numba.cuda.core.errors import NumbaPerformanceWarning

    monkeypatch.setattr(config, "CUDA_WARN_ON_IMPLICIT_COPY", 1)
    monkeypatch.setattr(config, "DISABLE_PERFORMANCE_WARNINGS", 0)
    with pytest.warns(NumbaPerformanceWarning, match="Host array used in CUDA kernel"):
        copy[1, 32](np.zeros(3), np.zeros(3))


def test_the_order_of_atomic_additions_is_named_with_its_line_of_python(emulation):
    @cuda.jit
    def total(x, out):
        cuda.atomic.add(out, cuda.blockIdx.x, x[cuda.blockIdx.x, cuda.threadIdx.x])

    given = np.random.default_rng(0).standard_normal((4, 32)).astype(np.float32)

    def run(rows):
        x, out = cuda.to_device(given[rows]), cuda.to_device(np.zeros(len(rows), np.float32))
        total[len(rows), 32](x, out)
        return out.copy_to_host()

    report = we.ptx.invariance(run, rows=4, batches=[1], schedules=1)
    assert report.is_batch_invariant
    (change,) = report.changes_by("schedule")
    assert change.first.kind == "order of atomic operations"
    source = change.first.place.source
    assert (source.file, source.line) == (__file__, total.py_func.__code__.co_firstlineno + 2)


@pytest.mark.slow
def test_allocations_of_kernels_are_counted(emulation, monkeypatch):
    from numba.cuda.core import config
    from numba.cuda.memory_management import rtsys

    @cuda.jit
    def allocates(out):
        ones = np.ones(3)
        out[0] = np.arange(5 * ones[0])[4]

    monkeypatch.setattr(config, "CUDA_ENABLE_NRT", 1)
    monkeypatch.setattr(config, "CUDA_NRT_STATS", 1)
    rtsys.memsys_enable_stats()
    out = np.zeros(1)
    allocates[1, 1](out)
    stats = rtsys.get_allocation_stats()
    assert (out[0], stats.alloc, stats.free) == (4, 2, 2)


def test_numba_without_cuda_is_left_alone_with_a_note(monkeypatch):
    program = (
        "from wmma_emu.languages import emulate\n"
        "with emulate('h100') as session:\n    from numba import cuda\n    print(cuda.is_available())\n"
        "print(session.report)"
    )
    monkeypatch.setenv("NUMBA_DISABLE_CUDA", "1")
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[0] == "False"
    assert "NUMBA_DISABLE_CUDA is set" in done.stdout


def test_a_finding_names_the_parameter_its_element_and_the_line_of_python(emulation):
    @cuda.jit
    def far(x, y):
        i = cuda.grid(1)
        y[i] = x[i + 1]

    x, y = np.ones(32, np.float32), np.full(32, 7, np.float32)
    with pytest.raises(KernelFindingsError, match=r"y\[i\] = x\[i \+ 1\]") as caught:
        far[1, 32](x, y)
    assert "x[32] (4 bytes): just past the end of x, which has 32 elements" in str(caught.value)
    assert (y == 7).all()


def test_uninitialised_device_memory_that_a_kernel_uses_is_found(copy):
    with pytest.raises(KernelFindingsError, match="never written"):
        copy[1, 8](cuda.device_array(8), cuda.device_array(8))


def test_lines_of_python_change_no_instruction():
    def kernel(x, y):
        i = cuda.grid(1)
        s = np.float32(0)
        for j in range(i):
            s += x[j] * x[j]
        y[i] = s

    def instructions(**options):
        ptx, _ = cuda.compile(
            kernel, "void(float32[::1], float32[::1])", cc=(9, 0), abi="numba", output="ptx", device=False, **options
        )
        body = re.sub(r"_ZN\w+_param", "param", ptx[ptx.index("{") : ptx.rindex("}")]).splitlines()
        return [x for x in map(str.strip, body) if x and not x.startswith((".loc", "//", "$L__tmp", "$L__func"))]

    assert instructions(lineinfo=True) == instructions(lineinfo=False)


def test_a_kernel_is_compiled_again_for_another_chip():
    @cuda.jit
    def one(x):
        x[0] = 1

    for chip, name in (("a100", "sm_80"), ("h100", "sm_90")):
        with emulate(chip, languages=["numba-cuda"]) as session:
            one[1, 1](np.zeros(1))
            assert cuda.get_current_device().compute_capability == tuple(map(int, name[3:]))
        assert [x.report.arch for x in session.launches] == [name]


def test_everything_is_undone():
    program = "\n".join((
        "from numba import cuda",
        "from numba.cuda import dispatcher, args, codegen",
        "from numba.cuda.cudadrv import driver, devices, nvrtc",
        "from wmma_emu.languages import emulate",
        "import numpy as np",
        "places = [driver, dispatcher, args.In, args.Out, codegen.CUDACodeLibrary, dispatcher._Kernel, nvrtc,",
        "          driver._ActiveContext, devices._runtime]",
        "made = ('_logger', '_memory_manager')  # by numba-cuda itself, at the first use of a device",
        "def state():",
        "    seen = [{k: v for k, v in vars(x).items() if k not in made} for x in places]",
        "    return seen, dict(driver.driver.__dict__), type(driver.driver)",
        "before = state()",
        "with emulate('h100'):",
        "    kept = cuda.to_device(np.zeros(3)); assert cuda.is_available()",
        "print(before == state(), cuda.is_available())",
    ))  # fmt: skip
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == "True"
    assert done.stderr == ""


def test_numbas_own_simulator_is_left_alone_with_a_note(monkeypatch):
    program = (
        "from wmma_emu.languages import emulate\n"
        "with emulate('h100') as session:\n    import numba.cuda\n"
        "print(session.report)"
    )
    monkeypatch.setenv("NUMBA_ENABLE_CUDASIM", "1")
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True)
    assert "run on its own simulator, not on the emulator" in done.stdout
