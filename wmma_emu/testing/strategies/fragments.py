# SPDX-License-Identifier: MIT
"""Fragments of `mma.h`: any fragment of a chip, with elements in it, and the three fragments of one product."""

from typing import NamedTuple

import hypothesis.strategies as st
from hypothesis import note
from hypothesis.errors import InvalidArgument

from wmma_emu.chip_sets import chips_since
from wmma_emu.errors import OptionError, UnsupportedInstructionError, shorten
from wmma_emu.formats.codec import Bits
from wmma_emu.formats.dtypes import from_bits
from wmma_emu.instructions import Arch, Instruction, arch_of
from wmma_emu.layouts.wmma_table import FRAGMENTS
from wmma_emu.testing.strategies.checks import Allowed, bound_of
from wmma_emu.testing.strategies.instructions import MEASURED_FIRST
from wmma_emu.testing.strategies.matrices import LazyNote, draw_patterns
from wmma_emu.testing.strategies.operand_matrices import OperandMatrices
from wmma_emu.testing.strategies.operands import draw_operands
from wmma_emu.warp import BoundInstruction
from wmma_emu.wmma import Fragment
from wmma_emu.wmma.declared import use_of
from wmma_emu.wmma.names import ElementType, FragmentLayout, FragmentUse, element_type_of, element_type_of_format


class _Kind(NamedTuple):
    use: FragmentUse
    shape: str
    type: ElementType
    layout: FragmentLayout | None
    archs: tuple[str, ...]


def _kinds() -> list[_Kind]:
    kinds = []
    for (shape, use, fmt), entry in FRAGMENTS.items():
        archs = chips_since(entry.since)
        layouts = [x for x in FragmentLayout if x.order in entry.stored]
        for layout in [None] if use == "accumulator" else layouts:
            kinds.append(_Kind(FragmentUse[use], shape, element_type_of_format(fmt), layout, archs))
    return kinds


@st.composite
def fragments(
    draw: st.DrawFn,
    *,
    use: FragmentUse | None = None,
    shape: str | None = None,
    type: ElementType | None = None,
    layout: FragmentLayout | None = None,
    arch: str | Arch | None = None,
    allow_nan: bool = True,
    allow_infinity: bool = True,
    allow_subnormal: bool = True,
) -> Fragment:
    """Draw a fragment of one warp, filled with a matrix as a load fills it: all replicas of an element are equal.

    Parameters
    ----------
    use, type, layout : of `wmma_emu.wmma`, optional
        Such as ``wmma.matrix_a``, ``wmma.half``, ``wmma.row_major``; any by default.
    shape : str, optional
        Such as ``"m16n16k16"``.
    arch : str or Arch, optional
        A chip; by default any chip that has the fragment.
    allow_nan, allow_infinity, allow_subnormal : bool

    Raises
    ------
    UnsupportedInstructionError
        When drawn, if `mma.h` does not define an argument.
    hypothesis.errors.InvalidArgument
        When drawn, if no fragment meets all criteria.

    Examples
    --------
    >>> from hypothesis import Phase, find, settings
    >>> anew = settings(database=None, phases=[Phase.generate])
    >>> from wmma_emu import wmma
    >>> from wmma_emu.testing.strategies import fragments
    >>> find(fragments(use=wmma.accumulator, type=wmma.int32), lambda frag: True, settings=anew)
    <fragment<accumulator, 16, 16, 16, int> on sm_90: 8 elements a lane, 1 warp>
    """
    allowed = Allowed(allow_nan, allow_infinity, allow_subnormal).checked()
    wanted = {
        "use": None if use is None else use_of(use),
        "type": None if type is None else element_type_of(type),
        "layout": _layout_of(layout),
    }
    chip = None if arch is None else arch_of(arch)
    if shape is not None and (not isinstance(shape, str) or shape not in {key[0] for key in FRAGMENTS}):
        shapes = dict.fromkeys(key[0] for key in FRAGMENTS)
        raise UnsupportedInstructionError(f"mma.h does not define the shape {shorten(shape)}; use {', '.join(shapes)}")
    kinds = [
        kind
        for kind in _kinds()
        if all(value in (None, getattr(kind, name)) for name, value in wanted.items())
        and shape in (None, kind.shape)
        and (chip is None or chip.name in kind.archs)
    ]
    if not kinds:
        asked = {**wanted, "shape": shape, "arch": chip}
        words = ", ".join(f"{name}={value}" for name, value in asked.items() if value is not None)
        raise InvalidArgument(f"mma.h does not declare a fragment with {words}; leave one of them out")
    kind = draw(st.sampled_from(kinds))
    if chip is None:
        chip = draw(st.sampled_from([x for x in MEASURED_FIRST if x.name in kind.archs]))
    m, n, k = (int(x) for x in kind.shape[1:].replace("n", " ").replace("k", " ").split())
    frag = Fragment(kind.use, m, n, k, kind.type, kind.layout, chip)
    name = repr(frag).partition(": ")[0].removeprefix("<")
    bits = draw_patterns(draw, frag.format, frag.lane_map.matrix_shape, allowed, name)
    frag.write_bits(frag.lane_map.gather(bits))
    return frag


