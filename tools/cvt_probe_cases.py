# SPDX-License-Identifier: MIT
"""Probe cases of ``cvt`` and ``prmt``: every legal form, its PTX, and patterns that distinguish rules.

A case is one instruction and its inputs; `wmma_emu.gpu.run_snippet` runs it, a thread for each input. All
randomness is a SHAKE-128 stream, so that inputs need not be stored. A change that changes a bit needs a new `VERSION`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.recording_inputs import random_words
from wmma_emu.scalar.cvt_table import CVT_FORMS, CVT_TYPES, CvtForm
from wmma_emu.scalar.prmt import PRMT_MODES

__all__ = ["VERSION", "ProbeCase", "cvt_cases", "inputs_of_type", "prmt_cases"]

VERSION = 1

_RANDOM = 4096


@dataclass(frozen=True)
class ProbeCase:
    """One instruction on many inputs.

    Parameters
    ----------
    mnemonic : str
    line : str
        The PTX of the one instruction, with registers %d, and %a, %b, %c if it has them.
    register_types : dict of str to str
        PTX register type of each: ``{"d": "b16", "a": "f32"}``.
    inputs : dict of str to unsigned array, 1-D
        Patterns for each source register, of equal lengths and of the width that is loaded.
    result_bits : int
        How many bits of %d are stored.
    """

    mnemonic: str
    line: str
    register_types: dict[str, str]
    inputs: dict[str, NDArray[Any]]
    result_bits: int


def cvt_cases(chip: str = "sm_90") -> Iterator[ProbeCase]:
    """Yield a case for every conversion that a chip has and the package models, in the order of the table."""
    for form in CVT_FORMS.values():
        if chip in form.archs and form.rounding != "rs" and not needs_registers_of_8_bits(form):
            yield _cvt_case(form)


def needs_registers_of_8_bits(form: CvtForm) -> bool:
    """Return whether ptxas accepts 8-bit integers in registers of 8 bits alone, which a snippet does not have."""
    integers = {"u8", "s8"} & {form.target, form.source}
    return bool(integers) and "bf16" in (form.target, form.source)


def _cvt_case(form: CvtForm) -> ProbeCase:
    a = inputs_of_type(form.source)
    inputs = {"a": a, "b": a[::-1].copy()} if form.num_operands == 2 else {"a": a}
    types = {"d": _register_type(form.target)} | dict.fromkeys(inputs, _register_type(form.source))
    if form.is_scaled:
        inputs["scale"] = random_words(f"wmma_emu cvt {VERSION}|scale", -(-a.size // 4)).view("<u2")[: a.size]
        types["scale"] = "b16"
    line = f"{form.mnemonic} {', '.join(f'%{name}' for name in types)};"
    return ProbeCase(form.mnemonic, line, types, inputs, CVT_TYPES[form.target].bits)


def prmt_cases() -> Iterator[ProbeCase]:
    """Yield a case for prmt without a mode, over all selectors, and one for each mode."""
    for mode in ("", *PRMT_MODES):
        count = 1 << 16 if not mode else _RANDOM
        words = random_words(f"wmma_emu prmt {VERSION}|{mode}", 2 * count).astype("<u8").view("<u4").reshape(4, count)
        a, b, c = (x.astype(np.uint32) for x in words[:3])
        if not mode:
            c = np.arange(count, dtype=np.uint32) | c << np.uint32(16)
        mnemonic = f"prmt.b32.{mode}" if mode else "prmt.b32"
        types = dict.fromkeys("dabc", "b32")
        yield ProbeCase(mnemonic, f"{mnemonic} %d, %a, %b, %c;", types, {"a": a, "b": b, "c": c}, 32)


@cache
def inputs_of_type(name: str) -> NDArray[Any]:
    """Return all patterns of a type of at most 16 bits; for a wider type, edges and random patterns up to the limit.

    Two 16-bit elements in a register run through all patterns, in opposite orders.
    """
    entry = CVT_TYPES[name]
    if entry.bits <= 16:
        return _fixed(np.arange(1 << entry.bits, dtype=f"u{entry.bits // 8}"))
    if entry.count == 2:
        half = np.arange(1 << 16, dtype=np.uint32)
        return _fixed(half | half[::-1] << np.uint32(16))
    random = random_words(f"wmma_emu cvt {VERSION}|{name}", 2 * _RANDOM).reshape(2, _RANDOM)
    patterns = _floats(name, random) if entry.element.is_float else _integers(entry.bits, random)
    edges = np.array(_float_edges(name) if entry.element.is_float else _integer_edges(entry.bits), np.uint64)
    return _fixed(np.concatenate([edges, patterns]).astype(entry.element.storage))


def _fixed(patterns: NDArray[Any]) -> NDArray[Any]:
    """Forbid writing: several cases share the array."""
    patterns.flags.writeable = False
    return patterns


def _integers(bits: int, random: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Draw integers of all lengths, of both signs."""
    word = random[0] >> (random[1] % np.uint64(64))
    word = np.where(random[1] >> np.uint64(63) == 1, ~word + np.uint64(1), word)
    patterns: NDArray[np.uint64] = word & np.uint64((1 << bits) - 1)
    return patterns


