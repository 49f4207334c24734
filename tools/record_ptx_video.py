# SPDX-License-Identifier: MIT
"""Record what the video instructions of PTX give on this GPU, in every spelling without selectors.

    python -m tools.record_ptx_video --out tests/data/sm90_ptx_video.npz

Kernels and inputs come from `tools.ptx_video_cases`. What differs from the emulator is printed, where it takes the
spelling; then the exit status is 1. Needs nvcc.
"""

from collections.abc import Sequence

from tools.ptx_text_recording import record
from tools.ptx_video_cases import emulated_rows, video_cases


def main(arguments: Sequence[str] | None = None) -> int:
    contents = "digests and samples of the results of video instructions, by row; see tools/record_ptx_video.py"
    return record(__doc__, "record_ptx_video", list(video_cases()), contents, arguments, emulated_rows)


if __name__ == "__main__":
    raise SystemExit(main())
