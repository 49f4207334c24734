# SPDX-License-Identifier: MIT
"""Write the matrices of this directory, byte for byte: ``python examples/make_matrices.py [DIRECTORY]``."""

import sys
from pathlib import Path

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

SEED = 20
M, K, N = 64, 48, 40


def matrices() -> dict[str, NDArray[np.generic]]:
    """Two pairs whose elements spread over twelve powers of two, so that a tensor core has bits to cut.

    The generator's own 64-bit numbers are used, and every step is exact: the same bytes everywhere.
    """
    generator = np.random.PCG64(SEED)
    files: dict[str, NDArray[np.generic]] = {}
    for name, dtype, largest in (("f16", np.float16, 2047), ("bf16", ml_dtypes.bfloat16, 255)):
        for operand, shape in (("a", (M, K)), ("b", (K, N))):
            numbers = generator.random_raw(shape[0] * shape[1]).reshape(shape)
            significands = (numbers >> 32).astype(np.int64) % (2 * largest + 1) - largest
            exponents = (numbers & 0xFFFF_FFFF).astype(np.int64) % 13 - 6
            matrix = np.ldexp(significands / (largest + 1), exponents).astype(dtype)
            files[f"{operand}_{name}"] = matrix.view(np.uint16) if name == "bf16" else matrix
    return files


def main() -> None:
    """Write the files."""
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for name, matrix in matrices().items():
        np.save(directory / f"{name}.npy", matrix)


if __name__ == "__main__":
    main()
