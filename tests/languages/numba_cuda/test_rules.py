# SPDX-License-Identifier: MIT
"""The rules of the plug-in for numba-cuda, without numba-cuda: memory, arguments, the driver, grids, linking."""

import ctypes
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from wmma_emu.errors import ArgumentValueError, BackendUnavailableError
from wmma_emu.instructions import arch_of
from wmma_emu.languages.numba_cuda import plugin
from wmma_emu.languages.numba_cuda.arguments import Part, bytes_of, named_memory, parts_of
from wmma_emu.languages.numba_cuda.driver_calls import DriverCalls
from wmma_emu.languages.numba_cuda.grid_groups import grid_groups_for
from wmma_emu.languages.numba_cuda.host_arrays import HostArgument, argument_hints
from wmma_emu.languages.numba_cuda.kernels import Code, linked_module
from wmma_emu.languages.numba_cuda.memory import DeviceMemory
from wmma_emu.languages.session import Session
from wmma_emu.ptx import Module

HEAD = ".version 8.0 .target sm_80 .address_size 64\n"
COUNT = """.visible .global .align 4 .u32 counter = 5;
.visible .entry count(.param .u64 p) {
.reg .b32 %r<3>; .reg .b64 %rd<2>;
ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [%rd1]; st.global.u32 [counter], %r1; ret; }
"""
GRID = """.extern .func (.param .b64 r) cudaCGGetIntrinsicHandle (.param .b32 s);
.extern .func (.param .b32 r) cudaCGSynchronize (.param .b64 h, .param .b32 f);
.visible .entry reversed(.param .u64 x, .param .u64 y) {
.reg .b32 %r<6>; .reg .b64 %rd<6>; .param .b32 s; .param .b64 h; .param .b32 e;
ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x;
mad.wide.u32 %rd3, %r1, 4, %rd1; add.u32 %r3, %r1, 40; st.global.u32 [%rd3], %r3;
st.param.b32 [s], 1; call (h), cudaCGGetIntrinsicHandle, (s); st.param.b32 [s], 0;
call (e), cudaCGSynchronize, (h, s);
sub.u32 %r4, %r2, %r1; sub.u32 %r4, %r4, 1; mad.wide.u32 %rd4, %r4, 4, %rd1; ld.global.u32 %r5, [%rd4];
mad.wide.u32 %rd5, %r1, 4, %rd2; st.global.u32 [%rd5], %r5; ret; }
"""


class Pointer(int):
    """A pointer or a handle of the driver's binding."""


class Failed(Exception):
    """The exception of a call of the driver."""


BINDING = SimpleNamespace(
    CUdeviceptr=Pointer, CUcontext=Pointer, CUstream=Pointer, CUevent=Pointer, CUDA_VERSION=13000,
    CUresult=SimpleNamespace(
        CUDA_ERROR_INVALID_VALUE=1, CUDA_ERROR_OUT_OF_MEMORY=2, CUDA_ERROR_NOT_FOUND=500, CUDA_ERROR_INVALID_HANDLE=400,
        CUDA_ERROR_INVALID_CONTEXT=201,
    ),
)  # fmt: skip


@pytest.fixture
def driver():
    return DriverCalls(arch_of("h100"), DeviceMemory(), BINDING, lambda code, text: Failed(code, text))


def test_blocks_begin_at_multiples_of_256_and_are_far_apart():
    memory = DeviceMemory()
    blocks = sorted((memory.allocate(40) for _ in range(20)), key=lambda x: x.address)
    assert {x.address % 256 for x in blocks} == {0}
    assert all(y.address - x.end > 60_000 for x, y in pairwise(blocks))


def test_bytes_travel_to_the_device_within_it_and_back(driver):
    x, y = np.arange(5, dtype=np.int32), np.zeros(5, np.int32)
    a, b = driver.cuMemAlloc(20), driver.cuMemAlloc(20)
    driver.cuMemcpyHtoD(a, x.ctypes.data, 20)
    driver.cuMemsetD8(b, 1, 20)
    driver.cuMemcpyDtoD(b + 4, a, 8)
    driver.cuMemcpyDtoH(y.ctypes.data, b, 20)
    assert y.tolist() == [0x01010101, 0, 1, 0x01010101, 0x01010101]


def test_a_copy_past_the_end_of_an_allocation_fails_with_the_drivers_code(driver):
    x = np.zeros(8, np.int32)
    a = driver.cuMemAlloc(16)
    with pytest.raises(Failed, match="in one of 16 bytes"):
        driver.cuMemcpyHtoD(a, x.ctypes.data, 32)
    driver.cuMemFree(a)
    with pytest.raises(Failed, match="in no allocation"):
        driver.cuMemcpyDtoH(x.ctypes.data, a, 16)


