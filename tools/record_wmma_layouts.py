# SPDX-License-Identifier: MIT
"""Record where every element of every WMMA fragment lives, through the C++ API of mma.h.

    python -m tools.record_wmma_layouts --out tests/data/sm90_wmma_layouts.npz [--compare OTHER.npz]

Memory holds the number of each matrix element; `load_matrix_sync` hands them out, and each lane writes its `x`. Where
a number does not fit an element, several launches take a few of its bits each.

Keys are ``layout|use|shape|multiplicands|accumulator|memory layout``: (row, column) as [lane, element]; with
``|num_elements``: elements, and the bytes of `x`. Arrays that are equal for both memory layouts are stored once;
``same_as_row_major`` lists the keys left out.
"""

import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tools import nvrtc
from tools.cuda_driver import Device, compile_cubins, target_of, versions
from tools.recordings import add_source, compare, recording_parser

_TYPES = {
    "f16": ("half", "half"), "bf16": ("__nv_bfloat16", "__nv_bfloat16"), "f32": ("float", "float"),
    "tf32": ("wmma::precision::tf32", "float"), "f64": ("double", "double"), "s8": ("signed char", "signed char"),
    "u8": ("unsigned char", "unsigned char"), "s32": ("int", "int"),
    "s4": ("wmma::experimental::precision::s4", "void"),
    "u4": ("wmma::experimental::precision::u4", "void"), "b1": ("wmma::experimental::precision::b1", "void"),
}  # fmt: skip
"""For each format: the type of a fragment's elements, and of those in memory."""

_BITS = {
    "f16": 16,
    "bf16": 16,
    "f32": 32,
    "tf32": 32,
    "f64": 64,
    "s8": 8,
    "u8": 8,
    "s32": 32,
    "s4": 4,
    "u4": 4,
    "b1": 1,
}

_TALL = ((16, 16, 16), (32, 8, 16), (8, 32, 16))

_GROUPS: tuple[tuple[tuple[tuple[int, int, int], ...], str, tuple[str, ...], int], ...] = (
    (_TALL, "f16", ("f16", "f32"), 70),
    (_TALL, "bf16", ("f32",), 80),
    (_TALL, "s8", ("s32",), 72),
    (_TALL, "u8", ("s32",), 72),
    (((16, 16, 8),), "tf32", ("f32",), 80),
    (((8, 8, 4),), "f64", ("f64",), 80),
    (((8, 8, 32),), "s4", ("s32",), 75),
    (((8, 8, 32),), "u4", ("s32",), 75),
    (((8, 8, 128),), "b1", ("s32",), 75),
)
"""Shapes, format of the multiplicands, formats of the accumulators, and the first chip (compute capability)."""

INCLUDES = """// SPDX-License-Identifier: MIT
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;
"""

_DUMP = """
// out: num_elements, bytes of x, then eight 32-bit words of x as [word][lane], 0 where it has fewer.
template <class F, class T, class... Layout>
__device__ void dump(const T* in, unsigned* out, unsigned ldm, Layout... layout)
{
    F fragment;
    wmma::load_matrix_sync(fragment, in, ldm, layout...);
    static_assert(sizeof(fragment.x) % 4 == 0 && sizeof(fragment.x) <= 32, "x is one to eight words");
    const unsigned* words = reinterpret_cast<const unsigned*>(&fragment.x[0]);
    for (unsigned i = 0; i < 8; ++i)
        out[2 + 32 * i + threadIdx.x] = i < sizeof(fragment.x) / 4 ? words[i] : 0;
    if (threadIdx.x == 0) {
        out[0] = fragment.num_elements;
        out[1] = sizeof(fragment.x);
    }
}
"""


