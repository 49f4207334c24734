# SPDX-License-Identifier: MIT
"""Compare the 128 bytes that kernels make with ``tensormap.replace`` with those of a GPU.

    python -m tools.record_replaced_maps record 200 OUT.npz    # on a machine with a GPU and the package
    python -m tools.record_replaced_maps compare OUT.npz       # anywhere
    python -m tools.record_replaced_maps digest OUT.npz ROWS.txt

Each kernel replaces fields in a random order, in shared or global memory, and each of its blocks begins with other
random bytes and takes other values, in and out of the field's range; some kernels copy the map with
``tensormap.cp_fenceproxy``.
"""

import hashlib
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tools.cuda_driver import Device, driver_version
from tools.drawn_tensor_maps import Draw
from wmma_emu.ptx import Module
from wmma_emu.ptx.tensor_maps.encoding import MAP_BYTES

BLOCKS = 64
"""The maps of a kernel."""

_STEPS = 16
_SHOWN = 20

_VALUES = {"global_address": 1 << 64, "rank": 5}
_INDEXED = {
    "box_dim": (5, 256), "global_dim": (5, 1 << 32), "element_stride": (5, 8), "global_stride": (4, 1 << 40),
}  # fmt: skip
"""The fields whose values are registers: the number of indices, and the values that PTX allows."""

_CONSTANTS = {"elemtype": 13, "interleave_layout": 3, "swizzle_mode": 4, "fill_mode": 2}
"""The fields whose values are constants, and the number of values of sm_90."""

_WIDE = ("global_address", "global_stride")


class ReplacedMaps(NamedTuple):
    """A kernel, the maps with which its blocks begin, and the values that they take."""

    text: str
    maps: NDArray[np.uint8]
    values: NDArray[np.uint64]


def drawn_maps(seed: int) -> ReplacedMaps:
    """Return a kernel with random fields, and random maps and values.

    Examples
    --------
    >>> drawn_maps(1).text == drawn_maps(1).text, drawn_maps(1).values.shape
    (True, (64, 16))
    """
    draw = Draw(seed)
    space, lines, values = draw.of(tuple(_ENDS)), list[str](), np.zeros((BLOCKS, _STEPS), np.uint64)
    for i in range(_STEPS):
        field = draw.of((*_VALUES, *_INDEXED, *_INDEXED, *_CONSTANTS))
        count, limit = _INDEXED.get(field, (0, _VALUES.get(field, 0)))
        index = f"{draw.below(count)}, " if count else ""
        wide = field in _WIDE
        value = f"%v{i}" if wide else f"%n{i}"
        if field in _CONSTANTS:
            value = str(draw.below(_CONSTANTS[field]))
        values[:, i] = [_value(draw, limit, wide) for _ in range(BLOCKS)]
        where = "global" if space == "global" else "shared::cta"
        place = "%map" if space == "global" else "s"
        lines += [
            f"ld.global.u64 %v{i}, [%at+{8 * i}]; cvt.u32.u64 %n{i}, %v{i};",
            f"tensormap.replace.tile.{field}.{where}.b1024.b{64 if wide else 32} [{place}], {index}{value};",
        ]
    first, last = _ENDS[space]
    maps = [draw.below(256) for _ in range(BLOCKS * MAP_BYTES)]
    text = _TEXT.format(name=name_of(seed), count=_STEPS, first=first, steps="\n".join(lines), last=last)
    return ReplacedMaps(text, np.array(maps, np.uint8).reshape(BLOCKS, MAP_BYTES), values)


def name_of(seed: int) -> str:
    """Return the name of a kernel."""
    return f"replaced_{seed}"


_ENDS = {
    "shared::cta": ("st.shared.u32 [%own], %w;", "ld.shared.u32 %w, [%own]; st.global.u32 [%word], %w;"),
    "global": ("st.global.u32 [%word], %w;", ""),
    "copied": (
        "st.shared.u32 [%own], %w;",
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%map], [s], 128;",
    ),
}
"""The places at which a kernel replaces fields: in shared memory or in global memory; or in shared memory, and the map
is copied. The instructions before, and after it."""

