# SPDX-License-Identifier: MIT
"""The fragments that `mma.h` declares, and messages about those that it does not."""

from wmma_emu.chip_sets import chips_since
from wmma_emu.errors import OptionError, UnsupportedInstructionError, shorten
from wmma_emu.formats.arrays import integer_of
from wmma_emu.instructions import Arch
from wmma_emu.layouts.wmma_table import FRAGMENTS
from wmma_emu.wmma.names import ElementType, FragmentLayout, FragmentUse, MemoryOrder


def use_of(given: object) -> FragmentUse:
    """Return a use of `mma.h`, or raise an error."""
    if isinstance(given, FragmentUse):
        return given
    fix = f"pass {', '.join(map(repr, FragmentUse))}"
    if isinstance(given, str) and given in FragmentUse.__members__:
        fix = f"pass {FragmentUse[given]}, without quotes"
    raise OptionError(f"the use of a fragment is not {shorten(given)}; {fix}")


def size_of(name: str, given: object) -> int:
    """Return m, n or k as an integer, or raise an error."""
    size = integer_of(given)
    if size is None:
        raise OptionError(f"{name} of a fragment is an integer, not {shorten(given)}")
    return size


def require_declared(
    use: FragmentUse, sizes: tuple[int, int, int], type_: ElementType, layout: object, chip: Arch
) -> None:
    """Reject a fragment that `mma.h` or the chip does not have, and name the nearest one that exists.

    Examples
    --------
    >>> from wmma_emu.instructions import arch_of
    >>> require_declared(FragmentUse.matrix_a, (16, 16, 16), ElementType.tf32, None, arch_of("sm_90"))
    Traceback (most recent call last):
        ...
    wmma_emu.errors.UnsupportedInstructionError: mma.h has no fragment<matrix_a, 16, 16, 16, precision::tf32>;
    with this use and type there is m, n, k = 16, 16, 8
    """
    m, n, k = sizes
    shape = f"m{m}n{n}k{k}"
    given = f"fragment<{use.name}, {m}, {n}, {k}, {type_.cpp}>"
    entry = FRAGMENTS.get((shape, use.value, type_.format.name))
    if entry is None:
        raise UnsupportedInstructionError(f"mma.h has no {given}; {_nearest(shape, use.value, type_.format.name)}")
    if chip.name not in chips_since(entry.since):
        raise UnsupportedInstructionError(
            f"{chip} has no {given}: it exists since {entry.since}; pass arch={entry.since!r} or a later chip"
        )
    if use is FragmentUse.accumulator:
        if layout is not None:
            raise OptionError(
                f"an accumulator has no layout, {shorten(layout)} was given: omit it, and pass wmma.mem_row_major "
                f"or wmma.mem_col_major to its load and store"
            )
        return
    legal = [x for x in FragmentLayout if x.order in entry.stored]
    if not isinstance(layout, FragmentLayout) or layout not in legal:
        raise OptionError(
            f"a fragment<{use.name}, ...> requires a layout{_wrong_layout(layout, type_)}: "
            f"pass {' or '.join(map(repr, legal))}"
        )


def _wrong_layout(layout: object, type_: ElementType) -> str:
    if layout is None:
        return ""
    if isinstance(layout, MemoryOrder):
        return f"; {layout} is for loads and stores of accumulators"
    if isinstance(layout, FragmentLayout):
        return f"; {layout} does not exist for {type_}"
    return f"; {shorten(layout)} is not a layout"


def _nearest(shape: str, use: str, fmt: str) -> str:
    if use != "accumulator" and fmt == "f32":
        return f"float is multiplied as {ElementType.tf32}, in 16, 16, 8"
    if use != "accumulator" and fmt == "s32":
        return f"int is for accumulators; integers are multiplied as {ElementType.int8} or {ElementType.uint8}"
    shapes = [s[1:].replace("n", ", ").replace("k", ", ") for s, u, f in FRAGMENTS if (u, f) == (use, fmt)]
    if shapes:
        return f"with this use and type there is m, n, k = {' or '.join(shapes)}"
    types = [f for s, u, f in FRAGMENTS if (s, u) == (shape, use)] or [f for _, u, f in FRAGMENTS if u == use]
    return f"types of {use} are {', '.join(repr(x) for x in ElementType if x.format.name in types)}"
