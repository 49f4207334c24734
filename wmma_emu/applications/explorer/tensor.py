# SPDX-License-Identifier: MIT
"""`tcgen05.mma` for the page: the variants, and the positions of their operands in tensor memory, as a few numbers.

All sizes n of an instruction have the same numbers, so an instruction is listed once for all of its n.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

from wmma_emu.applications.explorer.numbered import Numbered
from wmma_emu.applications.explorer.weights import CodedLayout, coded_layout
from wmma_emu.instructions import ARCHS, Instruction
from wmma_emu.instructions.tensor import TENSOR_KINDS, Sizes, TensorKind, tensor_instruction, tensor_sizes
from wmma_emu.layouts import granularity_of
from wmma_emu.tcgen05.data_layouts import DATA_PATHS, a_placement, d_placement, data_path, scale_placement
from wmma_emu.tcgen05.shapes import SHAPES, tcgen05_layout

_OMITTED_SHAPES = ("16x32bx2",)
"""Shapes that are omitted: two accesses, whose distance is another operand."""


def coded_paths() -> list[list[Any]]:
    """Return every data path: letter, rows of D of a CTA, CTAs, parts of the columns, whether half of the lanes.

    Examples
    --------
    >>> coded_paths()[1]
    ['B', 64, 2, 2, 0]
    """
    return [[x.layout, x.rows, x.cta_group, x.parts, int(x.half)] for x in DATA_PATHS]


def coded_loads() -> list[tuple[str, CodedLayout, str, str]]:
    """Return the shapes of `tcgen05.ld` at their largest repeat: name, layout of the words, source and status.

    Examples
    --------
    >>> [(name, coded.rows, coded.cols) for name, coded, *_ in coded_loads()]
    [('32x32b', 32, 128), ('16x64b', 16, 256), ('16x128b', 16, 256), ('16x256b', 16, 256)]
    """
    found = [(x.name, tcgen05_layout(x.name, x.most)) for x in SHAPES.values() if x.name not in _OMITTED_SHAPES]
    return [(name, coded_layout(layout), layout.source, layout.status) for name, layout in found]


def tensor_rows() -> Iterator[tuple[Instruction, tuple[int, ...], tuple[str, ...]]]:
    """Yield all `tcgen05.mma`: one for all of its n and formats of A and B, its n, its formats of A and B."""
    ways = [(ws, group, sparse) for ws in (False, True) for group in (1, 2) for sparse in (False, True)]
    for kind, (ws, group, sparse) in product(TENSOR_KINDS.values(), ways):
        seen: set[tuple[int, int]] = set()
        for sizes in tensor_sizes(kind.name, cta_group=group, ws=ws, sparse=sparse):
            k = sizes.k or kind.k * (2 if sparse else 1)
            for m in (x for x in sizes.m if (x, k) not in seen):
                seen.add((m, k))
                yield from _of_size(kind, sizes, m, k, ws=ws, cta_group=group, sparse=sparse)


def _of_size(
    kind: TensorKind, sizes: Sizes, m: int, k: int, **ways: Any
) -> Iterator[tuple[Instruction, tuple[int, ...], tuple[str, ...]]]:
    scales = [(name, x * 3 // 2 if k == 96 else x) for name, vectors in kind.scales for x in vectors] or [("", 0)]
    for (d, formats), (scale, vector) in product(kind.types, scales):
        first = tensor_instruction(
            kind.name, m, sizes.n[0], d, formats[0], formats[0], k=k, scale=scale, scale_vec=vector, **ways
        )
        yield first, sizes.n, formats


def coded_tensor(sources: Numbered[tuple[str, str]]) -> list[list[Any]]:
    """Return every `tcgen05.mma`, with the numbers of the sources of its layouts; a missing source is added.

    Each entry has the part before the shape, m, k, every n, the format of D, and the formats of A and B. A format of A
    or B has the bits of an element's container, the element's lowest bit in it, and the number of the source of A. Then
    follow the format of the scales, the number of scales of a row, and the granularity of a sparse A. The last items
    are the chips (a bit each), the number of its data path, and the numbers of the sources of D, and of the scales of A
    and of B (-1 if unknown or missing).

    Examples
    --------
    >>> row = coded_tensor(Numbered())[0]
    >>> row[:3], row[3][-2:], row[4:6]
    (['tcgen05.mma.cta_group::1.kind::f16', 64, 16], (248, 256), ['f32', (('f16', 16, 0, 1), ('bf16', 16, 0, 1))])
    """
    rows = []
    for entry, ns, formats in tensor_rows():
        d = d_placement(entry)
        numbers = [sources((d.source, d.status))]
        held = tuple(_held(entry, name, sources) for name in formats)
        if entry.is_block_scaled and entry.k != 96:  # for k = 96, only figures show the positions of the scales
            numbers += [sources((x.source, x.status)) for x in (scale_placement(entry, y) for y in ("a", "b"))]
        chips = sum(1 << bit for bit, arch in enumerate(ARCHS) if arch in entry.archs)
        rows.append([
            entry.mnemonic.split(f".m{entry.m}n")[0], entry.m, entry.k, ns, entry.d, held, entry.scale, entry.scale_vec,
            granularity_of(entry).name if entry.is_sparse else "", chips, DATA_PATHS.index(data_path(entry)),
            [*numbers, -1, -1][:3],
        ])  # fmt: skip
    return rows


def _held(entry: Instruction, name: str, sources: Numbered[tuple[str, str]]) -> tuple[str, int, int, int]:
    """Return the container of an element of A in a format.

    Bits, the element's lowest bit, and the source of its position.
    """
    same = entry if name == entry.a else tensor_instruction(
        entry.kind, entry.m, entry.n, entry.d, name, name, k=entry.k,
        scale=entry.scale, scale_vec=entry.scale_vec, sparse=entry.is_sparse,
        ws=entry.family.startswith("tcgen05.mma.ws"), cta_group=data_path(entry).cta_group,
    )  # fmt: skip
    place = a_placement(same)
    return name, same.container("a").bits, same.container("a").shift, sources((place.source, place.status))