_TEXT = """.version 8.3
.target sm_90a
.address_size 64
.shared .align 128 .b8 s[128];
.visible .entry {name}(.param .u64 given, .param .u64 values, .param .u64 out) {{
.reg .b64 %map, %at, %word, %v<{count}>; .reg .b32 %t, %b, %w, %own, %n<{count}>; .reg .pred %p;
ld.param.u64 %word, [given]; ld.param.u64 %at, [values]; ld.param.u64 %map, [out];
mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; setp.ne.u32 %p, %t, 0; mov.u32 %own, s; mad.lo.u32 %own, %t, 4, %own;
mad.wide.u32 %word, %b, 128, %word; mad.wide.u32 %word, %t, 4, %word; ld.global.u32 %w, [%word];
mad.wide.u32 %map, %b, 128, %map; mad.wide.u32 %word, %t, 4, %map;
mul.lo.u32 %b, %b, {count}; mad.wide.u32 %at, %b, 8, %at;
{first}
bar.warp.sync 0xffffffff;
@%p bra REST;
{steps}
REST:
bar.warp.sync 0xffffffff;
{last}
ret;
}}
"""


def _value(draw: Draw, limit: int, is_wide: bool) -> int:
    """Return a value in the range of the field, or any."""
    if not limit or draw.chance(0.5):
        return draw.below(1 << 32) | (draw.below(1 << 32) << 32 if is_wide else 0)
    return draw.below(min(limit, 1 << 48)) + (limit == 1 << 32)


def launched(device: Device, seed: int) -> NDArray[np.uint8]:
    """Launch a kernel on the GPU, and return its maps."""
    given = drawn_maps(seed)
    device.load(given.text.encode() + b"\0")
    return device.run(name_of(seed), (given.maps, given.values), given.maps.shape, np.uint8, blocks=BLOCKS)


def emulated(seed: int) -> NDArray[np.uint8]:
    """Launch a kernel here, and return its maps."""
    given, out = drawn_maps(seed), np.zeros((BLOCKS, MAP_BYTES), np.uint8)
    Module(given.text, "sm_90a").kernel[BLOCKS, 32](given.maps, given.values, out, findings="raise")
    return out


def record(count: int, out: Path) -> None:
    """Record the maps of kernels, and compare them at once."""
    device = Device()
    maps = np.stack([launched(device, seed) for seed in range(count)])
    np.savez_compressed(out, maps=maps, gpu=device.name, driver=driver_version())
    compare(out)


def compare(recorded: Path) -> int:
    """Print each kernel whose maps differ, and return how many do."""
    with np.load(recorded) as file:
        maps, gpu, driver = file["maps"], str(file["gpu"]), str(file["driver"])
    wrong = 0
    for seed, theirs in enumerate(maps):
        ours = emulated(seed)
        if np.array_equal(ours, theirs):
            continue
        wrong += 1
        if wrong <= _SHOWN:
            block = int(np.argmax((ours != theirs).any(axis=1)))
            shown = (x[block].tobytes().hex(" ", 4) for x in (ours, theirs))
            print(f"{seed}, block {block}:", *shown, drawn_maps(seed).text, sep="\n")
    print(f"{len(maps):,} kernels, {len(maps) * BLOCKS:,} maps; {wrong} kernels differ; {gpu}, driver {driver}")
    return wrong


def digest_of(maps: NDArray[np.uint8]) -> str:
    """Return the hash of a kernel's maps."""
    return hashlib.sha256(maps.tobytes()).hexdigest()[:16]


def main() -> int:
    match sys.argv[1:]:
        case ["record", count, out]:
            record(int(count), Path(out))
        case ["compare", recorded]:
            return min(compare(Path(recorded)), 1)
        case ["digest", recorded, rows]:
            with np.load(recorded) as file:
                Path(rows).write_text("\n".join(map(digest_of, file["maps"])) + "\n")
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
