# SPDX-License-Identifier: MIT
"""``tex`` and ``tld4``: fetches from textures."""

from collections.abc import Callable
from functools import partial

import numpy as np

from wmma_emu.ptx.definedness.undefined import Undefined, computed, origin_of
from wmma_emu.ptx.memory.masks import narrowest
from wmma_emu.ptx.program.faults import refusal
from wmma_emu.ptx.program.operand_kinds import describe
from wmma_emu.ptx.program.program import Operand, PairOperand, PtxInstruction, Register, VectorOperand
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.collectives import note
from wmma_emu.ptx.steps.lane_operand_rules import require_source, require_target
from wmma_emu.ptx.steps.lane_operations import Active, Array, BoundStep, CompileContext, MachineStep, Step
from wmma_emu.ptx.steps.object_operands import ObjectPlace, has_geometry, layer_words, objects_of, place_of
from wmma_emu.ptx.textures.fetches import Fetched, filtered_texels, gathered, indexed, layer_of, sampled
from wmma_emu.ptx.textures.objects import MappedObject, Texture
from wmma_emu.ptx.textures.sums import filtered
from wmma_emu.ptx.textures.values import MISSING, words_of

IF_FILTERED = "depends on the textures: filtering along three axes is not proved"
"""The caveat of fetches whose results are exact for some textures: a launch replaces it by those of its textures."""

_RESULTS, _COMPONENTS = 4, "rgba"

_LEVELS = {"level": 1, "grad": 2}
"""The operands that select a level of detail, which a texture without mipmaps ignores: the fact "levels"."""

_Results = tuple[list[Array], list[Undefined | None]]
"""The four results of a fetch, and the undefined bits of each."""

_Fetch = Callable[[State, MappedObject[Texture], Active], _Results]


def _tex(instruction: PtxInstruction, context: CompileContext) -> BoundStep:
    kinds = [x for x in instruction.modifiers if x in ("u32", "s32", "f32")]
    if len(kinds) != 2:
        raise refusal(instruction, "needs the types of the results (.u32, .s32, .f32) and the coordinates (.s32, .f32)")
    level = next((x for x in instruction.modifiers if x in _LEVELS), "")
    expected = 2 + _LEVELS.get(level, 0)
    if len(instruction.operands) != expected:
        more = "offsets and depth comparisons are not modelled: CUDA C++ has no function for them"
        raise refusal(instruction, f"expects {expected} operands, not {len(instruction.operands)}; {more}")
    place = place_of(instruction, instruction.operands[1], kinds[1])
    for operand in instruction.operands[2:]:
        _require_level(instruction, operand, kinds[1], place.geometry.axes)
    fetch = partial(_fetched, instruction, place, kinds[1])
    is_exact = kinds[1] != "f32" or place.geometry.axes < 3
    return BoundStep(_step(instruction, place, kinds[0], fetch), None if is_exact else IF_FILTERED)


def _require_level(instruction: PtxInstruction, operand: Operand | None, kind: str, axes: int) -> None:
    """Check a level of detail, or the derivatives of all coordinates along x or y, as an assembler does."""
    given = operand.elements if isinstance(operand, VectorOperand) else (operand,)
    if "level" in instruction.modifiers:
        count, what = 1, "a level of detail"
    else:
        count, what = {3: 4}.get(axes, axes), "the derivatives in a vector"
    if len(given) != count or (what[0] == "t" and not isinstance(operand, VectorOperand)):
        raise refusal(instruction, f"expects {what}, {count} of type .{kind}, not {describe(operand)}")
    for x in given:
        require_source(instruction, x, kind)


def _tld4(instruction: PtxInstruction, context: CompileContext) -> BoundStep:
    component = next((x for x in instruction.modifiers if x in _COMPONENTS), "")
    kinds = [x for x in instruction.modifiers if x in ("u32", "s32", "f32")]
    if not component or len(kinds) != 2:
        raise refusal(instruction, "needs a component (.r, .g, .b, .a) and the types of the results and coordinates")
    if len(instruction.operands) != 2:
        raise refusal(instruction, "expects 2 operands; offsets and depth comparisons are not modelled")
    place = place_of(instruction, instruction.operands[1], "f32")
    if place.geometry.axes != 2:
        raise refusal(instruction, "gathers from textures of two axes: .2d or .a2d")
    fetch = partial(_gathered, instruction, place, _COMPONENTS.index(component))
    return BoundStep(_step(instruction, place, kinds[0], fetch))


def _step(instruction: PtxInstruction, place: ObjectPlace, kind: str, fetch: _Fetch) -> Step:
    registers, resident = _results(instruction, instruction.operands[0], kind)

    def step(state: State, active: Active) -> None:
        state.require_defined(instruction, place.address, active, "the handle or a coordinate of a texture")
        zero = np.zeros((1, 1, 1), np.uint32)
        found = []
        for mapped, threads in objects_of(state, instruction, place.address, active, Texture):
            if _is_legal(state, instruction, mapped.object, place, kind, threads):
                found.append((threads, *fetch(state, mapped, threads)))
        if not (len(found) == 1 and found[0][0] is active):
            for register in registers:
                state.write(register, zero, active)
        for threads, words, lost in found:
            for register, word, bits in zip(registers, words, lost, strict=True):
                state.write(register, word, threads, bits)
        state.write(resident, np.ones((1, 1, 1), np.bool_), active)

    return step


