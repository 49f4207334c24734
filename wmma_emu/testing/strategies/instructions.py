# SPDX-License-Identifier: MIT
"""Strategies for instructions of the table, chips, and models of arithmetic."""

import warnings
from functools import cache

import hypothesis.strategies as st
from hypothesis.errors import InvalidArgument

from wmma_emu.arithmetic import MODELS, DotModel, models_for
from wmma_emu.errors import UnverifiedModelWarning, shorten
from wmma_emu.formats import Format
from wmma_emu.instructions import ARCHS, Arch, Instruction, arch_of
from wmma_emu.testing.strategies.asked import CRITERIA, check_names, entries_with, no_match_text
from wmma_emu.warp import BoundInstruction, bound_instruction

MEASURED_FIRST: tuple[Arch, ...] = (ARCHS["sm_90"], *(chip for name, chip in ARCHS.items() if name != "sm_90"))
"""The chips, the one with the most measurements first: examples shrink towards it."""

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
    """Draw an instruction bound to a chip that supports it, with each of its lowerings.

    Parameters
    ----------
    arch, family, shape, a, b, c, d : optional
        Criteria, as for `wmma_emu.instructions.instructions_of`; any by default.
    sparse : bool, optional
        Whether A is sparse; either by default.
    unverified : bool
        Whether to draw instructions whose arithmetic has no recording. They cause no `UnverifiedModelWarning`, because
        the user did not choose them; the instruction shows its status: ``<... on sm_75, literature>``.

    Raises
    ------
    UnsupportedInstructionError
        When drawn, if a chip, a family, a shape or a format does not exist.
    hypothesis.errors.InvalidArgument
        When drawn, if no instruction meets all criteria.

    Examples
    --------
    >>> from hypothesis import Phase, find, settings
    >>> anew = settings(database=None, phases=[Phase.generate])
    >>> from wmma_emu.testing.strategies import instructions
    >>> wanted = instructions(a="bf16", family="mma.sync")
    >>> find(wanted, lambda ins: ins.instruction.k == 16, settings=anew)
    <mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 on sm_90, measured>
    """
    entries = _entries(_name(arch), family, shape, *(_name(x) for x in (a, b, c, d)), sparse)
    bound = _bound(entries, None if arch is None else arch_of(arch), _flag("unverified", unverified))
    entry = draw(_by_family(tuple(bound)))
    chip, model = draw(st.sampled_from(bound[entry]))
    return _quietly_bound(entry, chip, model.lowering)


@st.composite
def instruction_entries(
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
    """Draw an entry of the table of instructions, not bound to a chip; parameters and errors as for `instructions`.

    Examples
    --------
    >>> from hypothesis import Phase, find, settings
    >>> anew = settings(database=None, phases=[Phase.generate])
    >>> from wmma_emu.testing.strategies import instruction_entries
    >>> print(find(instruction_entries(a="s8", sparse=True), lambda entry: True, settings=anew))
    mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32
    """
    return draw(_by_family(_entries(_name(arch), family, shape, *(_name(x) for x in (a, b, c, d)), sparse)))


@st.composite
def archs(draw: st.DrawFn) -> Arch:
    """Draw a chip: sm_90 first."""
    return draw(st.sampled_from(MEASURED_FIRST))


@st.composite
def models(draw: st.DrawFn) -> DotModel:
    """Draw an entry of the table of models."""
    return draw(st.sampled_from(MODELS))


def _name(given: object) -> object:
    """Return a hashable value for caches: the name of a format or a chip."""
    return given.name if isinstance(given, Format | Arch) else given


def _entries(*asked: object) -> tuple[Instruction, ...]:
    named = dict(zip(CRITERIA, asked, strict=True))
    if named["sparse"] is not None:
        _flag("sparse", named["sparse"])
    check_names(named)
    entries = entries_with(named)
    if not entries:
        raise InvalidArgument(no_match_text(named))
    return entries


def _flag(name: str, given: object) -> bool:
    if not isinstance(given, bool):
        raise InvalidArgument(f"{name}={shorten(given)} is neither True nor False")
    return given


@cache
def _by_family(entries: tuple[Instruction, ...]) -> st.SearchStrategy[Instruction]:
    """Draw every family equally often, however many n `wgmma` has; the smallest first."""
    families: dict[str, list[Instruction]] = {}
    for entry in entries:
        families.setdefault(entry.family, []).append(entry)
    each = [
        sorted(found, key=lambda entry: (len(entry.modifiers), (entry.a_layout, entry.b_layout) != ("row", "col"),
                                       entry.m * entry.n * entry.k))
        for found in families.values()
    ]  # fmt: skip
    return st.sampled_from(each).flatmap(st.sampled_from)


@cache
def _bound(
    entries: tuple[Instruction, ...], arch: Arch | None, unverified: bool
) -> dict[Instruction, tuple[tuple[Arch, DotModel], ...]]:
    """Return the chips and models of each entry."""
    found = {}
    for entry in entries:
        chips = [chip for chip in MEASURED_FIRST if chip.name in entry.archs and arch in (None, chip)]
        pairs = [(chip, model) for chip in chips for model in models_for(entry, chip.name)]
        pairs = [pair for pair in pairs if unverified or pair[1].status in RECORDED]
        if pairs:
            found[entry] = tuple(pairs)
    if not found:
        raise InvalidArgument("no instruction that meets the criteria has a recording; leave unverified out")
    return found


@cache
def _quietly_bound(entry: Instruction, chip: Arch, lowering: str) -> BoundInstruction:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnverifiedModelWarning)
        return bound_instruction(entry, chip, lowering)
