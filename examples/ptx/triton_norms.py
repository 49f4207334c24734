# SPDX-License-Identifier: MIT
"""Layer norm and RMS norm of rows in Triton: sums are divided by the length, and epsilon is added to the quotient."""

import triton
import triton.language as tl


@triton.jit
def layer_norm(
    x_ptr, gain_ptr, bias_ptr, out_ptr, mean_ptr, scale_ptr, columns, epsilon, BLOCK: tl.constexpr
):  # fmt: skip
    """One row of ``columns`` elements a program, in one pass over BLOCK of them."""
    row = tl.program_id(0)
    places = tl.arange(0, BLOCK)
    inside = places < columns
    x = tl.load(x_ptr + row * columns + places, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / columns
    centred = tl.where(inside, x - mean, 0.0)
    variance = tl.sum(centred * centred, axis=0) / columns
    scale = 1 / tl.sqrt(variance + epsilon)
    gain = tl.load(gain_ptr + places, mask=inside).to(tl.float32)
    bias = tl.load(bias_ptr + places, mask=inside).to(tl.float32)
    out = centred * scale * gain + bias
    tl.store(out_ptr + row * columns + places, out.to(out_ptr.dtype.element_ty), mask=inside)
    tl.store(mean_ptr + row, mean)
    tl.store(scale_ptr + row, scale)


@triton.jit
def rms_norm(x_ptr, gain_ptr, out_ptr, scale_ptr, columns, epsilon, ONE_MORE: tl.constexpr, BLOCK: tl.constexpr):
    """One row a program; the gain is one more than stored with ONE_MORE."""
    row = tl.program_id(0)
    places = tl.arange(0, BLOCK)
    inside = places < columns
    x = tl.load(x_ptr + row * columns + places, mask=inside, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / columns + epsilon)
    gain = tl.load(gain_ptr + places, mask=inside, other=0.0).to(tl.float32)
    if ONE_MORE:
        gain += 1.0
    out = x * scale * gain
    tl.store(out_ptr + row * columns + places, out.to(out_ptr.dtype.element_ty), mask=inside)
    tl.store(scale_ptr + row, scale)


@triton.jit
def gated_group_norm(x_ptr, gate_ptr, out_ptr, columns, epsilon, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    """Groups of GROUP elements of BLOCK rows: (x - mean) / (deviation + epsilon) + mean / GROUP, times silu(gate)."""
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    places = rows[:, None] * columns + tl.program_id(1) * GROUP + tl.arange(0, GROUP)[None, :]
    x = tl.load(x_ptr + places).to(tl.float32)
    gate = tl.load(gate_ptr + places).to(tl.float32)
    mean = tl.sum(x, axis=1) / GROUP
    centred = x - mean[:, None]
    deviation = tl.sqrt(tl.sum(centred * centred, axis=1) / GROUP + epsilon)
    out = centred / (deviation[:, None] + epsilon) + mean[:, None] / GROUP
    out = out * (gate * tl.sigmoid(gate)) - x / GROUP
    tl.store(out_ptr + places, out.to(out_ptr.dtype.element_ty))
