# SPDX-License-Identifier: MIT
"""Fragments: the share of a matrix that the lanes of a warp hold in registers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wmma_emu.display import render
from wmma_emu.drawn_types import drawn_by
from wmma_emu.errors import FragmentMismatchError, shorten
from wmma_emu.formats import Format
from wmma_emu.formats.codec import Bits
from wmma_emu.formats.dtypes import from_bits, to_bits
from wmma_emu.formats.packing import pack_words
from wmma_emu.instructions import Arch, arch_of, default_arch
from wmma_emu.layouts import LaneMap, fragment_layout
from wmma_emu.layouts.spec import LANES, Ints
from wmma_emu.warp import matrix_of_copies
from wmma_emu.wmma.declared import require_declared, size_of, use_of
from wmma_emu.wmma.names import ElementType, FragmentLayout, FragmentUse, element_type_of


@drawn_by("fragments")
class Fragment:
    """The elements of a matrix in the lanes of one or many warps: ``fragment<Use, m, n, k, T, Layout>``.

    A new fragment is uninitialised, as on a GPU: a product or a store of it raises. Its elements are defined by
    `load_matrix_sync`, `fill_fragment`, `mma_sync`, or through ``x``.

    Parameters
    ----------
    use : {matrix_a, matrix_b, accumulator}
    m, n, k : int
        The shape of the product.
    type : ElementType
        ``wmma.half``, ``wmma.precision.tf32``, ...
    layout : {row_major, col_major}, optional
        The storage order of the matrix; an accumulator has none.
    arch : str or Arch, optional
        The chip; by default sm_90, and in a kernel the kernel's chip.

    Attributes
    ----------
    use, m, n, k, type, layout
        The arguments.
    arch : Arch
    lane_map : LaneMap
        The position of every element. NVIDIA does not specify it; ``lane_map.status`` describes the evidence.

    Raises
    ------
    UnsupportedInstructionError
        If `mma.h` or the chip does not have the fragment.

    Examples
    --------
    >>> from wmma_emu import wmma
    >>> c = wmma.fragment(wmma.accumulator, 16, 16, 16, wmma.float32, arch="sm_80")
    >>> c
    <fragment<accumulator, 16, 16, 16, float> on sm_80: uninitialised>
    >>> wmma.fill_fragment(c, 1.5)
    >>> for i in range(c.num_elements): c.x[i] *= 2
    >>> c, c.x.shape, c.registers()[0, 0] == 0x40400000
    (<fragment<accumulator, 16, 16, 16, float> on sm_80: 8 elements a lane, 1 warp>, (8, 32), np.True_)
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        use: FragmentUse,
        m: int,
        n: int,
        k: int,
        type: ElementType,
        layout: FragmentLayout | None = None,
        arch: str | Arch | None = None,
    ) -> None:
        self.use = use_of(use)
        self.type = element_type_of(type)
        self.m, self.n, self.k = (size_of(name, x) for name, x in (("m", m), ("n", n), ("k", k)))
        self.layout = layout
        self.arch = default_arch() if arch is None else arch_of(arch)
        require_declared(self.use, (self.m, self.n, self.k), self.type, layout, self.arch)
        order = None if layout is None else layout.order
        self.lane_map: LaneMap = fragment_layout(self.use.value, self.m, self.n, self.k, self.format, order, self.arch)
        self._x: NDArray[Any] | None = None

    def __setattr__(self, name: str, value: object) -> None:
        """Prevent changes of everything but the elements: the other attributes are the fragment's type."""
        if name not in ("x", "_x") and "lane_map" in self.__dict__:
            raise FragmentMismatchError(
                f"the {name} of a fragment cannot be set, it is part of its type; make another with wmma.fragment"
            )
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        """Prevent deletion of attributes."""
        self.__setattr__(name, None)

    @property
    def cpp_type(self) -> str:
        """The type in C++."""
        layout = "" if self.layout is None else f", {self.layout.name}"
        return f"fragment<{self.use.name}, {self.m}, {self.n}, {self.k}, {self.type.cpp}{layout}>"

    @property
    def format(self) -> Format:
        """The format of the elements."""
        return self.type.format

    @property
    def num_elements(self) -> int:
        """The number of elements of a lane, duplicates included."""
        return self.lane_map.num_elements

    @property
    def num_storage_elements(self) -> int:
        """The number of elements of C++'s ``x``: 4-bit and 1-bit elements share a 32-bit word."""
        return self.lane_map.num_registers if self.format.bits < 8 else self.num_elements

    @property
    def coords(self) -> Ints:
        """Row and column of element i of lane l: (num_elements, 32, 2)."""
        return self.lane_map.coords

    @property
    def is_initialised(self) -> bool:
        """Whether elements were loaded, filled, computed or written."""
        return self._x is not None

    is_initialized = is_initialised

    @property
    def warps(self) -> tuple[int, ...]:
        """The shape of the batch of warps: ``()`` for a single one."""
        return () if self._x is None else self._x.shape[1:-1]

    @property
    def x(self) -> NDArray[Any]:
        """The elements of every lane, writable: (num_elements, *warps, 32), duplicates included.

        The dtype depends on the element type: float32 for tf32, ml_dtypes' int4 and uint4 for s4 and u4, bool for b1.
        An assigned array may also hold raw bits, and is copied. Reading the elements of an uninitialised fragment
        initialises them: all bits set, which is NaN in every float format.
        """
        if self._x is None:
            fmt = self.format
            self._x = from_bits(np.full((self.num_elements, LANES), fmt.mask, fmt.storage), fmt)
        return self._x.view()

    @x.setter
    def x(self, elements: NDArray[Any]) -> None:
        if np.isscalar(elements):
            raise FragmentMismatchError(
                f"x is an array of ({self.num_elements}, *warps, {LANES}), not {shorten(elements)}; "
                "wmma.fill_fragment sets all elements to one value"
            )
        bits = to_bits(elements, self.format, "x")
        if bits.ndim < 2 or (bits.shape[0], bits.shape[-1]) != (self.num_elements, LANES):
            raise FragmentMismatchError(
                f"x has shape {bits.shape}; {self.cpp_type} takes ({self.num_elements}, *warps, {LANES}): "
                f"elements first, lanes last; x[i] = ... sets one element of every lane"
            )
        self.write_bits(bits)

    def bits(self, what: str) -> Bits:
        """Return the patterns of the elements: (num_elements, *warps, 32); messages call the argument ``what``.

        Raises
        ------
        FragmentMismatchError
            If the fragment is uninitialised.
        """
        if self._x is None:
            raise FragmentMismatchError(
                f"{what} is an uninitialised {self.cpp_type}: on a GPU its elements would be whatever the registers "
                f"held; call load_matrix_sync or fill_fragment first, or write {what}.x"
            )
        return to_bits(self._x, self.format, what)

    def write_bits(self, bits: Bits) -> None:
        """Replace all elements, in place if the batch of warps is unchanged."""
        elements = from_bits(bits, self.format)
        if self._x is not None and self._x.shape == elements.shape:
            self._x[...] = elements
        else:
            self._x = elements

    def registers(self) -> NDArray[Any]:
        """Pack the elements into registers: uint32 (uint64 for f64), (num_registers, *warps, 32)."""
        return pack_words(self.bits("frag"), self.format)

    def to_matrix(self) -> NDArray[Any]:
        """Assemble the matrix: (*warps, rows, cols), from the duplicates that a product reads.

        Raises
        ------
        FragmentMismatchError
            If the fragment is uninitialised, or holds replicas that differ although the chip reads them all (Volta).
        """
        return from_bits(self.matrix_bits("frag"), self.format)

    def matrix_bits(self, what: str) -> Bits:
        """Assemble the matrix as patterns; otherwise as `to_matrix`."""
        return matrix_of_copies(self.lane_map, self.bits(what), what, self.arch.name)

    def __repr__(self) -> str:
        state = "uninitialised"
        if self._x is not None:
            count = int(np.prod(self.warps))
            batch = f" as {self.warps}" if len(self.warps) > 1 else ""
            state = f"{self.num_elements} elements a lane, {count} warp{'s' * (count != 1)}{batch}"
        return f"<{self.cpp_type} on {self.arch}: {state}>"

    def _repr_html_(self) -> str:
        return str(render("fragment.html", self))

    def __str__(self) -> str:
        if self._x is None:
            return repr(self)
        try:
            matrix = self.to_matrix()
        except FragmentMismatchError:
            return f"{self!r}\nreplicas of an element differ between lanes; x has all of them"
        first = matrix.reshape(-1, *matrix.shape[-2:])[:1]
        of_first = "\nwarp 0:" * (len(matrix.shape) > 2)
        return "\n".join([f"{self!r}{of_first}", *(np.array2string(x, max_line_width=120) for x in first)])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Fragment):
            return NotImplemented
        if (self.cpp_type, self.arch, self.warps) != (other.cpp_type, other.arch, other.warps):
            return False
        if self._x is None or other._x is None:
            return self._x is other._x
        return bool((self.bits("x") == other.bits("x")).all())

    def __copy__(self) -> "Fragment":
        """Copy the fragment with its elements, as C++ does."""
        return _rebuild(*self.__reduce__()[1])

    def __deepcopy__(self, memo: object) -> "Fragment":
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        bits = None if self._x is None else self.bits("x")
        return _rebuild, (self.use, self.m, self.n, self.k, self.type, self.layout, self.arch.name, bits)


fragment = Fragment
"""The name of the class in C++."""


def _rebuild(*state: Any) -> Fragment:
    *arguments, bits = state
    frag = Fragment(*arguments)
    if bits is not None:
        frag.write_bits(bits)
    return frag


def require_fragment(given: object, name: str, *uses: FragmentUse) -> Fragment:
    """Return a fragment with one of the uses, or raise an error."""
    legal = " or ".join(use.name for use in uses)
    if not isinstance(given, Fragment):
        raise FragmentMismatchError(
            f"{name} is a fragment<{legal}, ...>, not {shorten(type(given).__name__, str)}; wmma.fragment makes one"
        )
    if given.use not in uses:
        raise FragmentMismatchError(f"{name} is a {given.cpp_type}; expected a fragment<{legal}, ...>")
    return given
