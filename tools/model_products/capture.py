# SPDX-License-Identifier: MIT
"""Products of PyTorch while a model runs, below autograd: operands, results, and how often each distinct one occurs."""

from collections import Counter
from dataclasses import dataclass, field
from math import prod
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map_only

PRODUCTS = ("mm", "addmm", "bmm", "baddbmm", "convolution", "convolution_backward")
"""The operations of ATen whose bits are compared."""

FUSED = ("attention",)
"""Words in the names of operations that have products inside, whose sums no caller sees."""

_HALF = (torch.float16, torch.bfloat16)


@dataclass(eq=False)
class Captured:
    """A distinct product: the operation with its first operands and results, and how often each run has it."""

    name: str
    function: Any
    arguments: tuple[Any, ...]
    named: dict[str, Any]
    results: tuple[Any, ...]
    occurrences: Counter[str] = field(default_factory=Counter)

    @property
    def tensors(self) -> list[Any]:
        """The operands."""
        return [x for x in tree_flatten((self.arguments, self.named))[0] if isinstance(x, torch.Tensor)]

    @property
    def dtype(self) -> str:
        """The dtype of the operands, as PyTorch names it."""
        return str(self.tensors[-1].dtype).removeprefix("torch.")

    @property
    def work(self) -> int:
        """The multiply-adds of one execution."""
        return work_of(self.name, self.arguments, self.results)

    def again(self) -> tuple[Any, ...]:
        """Execute it again with the same operands."""
        found = self.function(*self.arguments, **self.named)
        return found if isinstance(found, tuple) else (found,)


class CaptureMode(TorchDispatchMode):  # type: ignore[misc]
    """Keeps the first of each distinct product, and counts the others."""

    def __init__(self) -> None:
        super().__init__()
        self.products: dict[str, Captured] = {}
        self.fused: dict[str, Counter[str]] = {}
        self.run = ""

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Execute one operation, and keep it if it is a product."""
        named = kwargs or {}
        name = function._schema.name.removeprefix("aten::")
        if name in PRODUCTS:
            return self._kept(name, function, args, named)
        if any(word in name for word in FUSED):
            self.fused.setdefault(name, Counter())[self.run] += 1
        return function(*args, **named)

    def _kept(self, name: str, function: Any, args: Any, named: Any) -> Any:
        tensors = [x for x in tree_flatten((args, named))[0] if isinstance(x, torch.Tensor)]
        if not all(x.dtype in _HALF for x in tensors):
            return function(*args, **named)
        key = repr((name, tree_map_only(torch.Tensor, _described, (args, named))))
        if key in self.products:
            self.products[key].occurrences[self.run] += 1
            return function(*args, **named)
        kept = tree_map_only(torch.Tensor, copied, (args, named))
        result = function(*args, **named)
        results = result if isinstance(result, tuple) else (result,)
        copies = tuple(x if x is None else x.clone() for x in results)
        self.products[key] = Captured(name, function, kept[0], kept[1], copies, Counter([self.run]))
        return result


def copied(x: Any) -> Any:
    """Return a copy with the same strides; a tensor that repeats elements is not copied."""
    if any(step == 0 and size > 1 for size, step in zip(x.shape, x.stride(), strict=True)):
        return x.detach()
    return torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device).copy_(x.detach())


def work_of(name: str, arguments: tuple[Any, ...], results: tuple[Any, ...]) -> int:
    """Return the multiply-adds of an operation."""
    if name in ("mm", "bmm"):
        return int(prod(results[0].shape) * arguments[0].shape[-1])
    if name in ("addmm", "baddbmm"):
        return int(prod(results[0].shape) * arguments[1].shape[-1])
    if name == "convolution":
        return int(results[0].numel() * prod(arguments[1].shape[1:]))
    grad, weight, wanted = arguments[0], arguments[2], arguments[10]
    return int(grad.numel() * prod(weight.shape[1:]) * (wanted[0] + wanted[1]))


def _described(x: Any) -> tuple[Any, ...]:
    """Return what the library's choice of a kernel may depend on."""
    aligned = next(n for n in (16, 8, 4, 2, 1) if x.data_ptr() % n == 0)
    return tuple(x.shape), x.stride(), str(x.dtype), aligned
