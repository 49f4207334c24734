# SPDX-License-Identifier: MIT
"""What is said where no GPU can be used, and how cuda-core is called where one can."""

import subprocess
import sys
from enum import IntEnum
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import wmma_emu as we
import wmma_emu.gpu
from wmma_emu.gpu.device import Gpu
from wmma_emu.gpu.loaded import LoadedKernels


class Status(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_NO_DEVICE = 100


class Driver(ModuleType):
    """The driver's functions as cuda-bindings has them: a status, then results."""

    def __init__(self, version=13000, init=Status.CUDA_SUCCESS, count=1):
        super().__init__("cuda.bindings.driver")
        self.memory = {}
        self.cuDriverGetVersion = lambda: (Status.CUDA_SUCCESS, version)
        self.cuInit = lambda flags: (init,)
        self.cuDeviceGetCount = lambda: (Status.CUDA_SUCCESS, count)
        self.cuMemGetInfo = lambda: (Status.CUDA_SUCCESS, 1 << 34, 1 << 37)
        self.copies, self.unloaded = [], []
        self.cuLibraryUnload = lambda library: (self.unloaded.append(library) or Status.CUDA_SUCCESS,)
        self.cuMemcpyHtoDAsync = lambda *arguments: (self.copies.append(arguments[::2]) or Status.CUDA_SUCCESS,)


class Core(ModuleType):
    """As much of cuda-core as is used."""

    __version__ = "1.2.2"

    def __init__(self):
        super().__init__("cuda.core")
        self.closed, self.launched, self.compiled = [], [], []
        self.Device = lambda number: self
        self.compute_capability, self.name, self.device_id = (9, 0), "NVIDIA H200", 0
        self.properties = SimpleNamespace(multiprocessor_count=132, max_shared_memory_per_block_optin=232448)
        self.set_current = lambda: None
        self.create_stream = lambda: SimpleNamespace(record=lambda event: None, handle=7, sync=lambda: None)
        self.allocate = lambda size, stream: SimpleNamespace(handle=64, close=self.closed.append)
        self.EventOptions = lambda timing_enabled: None
        self.events, self.event_sync = [], lambda: None
        self.create_event = lambda options: Event(self)
        self.ProgramOptions = lambda arch: arch
        self.Program = Program
        Program.core = self
        self.LaunchConfig = lambda grid, block, shmem_size: (grid, block, shmem_size)
        self.launch = lambda stream, config, kernel, *arguments: self.launched.append((config, kernel, arguments))


class Event:
    def __init__(self, core):
        self.core, self.open = core, True
        core.events.append(self)

    def sync(self):
        self.core.event_sync()

    def close(self):
        self.open = False

    def __sub__(self, other):
        return 250.0


class Program:
    core = None

    def __init__(self, text, kind, options):
        self.core.compiled.append((text, kind, options))

    def compile(self, target):
        if "nonsense" in self.core.compiled[-1][0]:
            raise ValueError("syntax error")
        return SimpleNamespace(get_kernel=lambda name: (target, name), handle=self.core.compiled[-1][0])

    def close(self):
        pass


@pytest.fixture
def cuda(monkeypatch):
    """Put modules in place of cuda-core and its bindings."""

    def install(driver=None, core=None, bindings="13.0.1"):
        package, bound = ModuleType("cuda.bindings"), driver or Driver()
        package.__version__ = bindings
        monkeypatch.setitem(sys.modules, "cuda", ModuleType("cuda"))
        monkeypatch.setitem(sys.modules, "cuda.core", core or Core())
        monkeypatch.setitem(sys.modules, "cuda.bindings", package)
        monkeypatch.setitem(sys.modules, "cuda.bindings.driver", bound)
        monkeypatch.setitem(sys.modules, "cuda.bindings.nvjitlink", None)
        monkeypatch.setitem(sys.modules, "cuda.bindings.nvml", None)
        return sys.modules["cuda.core"], bound

    return install


def refusal():
    """What `Gpu` says; `available` agrees that there is none."""
    assert not we.gpu.available()
    with pytest.raises(we.BackendUnavailableError) as caught:
        Gpu()
    return str(caught.value)


def test_importing_the_package_and_the_room_imports_no_cuda():
    code = "import sys, wmma_emu, wmma_emu.gpu; print(*[x for x in sys.modules if x.split('.')[0] == 'cuda'])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"


def test_without_cuda_core_both_extras_are_named(cuda, monkeypatch):
    cuda()
    monkeypatch.setitem(sys.modules, "cuda.core", None)
    text = refusal()
    assert "cuda-core is not installed" in text
    assert "install the extra `gpu` (from a clone of wmma_emu: pip install '.[gpu]')" in text
    assert "the extra `gpu12` (from a clone of wmma_emu: pip install '.[gpu12]')" in text


def test_an_installation_that_is_broken_says_how(cuda, monkeypatch):
    cuda()
    monkeypatch.setitem(sys.modules, "cuda.core", ModuleType("cuda.core"))

    def fail(name):
        raise ImportError("cuda.bindings 12.x or 13.x must be installed")

    monkeypatch.setattr("importlib.import_module", fail)
    assert "cannot be imported (cuda.bindings 12.x or 13.x must be installed)" in refusal()


def test_without_a_driver_that_is_said(cuda):
    driver = Driver()

    def missing():
        raise RuntimeError("libcuda.so.1 not found")

    driver.cuDriverGetVersion = missing
    cuda(driver)
    assert refusal().startswith("no NVIDIA driver can be loaded (libcuda.so.1 not found)")


def test_a_driver_that_is_too_old_is_told_which_extra_fits(cuda):
    cuda(Driver(version=12080))
    text = refusal()
    assert "this driver is of CUDA 12.8, and cuda-core is installed for CUDA 13" in text
    assert "a driver of CUDA 13 (580 or later); update the driver, or install the extra `gpu12`" in text


def test_a_driver_that_is_too_old_for_both_extras_is_to_be_updated(cuda):
    cuda(Driver(version=11080), bindings="12.9.2")
    assert refusal().endswith("a driver of CUDA 12 (525 or later); update the driver")


def test_an_older_cuda_core_works_with_a_newer_driver(cuda):
    cuda(Driver(version=13000), bindings="12.9.2")
    assert we.gpu.available()


@pytest.mark.parametrize(
    "driver", [Driver(init=Status.CUDA_ERROR_NO_DEVICE), Driver(count=0)], ids=["refused", "counted"]
)
def test_a_driver_without_a_gpu_is_said(cuda, driver):
    cuda(driver)
    assert refusal() == "a driver is loaded, but no GPU was found; CUDA_VISIBLE_DEVICES may hide it"


def test_a_device_says_what_decides_bits(cuda):
    cuda()
    info = Gpu().info()
    assert (info.name, info.arch, info.multiprocessors) == ("NVIDIA H200", "sm_90", 132)
    assert (info.driver, info.toolkit, info.cuda_core) == ("CUDA 13.0", "driver, CUDA 13.0", "1.2.2")
    assert info.total_bytes == 1 << 37


def test_a_text_is_assembled_once_for_the_chip_with_its_own_features(cuda):
    core, _ = cuda()
    gpu = Gpu()
    loaded = gpu.kernel("text", "name")
    assert loaded is gpu.kernel("text", "name")
    assert (loaded.kernel, loaded.name) == (("cubin", "name"), "name")
    assert core.compiled == [("text", "ptx", "sm_90a")]


def test_an_assembler_that_refuses_is_named(cuda):
    cuda()
    with pytest.raises(we.BackendUnavailableError, match=r"driver, CUDA 13\.0 cannot assemble name for sm_90a: syntax"):
        Gpu().kernel("nonsense", "name")


def test_launches_add_up_their_time(cuda):
    core, _ = cuda()
    gpu = Gpu()
    assert gpu.kernel_seconds == 0
    for _ in range(2):
        gpu.launch(gpu.kernel("text", "name"), 3, 128, 1024, np.uint32(5))
    assert core.launched == [((3, 128, 1024), ("cubin", "name"), (np.uint32(5),))] * 2
    assert gpu.kernel_seconds == 0.5
    assert [x.open for x in core.events] == [False] * 4


def test_kernels_that_were_not_used_for_long_are_unloaded(cuda):
    core, driver = cuda()
    kernels = LoadedKernels(core, "sm_90a", most=2)
    for text in ("a", "b", "a", "c", "a", "d", "b"):
        kernels.get(text, "name")
        assert len(kernels) <= 2
    assert driver.unloaded == ["b", "c", "a"]
    assert [text for text, _, _ in core.compiled] == ["a", "b", "c", "d", "b"]


def test_a_text_that_is_refused_takes_no_place(cuda):
    core, driver = cuda()
    kernels = LoadedKernels(core, "sm_90a", most=2)
    with pytest.raises(we.BackendUnavailableError):
        kernels.get("nonsense", "name")
    kernels.get("a", "name"), kernels.get("b", "name")
    assert driver.unloaded == []


@pytest.mark.parametrize("step", ["launch", "record", "sync"])
def test_a_kernel_that_fails_is_named_with_its_gpu_and_what_helps(cuda, step):
    core, _ = cuda()
    gpu = Gpu()

    def fail(*arguments):
        raise RuntimeError("CUDA_ERROR_ILLEGAL_ADDRESS")

    kernel = gpu.kernel("text", "name")
    if step == "launch":
        core.launch = fail
    elif step == "record":
        gpu.stream.record = fail
    else:
        core.event_sync = fail
    with pytest.raises(we.BackendUnavailableError) as caught:
        gpu.launch(kernel, 3, 128, 1024)
    assert str(caught.value).startswith("the kernel name failed on NVIDIA H200 (sm_90): CUDA_ERROR_ILLEGAL_ADDRESS; ")
    assert str(caught.value).endswith("try in a new one")
    assert [x.open for x in core.events] == [False] * 2


def test_a_copy_that_fails_is_named_and_what_cannot_be_given_back_then_is_not_the_news(cuda):
    core, driver = cuda()
    gpu = Gpu()

    def fail(*arguments):
        raise RuntimeError("CUDA_ERROR_LAUNCH_FAILED")

    core.allocate = lambda size, stream: SimpleNamespace(handle=64, close=fail)
    driver.cuMemcpyDtoHAsync = lambda *arguments: (Status.CUDA_ERROR_NO_DEVICE,)
    with pytest.raises(we.BackendUnavailableError, match=r"copying from the GPU failed on NVIDIA H200 \(sm_90\): "):
        with gpu.memory() as memory:
            memory.download(memory.allocate(16), np.zeros(4, np.uint32))
    with pytest.raises(we.BackendUnavailableError, match=r"giving memory back failed .* CUDA_ERROR_LAUNCH_FAILED"):
        with gpu.memory() as memory:
            memory.allocate(16)


def test_a_gpu_that_cannot_be_opened_is_named(cuda):
    core, _ = cuda()

    def fail():
        raise RuntimeError("CUDA_ERROR_DEVICE_UNAVAILABLE")

    core.set_current = fail
    with pytest.raises(we.BackendUnavailableError, match="opening the GPU failed on GPU 0: CUDA_ERROR_DEVICE_UNAVAIL"):
        Gpu()


def test_buffers_are_closed_also_after_an_error(cuda):
    core, driver = cuda()
    gpu = Gpu()
    with pytest.raises(KeyError), gpu.memory() as memory:
        memory.upload(np.zeros(5, np.uint32))
        memory.allocate(7)
        raise KeyError
    assert core.closed == [gpu.stream, gpu.stream]
    assert driver.copies == [(64, 20)]


def test_memory_that_does_not_suffice_is_said(cuda):
    core, _ = cuda()

    def refuse(size, stream):
        raise MemoryError("out of memory")

    core.allocate = refuse
    with pytest.raises(we.BackendUnavailableError, match=r"100 bytes cannot be allocated .* a smaller max_bytes"):
        with Gpu().memory() as memory:
            memory.allocate(100)


def test_a_call_takes_a_quarter_of_what_is_free_at_most_a_gibibyte(cuda):
    _, driver = cuda()
    gpu = Gpu()
    assert gpu.default_max_bytes() == 1 << 30
    driver.cuMemGetInfo = lambda: (Status.CUDA_SUCCESS, 4000, 1 << 37)
    assert gpu.default_max_bytes() == 1000
