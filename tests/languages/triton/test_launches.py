# SPDX-License-Identifier: MIT
"""Triton's own launch on the emulator: its PTX, its specialisation, and everything that a launch may have."""

import warnings
from contextlib import suppress

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.errors import KernelFindingsError, OptionError, UnsupportedInstructionError
from wmma_emu.ptx import TritonTensor

pytest.importorskip("triton")
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime import _allocation
from triton.tools.tensor_descriptor import TensorDescriptor

from tests.ptx import triton_kernels as kernels

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION"),
    pytest.mark.filterwarnings("ignore:.*experimental"),
]


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))


@pytest.fixture
def session():
    with we.emulate("a100", findings="raise", languages=["Triton"]) as found:
        yield found


def launches(session):
    return [x.kernel for x in session.launches]


def test_a_launch_takes_arrays_and_is_noted(session):
    x, y, out = np.arange(100, dtype=np.float32), np.ones(100, np.float32), np.zeros(100, np.float32)
    kernels.add_twice[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](x, y, out, 100, BLOCK=32)
    assert out.tolist() == [i + 2 for i in range(100)]
    assert launches(session) == ["add_twice"]
    assert session.launches[0].report.instructions > 0


def test_elements_of_ml_dtypes_keep_their_bits(session):
    for dtype in (ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, np.float16, np.int8):
        x = np.arange(-8, 8).astype(dtype)
        out = np.zeros_like(x)
        kernels.copy[(1,)](x, out, 16)
        assert out.tobytes() == x.tobytes()


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize(("first", "n"), [(0, 64), (1, 64), (0, 63), (0, 1)])
def test_the_text_equals_a_plain_compilation_for_the_same_specialisation(arch, first, n):
    """Addresses and integers that are multiples of 16 are promised, and the integer 1 is a constant."""
    x, out = np.zeros(80, np.float32)[first:], np.zeros(80, np.float32)
    texts = []
    with we.emulate(arch, languages=["Triton"]):
        texts.append(kernels.add_twice[(1,)](x, x, out, n, BLOCK=64).asm["ptx"])
        texts.append(kernels.add_twice.warmup(x, x, out, n, BLOCK=64, grid=(1,)).asm["ptx"])
    promise = [["tt.divisibility", 16]]
    number = "constexpr" if n == 1 else "i32"
    signature = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": number, "BLOCK": "constexpr"}
    constants = {(4,): 64} | ({(3,): 1} if n == 1 else {})
    promised = {(2,): promise} | ({} if first else {(0,): promise, (1,): promise}) | ({} if n % 16 else {(3,): promise})
    plain = triton.compile(
        ASTSource(kernels.add_twice, signature, constants, promised), target=GPUTarget("cuda", int(arch[3:]), 32)
    )
    assert texts == [plain.asm["ptx"]] * 2
    assert plain.asm["cubin"][:4] == b"\x7fELF"  # the emulator's kernels are apart in Triton's cache


@triton.jit
def many(out, a, b, c, d, e, f):
    tl.store(out, a + 0.0)
    tl.store(out + 1, b + 0.0)
    tl.store(out + 2, c + 0.0)
    tl.store(out + 3, d + 0.0)
    tl.store(out + 4, 0.0 if e is None else 1.0)
    tl.store(out + 5, f[0] + f[1] + 0.0)


def test_scalars_of_every_type_none_and_tuples(session):
    out = np.zeros(6)
    many[(1,)](out, 3, 2.5, True, 2**40, None, (7, 1.25))
    assert out.tolist() == [3, 2.5, 1, 2.0**40, 0, 8.25]
    many[(1,)](out, 1, 16.0, False, 2**63, 5, (1, 16))
    assert out.tolist() == [1, 16, 0, 2.0**63, 1, 17]


def test_views_of_one_array_share_its_bytes(session):
    x = np.arange(40, dtype=np.float32)
    kernels.copy[(1,)](x[1:17], x[20:36], 16)
    assert x[20:36].tolist() == list(range(1, 17))


def test_a_strided_view_is_the_bytes_between_its_elements(session):
    x, out = np.arange(64, dtype=np.int32).reshape(8, 8), np.zeros(8, np.int32)
    kernels.copy[(1,)](x[1:3, 2:6], out, 8)
    assert out.tolist() == list(range(10, 18))


