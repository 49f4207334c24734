# SPDX-License-Identifier: MIT
"""What the arguments of strategies are: instructions, switches, shapes; and what is wrong with others."""

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
    """Which values of floating-point formats may occur."""

    nan: bool = True
    infinity: bool = True
    subnormal: bool = True

    def checked(self) -> "Allowed":
        """Refuse what is no bool."""
        for name, given in zip(self._fields, self, strict=True):
            if not isinstance(given, bool | np.bool_):
                raise InvalidArgument(f"allow_{name}={shorten(given)} is neither True nor False")
        return self

    def zeroed(self, patterns: Bits, fmt: Format) -> Bits:
        """Put +0 in the place of what may not occur; 1 where a format has no zero."""
        if all(self) or not fmt.is_float:
            return patterns
        u = unpack(patterns, fmt)
        nan = is_nan(patterns, fmt)
        infinity = u.is_infinity & ~nan
        if fmt.ignored_low_bits and not self.nan:
            # An infinity of tf32 with bits below is a NaN of the float32 that it travels in.
            low = fmt.storage.type((1 << fmt.ignored_low_bits) - 1)
            patterns = np.where(infinity, patterns & ~low, patterns)
        few = (u.significand != 0) & (u.significand < 1 << fmt.fraction_bits) & ~nan & ~infinity
        if fmt.ignored_low_bits:
            # A zero of tf32 with bits below is a subnormal number of that float32.
            few |= (u.significand == 0) & (patterns & fmt.storage.type(fmt.mask & ~fmt.sign_mask) != 0)
            few &= ~nan & ~infinity
        wrong = (nan & (not self.nan)) | (infinity & (not self.infinity)) | (few & (not self.subnormal))
        nothing = fmt.storage.type(0 if fmt.has_zero else fmt.bias)
        return np.where(wrong, nothing, patterns)


def bound_of(instruction: object) -> BoundInstruction:
    """Accept an instruction of a chip: layouts of registers are a chip's."""
    if isinstance(instruction, BoundInstruction):
        return instruction
    row = row_of(instruction)
    if row.is_tensor:
        raise UnsupportedInstructionError(f"{row.mnemonic} has no registers: it works on tensor and shared memory")
    chips = [chip.name for chip in MEASURED_FIRST if chip.name in row.archs]
    known = [chip for chip in chips if any(model.status in RECORDED for model in models_for(row, chip)[:1])]
    raise OptionError(
        f"registers are laid out by a chip, and {row.mnemonic} is bound to none; pass "
        f"wmma_emu.instruction({row.short_mnemonic!r}, arch={(known + chips)[0]!r}), or another of its chips"
    )


def with_names_as_tuples(make: Callable[_P, _T]) -> Callable[_P, _T]:
    """Take an iterator of names once, when the strategy is made: each draw needs all of them."""

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
                raise InvalidArgument(f"shape={shape} has {prod(shape)} elements, and at most 2**28 are drawn")
            return shape
    raise InvalidArgument(
        f"shape={shorten(given)} is no shape: pass an integer or a tuple of at most {MAX_AXES}; draw it first if it "
        "is to vary, as in strategy.flatmap(lambda shape: matrices(format, shape))"
    )
