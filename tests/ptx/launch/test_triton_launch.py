# SPDX-License-Identifier: MIT
"""A Triton kernel runs as Triton's own launch compiles it: specialisation by arguments, and their use in a launch."""

import gc
import threading
import warnings
import weakref
from collections import namedtuple

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.errors import AlignmentError, FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.ptx import Module, TritonTensor, raw
from wmma_emu.ptx.launch.triton_driver import emulated_target

pytest.importorskip("triton")
import triton
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase
from triton.runtime.jit import MockTensor

from tests.ptx import triton_kernels as kernels

pytestmark = pytest.mark.thorough

Place = namedtuple("Place", "out step")


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))


class Hopper(DriverBase):
    """A driver of this test, so that Triton's launch does not use the emulator's."""

    get_current_target = lambda self: GPUTarget("cuda", 90, 32)  # noqa: E731
    get_current_device = get_current_stream = lambda self, *_: 0
    is_active = map_python_to_cpp_type = get_active_torch_device = get_benchmarker = lambda *_: None


@pytest.fixture
def triton_text(monkeypatch):
    """Return the PTX of Triton's own launch, with Triton's mock tensors."""
    monkeypatch.setattr(triton.runtime.driver, "_active", Hopper())

    def text(function, *arguments, **keywords):
        tensors = [MockTensor(x.dtype) if isinstance(x, np.ndarray) else x for x in arguments]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about a default that will change
            return function.warmup(*tensors, grid=(1,), **keywords).asm["ptx"]

    return text


def floats(n, dtype=np.float32):
    return np.arange(n).astype(dtype)


ADD = {"BLOCK": 128}
EMPTY = ".version 8.0 .target sm_90 .address_size 64"
LAUNCHES = {
    "n is a multiple of 16": (kernels.add_twice, (floats(1024), floats(1024), floats(1024), 1024), ADD),
    "n is not divisible by 16": (kernels.add_twice, (floats(1024), floats(1024), floats(1024), 1000), ADD),
    "n is one": (kernels.add_twice, (floats(16), floats(16), floats(16), 1), ADD),
    "bfloat16, eight warps, nothing fused": (
        kernels.add_twice, (*(floats(1024, ml_dtypes.bfloat16),) * 3, 1024),
        ADD | {"num_warps": 8, "enable_fp_fusion": False},
    ),
    "what is not specialised": (kernels.left_alone, (np.zeros(32, np.int32), 1, 16), {"N": 32}),
    "heuristics": (kernels.copy, (floats(100), floats(100), 100), {}),
    "gluon": (kernels.gluon_double, (floats(128), floats(128)), {"N": 128}),
    "the chip that code asks for": (kernels.chip, (np.zeros(32, np.int32),), {"N": 32}),
    "scratch memory": (kernels.by_own_descriptor, (floats(1024), floats(1024)), {"N": 32}),
}  # fmt: skip


@pytest.mark.parametrize("name", LAUNCHES)
def test_the_text_of_a_launch_is_tritons_own(name, triton_text, monkeypatch):
    function, arguments, keywords = LAUNCHES[name]
    wanted = triton_text(function, *arguments, **keywords)
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    assert Module.from_triton(function).kernel.module(*arguments, **keywords).text == wanted
    constexprs = {x: keywords[x] for x in ("BLOCK", "N") if x in keywords}
    options = {x: y for x, y in keywords.items() if x not in constexprs}
    made = Module.from_triton(function, constexprs=constexprs, arguments=arguments, triton_options=options)
    assert made.text == wanted
    assert isinstance(triton.runtime.driver.active, Hopper)  # the emulator's was there while the kernel compiled


def test_a_view_with_strides_is_specialised_by_its_own_address():
    whole = np.zeros((3, 32, 64), np.float16)
    a, b, d = whole[0, :, 8:40], whole[1, :, :32], np.zeros((32, 64), np.float32)[:, 1:33]
    a[:], b[:] = np.random.default_rng(0).integers(-3, 4, (2, 32, 32))
    module = Module.from_triton(kernels.product, arch="sm_80", findings="raise")
    module.kernel[1](raw(a), raw(b), raw(d), 64, N=32)
    assert np.array_equal(d, a.astype(np.float32) @ b.astype(np.float32))
    assert sorted(module.variants[0].triton.divisible) == [(0,), (1,), (3,)]


def test_a_launch_specialises_as_triton_does_and_compiles_once():
    x, y, out = floats(1000), floats(1000), np.zeros(1001, np.float32)
    module = Module.from_triton(kernels.add_twice, findings="raise")
    for array, n in ((out[:1000], 992), (out[1:], 992), (out[:1000], 1000), (out[:1000], 1000), (out[:1000], 1)):
        array[:] = 0
        report = module.kernel[lambda given: (triton.cdiv(given["n"], given["BLOCK"]),)](x, y, array, n, BLOCK=256)
        assert np.array_equal(array[:n], (x + 2 * y)[:n]) and not array[n:].any() and report.assumed == ()
    found = [(x.triton.signature["n"], sorted(x.triton.divisible)) for x in module.variants]
    aligned = [(0,), (1,), (2,)]
    assert found == [("i32", [*aligned, (3,)]), ("i32", [(0,), (1,), (3,)]), ("i32", aligned), ("constexpr", aligned)]


