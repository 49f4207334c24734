# SPDX-License-Identifier: MIT
"""Planted bugs: values that are wholly or partly uninitialised, and their uses."""

from typing import Any

import numpy as np

import wmma_emu as we
from tests.ptx.planted.planted import Planted, floats, ints, zeros

ROWS = []


def empty(*shape: int, dtype: Any = np.int32) -> Any:
    """Return uninitialised memory, as from cudaMalloc."""
    return we.ptx.empty(shape, dtype)


def _undefined(kernel, opcode, arguments, shared=0):
    ROWS.append(Planted("uninitialised", opcode, "undefined", kernel, 32, arguments, 1, shared))


_undefined("accumulator", "st.global", lambda: (ints(4, 32), zeros(32)))
_undefined("memory_as_it_comes", "st.global", lambda: (ints(32), empty(32), empty(32)))
_undefined("tail_of_an_array", "st.global", lambda: (ints(50), empty(50), empty(50), 50))
_undefined("address", "ld.global", lambda: (ints(32), zeros(32)))
_undefined("address_in_shared_memory", "ld.shared", lambda: (ints(32), zeros(32)))
_undefined("branch", "", lambda: (ints(32), zeros(32)))
_undefined("bound_of_a_loop", "", lambda: (ints(8), zeros(32)))
_undefined("membermask", "shfl", lambda: (ints(32), zeros(32)))
_undefined("operand_of_an_atomic", "red.global", lambda: (zeros(1),))
_undefined("value_of_a_shuffle", "st.global", lambda: (ints(32), zeros(32)))
_undefined("vote", "st.global", lambda: (ints(32), zeros(32)))
_undefined("component_of_a_vector", "st.global", lambda: (ints(32, 4), zeros(32, 4)))
_undefined("row_of_a_product", "st.global", lambda: (floats(64), floats(64)))
_undefined("half_of_a_pointer", "ld.global", lambda: (ints(32), zeros(32)))
_undefined("tail_of_dynamic_memory", "st.global", lambda: (ints(32), zeros(32), 32), 128)
_undefined("case_without_a_value", "st.global", lambda: (ints(32), zeros(32)))


def _parts(kernel, arguments, whole=False):
    kind, severity = ("uninitialised", "error") if whole else ("partly uninitialised", "warning")
    ROWS.append(Planted(kind, "st.global", "undefined_parts", kernel, 32, arguments, severity=severity))


def _words():
    return ints(32, low=0x12345678).astype(np.uint32), zeros(32, dtype=np.uint32)


def _halves():
    return ints(32).astype(np.uint16), zeros(32, dtype=np.uint16)


_parts("half_of_a_pair", _halves, whole=True)
_parts("pair_of_one_half", lambda: (_halves()[0], _words()[1]))
_parts("byte_of_a_permutation", _words)
_parts("byte_of_the_other_operand", lambda: (_words()[0], zeros(32, dtype=np.uint8)), whole=True)
_parts("bits_behind_a_mask", _words)
_parts("bits_behind_a_shift", _words)
_parts("bits_of_a_field", _words)
_parts("sum_of_low_bytes", lambda: (_words()[0], zeros(32, dtype=np.uint8)), whole=True)
_parts("last_byte_of_a_word", lambda: (ints(128).astype(np.uint8), _words()[1]))
_parts("last_half_of_a_row", lambda: (ints(64).astype(np.uint16), zeros(64, dtype=np.uint16)), whole=True)
_parts("sum_of_pairs", lambda: (_words()[0], _halves()[1]), whole=True)
_parts("padding_of_a_struct", lambda: (ints(32), zeros(32, 2)))
