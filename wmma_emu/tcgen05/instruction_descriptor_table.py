# SPDX-License-Identifier: MIT
"""The fields of an instruction descriptor of `tcgen05.mma`, and the meanings of their codes."""

from typing import Any, NamedTuple

from wmma_emu.errors import UnsupportedInstructionError, shorten
from wmma_emu.instructions.spec import Instruction
from wmma_emu.instructions.tensor import TENSOR_KINDS, TensorKind

SOURCE = "PTX ISA 9.3, instruction descriptor of tcgen05 (three tables), transpose and negate; CuTe, InstrDescriptor"


class DescriptorField(NamedTuple):
    """The bits of a field; a field without a name is reserved, all bits zero."""

    name: str
    low: int
    width: int


_MIDDLE = (
    DescriptorField("negate_a", 13, 1),
    DescriptorField("negate_b", 14, 1),
    DescriptorField("transpose_a", 15, 1),
    DescriptorField("transpose_b", 16, 1),
    DescriptorField("n", 17, 6),
)
_PLAIN = (
    DescriptorField("sparsity_selector", 0, 2),
    DescriptorField("sparse", 2, 1),
    DescriptorField("saturate", 3, 1),
    DescriptorField("d", 4, 2),
    DescriptorField("", 6, 1),
    DescriptorField("a", 7, 3),
    DescriptorField("b", 10, 3),
    *_MIDDLE,
    DescriptorField("", 23, 1),
    DescriptorField("m", 24, 5),
    DescriptorField("", 29, 1),
    DescriptorField("max_shift", 30, 2),
)
_SCALED_BEGIN = (
    DescriptorField("", 0, 2),
    DescriptorField("sparse", 2, 1),
    DescriptorField("", 3, 1),
    DescriptorField("scale_id_b", 4, 2),
    DescriptorField("", 6, 1),
    DescriptorField("a", 7, 3),
)
_SCALED_END = (
    *_MIDDLE,
    DescriptorField("scale", 23, 1),
    DescriptorField("", 24, 3),
    DescriptorField("m", 27, 2),
    DescriptorField("scale_id_a", 29, 2),
)
_MXF8F6F4 = (*_SCALED_BEGIN, DescriptorField("b", 10, 3), *_SCALED_END, DescriptorField("", 31, 1))
_MXF4 = (
    *_SCALED_BEGIN,
    DescriptorField("b", 10, 2),
    DescriptorField("", 12, 1),
    *_SCALED_END,
    DescriptorField("k", 31, 1),
)

DESCRIPTOR_FIELDS: dict[str, tuple[DescriptorField, ...]] = {
    **dict.fromkeys(("f16", "tf32", "f8f6f4", "i8"), _PLAIN),
    "mxf8f6f4": _MXF8F6F4,
    **dict.fromkeys(("mxf4", "mxf4nvf4"), _MXF4),
}
"""Fields of the descriptor of each kind, from bit 0 up, including reserved ones."""

_F8F6F4 = {"e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4, "e2m1": 5}
_OPERANDS: dict[str, dict[str, int]] = {
    "f16": {"f16": 0, "bf16": 1},
    "tf32": {"tf32": 2},
    "f8f6f4": _F8F6F4,
    "i8": {"u8": 0, "s8": 1},
    "mxf8f6f4": _F8F6F4,
    "mxf4": {"e2m1": 1},
    "mxf4nvf4": {"e2m1": 1},
}
SHIFTS = {0: 0, 8: 1, 16: 2, 32: 3}
FLAGS = ("sparse", "saturate", "negate_a", "negate_b", "transpose_a", "transpose_b")

_CODES: dict[str, dict[Any, int]] = {
    "d": {"f16": 0, "f32": 1, "s32": 2},
    "scale": {"ue4m3": 0, "ue8m0": 1},
    "max_shift": SHIFTS,
    "k": {0: 0, 96: 1},
    "n": {8 * i: i for i in range(1, 33)},
    **{name: {False: 0, True: 1} for name in FLAGS},
    **{name: {i: i for i in range(4)} for name in ("sparsity_selector", "scale_id_a", "scale_id_b")},
}
"""The codes of fields that are the same in every kind."""


def kind_row(given: object) -> TensorKind:
    """Return the entry of a kind, or raise `UnsupportedInstructionError`."""
    if isinstance(given, str) and given in TENSOR_KINDS:
        return TENSOR_KINDS[given]
    raise UnsupportedInstructionError(f"tcgen05.mma has no kind {shorten(given)}; there is {', '.join(TENSOR_KINDS)}")


def kind_of(instruction: Instruction) -> str:
    """Return the kind of a `tcgen05.mma`, ``"f16"``."""
    return instruction.kind.removeprefix("kind::")


def codes_of(kind: str, name: str) -> dict[Any, int]:
    """Return the codes of a field, by their meaning."""
    if name in ("a", "b"):
        return _OPERANDS[kind]
    if name == "m":
        step = 128 if TENSOR_KINDS[kind].is_block_scaled else 16
        return {step * i: i for i in range(1, 257 // step + 1)}
    return _CODES[name]


def meaning_of(kind: str, field: DescriptorField, code: int, word: int) -> Any:
    """Return the meaning of a field's code, or raise `UnsupportedInstructionError` if it has none."""
    for value, its in codes_of(kind, field.name).items():
        if its == code:
            return value
    last = field.low + field.width - 1
    raise UnsupportedInstructionError(
        f"{field.name} (bits {last}:{field.low}) of an instruction descriptor of kind::{kind} has the code {code}, "
        f"which is not defined; {word:#x} has it"
    )