def test_an_access_past_the_array_is_found_and_leaves_the_arrays_unchanged(session):
    x, out = np.ones(10, np.float32), np.zeros(12, np.float32)
    with pytest.raises(KernelFindingsError, match="out of bounds"):
        kernels.copy[(1,)](x, out, 12)
    assert not out.any()
    assert session.report.has_findings


def test_a_descriptor_is_a_pointer_with_shape_and_strides(session):
    x, out = np.arange(256, dtype=np.float32).reshape(16, 16), np.zeros((16, 16), np.float32)
    given, taken = (TensorDescriptor(TritonTensor(a), [16, 16], [16, 1], [16, 16]) for a in (x, out))
    kernels.by_descriptor[(1,)](given, taken)
    assert (out == 2 * x).all()


@triton.autotune(
    configs=[
        triton.Config({"B": 1 << 15, "STAGES": 3}, num_warps=4),
        triton.Config({"B": 64, "STAGES": 1}, num_warps=2),
        triton.Config({"B": 32, "STAGES": 1}),
    ],
    key=["n"],
)
@triton.heuristics({"EVEN": lambda given: given["n"] % given["B"] == 0})
@triton.jit
def tuned(x, out, n, B: tl.constexpr, STAGES: tl.constexpr, EVEN: tl.constexpr):
    tl.static_assert(B < 1024)
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=(i < n) | EVEN) * B, mask=(i < n) | EVEN)


def test_autotuning_takes_the_first_configuration_that_compiles_and_the_report_names_it():
    x, out = np.ones(100, np.float32), np.zeros(100, np.float32)
    with we.emulate("a100", languages=["Triton"]) as session:
        tuned[lambda meta: (triton.cdiv(100, meta["B"]),)](x, out, 100)
        assert tuned.best_config.kwargs == {"B": 64, "STAGES": 1}
    assert (out == 64).all()
    assert [x.partition(", B:")[0] for x in session.notes] == [
        "tuned is autotuned: no time is measured, and of 3 configurations the first that fits is taken"
    ]
    assert not tuned.cache  # a choice without times is not kept for a GPU


RESETS = []


