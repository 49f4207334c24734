# SPDX-License-Identifier: MIT
"""The block scales of one operand: conversion between a matrix of scales and the registers of whole warps."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wmma_emu.errors import FragmentMismatchError, ShapeError, shorten
from wmma_emu.formats import Format, format_of
from wmma_emu.formats.arrays import as_numpy
from wmma_emu.formats.codec import Bits
from wmma_emu.formats.dtypes import dtype_of, from_bits, to_bits
from wmma_emu.formats.libraries import takes_tensors
from wmma_emu.instructions import Instruction
from wmma_emu.layouts import ScaleMap, ScaleSelectors, scale_map, scale_selectors_of
from wmma_emu.layouts.block_scales import Scaled
from wmma_emu.layouts.spec import LANES


@dataclass(frozen=True, slots=True)
class Selectors:
    """The selectors of block scales for one execution: byte-id and thread-id, of A and of B."""

    byte_id_a: int = 0
    thread_id_a: int = 0
    byte_id_b: int = 0
    thread_id_b: int = 0

    def of(self, operand: Scaled) -> tuple[int, int]:
        """Return byte-id and thread-id of an operand."""
        return (self.byte_id_a, self.thread_id_a) if operand == "a" else (self.byte_id_b, self.thread_id_b)


@dataclass(frozen=True, slots=True)
class BoundScale:
    """The block scales of A or of B: ``ins.scale_a``, ``ins.scale_b``.

    Registers are ``uint32`` arrays of shape ``(*warps, 32)``, one per lane. A scale of A belongs to a row and
    ``instruction.scale_block`` adjacent columns, a scale of B to a column and as many adjacent rows.

    Parameters
    ----------
    instruction : Instruction
    operand : {"a", "b"}
    arch : str
        Name of a chip that supports the instruction.

    Examples
    --------
    >>> import ml_dtypes
    >>> from wmma_emu.instructions import lookup
    >>> instruction = lookup("m16n8k64.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0")
    >>> scale_b = BoundScale(instruction, "b", "sm_120")
    >>> scale_b
    <scale_b of mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0
     on sm_120: 2x8 ue8m0 in one register>
    >>> S = np.array([[0.5] * 8, [4] * 8]).astype(ml_dtypes.float8_e8m0fnu)
    >>> registers = scale_b.pack(S, byte_id=2, thread_id=1)
    >>> [hex(x) for x in registers[:3]]                               # exponents 126 and 129, low k in the low byte
    ['0x0', '0x817e0000', '0x0']
    >>> scale_b.unpack(registers, byte_id=2, thread_id=1)[:, 0].astype(float).tolist()
    [0.5, 4.0]
    """

    instruction: Instruction
    operand: Scaled
    arch: str

    def __repr__(self) -> str:
        rows, cols = self.matrix_shape
        place = "tensor memory" if self.instruction.is_tensor else "one register"
        return f"<{self.name} of {self.instruction.mnemonic} on {self.arch}: {rows}x{cols} {self.format} in {place}>"

    @property
    def name(self) -> str:
        """The keyword for the scales: ``"scale_a"``."""
        return f"scale_{self.operand}"

    @property
    def format(self) -> Format:
        """The format of the scales."""
        return format_of(self.instruction.scale)

    @property
    def matrix_shape(self) -> tuple[int, int]:
        """(m, scale_vec) of A, (scale_vec, n) of B."""
        entry = self.instruction
        return (entry.m, entry.scale_vec) if self.operand == "a" else (entry.scale_vec, entry.n)

    @property
    def selectors(self) -> ScaleSelectors:
        """The legal values of byte-id and thread-id."""
        return scale_selectors_of(self.instruction, self.operand)

    def layout(self, byte_id: int = 0, thread_id: int = 0) -> ScaleMap:
        """Return the lane and byte of each scale.

        Raises
        ------
        FragmentMismatchError
            If a selector is not legal for the instruction.
        """
        return scale_map(self.instruction, self.operand, byte_id, thread_id)

    @takes_tensors
    def pack(self, scales: ArrayLike, byte_id: int = 0, thread_id: int = 0) -> NDArray[np.uint32]:
        """Distribute a matrix of scales to the lanes that the selectors choose.

        Parameters
        ----------
        scales : array, shape (*warps, m, scale_vec) for A, (*warps, scale_vec, n) for B
            float8_e8m0fnu for ue8m0, float8_e4m3fn without negative numbers for ue4m3, or uint8 patterns.
        byte_id, thread_id : int

        Returns
        -------
        uint32 array, shape (*warps, 32)
            0 in bytes and lanes that are not read.

        Raises
        ------
        FragmentMismatchError
            If the shape or dtype is wrong, or a selector is not legal for the instruction.
        """
        return self.pack_bits(self.bits(scales), byte_id, thread_id)

    @takes_tensors
    def unpack(self, registers: NDArray[Any], byte_id: int = 0, thread_id: int = 0) -> NDArray[Any]:
        """Return the scales that the selectors choose: the inverse of `pack`; ue4m3 as uint8 patterns.

        Raises
        ------
        FragmentMismatchError
            If the registers have the wrong dtype or shape, or a selector is not legal for the instruction.
        """
        return from_bits(self.unpack_bits(registers, byte_id, thread_id), self.format)

    def bits(self, scales: ArrayLike) -> Bits:
        """Convert a user's matrix of scales to patterns, and check its shape."""
        bits = to_bits(scales, self.format, self.name)
        if bits.shape[max(0, bits.ndim - 2) :] == self.matrix_shape:
            return bits
        rows, cols = self.matrix_shape
        one = "row of A" if self.operand == "a" else "column of B"
        fix = f"each {one} has one scale for {self.instruction.scale_block} k"
        if bits.shape[-2:] == self.matrix_shape[::-1]:
            fix = f"this looks like the transpose: pass {self.name}.swapaxes(-1, -2)"
        raise ShapeError(
            f"{self.name} has shape {bits.shape}; {self.instruction.mnemonic} takes (..., {rows}, {cols}); {fix}"
        )

    def pack_bits(self, bits: Bits, byte_id: int = 0, thread_id: int = 0) -> NDArray[np.uint32]:
        """Pack uint8 patterns; otherwise as `pack`."""
        found = self.layout(byte_id, thread_id)
        bits = self.bits(bits)
        four = np.zeros((*bits.shape[:-2], LANES, 4), np.uint8)
        four[..., found.lane, found.byte] = bits
        return four.view("<u4")[..., 0].astype(np.uint32)

    def significant(self, bits: Bits) -> Bits:
        """Return the bits of patterns that the instruction reads: the top bit of ue4m3 is padding."""
        return bits & np.uint8(0x7F) if self.format.name == "ue4m3" else bits

    def unpack_bits(self, registers: NDArray[Any], byte_id: int = 0, thread_id: int = 0) -> Bits:
        """Unpack to uint8 patterns; otherwise as `unpack`."""
        found = self.layout(byte_id, thread_id)
        words = as_numpy(registers, self.name)
        if words.dtype != np.uint32 or words.ndim == 0 or words.shape[-1] != LANES:
            raise FragmentMismatchError(self._no_registers(words))
        chosen = words[..., found.lane] >> (8 * found.byte).astype(np.uint32)
        return (chosen & np.uint32(0xFF)).astype(np.uint8)

    def _no_registers(self, words: NDArray[Any]) -> str:
        fix = "lanes come last, one register each"
        if words.dtype == dtype_of(self.format) or words.shape[-2:] == self.matrix_shape:
            fix = f"this looks like the matrix of scales: ins.{self.name}.pack(scales) gives its registers"
        elif words.dtype.itemsize == 4 and words.dtype != np.uint32:
            fix = "reinterpret with .view(np.uint32)"
        return (
            f"registers of {self.name} are {shorten(words.dtype, str)} of shape {words.shape}; "
            f"{self.instruction.mnemonic} takes uint32 of shape (*warps, {LANES}); {fix}"
        )