def _results(
    instruction: PtxInstruction, operand: Operand | None, kind: str
) -> tuple[list[Register | None], Register | None]:
    """Return the four registers of the results, and the predicate of residence, which is always true."""
    resident = None
    if isinstance(operand, PairOperand):
        resident, operand = operand.second, operand.first
        require_target(instruction, resident, "pred", may_be_sink=True)
    if not isinstance(operand, VectorOperand) or len(operand.elements) != _RESULTS:
        raise refusal(instruction, f"expects a vector of {_RESULTS} registers as its result, not {describe(operand)}")
    registers: list[Register | None] = []
    for x in operand.elements:
        require_target(instruction, x, kind, may_be_sink=True)
        registers.append(x if isinstance(x, Register) else None)
    return registers, resident


def _is_legal(
    state: State, instruction: PtxInstruction, texture: Texture, place: ObjectPlace, kind: str, active: Active
) -> bool:
    """Return whether a texture has the geometry and the type of results that an instruction needs."""
    if not has_geometry(state, instruction, texture.texels, place.geometry, active):
        return False
    given = "f32" if texture.gives_floats else {"u": "u32", "i": "s32"}[texture.texels.kind]
    where = np.broadcast_to(state.live if active is None else active, state.shape)
    if given != kind:
        note(
            state, instruction, "illegal operand", where,
            f"the results are .{kind}, but {texture!r} gives .{given}: the value is undefined",
        )  # fmt: skip
        return False
    if texture.linear and instruction.modifiers[-1] == "f32":
        note(
            state, instruction, "illegal operand", where,
            "the texture is on linear memory, which only tex1Dfetch reads, by integers: make it without linear=True",
        )  # fmt: skip
        return False
    return True


def _fetched(
    instruction: PtxInstruction, place: ObjectPlace, kind: str, state: State, mapped: MappedObject[Texture],
    active: Active,
) -> _Results:  # fmt: skip
    """Return the results of ``tex``."""
    texture = mapped.object
    texels, layer = texture.texels, _layer(state, texture, place)
    if kind == "s32":
        integers = tuple(state.read(x, "b32").view(np.int32) for x in place.coordinates)
        return _words(state, instruction, mapped, [indexed(texels, integers, layer)], active)
    floats = tuple(state.read(x, "b32").view(np.float32) for x in place.coordinates)
    if texture.filter == "linear":
        return _words(state, instruction, mapped, filtered_texels(texture, floats, layer), active)
    return _words(state, instruction, mapped, [sampled(texture, floats, layer)], active)


def _gathered(
    instruction: PtxInstruction, place: ObjectPlace, component: int, state: State,
    mapped: MappedObject[Texture], active: Active,
) -> _Results:  # fmt: skip
    """Return one component of four texels."""
    texture = mapped.object
    floats = tuple(state.read(x, "b32").view(np.float32) for x in place.coordinates)
    words, lost = [], []
    for texel in gathered(texture, floats, _layer(state, texture, place)):
        found, undefined = _words(state, instruction, mapped, [texel], active)
        words.append(found[component])
        lost.append(undefined[component])
    return words, lost


def _layer(state: State, texture: Texture, place: ObjectPlace) -> Array | None:
    layer = layer_words(state, place)
    return None if layer is None else layer_of(texture.texels, layer)


def _words(
    state: State, instruction: PtxInstruction, mapped: MappedObject[Texture], fetched: list[Fetched], active: Active
) -> _Results:
    """Return the four channels of one texel, or of the weighted sum of several."""
    texture = mapped.object
    texels, as_fractions = texture.texels, texture.read == "normalised"
    loaded = [_load(state, instruction, mapped, x, active) for x in fetched]
    words: list[Array] = []
    lost: list[Undefined | None] = []
    for channel in range(_RESULTS):
        if channel >= texels.channels:
            words.append(np.full((1, 1, 1), MISSING))
            lost.append(None)
            continue
        bits = [values[channel] for values, _ in loaded]
        if len(bits) == 1:
            words.append(words_of(bits[0], texels, as_fractions=as_fractions))
        else:
            words.append(filtered([(x.weight, y) for x, y in zip(fetched, bits, strict=True)], texels))
        lost.append(_undefined(channel, [x for _, x in loaded if x is not None]))
    return words, lost


def _load(
    state: State, instruction: PtxInstruction, mapped: MappedObject[Texture], fetched: Fetched, active: Active
) -> tuple[Array, Undefined | None]:
    """Read the channels of a texel, zeros outside of the texture."""
    texels = mapped.object.texels
    used = active
    if fetched.inside is not None:
        used = narrowest(active, np.broadcast_to(fetched.inside, state.shape))
    if used is not None and not used.any():
        return np.zeros((texels.channels, 1, 1, 1), f"u{texels.element_bytes}"), None
    addresses = np.uint64(mapped.address) + fetched.position.view(np.uint64)
    values, undefined = state.memory.load(
        instruction, "global", addresses, texels.element_bytes, texels.channels, used, alignment=texels.element_bytes
    )
    if fetched.inside is not None:
        values = np.where(fetched.inside, values, values.dtype.type(0))
    return values, undefined


def _undefined(channel: int, given: list[Undefined]) -> Undefined | None:
    """Return the undefined bits of a result: all of them, if any bit of a texel that it depends on is undefined."""
    found = [Undefined(x.bits[channel], x.origin[channel]) for x in given]
    if not any(x.bits.any() for x in found):
        return None
    some = found[0].bits != 0
    for x in found[1:]:
        some = some | (x.bits != 0)
    return Undefined(np.where(some, np.uint32(0xFFFF_FFFF), np.uint32(0)), computed(origin_of(found)))


MACHINE_STEPS: dict[str, MachineStep] = {"tex": _tex, "tld4": _tld4}
"""The builders of the steps of fetches, by mnemonic."""
