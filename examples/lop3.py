# SPDX-License-Identifier: MIT
"""out = (a & b) | c in one instruction: ``python examples/lop3.py``.

The kernel of lop3.cu, line by line. The immediate of lop3 is the value of the expression for a = 0xF0, b = 0xCC,
c = 0xAA: its truth table.
"""

import numpy as np
from numpy.typing import NDArray

import wmma_emu as we


@we.kernel
def lop3(t, a, b, c, out, count):
    i = t.blockIdx.x * t.blockDim.x + t.threadIdx.x
    if i >= count:
        return
    table = t.lop3_lut(lambda a, b, c: (a & b) | c)
    out[i] = t.lop3(a[i], b[i], c[i], table)


def combine(a: NDArray[np.uint32], b: NDArray[np.uint32], c: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Launch the kernel for uint32 arrays, a multiple of 32 long: whole warps are past the end, or none of one."""
    out = np.empty_like(a)
    lop3[len(a) // 256 + 1, 256](a, b, c, out, len(a))
    return out


def main() -> None:
    count = 992
    i = np.arange(count, dtype=np.uint32)
    a, b, c = i * np.uint32(2654435761), i * np.uint32(2246822519), i * np.uint32(3266489917)
    wrong = np.count_nonzero(combine(a, b, c) != a & b | c)
    print(f"lop3: {count} words, immLut 0x{(0xF0 & 0xCC) | 0xAA:02X}, {wrong} differ")


if __name__ == "__main__":
    main()
