# SPDX-License-Identifier: MIT
"""The values that a parameter accepts, by its types in the PTX and in the source."""

from typing import NamedTuple

from wmma_emu.ptx.launch.elements import Element
from wmma_emu.ptx.launch.source_types import SourceType
from wmma_emu.ptx.program.program import Parameter
from wmma_emu.ptx.tensor_maps.encoding import MAP_BYTES
from wmma_emu.ptx.widths import bits_of_type

_OF_HANDLES = ("u64", "b64", "s64", "texref", "surfref")
"""The types of parameters that take the handle of a texture or a surface."""


class TypedParameter(NamedTuple):
    """A parameter with its types in the PTX and in the source."""

    parameter: Parameter
    source: SourceType | None

    @property
    def is_struct(self) -> bool:
        """Whether it is a struct: an array of bytes in the PTX."""
        return self.parameter.bytes * 8 != bits_of_type(self.parameter.type)

    @property
    def is_pointer(self) -> bool:
        """Whether it is known to be a pointer."""
        return self.parameter.is_pointer or (self.source is not None and self.source.is_pointer)

    @property
    def may_point(self) -> bool:
        """Whether an array can be passed for it."""
        parameter, source = self.parameter, self.source
        if source is not None and source.element is not None and not source.is_pointer:
            return False
        return self.is_pointer or (parameter.bytes == 8 and parameter.type in ("u64", "b64", "s64"))

    @property
    def may_be_handle(self) -> bool:
        """Whether the handle of a texture or a surface, an integer of 64 bits, can be passed for it."""
        parameter = self.parameter
        return parameter.bytes == 8 and parameter.type in _OF_HANDLES and not self.is_pointer

    @property
    def reaches_arrays(self) -> bool:
        """Whether arrays can be in the state space that it points to."""
        return self.parameter.pointee_space in ("", "global", "generic")

    @property
    def number(self) -> Element | None:
        """The element type of a parameter that is passed by value, if known."""
        return None if self.source is None or self.source.is_pointer else self.source.element

    def legal(self) -> str:
        """Return the legal values as text."""
        parameter, known = self.parameter, self.source.text if self.source else ""
        if self.is_struct:
            kinds = "bytes, a NumPy record, a ctypes.Structure or a wmma_emu.ptx.Struct"
            size = f"a struct of {parameter.bytes} bytes: {kinds} of that size"
            if parameter.bytes == MAP_BYTES:
                size += ", or wmma_emu.ptx.tensor_map(array, box)"
            return f"{known}, {size}" if known else size
        if self.is_pointer and not self.reaches_arrays:
            return f"an address in {parameter.pointee_space} memory: an integer"
        if self.is_pointer:
            return f"{known or 'a pointer'}: a NumPy array, or 0"
        if parameter.type[0] == "f":
            return f"{known or f'a .{parameter.type}'}: a number"
        return f"{known or f'a .{parameter.type}'}: " + ("an array, or an integer" if self.may_point else "an integer")

    @property
    def range(self) -> tuple[int, int]:
        """The smallest and largest integer: of the source type, or of the types that the PTX type may represent."""
        if self.number is not None and self.number.kind != "float":
            return self.number.range
        # Compilers write .u32 for both int and unsigned, so that either range is legal; for .s32 only its own is.
        kind, bits = self.parameter.type[0], bits_of_type(self.parameter.type)
        return -(1 << (bits - 1)), (1 << (bits - (kind == "s"))) - 1


def kind_text(parameter: Parameter) -> str:
    """Return a parameter's PTX type as text, such as ``.u32``."""
    if TypedParameter(parameter, None).is_struct:
        return f"struct of {parameter.bytes} bytes"
    return f".{parameter.type}" + (" pointer" if parameter.is_pointer else "")