@pytest.mark.parametrize("other", [None, floats(128)])
def test_tuples_numbers_none_and_constexprs_reach_the_kernel(other):
    x, out = floats(128), np.zeros(256, np.float32)
    module = Module.from_triton(kernels.kinds, constexprs={"N": 128}, findings="raise")
    # 0.1 as float16, rounded, and as bfloat16, cut off, as Triton's launcher does it.
    half, brain = np.float32(np.float16(0.1)), np.uint32(0x3DCC0000).view(np.float32)
    for step, flag, offset in ((1, True, 16), (2, False, 1 << 33)):
        module.kernel[1](Place(out, step), (x, 3), offset, flag, 0.1, 0.1, other, shift=(0, 5))
        wanted = x * np.float32(3) + np.float32(offset)
        wanted = wanted + other if other is not None else wanted
        wanted = wanted + half if flag else wanted
        assert np.array_equal(out[: 128 * step : step], wanted + brain + np.float32(5))
    assert module.variants[-1].kernel.triton.parameters == (
        ("place[0]", "*fp32"), ("place[1]", "i32"), ("pair[0]", "*fp32"), ("pair[1]", "i32"), ("offset", "i64"),
        ("flag", "u1"), ("half", "fp16"), ("brain", "bf16"), *[("other", "*fp32")] * (other is not None),
    )  # fmt: skip


def test_a_kernel_compiled_for_arguments_refuses_others():
    x, y, out = floats(1000), floats(1000), np.zeros(1000, np.float32)
    one = Module.from_triton(kernels.add_twice, constexprs=ADD, arguments=(x, y, out, 1)).kernel
    one[1](x, y, out, n=1, BLOCK=128)
    with pytest.raises(FragmentMismatchError, match=r"n of add_twice is 2, but .* the constant 1;"):
        one[1](x, y, out, 2)
    with pytest.raises(FragmentMismatchError, match=r"BLOCK of add_twice is 64, but .* the constant 128;"):
        one[1](x, y, out, 1, BLOCK=64)
    with pytest.raises(FragmentMismatchError, match=r"takes 4 arguments, 3 were given; its parameters are x \*fp32, y"):
        one[1](x, y, out)
    with pytest.raises(AlignmentError, match=r"argument 2 \(out\) .* starts 4 bytes after one"):
        one[1](x, y, out[1:], 1)


def test_a_kernel_compiled_for_arguments_keeps_none_of_their_arrays():
    x = floats(1024)
    module = Module.from_triton(kernels.add_twice, constexprs=ADD, arguments=(x, x.copy(), x.copy(), 1024))
    kept = weakref.ref(x)
    del x
    gc.collect()
    assert kept() is None
    assert module.kernel[8](floats(1024), floats(1024), floats(1024), 1024).assumed == ()


def test_a_compilation_that_waits_for_another_leaves_the_filters_of_warnings_alone():
    """The filters are global: two interleaved compilations that save and restore them would leave all warnings off."""
    arrays = floats(1024), floats(1024), floats(1024)
    compiling = threading.Thread(
        target=lambda: Module.from_triton(kernels.add_twice, None, ADD, arguments=(*arrays, 7))
    )
    before = list(warnings.filters)
    with emulated_target(we.ptx.Module(EMPTY).arch):
        compiling.start()
        compiling.join(0.5)
        assert compiling.is_alive()
        assert list(warnings.filters) == before
    compiling.join()
    assert list(warnings.filters) == before


def test_explaining_a_module_that_is_compiled_for_each_launch_is_an_error_with_a_remedy():
    module = Module.from_triton(kernels.copy)
    with pytest.raises(UnsupportedInstructionError, match=r"call module\.kernel\.module\(\*arguments\)\.explain\(\)"):
        module.explain()


def test_the_report_names_arguments_for_which_triton_would_compile_again():
    x, out = floats(128), np.zeros(129, np.float32)
    kernel = Module.from_triton(kernels.add_twice, constexprs=ADD, arguments=(x, x, out[1:], 100)).kernel
    assert kernel[1](x, x, out[1:], 100).assumed == kernel[1](x, x, out[1:], 99).assumed == ()
    text = "compiled for other arguments; Triton's own launch would compile the kernel again for these"
    assert kernel[1](x, x, out[:-1], 112).assumed == (f"out, n: {text}",)


