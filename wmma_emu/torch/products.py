# SPDX-License-Identifier: MIT
"""Products of tensors: PyTorch's settings, and the way from tensors to arrays and back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from wmma_emu.formats.libraries import in_library, library_of
from wmma_emu.models import ArrayProduct, EmulationLog, EmulationOptions, ModelMultiplier, ProductKind
from wmma_emu.models.convolution_kernels import LAYOUTS, Convolution, ConvolutionKernel, KLayout, recorded_kernel
from wmma_emu.torch import cuda_tensors
from wmma_emu.torch.places import Places


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorProduct:
    """A product of tensors: the fields of `wmma_emu.models.ArrayProduct`.

    ``convolves`` says whether it is a convolution, whose recorded ``kernel`` may differ from that of a product;
    ``precise`` whether FP8 is accumulated precisely.
    """

    operation: str
    a: Any
    b: Any
    out_dtype: Any
    c: Any = None
    alpha: float | None = None
    beta: float | None = None
    bias: Any = None
    scale_a: Any = None
    scale_b: Any = None
    convolves: bool = False
    kernel: ConvolutionKernel | None = None
    precise: bool = False
    is_fused: bool = False

    @property
    def settings(self) -> frozenset[str]:
        """PyTorch's settings that are on."""
        found = {name for name, read in SETTINGS.items() if read(self.convolves)}
        return frozenset(found | {"precise"} if self.precise else found)

    def arrays(self) -> ArrayProduct:
        """Return the same product of NumPy arrays, which share the tensors' memory if it is the host's."""
        names = ("a", "b", "c", "bias", "scale_a", "scale_b")
        given = {name: _array(getattr(self, name), name) for name in names}
        return ArrayProduct(
            operation=self.operation, out_dtype=self.out_dtype, alpha=self.alpha, beta=self.beta,
            settings=self.settings, is_fused=self.is_fused, convolves=self.convolves, kernel=self.kernel, **given,
        )  # fmt: skip


SETTINGS: Mapping[str, Callable[[bool], bool]] = {
    "tf32": lambda convolves: _tf32(torch.backends.cudnn.conv if convolves else torch.backends.cuda.matmul),
    "f16 sums": lambda _: bool(torch.backends.cuda.matmul.allow_fp16_accumulation),
    "no f16 partials": lambda _: not torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction,
    "no bf16 partials": lambda _: not torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction,
}
"""Functions that read PyTorch's settings; they take whether the operation is a convolution."""

NARROW_INTEGERS = frozenset({torch.int8, torch.uint8, torch.int16})
"""Dtypes of results in which PyTorch's sums wrap around on the host; no kernel of a GPU returns them."""


@dataclass(eq=False)
class Multiplier:
    """Multiplies tensors with the bits of one chip, and logs the products."""

    options: EmulationOptions
    places: Places = field(default_factory=Places)
    of_arrays: ModelMultiplier = field(init=False)

    def __post_init__(self) -> None:
        self.of_arrays = ModelMultiplier(self.options, place=self.places)

    @property
    def log(self) -> EmulationLog:
        """The products up to now."""
        return self.of_arrays.log

    def kind(self, product: TensorProduct) -> ProductKind | None:
        """Return the kind of a product; None if the chip has no instruction for it."""
        a, b = (str(x.dtype).removeprefix("torch.") for x in (product.a, product.b))
        return self.of_arrays.kind(a, b, product.settings)

    def convolution(self, convolution: Convolution, dtype: Any) -> tuple[KLayout, ConvolutionKernel | None]:
        """Return the layout of k of a convolution, and its recorded kernel."""
        found = recorded_kernel(convolution, str(dtype).removeprefix("torch."), self.options)
        return LAYOUTS[self.options.convolution_order] if found is None else found.layout, found

    def __call__(self, product: TensorProduct) -> Any:
        """Multiply; return NotImplemented if the chip has no instruction for the dtypes."""
        kind = self.kind(product)
        if kind is None or product.out_dtype in NARROW_INTEGERS:
            return NotImplemented
        if cuda_tensors.stays_on_gpu(self.of_arrays, kind, product):
            return cuda_tensors.product_on_gpu(self.of_arrays, product)
        d = in_library(self.of_arrays(product.arrays()), library_of(product.a))
        return d if product.a.device.type == "cpu" else d.to(product.a.device)


def _tf32(settings: Any) -> bool:
    return str(settings.fp32_precision) == "tf32"


def _array(tensor: Any, name: str) -> Any:
    """Return a tensor as an array; numbers and None are returned as they are."""
    if not isinstance(tensor, torch.Tensor):
        return tensor
    library = library_of(tensor)
    return None if library is None else library.read(tensor.detach().cpu(), name)
