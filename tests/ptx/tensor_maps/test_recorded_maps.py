# SPDX-License-Identifier: MIT
"""The 128 bytes of tensor maps against those of the driver's encoder.

``data/driver_bits.txt``: each parameter of ``cuTensorMapEncodeTiled`` and ``cuTensorMapEncodeIm2col`` was moved alone,
from four base maps (NVIDIA H200, driver 580.159.04, 2026-11-23). A row has the result of the call (0, or 1 for an
illegal value) and the words that differ from the base map.
"""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from wmma_emu.errors import ArgumentValueError
from wmma_emu.ptx.tensor_maps.element_types import ELEMENT_TYPES, element_type_of
from wmma_emu.ptx.tensor_maps.encoding import TensorMapFields, Window
from wmma_emu.ptx.tensor_maps.rules import require_legal

ROWS = (Path(__file__).parent / "data" / "driver_bits.txt").read_text().splitlines()
BF16 = element_type_of("bf16")
DRIVER_ONLY = ("swizzle 4", "swizzle 5", "swizzle 6", "swizzle 7", "type u4a8", "type u4a16", "type u6a16")
"""Values that other chips have, and no map here can be given."""


def base_of(row: str) -> tuple[str, list[int]]:
    name, _, words = re.match(r"(base|im2col \d) (\d) (.*)", row).groups()
    return name, [int(x, 16) for x in words.split()]


def base_fields(name: str, address: int) -> TensorMapFields:
    if name == "base":
        return TensorMapFields(address, BF16, (64, 64, 64), (128, 8192), (1, 1, 1), (64, 8, 1))
    rank = int(name[-1])
    window = Window((0,) * (rank - 2), (0,) * (rank - 2), 64, 64)
    dims = ((*(64, 14, 9, 5, 3)[: rank - 1], 8), (128, 1792, 16128, 80640)[: rank - 1])
    return TensorMapFields(address, BF16, *dims, (1,) * rank, window=window)


def moved(fields: TensorMapFields, what: str) -> TensorMapFields:
    """Return the base map with one parameter moved, as the recording names it."""
    name, _, given = what.rpartition(" ")
    value = int(given, 0) if re.fullmatch(r"[+-]?\w*\d+", given) and not name.startswith("type") else 0
    index = int(found[1]) if (found := re.search(r"\[(\d)\]", what)) else 0
    window = fields.window
    if name == "l2promotion" or name == "l2":
        return replace(fields, promotion=value)
    if name == "swizzle":
        if window is not None:
            return replace(fields, swizzle=value, window=replace(window, channels=16))
        return replace(fields, swizzle=value, box=(16, 8, 1))
    if name == "interleave":
        return replace(fields, interleave=value, swizzle=int(value == 2), box=(16, 8, 1))
    if what.startswith("type"):
        return replace(
            fields, element=element_type_of(given), box=(128, 8, 1), dims=(128, 64, 64), strides=(1024, 65536)
        )
    if name == "oob":
        return replace(fields, fill=value)
    if what.startswith("dims"):
        return replace(fields, dims=(64, 64, int(what.split()[1])))
    if name.startswith("stride"):
        return replace(fields, strides=(value, 8192))
    if name.startswith("element stride"):
        steps = list(fields.element_strides)
        steps[index] = value
        return replace(fields, element_strides=tuple(steps))
    if name == "address":
        return replace(fields, address=fields.address + value)
    assert window is not None
    if name in ("channels", "pixels"):
        return replace(fields, window=replace(window, **{name: value}))
    side, _, _ = name.partition("[")
    corner = list(getattr(window, side))
    corner[index] = value
    return replace(fields, window=replace(window, **{side: tuple(corner)}))


def cases():
    base: tuple[str, list[int]] = "", []
    for row in ROWS:
        if re.match(r"base|im2col \d \d", row):
            base = base_of(row)
            continue
        found = re.match(r" *(?:im2col\d )?(.*?) +rc=(\d) (.*)", row)
        if found and base[0]:
            what, result, words = found.groups()
            if what not in DRIVER_ONLY:
                what = re.sub(r" \(bit 21\?\)", "", what)
                yield pytest.param(base, what, int(result), words, id=f"{base[0]}-{what}")


@pytest.mark.vectors
@pytest.mark.parametrize("row", [x for x in ROWS if re.match(r"base|im2col \d \d", x)], ids=lambda x: x[:8])
def test_a_base_map_has_the_bytes_of_the_driver(row):
    name, words = base_of(row)
    fields = base_fields(name, words[0] | words[1] << 32)
    assert fields.encode() == b"".join(x.to_bytes(4, "little") for x in words)
    assert TensorMapFields.decode(fields.encode()) == fields


@pytest.mark.vectors
@pytest.mark.parametrize(("base", "what", "result", "words"), list(cases()))
def test_a_parameter_moves_the_bits_that_it_moves_in_the_driver(base, what, result, words):
    name, before = base
    fields = moved(base_fields(name, before[0] | before[1] << 32), what)
    if result:
        with pytest.raises(ArgumentValueError, match="breaks a rule"):
            require_legal(fields)
        return
    require_legal(fields)
    expected = list(before)
    for at, bits in re.findall(r"\+(\d+):([0-9a-f]+)", words):
        expected[int(at) // 4] ^= int(bits, 16)
    assert fields.encode() == b"".join(x.to_bytes(4, "little") for x in expected)


def test_every_element_type_of_the_table_was_moved():
    moved_types = {found[1] for x in ROWS if (found := re.match(r"type (\S+)", x))}
    assert {x.name for x in ELEMENT_TYPES} <= moved_types
