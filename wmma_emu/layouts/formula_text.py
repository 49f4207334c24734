# SPDX-License-Identifier: MIT
"""Sums over bits as source text: expressions with / % * +, functions in C and Python, tables of bits."""

import textwrap
from collections.abc import Iterable
from typing import NamedTuple

from wmma_emu.display import in_columns
from wmma_emu.errors import OptionError, shorten
from wmma_emu.layouts.linear import BitField, Linear

_WIDTH = 100


class Formula(NamedTuple):
    """A number as a function of other numbers.

    With ``by_weight`` the product with the largest weight comes first, as in ``row % 8 * 4 + col % 8 / 2``; otherwise
    products have the order of the inputs, as in ``lane / 4 + 8 * (index / 2 % 2)``. ``note`` becomes a comment.
    ``is_derived`` is whether a table of bits explains the formula.

    Examples
    --------
    >>> row = Formula("row", Linear((("lane", 32), ("index", 8)), ((0, 0, 1, 2, 4), (0, 8, 0))))
    >>> row.expression(), row.expression("//")
    ('lane / 4 + 8 * (index / 2 % 2)', 'lane // 4 + 8 * (index // 2 % 2)')
    """

    name: str
    linear: Linear
    by_weight: bool = False
    note: str = ""
    is_derived: bool = True

    def expression(self, divide: str = "/") -> str:
        """Write the sum; ``divide`` is the integer division operator of the language."""
        fields = self.linear.fields()
        if self.by_weight:
            fields.sort(key=lambda x: -x.weight)
        return " + ".join(_product(field, divide) for field in fields) or "0"


def _product(field: BitField, divide: str) -> str:
    """Write one product: % removes the bits above the field, the division removes the bits below it.

    A single bit is ``x / 2 % 2``, several bits are ``x % 8 / 2``. With both and a weight, the weight comes first.
    """
    above = "" if field.is_top else f" % {1 << field.low + field.width}"
    below = f" {divide} {1 << field.low}" if field.low else ""
    if field.width == 1 and above and below:
        above, below = below, " % 2"
    value = f"{field.name}{above}{below}"
    if field.weight == 1:
        return value
    return f"{field.weight} * ({value})" if above and below else f"{value} * {field.weight}"


_C_PREFIX = """\
#ifndef LAYOUT_FUNCTION
#ifdef __CUDACC__
#define LAYOUT_FUNCTION static __host__ __device__ inline
#else
#define LAYOUT_FUNCTION static inline
#endif
#endif
"""


def c_source(name: str, title: Iterable[str], formulas: Iterable[Formula]) -> str:
    """Write functions of integers that are valid C99 and CUDA C++, for host and device.

    Examples
    --------
    >>> lane = Formula("lane", Linear((("row", 8), ("col", 8)), ((4, 8, 16), (0, 1, 2))), by_weight=True)
    >>> print(c_source("D", ["D: 8 x 8"], [lane]).split("#endif")[-1].strip())
    LAYOUT_FUNCTION int D_lane(int row, int col) { return row * 4 + col / 2; }
    """
    prefix = _checked(name)
    lines = [*_comments("//", title), _C_PREFIX]
    for formula in formulas:
        used = {field.name for field in formula.linear.fields()}
        unused = "".join(f"(void){x}; " for x in formula.linear.names if x not in used)
        parameters = ", ".join(f"int {x}" for x in formula.linear.names)
        body = f"{unused}return {formula.expression()};"
        lines += _comments("//", [formula.note] if formula.note else [])
        lines.append(f"LAYOUT_FUNCTION int {prefix}_{formula.name}({parameters}) {{ {body} }}")
    return "\n".join(lines) + "\n"


def python_source(name: str, title: Iterable[str], formulas: Iterable[Formula]) -> str:
    """Write Python functions of integers, or of NumPy arrays that broadcast.

    Examples
    --------
    >>> lane = Formula("lane", Linear((("row", 8), ("col", 8)), ((4, 8, 16), (0, 1, 2))), by_weight=True)
    >>> print(python_source("D", ["D: 8 x 8"], [lane]))
    # D: 8 x 8
    <BLANKLINE>
    <BLANKLINE>
    def D_lane(row, col):
        return row * 4 + col // 2
    <BLANKLINE>
    """
    prefix = _checked(name)
    lines = _comments("#", title)
    for formula in formulas:
        lines += ["", "", *_comments("#", [formula.note] if formula.note else [])]
        lines.append(f"def {prefix}_{formula.name}({', '.join(formula.linear.names)}):")
        lines.append(f"    return {formula.expression('//')}")
    return "\n".join(lines) + "\n"


def bit_table(formula: Formula) -> str:
    r"""Show the derivation of a formula: below each bit of the result, the bit of an input that it equals.

    If the weights are not different powers of two, the table lists weights instead of bits.

    Examples
    --------
    >>> row = Formula("row", Linear((("lane", 32), ("index", 8)), ((0, 0, 1, 2, 4), (0, 8, 0))))
    >>> print(bit_table(row))
    row = lane / 4 + 8 * (index / 2 % 2)
      bit of row  3        2       1       0
      is bit      index 1  lane 4  lane 3  lane 2
    """
    text = [f"{formula.name} = {formula.expression()}"]
    bits = [(weight, f"{name} {bit}") for weight, name, bit in formula.linear.bits()]
    weights = {weight for weight, _ in bits}
    if len(weights) == len(bits) and all(weight & weight - 1 == 0 for weight in weights):
        at = {weight.bit_length() - 1: source for weight, source in bits}
        columns = [(str(bit), at.get(bit, "-")) for bit in range(max(at, default=-1), -1, -1)]
        heads = (f"bit of {formula.name}", "is bit")
    else:
        columns = [(str(weight), source) for weight, source in bits]
        heads = (f"adds to {formula.name}", "the bit")
    if columns:
        text += in_columns(list(zip(heads, *columns, strict=True)), "  ")
    return "\n".join(text)


def _comments(mark: str, lines: Iterable[str]) -> list[str]:
    return [f"{mark} {part}" for line in lines for part in textwrap.wrap(line, _WIDTH - len(mark))]


def _checked(name: object) -> str:
    if not (isinstance(name, str) and name.isascii() and name.isidentifier()):
        raise OptionError(
            f"{shorten(name)}_row is not a legal function name; a name has letters, digits and underscores, and does "
            "not begin with a digit"
        )
    return name