class Fragment(NamedTuple):
    """One fragment type and the order of its matrix in memory."""

    use: str
    m: int
    n: int
    k: int
    multiplicands: str
    accumulator: str
    memory_layout: str

    @property
    def key(self) -> str:
        shape = f"m{self.m}n{self.n}k{self.k}"
        return "|".join(("layout", self.use, shape, self.multiplicands, self.accumulator, self.memory_layout))

    @property
    def kernel(self) -> str:
        return re.sub(r"\W+", "_", self.key)

    @property
    def element(self) -> str:
        """Format of the elements."""
        return self.accumulator or self.multiplicands

    @property
    def shape(self) -> tuple[int, int]:
        return {"matrix_a": (self.m, self.k), "matrix_b": (self.k, self.n)}.get(self.use, (self.m, self.n))

    @property
    def is_row_major(self) -> bool:
        return self.memory_layout.endswith("row_major")

    @property
    def ldm(self) -> int:
        """Elements between rows (or columns): at least 16 bytes of them."""
        return max(self.shape[1] if self.is_row_major else self.shape[0], 128 // _BITS[self.element])

    @property
    def memory_type(self) -> str:
        """Type of the elements in memory, in C++."""
        return _TYPES[self.element][1]

    @property
    def declared(self) -> str:
        """The fragment's type in C++."""
        fixed = "" if self.use == "accumulator" else f", wmma::{self.memory_layout}"
        return f"wmma::fragment<wmma::{self.use}, {self.m}, {self.n}, {self.k}, {_TYPES[self.element][0]}{fixed}>"

    @property
    def source(self) -> str:
        """The kernel."""
        given = f", wmma::{self.memory_layout}" if self.use == "accumulator" else ""
        return f"""
extern "C" __global__ void {self.kernel}(const {self.memory_type}* in, unsigned* out, unsigned ldm)
{{
    dump<{self.declared}>(in, out, ldm{given});
}}
"""


def fragments(capability: int) -> list[Fragment]:
    """Return every fragment that mma.h has on a chip."""
    found = []
    for shapes, multiplicands, accumulators, since in _GROUPS:
        if capability < since:
            continue
        for m, n, k in shapes:
            small = _BITS[multiplicands] < 8
            for use, layouts in (("matrix_a", ("row_major", "col_major")), ("matrix_b", ("row_major", "col_major"))):
                legal = layouts if not small else layouts[:1] if use == "matrix_a" else layouts[1:]
                found += [Fragment(use, m, n, k, multiplicands, "", x) for x in legal]
            for accumulator in accumulators:
                found += [
                    Fragment("accumulator", m, n, k, multiplicands, accumulator, x)
                    for x in ("mem_row_major", "mem_col_major")
                ]
    return found


def memory_image(fragment: Fragment, shift: int) -> NDArray[Any]:
    """Return the bits from ``shift`` up of the elements' numbers, packed in the order of the matrix in memory."""
    bits, (rows, cols) = _BITS[fragment.element], fragment.shape
    number = np.arange(rows * cols, dtype=np.uint64).reshape(rows, cols)
    lines = number if fragment.is_row_major else number.T
    image = np.zeros((lines.shape[0], fragment.ldm), np.uint64)
    image[:, : lines.shape[1]] = lines
    image = (image >> np.uint64(shift)) & np.uint64((1 << bits) - 1)
    if bits >= 8:
        return image.astype(f"u{bits // 8}")
    per_byte = 8 // bits
    parts = image.reshape(image.shape[0], -1, per_byte) << (np.arange(per_byte, dtype=np.uint64) * np.uint64(bits))
    return parts.sum(axis=-1).astype(np.uint8)


def probe(fragment: Fragment, run: Callable[..., NDArray[Any]]) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Return (row, column) as [lane, element], and (num_elements, bytes of x)."""
    bits, (rows, cols) = _BITS[fragment.element], fragment.shape
    number: NDArray[np.int64] | int = 0
    for shift in range(0, (rows * cols - 1).bit_length(), bits):
        out = run(fragment.kernel, (memory_image(fragment, shift),), (2 + 8 * 32,), "u4", fragment.ldm)
        count, size = int(out[0]), int(out[1])
        words = out[2 : 2 + size // 4 * 32].reshape(-1, 32)
        stream = np.ascontiguousarray(words.T).view(np.uint8)
        if bits >= 8:
            elements = stream.view(f"u{bits // 8}").astype(np.int64)
        else:
            elements = np.unpackbits(stream, axis=1, bitorder="little").reshape(32, -1, bits).astype(np.int64)
            elements = (elements << np.arange(bits)).sum(axis=-1)
        number = number | (elements[:, :count] << shift)
    coords = np.stack(np.divmod(number, cols), axis=-1)
    if (coords[..., 0] >= rows).any():
        raise ValueError(f"{fragment.key}: an element holds a number that no element of the matrix has")
    return coords.astype(np.int8), np.array([count, size], np.int8)


def save(path: Path, probed: dict[str, tuple[NDArray[np.int8], NDArray[np.int8]]]) -> None:
    """Write the tables, equal ones for both memory layouts once."""
    arrays, same = {}, []
    for key, pair in probed.items():
        twin = probed.get(key.replace("col_major", "row_major"))
        for name, array, other in zip((key, f"{key}|num_elements"), pair, twin or pair, strict=True):
            if "col_major" in key and twin is not None and np.array_equal(array, other):
                same.append(name)
            else:
                arrays[name] = array
    np.savez_compressed(path, same_as_row_major=np.array(same), **arrays)


def load(path: Path) -> dict[str, NDArray[Any]]:
    """Read every table, those left out too."""
    with np.load(path) as file:
        arrays = {key: file[key] for key in file.files}
    for key in arrays.pop("same_as_row_major", np.array([], np.str_)).tolist():
        arrays[key] = arrays[key.replace("col_major", "row_major")]
    return arrays


def main(arguments: Sequence[str] | None = None) -> int:
    parser = recording_parser(__doc__)
    nvrtc.add_option(parser)
    given = parser.parse_args(arguments)
    compiling, asking = nvrtc.chosen(given.compiler, compile_cubins, versions)
    device = Device()
    asked = fragments(device.capability)
    with tempfile.TemporaryDirectory() as folder:
        files = {f"part{i}.cu": INCLUDES + _DUMP + "".join(x.source for x in asked[i::8]) for i in range(8)}
        for cubin in compiling(files, Path(folder), target_of(device.capability)):
            device.load(cubin)
    probed = {x.key: probe(x, device.run) for x in asked}
    given.out.parent.mkdir(parents=True, exist_ok=True)
    save(given.out, probed)
    add_source(
        given.out, gpu=device.name, **asking(), generator="tools/record_wmma_layouts.py",
        contents="layout|use|shape|multiplicands|accumulator|memory layout -> (row, col) of element i of lane l as "
                 "[l, i]; ...|num_elements: elements a lane, bytes of x; same_as_row_major: keys left out",
    )  # fmt: skip
    device.close()
    print(f"{given.out}: {len(probed)} fragments, {given.out.stat().st_size} bytes")
    return compare(load(given.out), given.compare, load)


if __name__ == "__main__":
    sys.exit(main())
