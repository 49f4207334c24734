# SPDX-License-Identifier: MIT
"""``suld``, ``sust`` and ``sured``: loads, stores and atomic operations on surfaces."""

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wmma_emu.errors import UnsupportedInstructionError
from wmma_emu.ptx.definedness.undefined import Undefined, computed
from wmma_emu.ptx.memory.atomic import atomic
from wmma_emu.ptx.memory.masks import narrowest
from wmma_emu.ptx.program.faults import refusal
from wmma_emu.ptx.program.flow import registers_in
from wmma_emu.ptx.program.program import Operand, PtxInstruction, Register
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.atomic_table import TYPES, operation_of
from wmma_emu.ptx.steps.collectives import note
from wmma_emu.ptx.steps.lane_operand_rules import require_source, require_target
from wmma_emu.ptx.steps.lane_operations import Active, Array, CompileContext, MachineStep, Step
from wmma_emu.ptx.steps.loads import elements_of, extended, require_values
from wmma_emu.ptx.steps.object_operands import ObjectPlace, has_geometry, layer_words, objects_of, place_of
from wmma_emu.ptx.textures.accesses import surface_place
from wmma_emu.ptx.textures.objects import MappedObject, Surface
from wmma_emu.ptx.textures.stores import saturated

_MODES = ("trap", "clamp", "zero")
_DATA = re.compile(r"([bus])(8|16|32|64)\Z")
_MOST_BYTES = 16

_FORMATTED_BYTES = 4
"""The size of each register of a formatted store."""


class _Form(NamedTuple):
    """An access of ``length`` elements of ``type``, with ``size`` bytes each; ``formatted`` ones count texels."""

    place: ObjectPlace
    type: str
    size: int
    length: int
    mode: str
    formatted: bool


class _Reached(NamedTuple):
    """The bytes of a surface that threads reach: addresses, the threads that access them, and their alignment."""

    addresses: Array
    threads: NDArray[np.bool_]
    alignment: int


def _form(instruction: PtxInstruction, address: Operand | None) -> _Form:
    words = instruction.modifiers
    place = place_of(instruction, address, "s32")
    mode = next((x for x in words if x in _MODES), "")
    kind = next((x for x in words if _DATA.match(x)), "")
    if not mode or not kind or words[:1] not in (("b",), ("p",)):
        raise refusal(instruction, "needs .b or .p, a type of .b8 to .b64, and .trap, .clamp or .zero")
    count = next((int(x[1:]) for x in words if x in ("v2", "v4")), 1)
    size = int(kind[1:]) // 8
    if size * count > _MOST_BYTES:
        raise refusal(instruction, f"accesses {size * count} bytes; at most {_MOST_BYTES} are legal")
    return _Form(place, kind, size, count, mode, words[0] == "p")


def _load(instruction: PtxInstruction, context: CompileContext) -> Step:
    if len(instruction.operands) != 2:
        raise refusal(instruction, f"expects 2 operands, not {len(instruction.operands)}")
    form = _form(instruction, instruction.operands[1])
    if form.formatted:
        raise refusal(instruction, "does not exist: suld.p was removed; load the bytes with suld.b")
    targets = elements_of(instruction.operands[0])
    _require_count(instruction, len(targets), form.length)
    for x in targets:
        require_target(instruction, x, form.type, is_relaxed=True, may_be_sink=True)
    registers = [x if isinstance(x, Register) else None for x in targets]

    def step(state: State, active: Active) -> None:
        state.require_defined(instruction, form.place.address, active, "the handle or a coordinate of a surface")
        for register in registers:
            state.write(register, np.zeros((1, 1, 1), f"u{form.size}"), active)
        for mapped, threads in objects_of(state, instruction, form.place.address, active, Surface):
            reached = _reach(state, instruction, form, mapped, form.size * form.length, threads)
            if reached is None:
                continue
            values, undefined = state.memory.load(
                instruction, "global", reached.addresses, form.size, form.length, reached.threads,
                alignment=reached.alignment,
            )  # fmt: skip
            for k, register in enumerate(registers):
                lost = None if undefined is None else Undefined(undefined.bits[k], undefined.origin[k])
                word = values[k] if register is None else extended(values[k], register, False)
                state.write(register, word, reached.threads, lost)

    return step


def _store(instruction: PtxInstruction, context: CompileContext) -> Step:
    if len(instruction.operands) != 2:
        raise refusal(instruction, f"expects 2 operands, not {len(instruction.operands)}")
    form = _form(instruction, instruction.operands[0])
    sources = elements_of(instruction.operands[1])
    _require_count(instruction, len(sources), form.length)
    for x in sources:
        require_values(instruction, x)
        require_source(instruction, x, form.type, is_relaxed=True)
    registers = registers_in(instruction.operands[1])

    def step(state: State, active: Active) -> None:
        state.require_defined(instruction, form.place.address, active, "the handle or a coordinate of a surface")
        state.require_arrived(instruction, registers, active)
        for mapped, threads in objects_of(state, instruction, form.place.address, active, Surface):
            texels = mapped.object.texels
            stored, size = sources, form.size
            if form.formatted:
                _require_known_format(instruction, mapped.object, form)
                stored, size = sources[: texels.channels], texels.element_bytes
            reached = _reach(state, instruction, form, mapped, size * len(stored), threads)
            if reached is None:
                continue
            values = np.stack(np.broadcast_arrays(*(state.read(x, form.type) for x in stored)))
            undefined = state.undefined_of(stored, values.dtype, reached.threads)
            if size < form.size:
                values, undefined = saturated(values, f"{texels.kind}{size}"), _narrowed(undefined, size)
            state.memory.store(
                instruction, "global", reached.addresses, values, reached.threads, alignment=reached.alignment,
                undefined=undefined,
            )  # fmt: skip

    return step


