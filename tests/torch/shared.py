# SPDX-License-Identifier: MIT
"""What the tests of the emulation of PyTorch's products share."""

import torch


def numbers(*shape, dtype=torch.bfloat16, seed=0, **options):
    """Normally distributed numbers."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator).to(dtype).requires_grad_(options.get("grad", False))


def same(x, y):
    """Assert that two tensors have equal bits, shapes and dtypes."""
    assert x.dtype == y.dtype and x.shape == y.shape
    raw = [t.detach().flatten().clone().view(torch.uint8) for t in (x, y) if t.numel()]
    assert not raw or torch.equal(*raw)
