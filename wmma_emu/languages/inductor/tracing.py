# SPDX-License-Identifier: MIT
"""Tensors are on "cuda:0" while a program is traced, so that Inductor generates the code of a GPU for them.

TorchDynamo, AOTAutograd and Inductor trace fake tensors, which know a device and have no memory. PyTorch's Python code
gets the device "cuda:0" for each of them, and takes its decisions as on a GPU. Its C++ code gets the CPU, because a
PyTorch for CPUs has no streams of CUDA, for which autograd asks.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from wmma_emu.languages.replacing import replaced


@contextmanager
def tensors_on_cuda() -> Iterator[None]:
    """Trace every tensor of the host as one of "cuda:0"."""
    import torch
    from torch._subclasses import fake_tensor
    from torch.fx.experimental.proxy_tensor import ProxyTorchDispatchMode

    query = torch.ops.prim.device.default
    cuda, host = torch.device("cuda", 0), torch.device("cpu")
    handlers, fake, mode = fake_tensor._DISPATCH_META_HANDLERS, fake_tensor.FakeTensor, fake_tensor.FakeTensorMode
    handler, dispatch = handlers[query], vars(fake)["__torch_dispatch__"].__func__

    def for_cpp(device: Any) -> Any:
        return host if device.type == "cuda" else device

    def dispatched(cls: Any, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        answer = dispatch(cls, function, types, args, kwargs or {})
        return for_cpp(answer) if function is query else answer

    with ExitStack() as stack:
        stack.enter_context(replaced(fake, {
            "_normalize_fake_device": staticmethod(lambda device: cuda if device.type in ("cpu", "cuda") else device),
            "__torch_dispatch__": classmethod(dispatched),
        }))  # fmt: skip
        stack.enter_context(replaced(mode, {"avoid_device_init": property(lambda self: True)}))
        handlers[query] = lambda args: for_cpp(handler(args))
        stack.callback(handlers.__setitem__, query, handler)
        trace = with_device(vars(ProxyTorchDispatchMode)["__torch_dispatch__"], cuda)
        stack.enter_context(replaced(ProxyTorchDispatchMode, {"__torch_dispatch__": trace}))
        mode.cache_clear()  # of results for tensors on other devices
        stack.callback(mode.cache_clear)
        yield


def with_device(trace: Callable[..., Any], device: Any) -> Callable[..., Any]:
    """Wrap the tracing of a call: C++ code, which gets the CPU, passes it on to calls that make or move tensors."""

    def traced(self: Any, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = dict(kwargs or {})
        if getattr(named.get("device"), "type", None) == "cpu":
            named["device"] = device
        return trace(self, function, types, args, named)

    return traced
