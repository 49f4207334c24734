# SPDX-License-Identifier: MIT
"""The operands of texture and surface instructions: geometry, coordinates, and the objects that handles name."""

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np

from wmma_emu.ptx.program.faults import refusal
from wmma_emu.ptx.program.operand_kinds import describe
from wmma_emu.ptx.program.program import AddressOperand, Operand, PtxInstruction, Register, Symbol, VectorOperand
from wmma_emu.ptx.state import State
from wmma_emu.ptx.steps.addresses import addresses_of
from wmma_emu.ptx.steps.collectives import note
from wmma_emu.ptx.steps.lane_operand_rules import require_source
from wmma_emu.ptx.steps.lane_operations import Active, Array
from wmma_emu.ptx.textures.objects import MappedObject, Surface, Texture, TextureObject
from wmma_emu.ptx.textures.texels import Texels

_BYTES = 8
"""The bytes of a handle."""

_Object = TypeVar("_Object", bound=TextureObject)


class Geometry(NamedTuple):
    """A geometry of PTX: the axes of a texture, whether it has layers, and the registers that hold the coordinates.

    The layer comes first; registers beyond the axes are ignored.
    """

    axes: int
    has_layers: bool
    registers: int


GEOMETRIES = {
    "1d": Geometry(1, False, 1), "2d": Geometry(2, False, 2), "3d": Geometry(3, False, 4),
    "a1d": Geometry(1, True, 2), "a2d": Geometry(2, True, 4),
}  # fmt: skip
"""The geometries that are modelled (PTX ISA 9.1, tex and suld; ptxas 13.0 accepts these numbers of registers)."""

SAMPLERS = "names a sampler: CUDA has no samplers apart from textures (.texmode_independent)"
"""The reason why a texture and a sampler are refused."""

_WORDS: dict[type, tuple[str, str]] = {
    Texture: ("a texture", "wmma_emu.ptx.texture(array, ...)"),
    Surface: ("a surface", "wmma_emu.ptx.surface(array)"),
}


class ObjectPlace(NamedTuple):
    """The operand ``[object, {coordinates}]``, whose base is a 64-bit register, or a variable with a handle."""

    address: AddressOperand
    geometry: Geometry

    @property
    def layer(self) -> Operand | None:
        """The operand that selects the layer; None without layers."""
        return self.address.coordinates[0] if self.geometry.has_layers else None

    @property
    def coordinates(self) -> tuple[Operand, ...]:
        """The operands of x, y and z."""
        first = int(self.geometry.has_layers)
        return self.address.coordinates[first : first + self.geometry.axes]


def place_of(instruction: PtxInstruction, operand: Operand | None, kind: str) -> ObjectPlace:
    """Return the operand with coordinates of type ``kind``, or raise an error as an assembler does."""
    name = next((x for x in instruction.modifiers if x in GEOMETRIES), "")
    if not name:
        raise refusal(instruction, f"needs a geometry: {', '.join('.' + x for x in GEOMETRIES)}")
    geometry = GEOMETRIES[name]
    address = object_address(instruction, operand)
    if len(address.coordinates) != geometry.registers:
        given = len(address.coordinates)
        raise refusal(instruction, f"has {given} coordinates; .{name} needs {geometry.registers}")
    for i, coordinate in enumerate(address.coordinates):
        require_source(instruction, coordinate, "u32" if geometry.has_layers and i == 0 else kind)
    return ObjectPlace(address, geometry)


def object_address(instruction: PtxInstruction, operand: Operand | None) -> AddressOperand:
    """Return the operand that names a texture or a surface: a register or a variable in brackets."""
    if not isinstance(operand, AddressOperand):
        raise refusal(instruction, f"expects an object in brackets, [object, coordinates], not {describe(operand)}")
    if any(isinstance(x, VectorOperand) for x in operand.coordinates):
        raise refusal(instruction, SAMPLERS)
    base = operand.base
    is_wide = base.type[1:] == "64" if isinstance(base, Register) else isinstance(base, Symbol) and base.bytes == _BYTES
    if not is_wide or operand.offset:
        raise refusal(instruction, "expects a 64-bit register, or a .texref or .surfref variable, with a handle")
    return operand


def handles_of(state: State, instruction: PtxInstruction, address: AddressOperand, active: Active) -> Array:
    """Return the handle that each thread's object operand holds: the value of a register or of a variable."""
    if not isinstance(address.base, Symbol):
        return state.read(address.base, "u64")
    where = addresses_of(state, AddressOperand(address.base))
    values, _ = state.memory.load(instruction, address.base.space, where, _BYTES, 1, active)
    return np.asarray(values[0])


def objects_of(
    state: State, instruction: PtxInstruction, address: AddressOperand, active: Active, kind: type[_Object]
) -> Iterator[tuple[MappedObject[_Object], Active]]:
    """Yield each object that the active threads' handles name, with these threads; report handles of nothing."""
    handles = handles_of(state, instruction, address, active)
    participants = state.live if active is None else active
    wide = np.broadcast_to(handles, state.shape)
    known = [int(handles.item())] if handles.size == 1 else np.unique(wide[np.broadcast_to(participants, state.shape)])
    for handle in map(int, known):
        threads = active if handles.size == 1 else participants & (wide == np.uint64(handle))
        found = state.memory.heap.objects.get(handle)
        if found is not None and isinstance(found.object, kind):
            yield found, threads
        else:
            where = np.broadcast_to(state.live if threads is None else threads, state.shape)
            note(state, instruction, "illegal operand", where, _no_object(handle, found, kind))


def _no_object(handle: int, found: MappedObject[Any] | None, kind: type) -> str:
    what, made = _WORDS[kind]
    given = "" if found is None else f", but that of {_WORDS[type(found.object)][0]}"
    return (
        f"{handle:#x} is not the handle of {what} of this launch{given}: pass {made} as the argument, or in "
        "objects=[...] if memory holds its handle"
    )


def has_geometry(state: State, instruction: PtxInstruction, texels: Texels, geometry: Geometry, active: Active) -> bool:
    """Return whether an object has the geometry of the instruction; report it if it does not."""
    if (len(texels.extents), texels.layers is not None) == (geometry.axes, geometry.has_layers):
        return True
    where = np.broadcast_to(state.live if active is None else active, state.shape)
    layers = "with" if geometry.has_layers else "without"
    note(
        state, instruction, "illegal operand", where,
        f"the instruction is for {geometry.axes} axes {layers} layers, the object has {texels.shown}",
    )  # fmt: skip
    return False


def layer_words(state: State, place: ObjectPlace) -> Array | None:
    """Return the index of the layer of each thread; None without layers."""
    return None if place.layer is None else state.read(place.layer, "u32")
