# SPDX-License-Identifier: MIT
"""The mode of PyTorch in which every operation of ATen passes the table of operations."""

import threading
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

from wmma_emu.torch.operations import OPERATIONS
from wmma_emu.torch.products import Multiplier
from wmma_emu.torch.untouched import NOT_THIS_CALL, reason_of

_DEVICES = frozenset({"cpu", "cuda"})
_THREAD = threading.local()


class ProductMode(TorchDispatchMode):  # type: ignore[misc]
    """Multiplies instead of PyTorch. It is below autograd, so that gradients are products like any others."""

    def __init__(self, multiply: Multiplier, layers: Any = None) -> None:
        super().__init__()
        self._multiply = multiply
        self.layers = layers  # `wmma_emu.torch.recipes.Layers`, of an emulation with a recipe
        self._left: list[bool] = []

    def __enter__(self) -> "ProductMode":
        self._left.append(_is_left(False))
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        _is_left(self._left.pop())

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compute one operation of ATen; NotImplemented leaves it to a subclass that contains other tensors."""
        named = kwargs or {}
        tensors = [x for x in tree_iter((args, named)) if isinstance(x, torch.Tensor)]
        has_no_numbers = any(isinstance(x, FakeTensor) for x in tensors)  # a compiler or torch.export records a graph
        if has_no_numbers or getattr(_THREAD, "is_left", False):
            return function(*args, **named)
        if any(_computes_itself(x) for x in tensors):
            return NotImplemented
        if self._multiply.options.arch is None:
            return _by_pytorch(function, args, named)
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
        elif function._can_decompose():  # in inference mode, and in classes of tensors
            with self:
                result = function.decompose(*args, **named)
            if result is not NotImplemented:
                return result
        return _by_pytorch(function, args, named)

    def _emulated(self, name: str, function: Any, args: Any, named: Any) -> Any:
        """Call the function of the table, and copy its result where an operation writes."""
        self._multiply.places.remember()
        written = [x.name for x in function._schema.arguments if x.is_out]
        given = {key: value for key, value in named.items() if key not in written}
        is_in_place = function._schema.name.endswith("_") and not name.endswith("_")
        targets = [args[0]] if is_in_place else [named[x] for x in written]
        with torch.no_grad():
            result = OPERATIONS[name](self._multiply, *args, **given)
        if result is NotImplemented:
            return result
        pairs = list(zip(targets, result if isinstance(result, tuple) else [result], strict=False))
        if any(x is not None and (x.dtype != y.dtype or (is_in_place and x.shape != y.shape)) for y, x in pairs):
            return NotImplemented  # PyTorch raises its error
        for target, one in pairs:
            if one is not None:
                target.resize_(one.shape).copy_(one) if target.shape != one.shape else target.copy_(one)
        if targets:
            return targets[0] if len(targets) == 1 else tuple(targets)
        return result


def _by_pytorch(function: Any, args: Any, named: Any) -> Any:
    """Let PyTorch compute an operation, also where an outer emulation is on: the innermost one counts."""
    before = _is_left(True)
    try:
        return function(*args, **named)
    finally:
        _is_left(before)


def _is_left(value: bool) -> bool:
    """Set whether an emulation has left the operation that this thread executes to PyTorch; return what it was."""
    before, _THREAD.is_left = getattr(_THREAD, "is_left", False), value
    return before


def _computes_itself(tensor: Any) -> bool:
    """Return whether the class of a tensor has separate operations, whose products reach this mode."""
    return type(tensor).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__


def _is_plain(tensor: Any) -> bool:
    """Return whether a tensor is a strided one on a device that is emulated."""
    is_strided = tensor.layout == torch.strided and not tensor.is_nested and not tensor.is_quantized
    return is_strided and tensor.device.type in _DEVICES
