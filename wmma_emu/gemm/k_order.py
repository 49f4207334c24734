# SPDX-License-Identifier: MIT
"""The order in which a kernel adds over k: its main loop and its reduction, as one frozen object."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from wmma_emu.arithmetic import DotProduct
from wmma_emu.errors import OptionError, shorten
from wmma_emu.formats.arrays import integer_of

Residue = Literal["last", "first"]
Reduction = Literal["ascending", "descending", "pairwise", "serial"]

_STORED = ("", "f32", "f16", "bf16")


class Run(NamedTuple):
    """Instructions that follow one another over consecutive k; the last one is padded with +0."""

    start: int
    stop: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KOrder:
    """The accumulation of a kernel over k; by default a plain loop, instruction after instruction, k ascending.

    K is divided into *ranges*, by ``splits`` or by ``cuts``; one range without either. Each range is accumulated
    separately: the first from C (unless C is a term of the epilogue), the others from +0. The instructions of the
    tensor core process a range and round as their entry in the table of models states; the last instruction before the
    end of a range, or of a residue, is padded with products of +0. Then the sums of the ranges are added.

    Parameters
    ----------
    tile : int
        Elements of k in one pass of the main loop, a multiple of the instruction's k; by default that k. It determines
        the position of a residue and the multiple for ranges, and causes no rounding itself.
    residue : {"last", "first"}
        If a range is not a multiple of the tile, whether its partial tile is processed last, or first, before the whole
        tiles, as in kernels of CUTLASS 2.x.
    splits : int
        Split-K: this many ranges of equal length, ``ceil(K / splits)`` rounded up to a multiple of ``split_multiple``;
        the last is shorter, and there are fewer if they already cover K.
    split_multiple : int
        By default the tile. (CUTLASS 2.x: the number of elements in 16 bytes.)
    cuts : tuple of int
        Stream-K: the k at which one range ends and the next begins, ascending, multiples of the instruction's k. A
        kernel divides different tiles of D at different k: describe one at a time.
    partials : {"", "f32", "f16", "bf16"}
        Format in which each range's sum is stored, rounded to nearest even, before sums are added; by default the
        format in which they are added.
    reduction : {"ascending", "descending", "pairwise", "serial"}
        Sums s0, s1, ... of the ranges are added in float32 (float64 for f64, modulo 2**32 for s32), each addition
        rounded to nearest even: ``(s0 + s1) + s2`` ...; from the last range down to the first; neighbours first, ``(s0
        + s1) + (s2 + s3)`` ..., an odd sum carried to the next level. ``"serial"`` stores only the running sum:
        ``store(s0)``, then ``store(s1 + stored)`` ..., where ``store`` rounds to ``partials``.
    promote_every : int
        Two-level accumulation: after this many instructions, counted from the start of the range, the tensor core
        restarts from +0, and its sum is added to a float32 sum (RNE), which begins as C or +0; so is the remainder at
        the end. 0 means never. Only for float32 accumulators. (FP8 kernels: every 128 k, which is 4 instructions of
        `wgmma`.)

    Raises
    ------
    UnsupportedInstructionError
        If values do not exist or contradict each other; in `gemm`, if the instruction or K does not allow them.

    Notes
    -----
    With one range nothing is stored or added, whatever ``partials`` and ``reduction`` say. The sum of several ranges,
    and a promoted one, enters the epilogue in the format in which it was added, and is rounded to D's format there.

    Examples
    --------
    Three ranges of k, multiples of 64, as cuBLAS divides K = 4096 on an H100:

    >>> KOrder(tile=64, splits=3).ranges(4096)
    ((0, 1408), (1408, 2816), (2816, 4096))
    """

    tile: int = 0
    residue: Residue = "last"
    splits: int = 1
    split_multiple: int = 0
    cuts: tuple[int, ...] = ()
    partials: Literal["", "f32", "f16", "bf16"] = ""
    reduction: Reduction = "ascending"
    promote_every: int = 0

    def __post_init__(self) -> None:
        for name, lowest in (("tile", 0), ("splits", 1), ("split_multiple", 0), ("promote_every", 0)):
            object.__setattr__(self, name, _integer(name, getattr(self, name), lowest))
        for name, legal in (("residue", get_args(Residue)), ("reduction", get_args(Reduction)), ("partials", _STORED)):
            given = getattr(self, name)
            if not isinstance(given, str) or given not in legal:
                raise OptionError(f"KOrder: {name}={shorten(given)} does not exist; use {', '.join(map(repr, legal))}")
        object.__setattr__(self, "cuts", _checked_cuts(self.cuts))
        if self.cuts and self.splits > 1:
            raise OptionError(
                f"KOrder: splits={self.splits} and cuts={shorten(self.cuts)} both define the ends of ranges; give one"
            )
        if self.split_multiple and self.cuts:
            raise OptionError(
                "KOrder: split_multiple applies to splits, but cuts define the ends of ranges; leave it out"
            )

    def ranges(self, k: int, step: int = 1) -> tuple[tuple[int, int], ...]:
        """Divide K elements into ranges, for an instruction of ``step`` k.

        Raises
        ------
        UnsupportedInstructionError
            If there are more ranges than K has tiles.
        """
        if self.cuts:
            if self.cuts[-1] >= k:
                raise OptionError(f"KOrder: cuts={self.cuts} exceed K = {k}; the last cut must be below it")
            return tuple(zip((0, *self.cuts), (*self.cuts, k), strict=True))
        multiple = self.split_multiple or self.tile or step
        if self.splits > max(-(-k // multiple), 1):
            raise OptionError(
                f"KOrder: K = {k} has {-(-k // multiple)} multiples of {multiple}, too few for splits={self.splits}"
            )
        share = -(-k // self.splits)
        length = max(-(-share // multiple) * multiple, 1)
        return tuple((start, min(start + length, k)) for start in range(0, max(k, 1), length))

    def check(self, product: DotProduct, step: int) -> None:
        """Reject an order that an instruction of ``step`` k does not allow."""
        if not product.chains:
            raise OptionError(
                f"KOrder: C is {product.c} and D is {product.d}, so that instructions cannot follow one another; "
                f"use the instruction whose C and D are both {product.d}"
            )
        if self.tile % step:
            near = max(self.tile // step, 1) * step
            raise OptionError(
                f"KOrder: tile={self.tile} is not a multiple of the instruction's k, {step}; the nearest is {near}"
            )
        for cut in self.cuts:
            if cut % step:
                near = max((cut + step // 2) // step, 1) * step
                raise OptionError(
                    f"KOrder: the cut {cut} is not a multiple of the instruction's k, {step}; the nearest is {near}"
                )
        if self.partials and product.d.name in ("s32", "f64"):
            raise OptionError(f"KOrder: partials={self.partials!r} would round {product.d} sums; leave partials out")
        if self.promote_every and product.d.name != "f32":
            raise OptionError(
                f"KOrder: promote_every requires float32 accumulators; this instruction's accumulators are {product.d}"
            )

    def groups(self, start: int, stop: int, step: int, deepest: int) -> Iterator[list[Run]]:
        """Yield, for each restart from +0 (or C) in one range, the runs of its instructions.

        An instruction takes ``step`` k; no run is longer than ``deepest``.
        """
        tile = self.tile or step
        residue = (stop - start) % tile if self.residue == "first" else 0
        of_residue = tile // step if residue else 0
        middle = start + residue
        count = of_residue + -(-(stop - middle) // step)
        every = self.promote_every or max(count, 1)
        for i in range(0, max(count, 1), every):
            j = min(i + every, count)
            partial = (min(start + min(x, of_residue) * step, middle) for x in (i, j))
            whole = (min(middle + max(x - of_residue, 0) * step, stop) for x in (i, j))
            yield [run for begin, end in (partial, whole) for run in _runs(begin, end, step, deepest)]


def checked_order(order: KOrder | None, product: DotProduct, step: int, k: int) -> KOrder | None:
    """Return an order of K elements after checking it; None is a plain loop."""
    if order is None:
        return None
    if not isinstance(order, KOrder):
        raise OptionError(f"k_order={shorten(order)} is not a KOrder; pass, for example, wmma_emu.KOrder(splits=4)")
    order.check(product, step)
    order.ranges(k, step)
    return order


def plan_of(order: KOrder, k: int, step: int, deepest: int) -> list[list[list[Run]]]:
    """Return the runs of all groups of all ranges.

    Examples
    --------
    >>> plan_of(KOrder(tile=32, residue="first"), 50, 16, 1024)
    [[[Run(start=0, stop=16), Run(start=16, stop=18), Run(start=18, stop=50)]]]
    """
    return [list(order.groups(start, stop, step, deepest)) for start, stop in order.ranges(k, step)]


def _runs(start: int, stop: int, step: int, deepest: int) -> Iterator[Run]:
    """Yield whole instructions, and one that is padded."""
    whole = stop - (stop - start) % step
    depth = max(deepest // step, 1) * step
    for k in range(start, whole, depth):
        yield Run(k, min(k + depth, whole))
    if whole < stop:
        yield Run(whole, stop)


def sum_format(product: DotProduct) -> str:
    """Return the format in which sums of ranges are added and the epilogue computes: at least float32."""
    return "f32" if product.d.name == "f16" else product.d.name


def _integer(name: str, given: object, lowest: int) -> int:
    value = integer_of(given)
    if value is None or value < lowest:
        raise OptionError(f"KOrder: {name}={shorten(given)} is not an integer of at least {lowest}")
    return value


def _checked_cuts(given: object) -> tuple[int, ...]:
    if not isinstance(given, tuple | list):
        raise OptionError(f"KOrder: cuts={shorten(given)} is not a tuple of k, such as cuts=(1024, 2048)")
    cuts = tuple(_integer("cuts", cut, 1) for cut in given)
    if list(cuts) != sorted(set(cuts)):
        raise OptionError(
            f"KOrder: cuts={shorten(cuts)} are not ascending; did you mean {shorten(tuple(sorted(set(cuts))))}?"
        )
    return cuts
