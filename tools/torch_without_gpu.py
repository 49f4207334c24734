# SPDX-License-Identifier: MIT
"""Host code that asks torch and Triton for a GPU, run without one: tensors are the CPU's, and launches do nothing."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any
from unittest import mock

_PROPERTIES = {
    "max_shared_mem": 232448, "multiprocessor_count": 132, "max_num_regs": 65536, "warpSize": 32,
    "sm_clock_rate": 1980000, "mem_clock_rate": 3201000, "mem_bus_width": 6144,
}  # fmt: skip
"""The properties of an H200 in Triton's driver."""

_TORCH_PROPERTIES = {
    "name": "NVIDIA H200", "multi_processor_count": 132, "total_memory": 1 << 37, "warp_size": 32,
    "shared_memory_per_block_optin": 232448, "shared_memory_per_multiprocessor": 233472, "L2_cache_size": 60 << 20,
    "regs_per_multiprocessor": 65536, "max_threads_per_multi_processor": 2048,
}  # fmt: skip

_PRODUCTS = ("matmul", "__matmul__", "mm", "bmm", "addmm", "conv2d", "einsum")
_DRAWN = ("rand", "randn", "randint", "rand_like", "randn_like", "ones", "ones_like", "full")
_LARGE = 1 << 20


@contextmanager
def fake_cuda(capability: int, bench: Any) -> Iterator[None]:
    """Let host code find a chip of a compute capability; ``bench`` stands for Triton's measurement of a function."""
    import torch
    from triton.runtime.driver import driver

    pair = divmod(capability, 10)
    properties = SimpleNamespace(**_TORCH_PROPERTIES, major=pair[0], minor=pair[1])
    stubs: dict[str, Any] = {
        "is_available": True, "get_device_capability": pair, "get_device_properties": properties, "current_device": 0,
        "device_count": 1, "get_device_name": properties.name, "synchronize": None, "empty_cache": None,
        "set_device": None, "current_stream": SimpleNamespace(cuda_stream=0, device=0), "is_bf16_supported": True,
    }  # fmt: skip
    before = driver._active
    with ExitStack() as stack:
        for name, value in stubs.items():
            stack.enter_context(mock.patch.object(torch.cuda, name, lambda *_, value=value, **__: value))
        for name in ("device", "device_of", "stream", "_DeviceGuard"):
            stack.enter_context(mock.patch.object(torch.cuda, name, lambda *_, **__: nullcontext()))
        stack.enter_context(mock.patch.object(torch.Tensor, "is_cuda", property(lambda _: True)))
        stack.enter_context(mock.patch("triton._C.libtriton.nvidia.cublas.CublasLt", mock.MagicMock()))
        stack.enter_context(_on_the_cpu())
        driver.set_active(_driver(capability, bench))
        try:
            yield
        finally:
            driver.set_active(before)


def _on_the_cpu() -> Any:
    """Make every tensor one of the CPU's."""
    import torch
    from torch.overrides import TorchFunctionMode

    def cpu(value: Any) -> Any:
        named = isinstance(value, str) and value.startswith("cuda")
        return "cpu" if named or (isinstance(value, torch.device) and value.type == "cuda") else value

    class OnTheCpu(TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            named = {**(kwargs or {})}
            if named.get("device") is not None:
                named["device"] = "cpu"
            if getattr(function, "__name__", "") == "cuda":
                return args[0]
            if getattr(function, "__name__", "") in _PRODUCTS:
                # References that a script compares with: nothing was computed that they could be compared with.
                with torch.no_grad():
                    shapes = [x.to("meta") if isinstance(x, torch.Tensor) else x for x in args]
                    out = torch.zeros_like(function(*shapes, **named), device="cpu")
                derived = [x.sum() for x in args if isinstance(x, torch.Tensor) and x.requires_grad]
                return out + 0 * sum(derived) if derived else out
            if getattr(function, "__name__", "") in _DRAWN:
                named.pop("generator", None)
                return _drawn(function, args, named)
            return function(*map(cpu, args), **named)

    return OnTheCpu()


def _drawn(function: Any, args: Any, named: dict[str, Any]) -> Any:
    """Draw numbers; a tensor of more than `_LARGE` elements is zeros, whose untouched pages take no memory."""
    import torch

    shape = function(*args, **{**named, "device": "meta"})
    return torch.zeros_like(shape, device="cpu") if shape.numel() > _LARGE else function(*args, **named)


def _driver(capability: int, bench: Any) -> Any:
    import torch
    from triton.backends.compiler import GPUTarget
    from triton.backends.driver import GPUDriver

    class Utilities:
        def get_device_properties(self, _: Any) -> dict[str, int]:
            return dict(_PROPERTIES)

        def load_binary(self, *_: Any) -> tuple[int, ...]:
            return 1, 1, 64, 0, 1024

        def unload_module(self, _: Any) -> None: ...

    class Launcher:
        def __init__(self, *_: Any) -> None: ...
        def __call__(self, *_: Any) -> None: ...

    class Driver(GPUDriver):  # type: ignore[misc]
        def __init__(self) -> None:
            self.utils, self.launcher_cls = Utilities(), Launcher
            self.get_device_capability = lambda _=0: divmod(capability, 10)
            self.get_current_stream = lambda _=0: 0
            self.get_current_device = lambda: 0
            self.set_current_device = lambda _: None

        def get_current_target(self) -> Any:
            return GPUTarget("cuda", capability, 32)

        @staticmethod
        def is_active() -> bool:
            return True

        def map_python_to_cpp_type(self, ty: str) -> str:
            return ty

        def get_active_torch_device(self) -> Any:
            return torch.device("cpu")

        def get_device_interface(self) -> Any:
            return torch.cuda

        def get_benchmarker(self) -> Any:
            return bench

        def get_empty_cache_for_benchmark(self) -> Any:
            return torch.zeros(1)

        def clear_cache(self, cache: Any) -> None: ...

    return Driver()
