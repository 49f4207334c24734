# SPDX-License-Identifier: MIT
"""Record what atom and red leave in memory and return on this GPU, for every operation, type and space.

    python -m tools.record_ptx_atomics --out tests/data/sm90_ptx_atomics.npz

Kernels and inputs come from `tools.ptx_atomic_cases`. Results are the final memory, then the returned values. Each
difference from the emulator is printed; then the exit status is 1. Needs nvcc.
"""

from collections.abc import Sequence

from tools.ptx_atomic_cases import atomic_cases
from tools.ptx_text_recording import record


def main(arguments: Sequence[str] | None = None) -> int:
    contents = "digests and samples of what atom and red leave and return, by row; see tools/record_ptx_atomics.py"
    return record(__doc__, "record_ptx_atomics", list(atomic_cases()), contents, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
