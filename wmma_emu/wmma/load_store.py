# SPDX-License-Identifier: MIT
"""`load_matrix_sync` and `store_matrix_sync`: move a tile between memory and the lanes' registers."""

from wmma_emu.errors import ArgumentError, FragmentMismatchError, shorten
from wmma_emu.layouts.wmma_table import MemoryLayout
from wmma_emu.wmma.fragments import Fragment, require_fragment
from wmma_emu.wmma.names import FragmentLayout, FragmentUse, MemoryOrder
from wmma_emu.wmma.tiles import Tile


def load_matrix_sync(frag: Fragment, mem: object, ldm: int | None = None, layout: MemoryOrder | None = None) -> None:
    """Load a fragment: every lane reads its elements of the tile that begins at a pointer.

    Parameters
    ----------
    frag : Fragment
        It receives the batch of warps of the pointer.
    mem : 1-D array, Pointer, or 2-D view
        A 1-D array or slice is the address of its first element. A 2-D view, indexed (row, col), begins at the tile's
        top-left element and implies ldm. The dtype is the fragment's, or raw bits. For 4-bit and 1-bit elements
        1-D ``uint8`` memory is packed, the first element in the lowest bits; int4, uint4 and bool arrays have one
        element per array element.
    ldm : int, optional
        The number of elements from one row to the next (column-major: from one column to the next).
    layout : {mem_row_major, mem_col_major}
        For an accumulator; a multiplicand's layout is part of its type.

    Raises
    ------
    AlignmentError
        If the pointer is not a multiple of the fragment's bytes in a lane (32 for f16 multiplicands and 32-bit
        accumulators, 4 to 16 for narrower ones). Also if ldm is not a multiple of 16 bytes (8 for 8-bit types), or
        rows would overlap.
    OutOfBoundsError
        If the tile is not completely inside the array.
    FragmentMismatchError
        If a dtype is wrong, an argument is missing or not expected, or a view has another layout.

    Examples
    --------
    >>> import numpy as np
    >>> from wmma_emu import wmma
    >>> a = wmma.fragment(wmma.matrix_a, 16, 16, 8, wmma.precision.tf32, wmma.row_major)
    >>> wmma.load_matrix_sync(a, np.arange(32 * 16, dtype=np.float32), 32)
    >>> a.x[:, 5], a.coords[:, 5].tolist()
    (array([ 33., 289.,  37., 293.], dtype=float32), [[1, 1], [9, 1], [1, 5], [9, 5]])
    """
    frag = _fragment_of(frag, mem)
    bits = _tile(frag, _order(frag, layout)).read(mem, ldm)
    frag.write_bits(frag.lane_map.gather(bits))


def store_matrix_sync(mem: object, frag: Fragment, ldm: int | None = None, layout: MemoryOrder | None = None) -> None:
    """Store an accumulator to the tile that begins at a pointer; the rest of the memory is unchanged.

    Parameters
    ----------
    mem : 1-D array, Pointer, or 2-D view
        As for `load_matrix_sync`.
    frag : Fragment
        An accumulator; `mma.h` cannot store other fragments.
    ldm : int, optional
        The number of elements from one row to the next (column-major: from one column to the next).
    layout : {mem_row_major, mem_col_major}

    Raises
    ------
    AlignmentError, OutOfBoundsError, FragmentMismatchError
        As for `load_matrix_sync`, and if the memory is read-only. Nothing is written then.
    DivergenceError
        If two warps would write the same element, which is a race.

    Examples
    --------
    >>> import numpy as np
    >>> from wmma_emu import wmma
    >>> c = wmma.fragment(wmma.accumulator, 8, 8, 32, wmma.int32)
    >>> wmma.fill_fragment(c, 7)
    >>> D = np.zeros((16, 16), np.int32)
    >>> wmma.store_matrix_sync(D[8:, 8:], c, layout=wmma.mem_row_major)
    >>> int(D.sum()) == 7 * 64
    True
    """
    frag = _fragment_of(frag, mem)
    if frag.use is not FragmentUse.accumulator:
        raise FragmentMismatchError(
            f"frag is a {frag.cpp_type}; mma.h stores accumulators only: frag.to_matrix() has the elements of others"
        )
    tile = _tile(frag, _order(frag, layout))
    tile.write(mem, ldm, frag.matrix_bits("frag"))


def _fragment_of(frag: object, mem: object) -> Fragment:
    """Check the order of the arguments, which differs between loads and stores."""
    if isinstance(mem, Fragment) and not isinstance(frag, Fragment):
        raise ArgumentError(
            "mem is a fragment and frag is not: the calls are load_matrix_sync(frag, mem, ...) "
            "and store_matrix_sync(mem, frag, ...)"
        )
    return require_fragment(frag, "frag", *FragmentUse)


def _tile(frag: Fragment, order: MemoryLayout) -> Tile:
    lane = frag.lane_map
    fragment_bytes = lane.num_registers * lane.register_bits // 8  # PTX ISA 9.1, wmma.load: alignment
    return Tile(lane.rows, lane.cols, frag.format, order, fragment_bytes)


def _order(frag: Fragment, layout: object) -> MemoryLayout:
    """Return the layout of the memory: the fragment's, or for an accumulator the argument."""
    if frag.layout is not None:
        if layout is not None:
            raise ArgumentError(
                f"layout={shorten(layout)} was given, but {frag.cpp_type} has its own; omit the argument"
            )
        return frag.layout.order
    if isinstance(layout, MemoryOrder):
        return layout.order
    fix = f"pass {MemoryOrder.mem_row_major} or {MemoryOrder.mem_col_major}"
    if isinstance(layout, FragmentLayout):
        fix = f"pass {MemoryOrder['mem_' + layout.name]}; {layout} is for multiplicands"
    given = "" if layout is None else f", not {shorten(layout)}"
    raise ArgumentError(f"an accumulator requires a layout of its memory{given}; {fix}")
