# SPDX-License-Identifier: MIT
"""Convolutions as implicit matrix products, forward and backward, in one to three dimensions.

The rows of A are windows of the input, which no kernel stores; k runs over filter positions and channels, in the order
of ``convolution_order`` or of a recorded kernel. For the gradient of the input, A has windows of the gradient of the
output, where the positions that a stride leaves out are +0; k runs over filter positions and output channels. For the
gradient of the weight, k runs over images and output positions. Each product is rounded to the dtype of the result,
and a bias is added afterwards in that dtype, as PyTorch does on CUDA.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import torch

from wmma_emu.models.convolution_kernels import Convolution, KLayout
from wmma_emu.torch.products import Multiplier, TensorProduct

_WINDOW_ELEMENTS = 1 << 25
"""The number of elements of A that exist at a time."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """The numbers of a convolution, one for each dimension."""

    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    output_padding: tuple[int, ...]
    groups: int

    @classmethod
    def of(cls, rank: int, stride: Any, padding: Any, dilation: Any, output_padding: Any, groups: int) -> "Geometry":
        """Read ATen's arguments, where one number may stand for all dimensions."""
        s, p, d, o = (tuple(x) * (rank if len(x) == 1 else 1) for x in (stride, padding, dilation, output_padding))
        return cls(s, p, d, o, groups)

    def convolution(self, part: str, image: Any, weight: Any, transposed: bool) -> Convolution:
        """Return what determines the kernel, for an input and filters of (output channels, channels, ...)."""
        return Convolution(
            part, tuple(image.shape[1:]), (weight.shape[0], *weight.shape[2:]), self.stride, self.padding,
            self.dilation, self.groups, len(image), transposed, not all(_is_in_order(x) for x in (image, weight)),
        )  # fmt: skip


def convolution(
    multiply: Multiplier, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
    output_padding: Any, groups: int,
) -> Any:  # fmt: skip
    """Compute a convolution, transposed or not: `aten.convolution`."""
    if x.dtype != weight.dtype or x.dim() != weight.dim() or x.dim() < 3:
        return NotImplemented
    given = (stride, padding, dilation, transposed, output_padding, groups)
    torch._C._select_conv_backend(x, weight, bias, *given, None)  # raises PyTorch's errors
    geometry = Geometry.of(x.dim() - 2, stride, padding, dilation, output_padding, groups)
    case = geometry.convolution("forward", x, weight, transposed)
    if transposed:
        size = _transposed_size(x, weight, geometry)
        y = _from_outputs(multiply, "convolution", x, weight, geometry, size, case)
    else:
        y = _from_inputs(multiply, "convolution", x, weight, geometry, case)
    if y is NotImplemented or bias is None:
        return y
    return y + bias.to(y.dtype).reshape(-1, *[1] * (x.dim() - 2))


def convolution_backward(
    multiply: Multiplier, grad: Any, x: Any, weight: Any, bias_sizes: Any, stride: Any, padding: Any, dilation: Any,
    transposed: bool, output_padding: Any, groups: int, output_mask: Any,
) -> Any:  # fmt: skip
    """Compute the gradients of a convolution: `aten.convolution_backward`."""
    if not (x.dtype == weight.dtype == grad.dtype):
        return NotImplemented
    geometry = Geometry.of(x.dim() - 2, stride, padding, dilation, output_padding, groups)
    results: list[Any] = [None, None, None]
    name, case = "convolution:input", geometry.convolution("input", x, weight, transposed)
    if output_mask[0] and transposed:
        results[0] = _from_inputs(multiply, name, grad, weight, geometry, case)
    elif output_mask[0]:
        results[0] = _from_outputs(multiply, name, grad, weight, geometry, x.shape[2:], case)
    if output_mask[1]:
        inputs, outputs = (grad, x) if transposed else (x, grad)
        results[1] = _weight_gradient(multiply, inputs, outputs, weight, geometry, case._replace(part="weight"))
    if output_mask[2]:
        results[2] = grad.sum([0, *range(2, grad.dim())])
    return NotImplemented if any(r is NotImplemented for r in results) else tuple(results)