def _integer_edges(bits: int) -> list[int]:
    near = [(1 << n) + e for n in range(bits + 1) for e in (-1, 0, 1)]
    halves = [(1 << n) + (1 << (n - 12)) + e for n in range(24, bits) for e in (-1, 0, 1)]
    ties = [(3 << n) + (1 << (n - k)) + e for n in range(24, bits - 1) for k in (8, 11, 24) for e in (-1, 0, 1)]
    numbers = near + halves + ties
    return sorted({x % (1 << bits) for y in numbers for x in (y, -y)})


def _floats(name: str, random: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Draw floats: an eighth any patterns, the others with exponents where integers and narrow formats are."""
    fmt = CVT_TYPES[name].element
    sign = (random[1] & np.uint64(1)) * np.uint64(fmt.sign_mask)
    exponent = (random[1] >> np.uint64(1) & np.uint64(0x7FFF)).astype(np.int64) % 216 + (fmt.bias - 150)
    # Many end in zeros: ties are rare otherwise.
    zeros = (random[1] >> np.uint64(16)) % np.uint64(fmt.fraction_bits + 1)
    fraction = random[0] & np.uint64((1 << fmt.fraction_bits) - 1)
    fraction = np.where(random[1] >> np.uint64(60) & np.uint64(1), fraction >> zeros << zeros, fraction)
    biased = np.clip(exponent, 0, (1 << fmt.exponent_bits) - 1).astype(np.uint64)
    placed = sign | biased << np.uint64(fmt.fraction_bits) | fraction
    patterns: NDArray[np.uint64] = np.where(random[1] >> np.uint64(61) == 0, random[0] & np.uint64(fmt.mask), placed)
    return patterns


def _float_edges(name: str) -> list[int]:
    """Return specials, subnormals, and the neighbourhoods of every format's ends, midpoints and powers of two."""
    fmt = CVT_TYPES[name].element
    infinity, width = fmt.infinity, fmt.fraction_bits
    quiet = 1 << (width - 1)
    magnitudes = {0, 1, 2, quiet, (1 << width) - 1, 1 << width, (1 << width) + 1, infinity - 1, infinity}
    magnitudes |= {infinity + x for x in (1, 2, 0x1FFF, 0x2000, 0x2001, quiet - 1, quiet, quiet + 1, 2 * quiet - 1)}
    for power in range(-151, 129):
        biased = power + fmt.bias
        if not 0 < biased < (1 << fmt.exponent_bits) - 1:
            continue
        start = biased << width
        # The last bit of formats with 1, 2, 3, 7, 10, 23 fraction bits, and its half; all ones, and the tie above.
        places = [width - x for k in (1, 2, 3, 7, 10, 23) for x in (k, k + 1) if width >= x]
        offsets = {y for x in places for y in (1 << x, 3 << x, (1 << width) - (1 << x), (1 << width) - (3 << x))}
        magnitudes |= {start + x + e for x in {0, *offsets} for e in (-1, 0, 1)}
    return sorted(sign | x for x in magnitudes for sign in (0, fmt.sign_mask) if 0 <= x < fmt.sign_mask)


def _register_type(name: str) -> str:
    """Name the type of register: floats have their own, others at least 16 bits, except pairs of 4-bit values."""
    entry = CVT_TYPES[name]
    if name in ("f32", "f64"):
        return name
    return "b8" if entry.slot_bits == 4 and entry.count == 2 else f"b{max(entry.bits, 16)}"
