# SPDX-License-Identifier: MIT
"""A fake device for Triton: host code sees an H200, Triton compiles for it, and launches are intercepted."""

import os
import sys
from collections.abc import Callable
from typing import Any
from unittest import mock

__all__ = ["CHIP", "Compiled", "as_on_a_gpu"]

CHIP = 90

Launch = Callable[["Compiled", tuple[int, int, int], tuple[Any, ...]], None]


class Compiled:
    """The kernel that Triton compiled for a launch.

    Parameters
    ----------
    name : str
        Of the kernel.
    signature : dict
        The types of its arguments, as they are specialised for this launch.
    text : str
        The PTX.
    cubin : bytes
        The output of Triton's ptxas.
    shared, scratch : int
        Bytes of dynamic shared memory, and of global scratch of each block.
    """

    def __init__(self, source: Any, metadata: Any, text: str, cubin: bytes) -> None:
        self.name, self.signature, self.text, self.cubin = metadata.name, source.signature, text, cubin
        self.shared, self.scratch = metadata.shared, metadata.global_scratch_size


class as_on_a_gpu:
    """Call ``launch`` for every launch of host code; of configurations to be tuned, use the first."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self._patches: list[Any] = []

    def __enter__(self) -> None:
        import torch
        import triton
        from triton.compiler import compiler
        from triton.runtime.autotuner import Autotuner

        compile_, prune = compiler.compile, Autotuner.prune_configs

        def kept(*given: Any, **options: Any) -> Any:
            kernel = compile_(*given, **options)
            _TEXTS[kernel.metadata.hash] = kernel.asm["ptx"]
            return kernel

        _LAUNCH[:] = [self._launch]
        triton.runtime.driver.set_active(_driver())
        fusion = os.environ.get("TRITON_DEFAULT_FP_FUSION", "1")  # today's default, said aloud
        self._patches = [
            mock.patch.dict(os.environ, TRITON_DEFAULT_FP_FUSION=fusion, TRITON_DISABLE_LINE_INFO="1"),
            mock.patch.object(compiler, "compile", kept),
            mock.patch.object(sys.modules["triton.compiler"], "compile", kept),
            mock.patch.object(Autotuner, "prune_configs", lambda *given, **options: prune(*given, **options)[:1]),
            mock.patch.object(torch.Tensor, "is_cuda", property(lambda _: True)),
            *(mock.patch.object(torch.cuda, name, value) for name, value in _said_by_pytorch().items()),
            _on_the_cpu(),
        ]
        for patch in self._patches:
            patch.__enter__()
        torch.use_deterministic_algorithms(True, warn_only=True)  # uninitialised memory gets fixed bits

    def __exit__(self, *_: object) -> None:
        import torch

        torch.use_deterministic_algorithms(False)
        for patch in reversed(self._patches):
            patch.__exit__(None, None, None)


# Triton keeps a kernel that it compiled, with its launcher, for the next launch that specialises it the same way.
_TEXTS: dict[str, str] = {}
_CUBINS: dict[str, bytes] = {}
_LAUNCH: list[Launch] = []


def _driver() -> Any:
    from triton.backends.compiler import GPUTarget
    from triton.backends.driver import GPUDriver

    class Utils:
        def get_device_properties(self, device: int) -> dict[str, int]:
            return {
                "max_shared_mem": 232448, "multiprocessor_count": 132, "max_num_regs": 65536, "warpSize": 32,
                "sm_clock_rate": 1980000, "mem_clock_rate": 3201000, "mem_bus_width": 6144,
            }  # fmt: skip

        def load_binary(self, name: str, cubin: bytes, shared: int, device: int) -> tuple[int, ...]:
            _CUBINS[name] = cubin
            return 1, 1, 64, 0, 1024

        def unload_module(self, module: int) -> None:
            pass

    class Launcher:
        def __init__(self, source: Any, metadata: Any) -> None:
            self._source, self._metadata = source, metadata

        def __call__(self, x: int, y: int, z: int, *rest: Any) -> None:
            name, key = self._metadata.name, self._metadata.hash
            kernel = Compiled(self._source, self._metadata, _TEXTS[key], _CUBINS[name])
            _LAUNCH[0](kernel, (x, y, z), rest[6:])  # after stream, function, metadata and hooks

    class Driver(GPUDriver):  # type: ignore[misc]
        def __init__(self) -> None:
            self.utils, self.launcher_cls = Utils(), Launcher
            self.get_device_capability = lambda device=0: divmod(CHIP, 10)
            self.get_current_stream = lambda device=0: 0
            self.get_current_device = lambda: 0
            self.set_current_device = lambda device: None

        def get_current_target(self) -> Any:
            return GPUTarget("cuda", CHIP, 32)

        @staticmethod
        def is_active() -> bool:
            return True

        def map_python_to_cpp_type(self, kind: str) -> str:
            return kind

        def get_active_torch_device(self) -> Any:
            import torch

            return torch.device("cpu")

        def get_device_interface(self) -> Any:
            import torch

            return torch.cuda

        def get_benchmarker(self) -> Callable[..., list[float]]:
            return lambda function, **_: [1.0, 1.0, 1.0]

    return Driver()


class _Properties:
    multi_processor_count, name, major, minor, total_memory, warp_size = 132, "NVIDIA H200", 9, 0, 2**37, 32
    max_threads_per_multi_processor, regs_per_multiprocessor, gcnArchName = 2048, 65536, ""
    shared_memory_per_block, shared_memory_per_block_optin, L2_cache_size = 49152, 232448, 50 << 20


def _said_by_pytorch() -> dict[str, Any]:
    """Return the functions of ``torch.cuda`` that host code calls."""
    device = mock.MagicMock()
    device.__enter__ = lambda *_: None
    device.__exit__ = lambda *_: False
    return {
        "is_available": lambda *_: True, "current_device": lambda: 0, "device_count": lambda: 1,
        "get_device_capability": lambda *_: divmod(CHIP, 10), "get_device_name": lambda *_: _Properties.name,
        "get_device_properties": lambda *_: _Properties, "synchronize": lambda *_: None,
        "device": lambda *_: device, "current_stream": lambda *_: device, "is_bf16_supported": lambda *_: True,
    }  # fmt: skip


def _on_the_cpu() -> Any:
    """Make a mode of PyTorch: tensors of a GPU are made on the CPU, and uninitialised memory is zero."""
    import torch
    from torch.overrides import TorchFunctionMode

    class Mode(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = dict(kwargs or {})
            if str(kwargs.get("device", "")).startswith(("cuda", "0")):
                kwargs["device"] = "cpu"
            name = getattr(function, "__name__", "")
            if name == "cuda":
                return args[0]
            if name == "to" and len(args) > 1:
                args = tuple("cpu" if str(x).startswith("cuda") else x for x in args)
            result = function(*args, **kwargs)
            if name in ("empty", "empty_like", "new_empty", "empty_strided"):
                return result.view(torch.uint8).zero_().view(result.dtype) if result.is_contiguous() else result.zero_()
            return result

    return Mode()