def _is_in_order(x: Any) -> bool:
    """Return whether PyTorch gives cuDNN a tensor with channels before positions, like the recordings."""
    return bool(torch._prims_common.suggest_memory_format(x) == torch.contiguous_format)


def _transposed_size(x: Any, weight: Any, g: Geometry) -> tuple[int, ...]:
    sizes = zip(x.shape[2:], weight.shape[2:], g.stride, g.padding, g.dilation, g.output_padding, strict=True)
    return tuple((n - 1) * s - 2 * p + d * (r - 1) + extra + 1 for n, r, s, p, d, extra in sizes)


def _from_inputs(multiply: Multiplier, name: str, x: Any, weight: Any, g: Geometry, case: Convolution) -> Any:
    """Multiply windows of the input times filters of shape (out channels, channels / groups, ...)."""
    padded = torch.nn.functional.pad(x, [n for p in reversed(g.padding) for n in (p, p)])
    windows = _windows(padded, weight.shape[2:], g.stride, g.dilation)
    filters = weight.reshape(g.groups, -1, *weight.shape[1:])  # (groups, out, channels, ...)
    return _implicit(multiply, name, windows, filters, x, case)


def _from_outputs(
    multiply: Multiplier, name: str, grad: Any, weight: Any, g: Geometry, size: Any, case: Convolution
) -> Any:
    """Reverse a convolution: windows of the gradient of the output times the filters, positions in their order."""
    spread = _spread(grad, g.stride)
    reach = [d * (r - 1) for d, r in zip(g.dilation, weight.shape[2:], strict=True)]
    pads = []
    for n, span, p, length in zip(size, reach, g.padding, spread.shape[2:], strict=True):
        pads.append((span - p, n + p - length))
    padded = torch.nn.functional.pad(spread, [n for pair in reversed(pads) for n in pair])
    ones = (1,) * len(reach)
    windows = _windows(padded, weight.shape[2:], ones, g.dilation).flip(tuple(range(-len(reach), 0)))
    filters = weight.reshape(g.groups, -1, *weight.shape[1:]).transpose(1, 2)  # (groups, channels, out, ...)
    return _implicit(multiply, name, windows, filters, grad, case)


def _spread(x: Any, stride: tuple[int, ...]) -> Any:
    """Insert the zeros of a stride between elements."""
    if all(s == 1 for s in stride):
        return x
    sizes = [(n - 1) * s + 1 for n, s in zip(x.shape[2:], stride, strict=True)]
    out = x.new_zeros(*x.shape[:2], *sizes)
    out[(..., *(slice(None, None, s) for s in stride))] = x
    return out


