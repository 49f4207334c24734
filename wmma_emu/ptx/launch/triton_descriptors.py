# SPDX-License-Identifier: MIT
"""The tensor maps of Triton's descriptors, as its launcher has the driver make them."""

from collections.abc import Mapping
from typing import Any

from wmma_emu.ptx.launch.tensor_map import TensorMap
from wmma_emu.ptx.tensor_maps.element_types import ELEMENT_TYPES, ElementType
from wmma_emu.ptx.tensor_maps.encoding import TensorMapFields, Window
from wmma_emu.ptx.tensor_maps.rules import require_legal

_BY_NUMBER = {x.replaced: x for x in ELEMENT_TYPES}
_TF32 = next(x for x in ELEMENT_TYPES if x.name == "tf32")


def descriptor_map(descriptor: Any, facts: Mapping[str, Any], base: Any) -> TensorMap:
    """Return the tensor map of a descriptor whose memory is ``base``.

    ``facts`` is Triton's ``tensordesc_meta``, the compiler's choices: the swizzle, the block and the element
    type, by its number in PTX.
    """
    element: ElementType = _TF32 if descriptor.round_f32_to_tf32 else _BY_NUMBER[facts["elem_type"]]
    shape, block = tuple(map(int, descriptor.shape)), tuple(map(int, facts["block_size"]))
    window = None
    steps = (1,) * len(shape)
    if facts.get("is_im2col"):
        steps = tuple(map(int, descriptor.element_strides or steps))
        window = Window(
            tuple(map(int, descriptor.pixel_box_lower_corner))[::-1],
            tuple(map(int, descriptor.pixel_box_upper_corner))[::-1], channels=block[1], pixels=block[0],
        )  # fmt: skip
    fields = TensorMapFields(
        0, element, shape[::-1], tuple(int(x) * element.bytes for x in descriptor.strides[-2::-1]), steps[::-1],
        () if window else block[::-1], window, int(facts["swizzle"]), fill=int(descriptor.padding == "nan"),
    )  # fmt: skip
    require_legal(fields)
    return TensorMap(fields.encode(), base)