def test_an_allocation_that_is_too_large_is_out_of_memory(driver):
    with pytest.raises(Failed) as caught:
        driver.cuMemAlloc(1 << 50)
    assert caught.value.args[0] == 2


def test_the_device_answers_for_the_chip(driver):
    def attribute(name):
        return driver.cuDeviceGetAttribute(SimpleNamespace(name=f"CU_DEVICE_ATTRIBUTE_{name}"), 0)

    assert attribute("COMPUTE_CAPABILITY_MAJOR") == 9
    assert attribute("WARP_SIZE") == 32
    assert attribute("MAX_THREADS_PER_BLOCK") == 1024


def test_contexts_are_a_stack(driver):
    assert int(driver.cuCtxGetCurrent()) == 0
    driver.cuCtxPushCurrent(driver.context)
    assert driver.cuCtxGetCurrent() is driver.cuCtxPopCurrent()
    with pytest.raises(Failed, match="no context is current"):
        driver.cuCtxPopCurrent()


def test_a_callback_of_a_stream_is_called_at_once(driver):
    seen = []
    data = ("stream", seen.append, "given")
    called = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.py_object)(
        lambda stream, status, given: given[1](status)
    )
    driver.cuStreamAddCallback(Pointer(7), ctypes.cast(called, ctypes.c_void_p).value, id(data), 0)
    assert seen == [0]


def test_arguments_are_the_bytes_that_a_driver_reads():
    assert bytes_of(ctypes.c_int8(-2), 1) == b"\xfe"
    assert bytes_of(-2, 8) == b"\xfe" + 7 * b"\xff"
    assert bytes_of(1.5, 8) == np.float64(1.5).tobytes()
    assert bytes_of(np.float16(1.5), 2) == np.float16(1.5).tobytes()
    assert bytes_of(True, 1) == b"\x01"


def test_memory_of_several_arguments_has_all_their_names():
    memory = DeviceMemory()
    x = memory.allocate(16)
    named = named_memory(memory, [x.address, x.address + 8], [Part("a", np.dtype(np.int64)), Part("b")])
    assert list(named) == ["a and b"]


def test_a_shape_is_not_taken_for_an_address_and_other_memory_is_named_by_its_address():
    memory = DeviceMemory()
    x = memory.allocate(16)
    assert list(named_memory(memory, [4], [Part("n")])) == [f"device memory at {x.address:#x}"]


def test_parts_follow_the_order_of_a_launch():
    class Array(SimpleNamespace):
        pass

    types = SimpleNamespace(Array=Array, BaseTuple=tuple, complex64="c8", complex128="c16")
    kinds = [Array(ndim=2, dtype=np.float32), ("i4", "c8")]
    names = [x.name for x in parts_of(["x", "t"], kinds, types, np.dtype)]
    data = ["x.meminfo", "x.parent", "x.size", "x.itemsize", "x"]
    sizes = ["x.shape[0]", "x.shape[1]", "x.strides[0]", "x.strides[1]"]
    assert names == [*data, *sizes, "t[0]", "t[1].real", "t[1].imag"]


@pytest.mark.parametrize("view", [np.s_[:, :], np.s_[::-1, ::2], np.s_[1:3, 1], np.s_[0, 0, ...], np.s_[:0]])
def test_a_view_of_the_host_is_a_view_of_the_device(view):
    x = np.arange(24, dtype=np.int16).reshape(4, 6)
    device = HostArgument(DeviceMemory(), x[view], copies_in=True)
    assert (device.elements == x[view]).all()
    expected = x.copy()
    expected[view] = -7
    device.elements[...] = -7
    device.copy_back()
    assert (x == expected).all()


def test_a_record_is_written_back_to_the_array_it_belongs_to():
    x = np.zeros(3, [("a", "i4"), ("b", "f8")])
    device = HostArgument(DeviceMemory(), x[1], copies_in=True)
    device.elements["a"] = 9
    device.copy_back()
    assert x["a"].tolist() == [0, 9, 0]


