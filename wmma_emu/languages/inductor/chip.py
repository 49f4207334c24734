# SPDX-License-Identifier: MIT
"""The emulated chip as TorchDynamo, Inductor and the code that it generates ask for it."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from wmma_emu.languages.replacing import replaced


@contextmanager
def chip_for_dynamo() -> Iterator[None]:
    """Let TorchDynamo's interface to CUDA, and generated code, ask `torch.cuda`, which answers for the chip.

    Memory that generated code allocates on "cuda" is memory of the host.
    """
    import torch
    from torch._dynamo import device_interface, trace_rules

    guards, properties = torch._C._dynamo.guards, device_interface.caching_worker_device_properties

    def forget() -> None:
        properties.pop("cuda", None)
        trace_rules.get_torch_obj_rule_map.cache_clear()

    with ExitStack() as stack:
        stack.enter_context(replaced(device_interface.CudaInterface, _interface(torch)))
        stack.enter_context(replaced(torch._C, {"_cuda_cudaCachingAllocator_is_enabled": lambda: True}))
        stack.enter_context(replaced(guards, {"_empty_strided_cuda": guards._empty_strided_cpu}))
        forget()
        stack.callback(forget)
        yield


def _zero(*_: Any) -> int:
    return 0


def _interface(torch: Any) -> Mapping[str, Any]:
    """Return the functions of TorchDynamo's interface to CUDA, which keeps those of `torch.cuda` at its import."""
    same = (
        "current_device", "set_device", "device_count", "stream", "current_stream", "set_stream", "synchronize",
        "get_device_properties", "memory_allocated", "is_bf16_supported",
    )  # fmt: skip
    numbers = dict.fromkeys(("get_raw_stream", "exchange_device", "maybe_exchange_device"), staticmethod(_zero))
    return {**{name: staticmethod(getattr(torch.cuda, name)) for name in same}, **numbers}


def forget_chip() -> None:
    """Clear the caches in which Inductor keeps answers about a chip."""
    from torch._inductor import codecache, utils
    from torch._inductor.runtime.hints import DeviceProperties
    from torch.utils import _triton

    functions = [*vars(utils).values(), *vars(_triton).values(), codecache.CacheBase.get_system]
    for function in (*functions, DeviceProperties.create):
        if hasattr(function, "cache_clear"):
            function.cache_clear()
