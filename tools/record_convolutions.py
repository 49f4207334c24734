# SPDX-License-Identifier: MIT
"""Record what cuDNN returns for the convolutions of `wmma_emu.models`: a checksum of every channel of the results.

    python -m tools.record_convolutions record --out tests/data/sm90_cudnn_convolutions.npz     # on the GPU
    python -m tools.record_convolutions check tests/data/sm90_cudnn_convolutions.npz            # on the host

The inputs depend on the seed alone. `check` computes the same convolutions with ``we.torch.emulate("h100",
like="cudnn")``, and ends with status 1 if a channel has other bits.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import wmma_emu as we
from tools.cublas_cases import drawn
from tools.cuda_driver import versions
from tools.record_cublas import row_checksums
from tools.recordings import add_source, load_arrays, save_arrays
from wmma_emu.models.convolution_kernels import RECORDED, RECORDED_DTYPES, Convolution
from wmma_emu.models.kinds import FORMATS

VERSION = 1


def key_of(case: Convolution, dtype: str) -> str:
    """Return the key of a convolution in the file.

    Examples
    --------
    >>> key_of(Convolution("weight", (64, 56, 56), (128, 3, 3), (2, 2), (1, 1)), "bfloat16")
    'bf16|weight|64x56x56|128x3x3|2|1'
    """
    sizes = ("x".join(map(str, x)) for x in (case.image, case.filters))
    return "|".join([FORMATS[dtype], case.part, *sizes, str(case.stride[0]), str(case.padding[0])])


def cases() -> Iterator[tuple[Convolution, str]]:
    """Yield the convolutions of the table in both dtypes."""
    for dtype in sorted(RECORDED_DTYPES):
        yield from ((case, dtype) for case in RECORDED)


def result_of(case: Convolution, dtype: str, seed: int, device: str) -> NDArray[np.uint16]:
    """Compute a convolution or a gradient with PyTorch; the patterns of the result, one row for each channel."""
    channels, *size = case.image
    out, *filter_size = case.filters
    lengths = zip(size, filter_size, case.stride, case.padding, strict=True)
    outputs = [(n + 2 * p - r) // s + 1 for n, r, s, p in lengths]
    shapes = {"x": (1, channels, *size), "w": (out, channels, *filter_size), "g": (1, out, *outputs)}
    key = key_of(case._replace(part=""), dtype)
    fmt = FORMATS[dtype]
    x, w, g = (
        torch.from_numpy(drawn(f"wmma_emu convolution {VERSION}|{seed}|{key}|{name}", shape, fmt).view(np.int16))
        .to(device)
        .view(getattr(torch, dtype))
        for name, shape in shapes.items()
    )
    settings = (list(case.stride), list(case.padding), list(case.dilation), False, [0, 0], case.groups)
    if case.part == "forward":
        y = torch.ops.aten.convolution(x, w, None, *settings)[0]
    else:
        mask = [case.part == "input", case.part == "weight", False]
        found = torch.ops.aten.convolution_backward(g, x, w, None, *settings, mask)
        y = found[0][0] if case.part == "input" else found[1]
    return y.contiguous().view(torch.int16).cpu().numpy().view(np.uint16).reshape(len(y), -1)


def record(out: Path, seed: int) -> None:
    """Record every case on the GPU."""
    arrays: dict[str, NDArray[Any]] = {}
    for case, dtype in cases():
        bits = result_of(case, dtype, seed, "cuda")
        if not np.array_equal(bits, result_of(case, dtype, seed, "cuda")):
            print(f"{key_of(case, dtype)}: two executions differ; left out")
            continue
        arrays[key_of(case, dtype)] = row_checksums(bits)
    gpu = {
        "gpu": torch.cuda.get_device_name(), **versions(), "torch": torch.__version__,
        "cudnn": str(torch.backends.cudnn.version()),
    }  # fmt: skip
    out.parent.mkdir(parents=True, exist_ok=True)
    save_arrays(out, arrays, version=VERSION, seed=seed, **gpu)
    add_source(
        out, **gpu, contents="format|part|image|filters|stride|padding: CRC-32 of each channel of torch's result",
        generator=f"tools/record_convolutions.py, inputs version {VERSION}", seed=seed,
    )  # fmt: skip
    print(f"{len(arrays)} convolutions in {out}")


def check(file: Path) -> Iterator[tuple[str, int, int, str]]:
    """Yield for each recorded case its key, the channels, those with other bits, and the evidence in the log."""
    arrays, metadata = load_arrays(file)
    for case, dtype in cases():
        key = key_of(case, dtype)
        if key not in arrays:
            continue
        with we.torch.emulate("h100", like="cudnn") as emulation:
            bits = result_of(case, dtype, metadata["seed"], "cpu")
        differ = int(np.count_nonzero(row_checksums(bits) != arrays[key]))
        yield key, len(bits), differ, emulation.log[0].order


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    recorder = verbs.add_parser("record")
    recorder.add_argument("--out", type=Path, required=True)
    recorder.add_argument("--seed", type=int, default=1)
    verbs.add_parser("check").add_argument("file", type=Path)
    given = parser.parse_args(arguments)
    if given.verb == "record":
        record(given.out, given.seed)
        return 0
    started, wrong = time.monotonic(), 0
    for key, channels, differ, evidence in check(given.file):
        wrong += differ > 0
        print(f"{key}: {differ} of {channels} channels differ, order {evidence}")
    print(f"{wrong} convolutions differ, {time.monotonic() - started:.0f} s")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