def test_an_output_of_the_host_begins_uninitialised_and_an_input_is_not_written_back():
    memory, retr = DeviceMemory(), []
    into, out = argument_hints(memory, lambda value: False, None)
    x = np.ones(4, np.uint8)
    copied = into(SimpleNamespace(value=x), retr)
    empty = out(type("Out", (), {"copy_input": False, "value": x})(), retr)
    assert copied.elements.tolist() == [1, 1, 1, 1]
    assert empty.elements.tolist() == [255, 255, 255, 255]
    copied.elements[:] = 3
    retr[0]()
    assert x.tolist() == [1, 1, 1, 1]


def test_the_memory_of_an_argument_is_freed_with_it():
    memory = DeviceMemory()
    device = HostArgument(memory, np.ones(4), copies_in=True)
    assert len(memory.reachable()) == 1
    del device
    assert memory.reachable() == []


def test_a_variable_of_a_module_is_memory_that_the_host_may_copy(driver):
    code = Code(Module(HEAD + COUNT, "a100"), driver.memory, driver.load)
    address, size = driver.cuLibraryGetGlobal(code.handle, b"counter")
    x = np.zeros(1, np.uint32)
    driver.cuMemcpyDtoH(x.ctypes.data, address, size)
    assert (size, x[0]) == (4, 5)
    code.get_kernel("count").kernel[1, 1](np.uint32([8]))
    driver.cuMemcpyDtoH(x.ctypes.data, address, size)
    assert x[0] == 8
    assert driver.memory.reachable() == []
    with pytest.raises(Failed, match="no variable other"):
        driver.cuLibraryGetGlobal(code.handle, b"other")


def test_the_grid_waits_for_all_of_its_blocks():
    module = Module(HEAD + GRID, "a100").link(*grid_groups_for(GRID, "8.0", "sm_80"))
    x, y = np.zeros(7, np.int32), np.zeros(7, np.int32)
    report = module["reversed"][7, 1](x, y, cooperative=True, schedules=3, findings="raise")
    assert y.tolist() == [46, 45, 44, 43, 42, 41, 40]
    assert not report.findings


def _library(*codes, is_optimised=False):
    def link_all(linker, cc):
        linker._object_codes = list(codes)

    return SimpleNamespace(name="k", _lto=is_optimised, _max_registers=None, _link_all=link_all)


def _code(kind, text=""):
    return SimpleNamespace(code_type=kind, code=text.encode())


def _linked(library, **linker):
    notes = []
    module = linked_module(
        library, lambda **_: SimpleNamespace(**linker), (8, 0), lambda x, name: Module(x), notes.append
    )
    return module, notes


def test_ptx_of_several_parts_is_linked_and_the_device_runtime_is_left_out():
    call = ".extern .global .align 4 .u32 counter;\n.visible .entry other() { ret; }\n"
    module, _ = _linked(_library(_code("ptx", HEAD + call), _code("ptx", HEAD + COUNT), _code("library")))
    assert sorted(module) == ["count", "other"]


def test_the_optimising_linker_makes_the_ptx_of_an_optimised_library():
    module, notes = _linked(_library(_code("ltoir"), is_optimised=True), get_linked_ptx=lambda: (HEAD + COUNT).encode())
    assert (list(module), notes) == (["count"], [])


def test_what_the_optimising_linker_does_not_take_is_linked_as_ptx_with_a_note():
    def refuse():
        raise RuntimeError("inputs are not LTO-IR\nmore")

    module, notes = _linked(_library(_code("ptx", HEAD + COUNT), is_optimised=True), get_linked_ptx=refuse)
    assert list(module) == ["count"]
    assert notes == ["k is linked without link-time optimisation: inputs are not LTO-IR"]


def test_machine_code_is_refused_with_what_can_be_linked():
    with pytest.raises(BackendUnavailableError, match="links code of the kind cubin; the emulator runs PTX"):
        _linked(_library(_code("ptx", HEAD + COUNT), _code("cubin")))


def test_memory_of_the_host_is_not_memory_of_the_device():
    x = np.zeros(4, np.uint8)
    with pytest.raises(ArgumentValueError, match="in no allocation"):
        DeviceMemory().fill(x.ctypes.data, 0, 4)


def test_a_launch_of_the_package_in_numba_itself_is_noted(monkeypatch):
    numba = pytest.importorskip("numba.cuda")
    monkeypatch.setattr(plugin, "find_spec", lambda name: None)
    session = Session(arch_of("h100"))
    undo = plugin.install(session)
    assert not session.notes
    kernel = numba.jit(lambda x: None)
    kernel[1, 32]
    undo()
    kernel[1, 64]
    assert session.notes == {"numba.cuda is numba's own, whose kernels are not emulated: install numba-cuda": 1}
