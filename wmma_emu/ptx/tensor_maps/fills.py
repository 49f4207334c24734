# SPDX-License-Identifier: MIT
"""The fill of elements outside of a tensor, and the rounding of elements of TF32."""

import numpy as np
from numpy.typing import NDArray

from wmma_emu.ptx.tensor_maps.encoding import TensorMapFields
from wmma_emu.scalar.conversion import convert

_NAN_WORD = 0x7FF77FF7
"""The fill "nan" of every type, measured on an NVIDIA H200 (driver 580.159.04, 2026-11-23)."""


def fill_word(fields: TensorMapFields) -> int:
    """Return the 32 bits that fill elements outside of the tensor.

    Examples
    --------
    >>> from wmma_emu.ptx.tensor_maps.element_types import element_type_of
    >>> fields = TensorMapFields(0, element_type_of("f16"), (8,), (), (1,), box=(8,), fill=1)
    >>> hex(fill_word(fields))
    '0x7ff77ff7'
    """
    return _NAN_WORD if fields.fill else 0


def rounded(words: NDArray[np.uint32], fields: TensorMapFields) -> NDArray[np.uint32]:
    """Return the words as a load by the map leaves them: rounded to nearest even by a map of TF32, else unchanged.

    The types with ``.ftz`` flush nothing (measured there, too, with 4,096 patterns).

    Examples
    --------
    >>> from wmma_emu.ptx.tensor_maps.element_types import element_type_of
    >>> fields = TensorMapFields(0, element_type_of("tf32"), (4,), (), (1,), box=(4,))
    >>> [hex(x) for x in rounded(np.array([0x3F801000, 0x3F803000, 0xFF800001], np.uint32), fields)]
    ['0x3f800000', '0x3f804000', '0x7fffe000']
    """
    return convert(words, "f32", "tf32").astype(np.uint32) if fields.element.is_tf32 else words
