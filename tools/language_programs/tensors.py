# SPDX-License-Identifier: MIT
"""Tensors that cases draw, and their distances from what PyTorch computes."""

import math
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["drawn", "far", "largest", "with_gradients"]


def drawn(*shape: int) -> Any:
    """Draw a tensor of float32 normal numbers on the device "cuda"."""
    import torch

    return torch.randn(*shape, device="cuda")


def far(*pairs: tuple[Any, Any]) -> float:
    """Return the largest distance between two tensors of a pair, as a part of the largest element of the second.

    Examples
    --------
    >>> import numpy as np
    >>> class Toy(np.ndarray):
    ...     double = lambda self: self.astype(np.float64)
    ...     abs = lambda self: np.abs(self)
    >>> far((np.float32([1, 9]).view(Toy), np.float32([1, 8]).view(Toy)))
    0.125
    """
    return largest(*(_distance(a.double(), b.double()) for a, b in pairs))


def _distance(found: Any, expected: Any) -> float:
    return float((found - expected).abs().max()) / (float(expected.abs().max()) or 1.0)


def largest(*distances: float) -> float:
    """Return the largest distance, NaN if one of them is NaN.

    Examples
    --------
    >>> largest(0.5, 1.0), largest(1.0, float("nan"))
    (1.0, nan)
    """
    return max(distances, key=lambda x: (math.isnan(x), x))


def with_gradients(ours: Callable[..., Any], theirs: Callable[..., Any], *inputs: Any) -> float:
    """Return the largest distance between the results and the gradients of two functions.

    A function returns a tensor, or several.
    """
    import torch

    copies = [[x.clone().requires_grad_() for x in inputs] for _ in range(2)]
    found, expected = _several(ours(*copies[0])), _several(theirs(*copies[1]))
    gradients = [torch.randn_like(x) for x in expected]
    for result in (found, expected):
        given = [x.to(y.dtype).clone() for x, y in zip(gradients, result, strict=True)]
        torch.autograd.backward(result, given)
    results = [(a.detach(), b.detach()) for a, b in zip(found, expected, strict=True)]
    return far(*results, *((a.grad, b.grad) for a, b in zip(*copies, strict=True)))


def _several(result: Any) -> list[Any]:
    return list(result) if isinstance(result, Iterable) and not hasattr(result, "dtype") else [result]
