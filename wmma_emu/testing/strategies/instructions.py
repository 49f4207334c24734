# SPDX-License-Identifier: MIT
"""Instructions of the table, chips, and models of arithmetic."""

import warnings
from functools import cache

import hypothesis.strategies as st
from hypothesis.errors import InvalidArgument

from wmma_emu.arithmetic import MODELS, DotModel, models_for
from wmma_emu.errors import UnverifiedModelWarning, shorten
from wmma_emu.formats import Format
from wmma_emu.instructions import ARCHS, Arch, Instruction, arch_of
from wmma_emu.testing.strategies.asked import CRITERIA, check_names, no_match_text, rows_with
from wmma_emu.warp import BoundInstruction, bound_instruction

MEASURED_FIRST: tuple[Arch, ...] = (ARCHS["sm_90"], *(chip for name, chip in ARCHS.items() if name != "sm_90"))
"""The chips, the one that most is measured on first: examples shrink towards it."""

RECORDED = ("measured", "recorded", "documented")


@st.composite
def instructions(
    draw: st.DrawFn,
    *,
    arch: str | Arch | None = None,
    family: str | None = None,
    shape: str | None = None,
    a: str | Format | None = None,
    b: str | Format | None = None,
    c: str | Format | None = None,
    d: str | Format | None = None,
    sparse: bool | None = None,
    unverified: bool = True,
) -> BoundInstruction:
    """Draw an instruction bound to a chip that has it, with each of its lowerings.

    Parameters
    ----------
    arch, family, shape, a, b, c, d : optional
        What it must have, as for `wmma_emu.instructions.instructions_of`; anything by default.
    sparse : bool, optional
        Whether A is sparse; either by default.
    unverified : bool
        Whether instructions come whose arithmetic no recording stands behind. `UnverifiedModelWarning` is not given
        for them, since nobody chose one; the instruction shows its status: ``<... on sm_75, literature>``.

    Raises
    ------
    UnsupportedInstructionError
        When drawn, for a chip, a family, a shape or a format that occurs nowhere.
    hypothesis.errors.InvalidArgument
        When drawn, if no instruction is all that is asked for.

    Examples
    --------
    >>> from hypothesis import Phase, find, settings
    >>> anew = settings(database=None, phases=[Phase.generate])
    >>> from wmma_emu.testing.strategies import instructions
    >>> wanted = instructions(a="bf16", family="mma.sync")
    >>> find(wanted, lambda ins: ins.instruction.k == 16, settings=anew)
    <mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 on sm_90, measured>
    """
    rows = _rows(_name(arch), family, shape, *(_name(x) for x in (a, b, c, d)), sparse)
    bound = _bound(rows, None if arch is None else arch_of(arch), _flag("unverified", unverified))
    row = draw(_by_family(tuple(bound)))
    chip, model = draw(st.sampled_from(bound[row]))
    return _quietly_bound(row, chip, model.lowering)


@st.composite
def instruction_rows(
    draw: st.DrawFn,
    *,
    arch: str | Arch | None = None,
    family: str | None = None,
    shape: str | None = None,
    a: str | Format | None = None,
    b: str | Format | None = None,
    c: str | Format | None = None,
    d: str | Format | None = None,
    sparse: bool | None = None,
) -> Instruction:
    """Draw a row of the table of instructions, bound to no chip; parameters and errors as of `instructions`.

    Examples
    --------
    >>> from hypothesis import Phase, find, settings
    >>> anew = settings(database=None, phases=[Phase.generate])
    >>> from wmma_emu.testing.strategies import instruction_rows
    >>> print(find(instruction_rows(a="s8", sparse=True), lambda row: True, settings=anew))
    mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32
    """
    return draw(_by_family(_rows(_name(arch), family, shape, *(_name(x) for x in (a, b, c, d)), sparse)))


@st.composite
def archs(draw: st.DrawFn) -> Arch:
    """Draw a chip: sm_90 first."""
    return draw(st.sampled_from(MEASURED_FIRST))


@st.composite
def models(draw: st.DrawFn) -> DotModel:
    """Draw a row of the table of models."""
    return draw(st.sampled_from(MODELS))


def _name(given: object) -> object:
    """What a cache can hold: names of formats and chips."""
    return given.name if isinstance(given, Format | Arch) else given


def _rows(*asked: object) -> tuple[Instruction, ...]:
    named = dict(zip(CRITERIA, asked, strict=True))
    if named["sparse"] is not None:
        _flag("sparse", named["sparse"])
    check_names(named)
    rows = rows_with(named)
    if not rows:
        raise InvalidArgument(no_match_text(named))
    return rows


def _flag(name: str, given: object) -> bool:
    if not isinstance(given, bool):
        raise InvalidArgument(f"{name}={shorten(given)} is neither True nor False")
    return given


@cache
def _by_family(rows: tuple[Instruction, ...]) -> st.SearchStrategy[Instruction]:
    """Every family as often as the others, however many n `wgmma` has; the smallest first."""
    families: dict[str, list[Instruction]] = {}
    for row in rows:
        families.setdefault(row.family, []).append(row)
    each = [
        sorted(found, key=lambda row: (len(row.modifiers), (row.a_layout, row.b_layout) != ("row", "col"),
                                       row.m * row.n * row.k))
        for found in families.values()
    ]  # fmt: skip
    return st.sampled_from(each).flatmap(st.sampled_from)


@cache
def _bound(
    rows: tuple[Instruction, ...], arch: Arch | None, unverified: bool
) -> dict[Instruction, tuple[tuple[Arch, DotModel], ...]]:
    """For each row the chips and models that there are."""
    found = {}
    for row in rows:
        chips = [chip for chip in MEASURED_FIRST if chip.name in row.archs and arch in (None, chip)]
        pairs = [(chip, model) for chip in chips for model in models_for(row, chip.name)]
        pairs = [pair for pair in pairs if unverified or pair[1].status in RECORDED]
        if pairs:
            found[row] = tuple(pairs)
    if not found:
        raise InvalidArgument("no instruction that is asked for has a recording behind it; leave unverified out")
    return found


@cache
def _quietly_bound(row: Instruction, chip: Arch, lowering: str) -> BoundInstruction:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnverifiedModelWarning)
        return bound_instruction(row, chip, lowering)
