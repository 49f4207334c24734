# SPDX-License-Identifier: MIT
"""Tiles of several warps as in CuTe's ``TiledMMA``: the warp, lane and register of each element."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np

from wmma_emu.display import render
from wmma_emu.errors import ArgumentError, ArgumentValueError, UnsupportedInstructionError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.instructions.arch import arch_of
from wmma_emu.instructions.lookup import lookup
from wmma_emu.instructions.spec import Arch, Instruction, Operand
from wmma_emu.layouts.cute_layout import CuteLayout
from wmma_emu.layouts.lane_map import LaneMap
from wmma_emu.layouts.lookup import layout_for
from wmma_emu.layouts.spec import LANES, Ints, within

_MOST = 1 << 20
"""The most elements of a tile, replicas included."""

_AXES = "mnk"
_CUTE_AXES: dict[str, str] = {"a": "mk", "b": "nk", "c": "mn", "d": "mn"}
"""The axes of an operand in CuTe's order."""


class TiledLocation(NamedTuple):
    """One position of an element of a tile: warp, lane, register, the lowest bit, and the value's number."""

    warp: int
    lane: int
    register: int
    bit: int
    value: int


@dataclass(frozen=True, eq=False, repr=False)
class TiledLayout:
    """The positions of an operand's elements in the registers of several warps.

    Parameters
    ----------
    instruction : Instruction
    operand : {"a", "b", "c", "d"}
    atom : LaneMap
        The layout of one instruction.
    coords : int array, (values, warps, 32, 2)
        Row and column in the tile. Values count through one instruction first, then through further instructions.
    tile : tuple of int
        m, n and k of the whole tile.
    warps : CuteLayout
        A layout from the position of an instruction, (m, n, k), to the number of its warp (`wgmma`: its warpgroup).
    """

    instruction: Instruction
    operand: Operand
    atom: LaneMap
    coords: Ints
    tile: tuple[int, int, int]
    warps: CuteLayout

    def __repr__(self) -> str:
        rows, cols = self.shape
        return (
            f"<TiledLayout {self.operand.upper()} {rows}x{cols}: {self.num_warps} warps, {self.num_values} elements "
            f"a lane in {self.num_registers} registers>"
        )

    def _repr_html_(self) -> str:
        return str(render("tile.html", self))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the operand's tile: (m, k), (k, n) or (m, n)."""
        steps = [self.tile[_AXES.index(axis)] // getattr(self.instruction, axis) for axis in _axes_of(self.operand)]
        return steps[0] * self.atom.rows, steps[1] * self.atom.cols

    @property
    def num_warps(self) -> int:
        """The number of warps that hold the tile together."""
        return int(self.coords.shape[1])

    @property
    def num_values(self) -> int:
        """The number of elements of a lane."""
        return len(self.coords)

    @property
    def num_registers(self) -> int:
        """The number of registers of a lane."""
        return self.num_values // self.atom.elements_per_register

    def element_at(self, warp: int, lane: int, register: int, bit: int = 0) -> tuple[int, int]:
        """Return row and column of the element that includes a bit of a lane's register.

        Raises
        ------
        OutOfBoundsError, FragmentMismatchError
            If the warp, lane, register or bit does not exist.
        """
        warp, lane = within("warp", warp, self.num_warps), within("lane", lane, LANES)
        register = within("register", register, self.num_registers)
        bit = within("bit", bit, self.atom.register_bits)
        value = register * self.atom.elements_per_register + bit // self.atom.element_bits
        row, col = self.coords[value, warp, lane]
        return int(row), int(col)

    def locate(self, row: int, col: int) -> tuple[TiledLocation, ...]:
        """Return every position of an element: several warps hold the same elements of A and B.

        Raises
        ------
        OutOfBoundsError, FragmentMismatchError
            If the row or column does not exist.
        """
        rows, cols = self.shape
        wanted = within("row", row, rows), within("column", col, cols)
        found = np.argwhere((self.coords == wanted).all(axis=-1))
        packed, bits = self.atom.elements_per_register, self.atom.element_bits
        places = (TiledLocation(w, lane, v // packed, v % packed * bits, v) for v, w, lane in found.tolist())
        return tuple(sorted(places))

    @cached_property
    def cute(self) -> CuteLayout:
        """The map from (thread, value) to the element's number, counted down the columns of (m, k), (n, k) or (m, n).

        Raises
        ------
        FragmentMismatchError
            If a permutation cannot be written with sizes and strides.
        """
        rows, cols = self.shape
        row, col = np.moveaxis(self.coords.reshape(self.num_values, -1, 2), -1, 0)
        table = (col + cols * row if self.operand == "b" else row + rows * col).T
        if (table != table[:, :1] + table[:1]).any():
            raise ArgumentValueError("no sizes and strides produce this tile: thread and value do not add up")
        return CuteLayout.of_tables(table[:, 0], table[0])


def tiled_layout(
    instruction: "str | Instruction",
    operand: Operand,
    warps: "Sequence[int] | str | CuteLayout" = (2, 2),
    tile: Sequence[int] | None = None,
    *,
    arch: "str | Arch | None" = None,
    permutations: "Sequence[str | CuteLayout | None] | None" = None,
) -> TiledLayout:
    """Distribute an operand over several warps, as CuTe's ``TiledMMA`` does.

    Instructions are placed side by side, one for each warp; this repeats until the tile is full. Warps that are
    next to each other along n hold the same rows of A, and along m the same columns of B.

    Parameters
    ----------
    instruction : str or Instruction
        An instruction that a warp or, for `wgmma`, a warpgroup executes.
    operand : {"a", "b", "c", "d"}
    warps : sequence of int, str or CuteLayout
        The number of warps along m, n and k: ``(2, 2)``, ``(2, 2, 1)``, warp numbers running along m first; or CuTe's
        ``AtomLayoutMNK``, ``"(2,2,1):(2,1,0)"``. For `wgmma` these are warpgroups.
    tile : sequence of int, optional
        m, n and k of the whole tile; by default one instruction for each warp.
    arch : str or Arch, optional
        A chip that supports the instruction; by default the first one.
    permutations : sequence of three, optional
        CuTe's ``PermutationMNK`` for m, n and k: layouts from the position at which an element is counted to its
        position in the matrix; None leaves an axis unchanged.

    Raises
    ------
    UnsupportedInstructionError
        If the instruction's operands are not in the registers of whole warps.
    FragmentMismatchError
        If sizes do not match.

    Examples
    --------
    >>> d = tiled_layout("m16n8k16.f32.f16.f16.f32", "d", (2, 2), (64, 64, 16))
    >>> d, d.element_at(warp=3, lane=5, register=9)
    (<TiledLayout D 64x64: 4 warps, 32 elements a lane in 32 registers>, (17, 27))
    >>> d.locate(17, 27)
    (TiledLocation(warp=3, lane=5, register=9, bit=0, value=9),)
    >>> print(d.cute)
    ((4,8,2,2),(2,2,2,4)):((128,1,16,512),(64,8,32,1024))
    >>> a = tiled_layout("m16n8k16.f32.f16.f16.f32", "a", (2, 2), (64, 64, 16))
    >>> print(a.cute, [x.warp for x in a.locate(0, 0)])
    ((4,8,2,2),(2,2,2,2)):((128,1,16,0),(64,8,512,32)) [0, 2]
    """
    chip = None if arch is None else arch_of(arch)
    entry = lookup(instruction, chip)
    layout = layout_for(entry, operand, chip or entry.archs[0])
    if layout.num_matrices > 1:
        raise UnsupportedInstructionError(
            f"{entry.short_mnemonic} is executed by quad pairs, of which a warp has four: it cannot tile whole warps"
        )
    grid = _grid_of(warps)
    sizes = _tile_of(entry, grid, tile)
    given = permutations or (None, None, None)
    if entry.is_sparse and operand == "a" and given[2] is not None:
        raise ArgumentValueError("A of a sparse product is packed along k: omit the permutation of k")
    moved = {axis: _permutation(axis, size, x) for axis, size, x in zip(_AXES, sizes, given, strict=True)}
    blocks = [_block(operand, layout, grid, x) for x in _repeats(entry, operand, layout, grid, sizes)]
    coords = np.concatenate(blocks)
    for column, axis in enumerate(_axes_of(operand)):
        places = moved[axis]
        if places is not None:
            coords[..., column] = places[coords[..., column]]
    return TiledLayout(entry, operand, layout, coords, sizes, grid)


def _axes_of(operand: Operand) -> str:
    """Return the axes of an operand's rows and columns; B is k x n."""
    return "kn" if operand == "b" else _CUTE_AXES[operand]


def _repeats(
    instruction: Instruction, operand: Operand, layout: LaneMap, grid: CuteLayout, tile: tuple[int, int, int]
) -> list[dict[str, int]]:
    """Return the number of steps along each axis, for one block of values after another."""
    counts = {x: tile[i] // (getattr(instruction, x) * grid.mode(i).size) for i, x in enumerate(_AXES)}
    first, second = tuple(_CUTE_AXES[operand])
    total = layout.num_elements * layout.num_lanes * grid.size * counts[first] * counts[second]
    if total > _MOST:
        raise ArgumentValueError(f"this tile has {total} elements with their replicas; at most {_MOST} are supported")
    return [{first: i, second: j} for j, i in product(range(counts[second]), range(counts[first]))]


def _block(operand: Operand, layout: LaneMap, grid: CuteLayout, moves: dict[str, int]) -> Ints:
    """Return the positions of one instruction of each warp: (elements, warps, 32, 2)."""
    groups = layout.num_lanes // LANES
    inner = layout.coords.reshape(layout.num_elements, groups, LANES, 2)
    coords = np.zeros((layout.num_elements, grid.size * groups, LANES, 2), np.int64)
    for place in product(*(range(grid.mode(i).size) for i in range(3))):
        offset = [
            size * (place[_AXES.index(axis)] + grid.mode(_AXES.index(axis)).size * moves[axis])
            for axis, size in zip(_axes_of(operand), (layout.rows, layout.cols), strict=True)
        ]
        first = grid(*place) * groups
        coords[:, first : first + groups] = inner + offset
    return coords


def _grid_of(warps: object) -> CuteLayout:
    """Return the arrangement of warps as a layout of three modes whose indices are the warps' numbers."""
    if isinstance(warps, str | CuteLayout):
        grid = CuteLayout.parse(warps) if isinstance(warps, str) else warps
    else:
        counts = [integer_of(x) for x in warps] if isinstance(warps, Sequence) else []
        if len(counts) not in (2, 3) or any(x is None or x < 1 for x in counts):
            raise ArgumentError(
                f"warps is {shorten(warps)}; give the number of warps along m, n (and k), as in (2, 2), or CuTe's "
                "AtomLayoutMNK, as in '(2,2,1):(2,1,0)'"
            )
        shape = tuple(int(x or 1) for x in (*counts, 1)[:3])
        grid = CuteLayout(shape, (1, shape[0], shape[0] * shape[1]))
    if grid.rank != 3:
        raise ArgumentValueError(f"{grid} has {grid.rank} modes; an AtomLayoutMNK has three, as in (2,2,1):(1,2,4)")
    if sorted(grid.table().ravel().tolist()) != list(range(grid.size)):
        raise ArgumentValueError(f"{grid} does not number {grid.size} warps from 0 to {grid.size - 1}, each once")
    return grid


def _tile_of(instruction: Instruction, grid: CuteLayout, tile: object) -> tuple[int, int, int]:
    m, n, k = (grid.mode(i).size for i in range(3))
    least = instruction.m * m, instruction.n * n, instruction.k * k
    if tile is None:
        return least
    given = [integer_of(x) for x in tile] if isinstance(tile, Sequence) else []
    if len(given) != 3 or any(x is None or x < 1 or x % step for x, step in zip(given, least, strict=True)):
        raise ArgumentValueError(
            f"the tile is {shorten(tile)}; m, n and k must be multiples of {least}: {instruction.short_mnemonic} times "
            "the warps along each"
        )
    return tuple(int(x or 1) for x in given)  # type: ignore[return-value]


def _permutation(axis: str, size: int, given: "str | CuteLayout | None") -> Ints | None:
    """Return the position in the matrix of each position along an axis."""
    if given is None:
        return None
    layout = CuteLayout.parse(given) if isinstance(given, str) else given
    table = layout.table().ravel(order="F")
    if sorted(table.tolist()) != list(range(layout.size)) or size % layout.size:
        raise ArgumentValueError(
            f"{layout} is not a permutation of {axis}: it must give each number from 0 to {layout.size - 1} once, and "
            f"{layout.size} has to divide {size}"
        )
    return (np.arange(size).reshape(-1, layout.size)[:, :1] + table).ravel()
