# SPDX-License-Identifier: MIT
"""Inputs of the tests of this package: blocks of every exponent, and formats with the values in their tables."""

import ml_dtypes
import numpy as np

MX = ("mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1", "mxint8")
MX_RULES = ("floor", "ceil", "rceil", "even", "rne")
NVFP4_RULES = ("rne", "torchao", "torchao_cuda", "division", "transformer_engine")

EMAX = dict(zip(MX, (8, 15, 4, 2, 2, 0), strict=True))
LARGEST = dict(zip(MX, (448.0, 57344.0, 28.0, 7.5, 6.0, 127 / 64), strict=True))
FRACTION_BITS = dict(zip(MX, (3, 2, 2, 3, 1, 6), strict=True))

BF16 = np.arange(0x7F80, dtype=np.uint16).view(ml_dtypes.bfloat16)
"""Every finite non-negative bfloat16: every exponent of float32, including its subnormal numbers."""


def spread(seed, shape, low=-140, high=120, dtype=np.float32):
    """Return numbers of all signs and exponents; the numbers of one row are within 2**20 of each other."""
    random = np.random.RandomState(seed)
    exponent = random.randint(low, high, (*shape[:-1], 1)) + random.randint(-20, 1, shape)
    return np.ldexp(random.uniform(-2, 2, shape), exponent).astype(dtype)
