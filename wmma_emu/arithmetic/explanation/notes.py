# SPDX-License-Identifier: MIT
"""The entries of an explanation (numbers, terms, roundings), and bits with their origin."""

from collections.abc import Sequence
from dataclasses import replace

from wmma_emu.arithmetic import reference
from wmma_emu.arithmetic.block_scale import group_units, scale_pair, sum_of_group
from wmma_emu.arithmetic.explanation.steps import AlignedTerm, Number, Rounding, ScaledBlock
from wmma_emu.arithmetic.model import DotProduct
from wmma_emu.formats import Format
from wmma_emu.formats import Rounding as Mode
from wmma_emu.formats.reference import round_significand, unpack


class Traced(int):
    """Bits with the name of their origin: ``"a[3]"``, ``"c"``, ``"step 2"``."""

    name: str
    k: int | None

    @classmethod
    def of(cls, bits: int, name: str, k: int | None = None) -> "Traced":
        """Return bits with a name."""
        self = cls(bits)
        self.name, self.k = name, k
        return self


def name_of(bits: int) -> str:
    """Return the origin of a number; constants of the reference are +0."""
    return bits.name if isinstance(bits, Traced) else "+0"


def k_of(bits: int) -> int | None:
    """Return the k of an operand."""
    return bits.k if isinstance(bits, Traced) else None


def number(bits: int, name: str, fmt: Format) -> Number:
    """Decode one operand."""
    u = unpack(bits, fmt)
    return Number(name=name, bits=int(bits), kind=u.kind, sign=u.sign, exponent=u.exponent, significand=u.significand,
                  fraction_bits=fmt.fraction_bits)  # fmt: skip


def aligned_term(
    term: reference.Term, special: bool, exponent: int, fraction_bits: int, formats: tuple[Format, Format],
    operands: tuple[int, ...], group: str = "",
) -> AlignedTerm:  # fmt: skip
    """Return one term with its kept and truncated bits; zeros, and steps decided by a special, have neither.

    A group of products has a name, and its scales as operands.
    """
    a, b, kinds = None, None, ("", "")
    if len(operands) == 2:
        a, b = operands
        kinds = unpack(a, formats[0]).kind, unpack(b, formats[1]).kind
    shift = kept = cut = cut_bits = 0
    if term.kind == "finite" and not special:
        shift = exponent - term.exponent
        kept = reference.cut(term, exponent, fraction_bits)
        cut_bits = max(term.fraction_bits + shift - fraction_bits, 0)
        cut = term.significand - (abs(kept) << cut_bits) if cut_bits else 0
    k = k_of(operands[0]) if b is not None and not group else None
    finite = term.kind == "finite"
    return AlignedTerm(
        name=f"k={k}" if k is not None else group or name_of(operands[0]), k=k, a=None if a is None else int(a),
        b=None if b is None else int(b), bits=int(operands[0]) if b is None else None, a_kind=kinds[0], b_kind=kinds[1],
        kind=term.kind, sign=term.sign, exponent=term.exponent if finite else 0,  # type: ignore[arg-type]
        significand=term.significand if finite else 0, fraction_bits=term.fraction_bits, shift=shift, kept=kept,
        cut=cut, cut_bits=cut_bits,
    )  # fmt: skip


def scaled_blocks(
    product: DotProduct, a: list[int], b: list[int], scale_a: Sequence[int], scale_b: Sequence[int]
) -> tuple[ScaledBlock, ...]:
    """Return the blocks of products that share scales, or that are a group with a sum."""
    model, fmt = product.model, product.scale
    size = model.group_terms or min(product.scale_block, len(a))
    if fmt is None:
        return ()
    blocks = []
    for i in range(0, len(a), size):
        here = slice(i, i + size)
        ks = [k_of(x) or 0 for x in a[here]]
        pair = scale_pair(scale_a[i], scale_b[i], fmt)
        finite = pair.kind == "finite"
        block = ScaledBlock(
            name=f"k={ks[0]}" if len(ks) == 1 else f"k={ks[0]}..{ks[-1]}", scale_a=int(scale_a[i]),
            scale_b=int(scale_b[i]), kind=pair.kind, exponent=pair.exponent if finite else 0,  # type: ignore[arg-type]
            significand=pair.significand if finite else 0, fraction_bits=pair.fraction_bits,
        )  # fmt: skip
        if model.group_terms:
            one = group_sum(product, a[here], b[here])
            block = replace(block, ks=tuple(ks), a=tuple(map(int, a[here])), b=tuple(map(int, b[here])),
                            total=one, total_bits=group_units(product.operand_formats))  # fmt: skip
        blocks.append(block)
    return tuple(blocks)


def group_sum(product: DotProduct, a: list[int], b: list[int]) -> int:
    """Return the exact sum of a group's products, in units of the smallest product."""
    formats = product.operand_formats
    terms = [reference.multiply(x, formats[0], y, formats[1]) for x, y in zip(a, b, strict=True)]
    return sum_of_group(terms, group_units(formats))


def rounding_note(sign: int, significand: int, exponent: int, fmt: Format, mode: Mode) -> Rounding:
    """Return the rounding of an exact non-zero number to a format."""
    r = round_significand(sign, significand, exponent, fmt, mode)
    return Rounding(
        mode=mode, format=fmt.name, sign=sign, significand=significand, exponent=exponent, kept=r.kept,
        kept_exponent=r.exponent - fmt.fraction_bits, dropped=r.dropped, dropped_bits=r.dropped_bits, up=r.up,
        subnormal=r.kept < 1 << fmt.fraction_bits, overflow=r.exponent > fmt.emax,
    )  # fmt: skip


def stripped(sign: int, significand: int, exponent: int) -> tuple[int, int, int]:
    """Return the same number with an odd significand."""
    zeros = (significand & -significand).bit_length() - 1 if significand else 0
    return sign, significand >> zeros, exponent + zeros if significand else 0


def word(bits: list[int]) -> int:
    """Join single bits into a word, the first one lowest."""
    return sum(int(bit) << i for i, bit in enumerate(bits))
