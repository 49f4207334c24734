# SPDX-License-Identifier: MIT
"""Python kernels that copy one box or window, or reduce into one, and drawn arguments of them.

They do what the PTX kernels of ``tests/ptx/tensor_maps/copy_kernels.py`` do, on the same addresses of shared memory.
"""

from typing import Any, NamedTuple

import numpy as np

import wmma_emu as we
from tests.ptx.tensor_maps.copy_kernels import DUMPED, UNCHANGED
from wmma_emu.errors import ArgumentValueError
from wmma_emu.ptx.tensor_maps.boxes import box_span

_TYPES = ("u8", "u16", "u32", "s32", "u64", "f16", "f32", "f64", "tf32")
_WORDS = {"u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "s32": np.int32, "u64": np.uint64, "f16": np.float16,
          "f32": np.float32, "f64": np.float64, "tf32": np.float32}  # fmt: skip


def load_box(t, image, out, sent, off, coordinates, offsets):
    """Copy a box ``off`` bytes into shared memory, and dump the memory."""
    memory, bar = t.shared(DUMPED // 4, np.uint32, align=1024), t.mbarrier()
    memory[:] = UNCHANGED * 0x01010101
    bar.init(1)
    t.fence_proxy_async()
    bar.arrive_expect_tx(sent)
    t.load_tensor(memory.view(np.uint8)[off:], image, coordinates, bar, offsets)
    yield bar.wait(0)
    out[:] = memory[:]


def store_box(t, image, source, off, coordinates, operation):
    """Copy or reduce a box from shared memory, which has the bytes of an array."""
    memory = t.shared(DUMPED // 4, np.uint32, align=1024)
    memory[:] = source[:]
    t.fence_proxy_async()
    box = memory.view(np.uint8)[off:]
    if operation:
        t.reduce_tensor(operation, image, coordinates, box)
    else:
        t.store_tensor(image, coordinates, box)
    t.commit_group()
    t.wait_group(0)


class DrawnMap(NamedTuple):
    """A drawn tensor map: its array, the map, the coordinates in the order of the axes, and offsets of im2col."""

    array: np.ndarray
    map: Any
    coordinates: tuple[int, ...]
    offsets: tuple[int, ...]


def drawn_map(seed: int) -> DrawnMap:
    """Draw a legal map with a small box, and coordinates inside and outside of the tensor."""
    rng = np.random.default_rng(seed)
    while True:
        try:
            found = _drawn(rng)
        except ArgumentValueError:
            continue
        if box_span(found.map.map) <= DUMPED // 2:
            return found


def _drawn(rng: np.random.Generator) -> DrawnMap:
    is_im2col = rng.random() < 0.25
    rank = int(rng.integers(3, 6) if is_im2col else rng.integers(1, 6))
    kind = str(rng.choice(_TYPES))
    size = np.dtype(_WORDS[kind]).itemsize
    unit = 16 // size
    inner = int(rng.integers(1, 9)) * unit
    shape = (*(int(x) for x in rng.integers(1, 7, rank - 1)), inner)
    array = rng.integers(0, 256, (int(np.prod(shape)) * size,), np.uint8).view(_WORDS[kind]).reshape(shape)
    options: dict[str, Any] = {
        "swizzle": str(rng.choice(("none", "32B", "64B", "128B"))), "dtype": kind,
        "fill": str(rng.choice(("zero", "nan"))),
    }  # fmt: skip
    if rng.random() < 0.3:
        options["element_strides"] = (*(int(x) for x in rng.integers(1, 4, rank - 1)), 1)
    coordinates = [int(rng.integers(-2, n + 2)) for n in shape]
    coordinates[-1] = int(rng.integers(-1, inner // unit + 1)) * unit
    if not is_im2col:
        box = (*(int(x) for x in rng.integers(1, 5, rank - 1)), int(rng.integers(1, 9)) * unit)
        return DrawnMap(array, we.ptx.tensor_map(array, box, **options), tuple(coordinates), ())
    lower, upper = (tuple(int(x) for x in rng.integers(-1, 2, rank - 2)) for _ in range(2))
    window = we.ptx.Im2col(lower, upper, int(rng.integers(1, 5)) * unit, int(rng.integers(1, 40)))
    found = we.ptx.tensor_map(array, im2col=window, **options)
    spatial = zip(shape[1:-1], lower, upper, strict=True)
    coordinates[1:-1] = [int(rng.integers(low, n + high)) for n, low, high in spatial]
    return DrawnMap(array, found, tuple(coordinates), tuple(int(x) for x in rng.integers(0, 3, rank - 2)))
