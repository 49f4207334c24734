# SPDX-License-Identifier: MIT
"""Checks of the arguments of strategies: instructions, switches, shapes."""

from collections.abc import Callable, Iterable
from functools import wraps
from math import prod
from typing import NamedTuple, ParamSpec, TypeVar

import numpy as np
from hypothesis.errors import InvalidArgument

from wmma_emu.arithmetic import models_for
from wmma_emu.errors import OptionError, UnsupportedInstructionError, shorten
from wmma_emu.formats import Format, unpack
from wmma_emu.formats.arrays import MAX_AXES, integer_of
from wmma_emu.formats.codec import Bits
from wmma_emu.generators.operands import row_of
from wmma_emu.testing.patterns import is_nan
from wmma_emu.testing.strategies.instructions import MEASURED_FIRST, RECORDED
from wmma_emu.warp import BoundInstruction

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Allowed(NamedTuple):
    """The kinds of floating-point values that may occur."""

    nan: bool = True
    infinity: bool = True
    subnormal: bool = True

    def checked(self) -> "Allowed":
        """Reject values that are not bool."""
        for name, given in zip(self._fields, self, strict=True):
            if not isinstance(given, bool | np.bool_):
                raise InvalidArgument(f"allow_{name}={shorten(given)} is neither True nor False")
        return self

    def zeroed(self, patterns: Bits, fmt: Format) -> Bits:
        """Replace values that must not occur by +0; by 1 if a format has no zero."""
        if all(self) or not fmt.is_float:
            return patterns
        u = unpack(patterns, fmt)
        nan = is_nan(patterns, fmt)
        infinity = u.is_infinity & ~nan
        if fmt.ignored_low_bits and not self.nan:
            # An infinity of tf32 with lower bits is a NaN of the float32 that stores it.
            low = fmt.storage.type((1 << fmt.ignored_low_bits) - 1)
            patterns = np.where(infinity, patterns & ~low, patterns)
        few = (u.significand != 0) & (u.significand < 1 << fmt.fraction_bits) & ~nan & ~infinity
        if fmt.ignored_low_bits:
            # A zero of tf32 with lower bits is a subnormal number of that float32.
            few |= (u.significand == 0) & (patterns & fmt.storage.type(fmt.mask & ~fmt.sign_mask) != 0)
            few &= ~nan & ~infinity
        wrong = (nan & (not self.nan)) | (infinity & (not self.infinity)) | (few & (not self.subnormal))
        nothing = fmt.storage.type(0 if fmt.has_zero else fmt.bias)
        return np.where(wrong, nothing, patterns)


def bound_of(instruction: object) -> BoundInstruction:
    """Return an instruction bound to a chip, which register layouts require."""
    if isinstance(instruction, BoundInstruction):
        return instruction
    entry = row_of(instruction)
    if entry.is_tensor:
        raise UnsupportedInstructionError(
            f"{entry.mnemonic} has no registers: its operands are in tensor memory and shared memory"
        )
    chips = [chip.name for chip in MEASURED_FIRST if chip.name in entry.archs]
    known = [chip for chip in chips if any(model.status in RECORDED for model in models_for(entry, chip)[:1])]
    raise OptionError(
        f"register layouts depend on the chip, but {entry.mnemonic} is not bound to one; pass "
        f"wmma_emu.instruction({entry.short_mnemonic!r}, arch={(known + chips)[0]!r}), or another of its chips"
    )


def with_names_as_tuples(make: Callable[_P, _T]) -> Callable[_P, _T]:
    """Convert an iterator of names to a tuple when the strategy is made: each draw needs all of them."""

    @wraps(make)
    def strategy(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        generators = kwargs.get("generators")
        if isinstance(generators, Iterable) and not isinstance(generators, str):
            kwargs["generators"] = tuple(generators)
        return make(*args, **kwargs)

    return strategy


def shape_of(given: object) -> tuple[int, ...]:
    """Accept a shape as NumPy does: an integer or several."""
    axes = (given,) if integer_of(given) is not None else given
    if isinstance(axes, tuple | list) and len(axes) <= MAX_AXES:
        sizes = [integer_of(axis) for axis in axes]
        if all(size is not None and size >= 0 for size in sizes):
            shape = tuple(size for size in sizes if size is not None)
            if prod(shape) > 1 << 28:
                raise InvalidArgument(f"shape={shape} has {prod(shape)} elements, but at most 2**28 are drawn")
            return shape
    raise InvalidArgument(
        f"shape={shorten(given)} is not a shape: pass an integer or a tuple of at most {MAX_AXES}; to vary it, draw it "
        "first, as in strategy.flatmap(lambda shape: matrices(format, shape))"
    )