@pytest.mark.parametrize(("arguments", "keywords", "message"), [
    ((1,), {}, r"add_twice\(x, y, out, n, BLOCK\) does not accept these arguments: .* missing 4 required"),
    ((floats(4), floats(4), floats(4), [4], 128), {}, "failed to specialize argument of type: list"),
    ((floats(4), floats(4), floats(4), 4, 128), {"blok": 3}, "has no parameter blok, and Triton has no such option"),
    ((floats(4).astype(complex), floats(4), floats(4), 4, 128), {}, "complex128"),
])  # fmt: skip
def test_a_launch_that_triton_would_refuse_is_an_error(arguments, keywords, message):
    with pytest.raises(FragmentMismatchError, match=message):
        Module.from_triton(kernels.add_twice).kernel[1](*arguments, **keywords)


def test_only_one_of_signature_and_arguments_is_taken():
    x = floats(128)
    for given, message in (
        ({"signature": {}, "arguments": ()}, "a signature or arguments"),
        ({"divisible_by_16": ["x"]}, "divisible_by_16 needs a signature"),
        ({"arguments": (x,)}, "takes 2 arguments that are not constexpr, x, out; 1 were given"),
        ({"arguments": (x, x), "constexprs": {"x": x}}, "x of gluon_double is not a tl.constexpr"),
    ):
        with pytest.raises(FragmentMismatchError, match=message):
            Module.from_triton(kernels.gluon_double, **given)


def test_an_autotuned_kernel_is_refused_and_its_configuration_taken():
    config = triton.Config({"BLOCK": 128}, num_warps=2)
    tuned = triton.autotune(configs=[config], key=[])(kernels.copy.fn)
    with pytest.raises(FragmentMismatchError, match=r"autotuning chooses a configuration .*config\.all_kwargs\(\)"):
        Module.from_triton(tuned)
    x, out = floats(100), np.zeros(100, np.float32)
    module = Module.from_triton(tuned.fn)
    module.kernel[1](x, out, 100, **config.all_kwargs())
    assert np.array_equal(x, out) and module.variants[0].triton.num_warps == 2


def test_the_report_lists_the_assumptions_of_a_signature():
    signature = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}
    module = Module.from_triton(kernels.add_twice, signature, ADD, divisible_by_16=["x", "y"])
    report = module.kernel[1](*(floats(16),) * 3, 16)
    assert report.assumed == (
        "x, y: an address that is a multiple of 16", "out: any address",
        "n: any integer, whereas Triton's own launch specialises for 1 and multiples of 16",
    )  # fmt: skip
    assert "assumed:\n  x, y: an address" in str(report) and "assumed        x, y" in str(module.explain())
    assert module.explain().to_dict()["kernels"][0]["assumed"] == list(report.assumed)


def test_a_signature_is_for_the_chip_and_for_gluon_too():
    out = np.zeros(32, np.int32)
    for arch, number in (("sm_80", 8), ("sm_90", 9)):
        Module.from_triton(kernels.chip, {"out": "*i32"}, {"N": 32}, arch).kernel[1](out)
        assert out.tolist() == [number] * 32
    x, twice = floats(128), np.zeros(128, np.float32)
    Module.from_triton(kernels.gluon_double, dict.fromkeys(("x", "out"), "*fp32"), {"N": 128}).kernel[1](x, twice)
    assert np.array_equal(twice, 2 * x)


def test_without_fusion_nothing_is_contracted():
    arguments = (*(floats(16),) * 3, 16)
    made = Module.from_triton(kernels.add_twice, constexprs=ADD, arguments=arguments)
    apart = Module.from_triton(
        kernels.add_twice, constexprs=ADD, arguments=arguments, triton_options={"enable_fp_fusion": False}
    )
    fused, not_fused = (x.kernel[1](*arguments).contraction for x in (made, apart))
    assert fused.startswith("by the rules") and not_fused == "never" and made.text != apart.text


@pytest.mark.parametrize(("arch", "is_tensor_map"), [("sm_80", False), ("sm_90", True)])
def test_a_descriptor_is_pointers_and_numbers_or_a_tensor_map(arch, is_tensor_map):
    from triton.tools.tensor_descriptor import TensorDescriptor

    x, out = floats(64 * 64).reshape(64, 64), np.zeros((64, 64), np.float32)
    given = [TensorDescriptor(TritonTensor(a), [64, 64], [64, 1], [32, 32]) for a in (x, out)]
    launches = []
    module = Module.from_triton(kernels.by_descriptor, arch=arch, findings="raise", watch=launches.append)
    module.kernel[1](*given)
    assert np.array_equal(out[:32, :32], 2 * x[:32, :32]) and not out[32:].any() and not out[:, 32:].any()
    assert ["cp.async.bulk.tensor.2d" in x.launch.kernel.module.text for x in launches] == [is_tensor_map]


def test_the_emulator_takes_numpy_arrays_for_the_bits_that_tritons_instruction_gives():
    a, b = np.random.default_rng(0).standard_normal((2, 64, 64)).astype(np.float16)
    d = np.zeros((64, 64), np.float32)
    Module.from_triton(kernels.product, arch="sm_80").kernel[1](a, b, d, 64, N=64)
    assert d.tobytes() == we.gemm(a, b, instr="m16n8k16.f32.f16.f16.f32", arch="sm_80").tobytes()