def _layout_of(given: object) -> FragmentLayout | None:
    if given is None or isinstance(given, FragmentLayout):
        return given
    raise OptionError(
        f"layout={shorten(given)} is not a layout; pass {' or '.join(map(repr, FragmentLayout))}, or leave it out"
    )


@st.composite
def fragment_operands(
    draw: st.DrawFn,
    instruction: BoundInstruction,
    *,
    allow_nan: bool = True,
    allow_infinity: bool = True,
    allow_subnormal: bool = True,
) -> tuple[Fragment, Fragment, Fragment]:
    """Draw the fragments a, b and c of one product, filled with values that `operands` draws.

    For a failing example, Hypothesis shows the same as for `operands`: origin and non-zero elements.

    Parameters
    ----------
    instruction : BoundInstruction
        A ``wmma.mma`` on a chip, which determines types, shape and layouts.
    allow_nan, allow_infinity, allow_subnormal : bool

    Raises
    ------
    UnsupportedInstructionError
        When drawn, if the instruction is not a ``wmma.mma``, or is not bound to a chip.

    Examples
    --------
    >>> import wmma_emu as we
    >>> from hypothesis import Phase, find, settings
    >>> anew = settings(database=None, phases=[Phase.generate])
    >>> from wmma_emu.testing.strategies import fragment_operands
    >>> ins = we.instruction("wmma.mma.m16n16k16.f32.f16", arch="sm_90")
    >>> a, b, c = find(fragment_operands(ins), lambda drawn: True, settings=anew)
    >>> a
    <fragment<matrix_a, 16, 16, 16, half, row_major> on sm_90: 16 elements a lane, 1 warp>
    """
    ins = bound_of(instruction)
    entry = ins.instruction
    if entry.family != "wmma.mma":
        raise OptionError(f"{entry.mnemonic} takes registers, not fragments; use wmma_emu.testing.strategies.registers")
    drawn = draw_operands(draw, entry, None, Allowed(allow_nan, allow_infinity, allow_subnormal).checked())
    made = []
    for use, fmt, order, bits in (
        (FragmentUse.matrix_a, entry.a, entry.a_layout, drawn.a),
        (FragmentUse.matrix_b, entry.b, entry.b_layout, drawn.b),
        (FragmentUse.accumulator, entry.c, None, drawn.c),
    ):
        layout = None if order is None else FragmentLayout(order)
        frag = Fragment(use, entry.m, entry.n, entry.k, element_type_of_format(fmt), layout, ins.arch)
        frag.write_bits(frag.lane_map.gather(bits[0]))
        made.append(frag)
    patterns = [bits[0] for bits in (drawn.a, drawn.b, drawn.c)]
    note(LazyNote(lambda: _operands_text(entry, patterns, drawn.origin)))
    return made[0], made[1], made[2]


def _operands_text(entry: Instruction, patterns: list[Bits], origin: str) -> str:
    formats = tuple(entry.format(x) for x in ("a", "b", "c"))
    A, B, C = (from_bits(bits, fmt) for bits, fmt in zip(patterns, formats, strict=True))
    return repr(OperandMatrices(A, B, C, origin, formats))