@triton.autotune(
    configs=[triton.Config({"B": 16}), triton.Config({"B": 32})], key=["n"],
    pre_hook=lambda arguments, reset_only=False: RESETS.append(reset_only) or arguments["out"].array.fill(0),
)  # fmt: skip
@triton.jit
def tuned_sum(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(out, tl.sum(tl.load(x + i, mask=i < n, other=0)))


def test_arguments_are_reset_after_autotuning_as_after_a_measurement():
    RESETS.clear()
    x, out = np.ones(40, np.float32), np.full(1, 7, np.float32)
    with we.emulate("a100", languages=["Triton"]):
        for _ in range(2):
            tuned_sum[lambda meta: (triton.cdiv(40, meta["B"]),)](x, TritonTensor(out), 40)
    assert (RESETS, out.tolist()) == ([True], [80])


@triton.jit
def backwards(x, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.load(x - i, mask=i < n), mask=i < n)


@pytest.mark.parametrize("n", [5, 6, 10, 13, 16])
def test_an_array_with_a_negative_stride_begins_at_its_first_element(session, n):
    x, out = np.arange(n, dtype=np.float32), np.zeros(n, np.float32)
    backwards[(1,)](x[::-1], out, n, B=16)
    assert out.tolist() == x[::-1].tolist()


@triton.jit(debug=True)
def at_most_two(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    value = tl.load(x + i)
    tl.device_assert(value < 3, "more than two")
    tl.store(out + i, value)


@pytest.mark.filterwarnings("ignore::wmma_emu.KernelFindingsWarning")
@pytest.mark.parametrize("findings", ["warn", "raise"])
def test_a_launch_that_does_not_reach_its_end_is_an_error(findings):
    x, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    with we.emulate("a100", findings=findings, languages=["Triton"]), pytest.raises(KernelFindingsError):
        at_most_two[(1,)](x, out, B=8)
    with we.emulate("a100", findings="report", languages=["Triton"]) as session:
        at_most_two[(1,)](x, out, B=8)
    assert not session.launches[0].report.completed


def test_choices_that_were_made_with_times_are_taken_and_come_back_afterwards():
    x, out = np.ones(100, np.float32), np.zeros(100, np.float32)
    key = (100, *(str(y.dtype) for y in (TritonTensor(x), TritonTensor(out))))
    measured = tuned.cache
    measured[key] = tuned.configs[2]
    try:
        with we.emulate("a100", languages=["Triton"]) as session:
            for n in (100, 90):
                tuned[lambda meta: (triton.cdiv(100, meta["B"]),)](x, out, n)
                assert tuned.best_config.kwargs["B"] == (32 if n == 100 else 64)
        assert sum(session.notes.values()) == 1
        assert tuned.cache is measured
        assert list(measured) == [key]
    finally:
        measured.clear()


def test_a_tuner_that_measures_a_single_configuration_launches_nothing():
    x, out = np.ones(100, np.float32), np.zeros(100, np.float32)
    with we.emulate("a100", languages=["Triton"]) as session:
        assert tuned._bench(x, out, 100, config=tuned.configs[1], grid=(2,)) == [1.0, 1.0, 1.0]
    assert not session.launches


def test_kernels_print_and_assert(session, capsys):
    @triton.jit(debug=True)
    def positive(x):
        tl.device_print("value", tl.load(x))
        tl.device_assert(tl.load(x) > 0, "positive")

    positive[(1,)](np.int32([4]), num_warps=1)
    assert "value: 4\n" in capsys.readouterr().out
    with pytest.raises(KernelFindingsError, match="trap"):
        positive[(1,)](np.int32([-4]), num_warps=1)


def test_scratch_needs_an_allocator_as_on_a_gpu():
    x, out, sizes = np.zeros((16, 16), np.float32), np.zeros((16, 16), np.float32), []
    with we.emulate("h100", languages=["Triton"]):
        with pytest.raises(RuntimeError, match="no allocator was set"):
            kernels.by_own_descriptor[(2,)](x, out, N=16)
        triton.set_allocator(lambda size, alignment, stream: sizes.append(size))
        try:
            with suppress(UnsupportedInstructionError):  # of tensor maps
                kernels.by_own_descriptor[(2,)](x, out, N=16)
        finally:
            triton.set_allocator(_allocation._NULL_ALLOCATOR)
    assert sizes[0] > 0


def test_launch_hooks_receive_the_metadata_of_the_launch(session):
    seen = []
    runtime = triton.knobs.runtime
    note = lambda metadata: seen.append(metadata.get()["name"])  # noqa: E731
    for hook in (runtime.launch_enter_hook, runtime.launch_exit_hook):
        hook.add(note)
    try:
        kernels.copy[(1,)](np.ones(4, np.int32), np.zeros(4, np.int32), 4)
    finally:
        for hook in (runtime.launch_enter_hook, runtime.launch_exit_hook):
            hook.remove(note)
    assert seen == ["copy", "copy"]


def test_gluon(session):
    x, out = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    kernels.gluon_double[(1,)](x, out, N=128)
    assert (out == 2 * x).all()


def test_a_compiled_kernel_is_launched_without_its_function(session):
    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    kernel = kernels.add_twice.warmup(x, x, out, 64, BLOCK=64, grid=(1,))
    assert launches(session) == []
    kernel[(1, 1, 1)](TritonTensor(x), TritonTensor(x), TritonTensor(out), 64, 64)
    assert (out == 3 * x).all()


def test_code_depends_on_the_emulated_chip():
    for arch, number in (("a100", 8), ("h100", 9)):
        out = np.zeros(32, np.int32)
        with we.emulate(arch, languages=["Triton"]):
            kernels.chip[(1,)](out, N=32)
        assert out.tolist() == [number] * 32


def test_the_driver_answers_for_the_chip(session):
    active = triton.runtime.driver.active
    properties = active.utils.get_device_properties(active.get_current_device())
    assert (properties["multiprocessor_count"], properties["max_shared_mem"]) == (108, 163 << 10)
    assert active.get_current_target() == GPUTarget("cuda", 80, 32)
    with pytest.raises(OptionError, match="nothing is timed"):
        properties["mem_clock_rate"]


def test_leaving_the_emulation_restores_triton():
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import JITFunction

    def state():
        runtime = triton.knobs.runtime
        driver = triton.runtime.driver._active
        return driver, runtime.add_stages_inspection_hook, JITFunction.run, Autotuner.prune_configs

    before = state()
    with warnings.catch_warnings(), we.emulate("a100", languages=["Triton"]):
        assert not set(before[2:]) & set(state()[2:])
    assert state() == before