def _narrowed(undefined: Undefined | None, size: int) -> Undefined | None:
    """Return the undefined bits of saturated values of ``size`` bytes: all, if any bit of the register is undefined."""
    if undefined is None:
        return None
    every = np.iinfo(f"u{size}").max
    return Undefined(np.where(undefined.bits != 0, every, 0).astype(f"u{size}"), computed(undefined.origin))


def _require_known_format(instruction: PtxInstruction, surface: Surface, form: _Form) -> None:
    texels = surface.texels
    is_known = texels.element_bytes == form.size or texels.kind != "f"
    if form.size != _FORMATTED_BYTES or not is_known or texels.channels > form.length:
        raise UnsupportedInstructionError(
            f"line {instruction.line}: {instruction.opcode} on {surface!r}: formatted stores are modelled in .b32, for "
            f"texels of at most {form.length} channels, of integers or float32; how a GPU rounds to float16 is not "
            "known. Store the bytes with sust.b"
        )


def _reduce(instruction: PtxInstruction, context: CompileContext) -> Step:
    if len(instruction.operands) != 2:
        raise refusal(instruction, f"expects 2 operands, not {len(instruction.operands)}")
    form = _form(instruction, instruction.operands[0])
    name = next((x for x in instruction.modifiers if x in ("add", "min", "max", "and", "or")), "")
    if not name or form.place.geometry.has_layers:
        raise refusal(instruction, "needs .add, .min, .max, .and or .or, and .1d, .2d or .3d")
    if not form.formatted and form.type not in TYPES[name]:
        types = ", ".join("." + x for x in TYPES[name] if _DATA.match(x))
        raise refusal(instruction, f"{name} does not support .{form.type}; legal types are {types}")
    source = instruction.operands[1]
    require_source(instruction, source, form.type)

    def step(state: State, active: Active) -> None:
        state.require_defined(instruction, form.place.address, active, "the handle or a coordinate of a surface")
        state.require_defined(instruction, source, active, "the operand")
        for mapped, threads in objects_of(state, instruction, form.place.address, active, Surface):
            kind = _kind_of_texels(instruction, mapped.object, form, name) if form.formatted else form.type
            reached = _reach(state, instruction, form, mapped, form.size, threads)
            if reached is None:
                continue
            atomic(
                state.memory, instruction, "global", reached.addresses, (state.read(source, kind),), reached.threads,
                lambda where, kind=kind: operation_of(name, kind, where),  # type: ignore[misc]
                reached.alignment, state.order, "relaxed",
            )  # fmt: skip

    return step


def _kind_of_texels(instruction: PtxInstruction, surface: Surface, form: _Form, name: str) -> str:
    """Return the type of a formatted atomic operation: that of the texels."""
    texels = surface.texels
    kind = {"u": "u", "i": "s"}.get(texels.kind, "") + str(8 * texels.element_bytes)
    kind = f"b{kind[1:]}" if name in ("and", "or") and kind[0] in "us" else kind
    if texels.texel_bytes != form.size or kind not in TYPES[name]:
        raise UnsupportedInstructionError(
            f"line {instruction.line}: {instruction.opcode} on {surface!r}: formatted atomic operations need texels of "
            "one 32-bit integer"
        )
    return kind


def _require_count(instruction: PtxInstruction, given: int, expected: int) -> None:
    if given != expected:
        raise refusal(instruction, f"has a vector of {given} registers; its modifiers require {expected}")


def _reach(
    state: State, instruction: PtxInstruction, form: _Form, mapped: MappedObject[Surface], size: int, active: Active
) -> _Reached | None:
    """Find the bytes that threads reach, and report accesses outside of the surface or between elements.

    None if no thread reaches any.
    """
    texels = mapped.object.texels
    if not has_geometry(state, instruction, texels, form.place.geometry, active):
        return None
    given = tuple(state.read(x, "b32").view(np.int32) for x in form.place.coordinates)
    found = surface_place(texels, given, layer_words(state, form.place), size, form.mode, counts_texels=form.formatted)
    participants = np.broadcast_to(state.live if active is None else active, state.shape)
    shown = f"{mapped.object!r}, whose rows have {texels.row_bytes} bytes"
    aligned = participants & found.aligned
    if form.mode == "trap":
        what = f"the {size} bytes are not in {shown}; with .trap a GPU stops the kernel"
        note(state, instruction, "out of bounds", aligned & ~found.inside, what)
    note(
        state, instruction, "misaligned", participants & ~found.aligned,
        f"the first coordinate counts bytes, and has to be a multiple of the {size} bytes of the access",
    )  # fmt: skip
    threads = narrowest(aligned, np.broadcast_to(found.inside, state.shape))
    if threads is None or not threads.any():
        return None
    step = size | texels.row_bytes | mapped.address
    addresses = np.uint64(mapped.address) + found.position.view(np.uint64)
    return _Reached(addresses, threads, min(step & -step, size))


MACHINE_STEPS: dict[str, MachineStep] = {"suld": _load, "sust": _store, "sured": _reduce}
"""The builders of the steps of accesses to surfaces, by mnemonic."""