def _windows(x: Any, size: Any, stride: tuple[int, ...], dilation: tuple[int, ...]) -> Any:
    """Return a view of all windows: (images, channels, output positions, filter positions)."""
    n, channels, *lengths = x.shape
    step_n, step_c, *steps = x.stride()
    out = [(n - d * (r - 1) - 1) // s + 1 for n, r, s, d in zip(lengths, size, stride, dilation, strict=True)]
    moves = [step * s for step, s in zip(steps, stride, strict=True)]
    inner = [step * d for step, d in zip(steps, dilation, strict=True)]
    return x.as_strided((n, channels, *out, *size), (step_n, step_c, *moves, *inner), x.storage_offset())


def _implicit(multiply: Multiplier, name: str, windows: Any, filters: Any, like: Any, case: Convolution) -> Any:
    """Multiply windows by filters of shape (groups, out, k channels, filter positions), a few images at a time."""
    rank, groups = filters.dim() - 3, case.groups
    n, channels, *rest = windows.shape
    layout, kernel = multiply.convolution(case, like.dtype)
    grouped = windows.reshape(n, groups, channels // groups, *rest) if groups > 1 else windows.unsqueeze(1)
    b = _k_last(filters, rank, 1, layout).mT
    pieces = []
    for part in _images(grouped, prod(windows.shape[1:])):
        a = _k_last(part, rank, 1 + rank, layout)  # (images, groups, output positions, k)
        a = a.movedim(1, 0).reshape(groups, prod((len(part), *rest[:rank])), b.shape[1])
        one = {"a": a, "b": b} if groups > 1 else {"a": a[0], "b": b[0]}
        d = multiply(TensorProduct(operation=name, **one, out_dtype=like.dtype, convolves=True, kernel=kernel))
        if d is NotImplemented:
            return d
        pieces.append(d.reshape(groups, len(part), *rest[:rank], b.shape[-1]).movedim(0, -2).flatten(-2))
    y = torch.cat(pieces).movedim(-1, 1)
    return y.contiguous(memory_format=torch._prims_common.suggest_memory_format(like))


def _k_last(x: Any, rank: int, kept: int, layout: KLayout) -> Any:
    """Move k to the end, in the order of a layout; x has axes (..., channels, kept others, filter positions).

    For windows the output positions are between channels and filter positions; filters have none.
    """
    axis = x.dim() - rank - kept
    missing = -x.shape[axis] % layout.padded_to
    if missing:
        x = torch.nn.functional.pad(x, [0, 0] * (rank + kept - 1) + [0, missing])
    if layout.is_reversed:
        x = x.flip(tuple(range(-rank, 0)))
    if layout.positions_last:
        return x.movedim(axis, -1 - rank).flatten(-1 - rank)
    x = x.movedim(axis, -1)
    return torch.cat([tile.flatten(-1 - rank) for tile in x.split(layout.tile or x.shape[-1], -1)], -1)


def in_turns(x: Any, layout: KLayout) -> Any:
    """Rearrange k, the last axis, so that the tiles that one range takes follow one another."""
    if layout.turns is None:
        return x
    tile, ranges = layout.turns
    x = torch.nn.functional.pad(x, (0, -x.shape[-1] % (tile * ranges)))
    return x.unflatten(-1, (-1, ranges, tile)).transpose(-3, -2).flatten(-3)


def _groups_first(x: Any, groups: int) -> Any:
    """Rearrange (images, channels, positions) to (groups, channels, images and positions)."""
    return x.movedim(1, 0).flatten(1).unflatten(0, (groups, -1))


def _images(windows: Any, elements: int) -> Iterator[Any]:
    count = max(_WINDOW_ELEMENTS // max(elements, 1), 1)
    return iter(windows.split(count))


def _weight_gradient(multiply: Multiplier, x: Any, grad: Any, weight: Any, g: Geometry, case: Convolution) -> Any:
    """Multiply the gradient of the output by windows of the input, for one filter position after another."""
    rank = x.dim() - 2
    layout, kernel = multiply.convolution(case, weight.dtype)
    padded = torch.nn.functional.pad(x, [n for p in reversed(g.padding) for n in (p, p)])
    windows = _windows(padded, weight.shape[2:], g.stride, g.dilation)
    windows = windows[(..., *(slice(0, n) for n in grad.shape[2:]), *[slice(None)] * rank)]
    a = _groups_first(grad, g.groups)  # k: images, then output positions
    a = in_turns(a, layout)
    result = torch.empty_like(weight, memory_format=torch.contiguous_format)
    for where in torch.cartesian_prod(*[torch.arange(n) for n in weight.shape[2:]]).reshape(-1, rank).tolist():
        b = in_turns(_groups_first(windows[(..., *where)], g.groups), layout).mT
        one = {"a": a, "b": b} if g.groups > 1 else {"a": a[0], "b": b[0]}
        product = TensorProduct(
            operation="convolution:weight", **one, out_dtype=weight.dtype, convolves=True, kernel=kernel
        )
        d = multiply(product)
        if d is NotImplemented:
            return d
        result[(..., *where)] = d.reshape(weight.shape[:2])
    return result
