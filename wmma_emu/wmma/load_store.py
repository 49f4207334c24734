# SPDX-License-Identifier: MIT
"""`load_matrix_sync` and `store_matrix_sync`: a tile of memory to the lanes' registers, and back."""

from wmma_emu.errors import ArgumentError, FragmentMismatchError, shorten
from wmma_emu.layouts.wmma_table import MemoryLayout
from wmma_emu.wmma.fragments import Fragment, require_fragment
from wmma_emu.wmma.names import FragmentLayout, FragmentUse, MemoryOrder
from wmma_emu.wmma.tiles import Tile


def load_matrix_sync(frag: Fragment, mem: object, ldm: int | None = None, layout: MemoryOrder | None = None) -> None:
    """Load a fragment: every lane takes its elements of the tile that begins at a pointer.

    Parameters
    ----------
    frag : Fragment
        Takes the batch of warps of the pointer.
    mem : 1-D array, Pointer, or 2-D view
        A 1-D array or slice is the address of its first element. A 2-D view, indexed (row, col), has its top-left
        element there and brings its own ldm. Of the fragment's dtype, or raw bits. For 4-bit and 1-bit elements
        1-D ``uint8`` memory is packed, the first element in the lowest bits; int4, uint4 and bool arrays have one
        element an entry.
    ldm : int, optional
        Elements from one row to the next (column-major: from one column to the next).
    layout : {mem_row_major, mem_col_major}
        Of an accumulator; a multiplicand's layout is part of its type.

    Raises
    ------
    AlignmentError
        If the pointer is no multiple of the fragment's bytes in a lane (32 for f16 multiplicands and 32-bit
        accumulators, 4 to 16 for narrower ones), or ldm no multiple of 16 bytes (8 for 8-bit types), or so small
        that rows would overlap.
    OutOfBoundsError
        If the tile leaves the array.
    FragmentMismatchError
        For a wrong dtype, a missing or superfluous argument, a view of another layout.

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
    """Store an accumulator to the tile that begins at a pointer; nothing else of the memory changes.

    Parameters
    ----------
    mem : 1-D array, Pointer, or 2-D view
        As for `load_matrix_sync`.
    frag : Fragment
        An accumulator; `mma.h` stores nothing else.
    ldm : int, optional
        Elements from one row to the next (column-major: from one column to the next).
    layout : {mem_row_major, mem_col_major}

    Raises
    ------
    AlignmentError, OutOfBoundsError, FragmentMismatchError
        As for `load_matrix_sync`, and for memory that is read-only. Nothing is written then.
    DivergenceError
        Where two warps would write the same element: a race.

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
    """Tell the arguments apart: they come in another order in a load than in a store."""
    if isinstance(mem, Fragment) and not isinstance(frag, Fragment):
        raise ArgumentError(
            "mem is a fragment and frag is none: it is load_matrix_sync(frag, mem, ...) "
            "and store_matrix_sync(mem, frag, ...)"
        )
    return require_fragment(frag, "frag", *FragmentUse)


def _tile(frag: Fragment, order: MemoryLayout) -> Tile:
    lane = frag.lane_map
    fragment_bytes = lane.num_registers * lane.register_bits // 8  # PTX ISA 9.1, wmma.load: alignment
    return Tile(lane.rows, lane.cols, frag.format, order, fragment_bytes)


def _order(frag: Fragment, layout: object) -> MemoryLayout:
    """Return the layout of the memory: the fragment's own, or for an accumulator the argument."""
    if frag.layout is not None:
        if layout is not None:
            raise ArgumentError(
                f"layout={shorten(layout)} was given, but {frag.cpp_type} has its own; leave the argument out"
            )
        return frag.layout.order
    if isinstance(layout, MemoryOrder):
        return layout.order
    fix = f"pass {MemoryOrder.mem_row_major} or {MemoryOrder.mem_col_major}"
    if isinstance(layout, FragmentLayout):
        fix = f"pass {MemoryOrder['mem_' + layout.name]}; {layout} is for multiplicands"
    given = "none was given" if layout is None else f"not {shorten(layout)}"
    raise ArgumentError(f"the layout of an accumulator's memory is an argument, {given}; {fix}")
