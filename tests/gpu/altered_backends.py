# SPDX-License-Identifier: MIT
"""Backends for campaigns without a GPU: with planted errors, with a fault in one place, or with none."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wmma_emu.formats import decode, round_pack, unpack
from wmma_emu.gpu.campaign import EmulatedBackend
from wmma_emu.scalar import convert
from wmma_emu.testing.families import Operands


@dataclass(frozen=True)
class AnyModel(EmulatedBackend):
    """Aligned sums of any model: any rounding; and, if wanted, with zero products that take part in the alignment.

    Product by product in float64, which holds the terms exactly; one step after another, each with c.
    """

    zeros_align: bool = False

    def product(self, ins):
        return replace(ins.product, model=replace(ins.model, **self.alter))

    def pairs(self, row, product, operands):
        (p, m, _), (q, _, n) = operands.a.shape, operands.b.shape
        b, c = (x.transpose(1, 0, 2).reshape(x.shape[1], q * n) for x in (operands.b, operands.c))
        d = self.tiles(product, Operands(operands.a.reshape(p * m, -1), b, np.tile(c, (p, 1)), None))
        return d.reshape(p, m, q, n).transpose(0, 2, 1, 3)

    def tiles(self, product, operands):
        model, (fa, fb) = product.model, product.operand_formats
        out, accumulator = model.output_format, model.accumulator_format
        assert (model.c_joins, model.partial_sums, operands.indices) == ("first_step", "chained", None)
        a, b = convert(operands.a, product.a, fa), convert(operands.b, product.b, fb)
        running = convert(operands.c, product.c, accumulator)
        with np.errstate(all="ignore"):
            for step in product.steps:
                pairs = [(a[..., :, k, None], b[..., k, None, :]) for k in step]
                exponent = np.maximum(_exponents(running, accumulator, False), model.min_exponent)
                for x, y in pairs:
                    e = _exponents(x, fa, self.zeros_align) + _exponents(y, fb, self.zeros_align)
                    exponent = np.maximum(exponent, e)
                scale = model.fraction_bits - exponent
                total = np.trunc(np.ldexp(decode(running, accumulator), scale))
                for x, y in pairs:
                    total = total + np.trunc(np.ldexp(decode(x, fa) * decode(y, fb), scale))
                finite = np.isfinite(total)
                whole = np.where(finite, total, 0).astype(np.int64)
                bits = round_pack(whole < 0, np.abs(whole), -scale, out, model.rounding, "infinity")
                bits = np.where(bits == out.sign_mask, 0, bits)
                infinity = np.where(total < 0, out.infinity | out.sign_mask, out.infinity)
                special = np.where(np.isnan(total), out.canonical_nan, infinity)
                running = np.where(finite, bits, special).astype(out.storage)
        return convert(running, accumulator, product.d)


def _exponents(bits, fmt, of_zeros):
    """Exponents of numbers; those of zeros far below all others, or if wanted the smallest that the format has."""
    u = unpack(bits, fmt)
    exponent = np.where(u.significand != 0, u.exponent, fmt.emin if of_zeros else -(1 << 12))
    return exponent.astype(np.int64)


@dataclass(frozen=True)
class OneLaneFails(EmulatedBackend):
    """Hardware with a fault: whatever is computed, lane 5 has a bit of its first register wrong."""

    def execute(self, ins, a, b, c, **keywords: Any):
        d = super().execute(ins, a, b, c, **keywords)
        d[0, ..., 5] ^= 1
        return d


@dataclass(frozen=True)
class Dies(EmulatedBackend):
    """A process that is killed, as for want of memory."""

    def execute(self, ins, a, b, c, **keywords: Any):
        import os

        os._exit(9)


@dataclass(frozen=True)
class Refuses(EmulatedBackend):
    """A driver that says no in the middle of a campaign."""

    def execute(self, ins, a, b, c, **keywords: Any):
        from wmma_emu.errors import BackendUnavailableError

        raise BackendUnavailableError("the GPU has gone")
