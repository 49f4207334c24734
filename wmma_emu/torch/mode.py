# SPDX-License-Identifier: MIT
"""The mode of PyTorch in which every operation of ATen passes the table of operations."""

from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_iter

from wmma_emu.torch.operations import OPERATIONS
from wmma_emu.torch.products import Multiplier
from wmma_emu.torch.untouched import NOT_THIS_CALL, reason_of

_DEVICES = frozenset({"cpu", "cuda"})


class ProductMode(TorchDispatchMode):  # type: ignore[misc]
    """Multiplies instead of PyTorch. It is below autograd, so that gradients are products like any others."""

    def __init__(self, multiply: Multiplier) -> None:
        super().__init__()
        self._multiply = multiply

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compute one operation of ATen."""
        named = kwargs or {}
        tensors = [x for x in tree_iter((args, named)) if isinstance(x, torch.Tensor)]
        if any(isinstance(x, FakeTensor) for x in tensors):  # a compiler or torch.export records a graph
            return function(*args, **named)
        if self._multiply.options.arch is None:
            with _disable_current_modes():
                return function(*args, **named)
        name = function._schema.name.removeprefix("aten::")
        plain = name.removesuffix("_") if name not in OPERATIONS else name
        if plain in OPERATIONS:
            can = all(_is_plain(x) for x in tensors)
            result = self._emulated(plain, function, args, named) if can else NotImplemented
            if result is not NotImplemented:
                return result
            self._multiply.log.untouched[f"{plain}, {NOT_THIS_CALL}"] += 1
        elif reason_of(name):
            self._multiply.log.untouched[f"{name}, {reason_of(name)}"] += 1
        elif torch.is_inference_mode_enabled() and function._can_decompose():
            with self:
                result = function.decompose(*args, **named)
            if result is not NotImplemented:
                return result
        return function(*args, **named)

    def _emulated(self, name: str, function: Any, args: Any, named: Any) -> Any:
        """Call the function of the table, and copy its result where an operation writes."""
        self._multiply.places.remember()
        written = {x.name for x in function._schema.arguments if x.is_out}
        given = {key: value for key, value in named.items() if key not in written}
        with torch.no_grad():
            result = OPERATIONS[name](self._multiply, *args, **given)
        if result is NotImplemented:
            return result
        targets = [named[x.name] for x in function._schema.arguments if x.is_out]
        if function._schema.name.endswith("_") and not name.endswith("_"):
            targets = [args[0]]
        for target, one in zip(targets, result if isinstance(result, tuple) else [result], strict=False):
            if one is not None:
                target.resize_(one.shape).copy_(one) if target.shape != one.shape else target.copy_(one)
        if targets:
            return targets[0] if len(targets) == 1 else tuple(targets)
        return result


def _is_plain(tensor: Any) -> bool:
    """Return whether a tensor is a strided one on a device that is emulated."""
    is_strided = tensor.layout == torch.strided and not tensor.is_nested and not tensor.is_quantized
    return is_strided and tensor.device.type in _DEVICES
