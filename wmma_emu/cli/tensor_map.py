# SPDX-License-Identifier: MIT
"""``wmma-emu ptx tensor-map``: the fields of the 128 bytes of a tensor map."""

import json
import re
from argparse import Namespace
from dataclasses import asdict
from typing import Any

from wmma_emu.cli.choices import PTX_FORMATS
from wmma_emu.cli.output import format_of, writing
from wmma_emu.cli.terminal import Styled, Terminal
from wmma_emu.cli.usage import UsageError
from wmma_emu.errors import ArgumentValueError
from wmma_emu.ptx.launch.tensor_map import described
from wmma_emu.ptx.tensor_maps.encoding import (
    FILLS,
    INTERLEAVES,
    MAP_BYTES,
    PROMOTIONS,
    SWIZZLES,
    TensorMapFields,
)
from wmma_emu.ptx.tensor_maps.rules import require_legal

_SEPARATORS = re.compile(r"0[xX]|[\s,_:]+")


def show_tensor_map(arguments: Namespace, terminal: Terminal) -> int:
    """Print the fields; return 1 if the map breaks a rule of the driver."""
    fields = _decoded(_bytes(arguments.hex))
    broken = _broken(fields)
    written = format_of(arguments.format, arguments.output, PTX_FORMATS)
    with writing(arguments, PTX_FORMATS, "map.json", terminal) as out:
        if written == "json":
            out.raw(json.dumps(_as_json(fields) | {"broken_rule": broken or None}) + "\n")
        else:
            out.fields(described(fields), indent=0)
            if broken:
                out.line(Styled(broken, "error"))
    return int(bool(broken))


def _as_json(fields: TensorMapFields) -> dict[str, Any]:
    values = asdict(fields)
    return values | {
        "element": fields.element.name, "swizzle": SWIZZLES[fields.swizzle], "fill": FILLS[fields.fill],
        "interleave": INTERLEAVES[fields.interleave], "promotion": PROMOTIONS[fields.promotion],
    }  # fmt: skip


def _bytes(words: list[str]) -> bytes:
    """Return the bytes of hexadecimal digits, with or without spaces, commas, colons or 0x between them."""
    digits = _SEPARATORS.sub("", " ".join(words))
    if re.fullmatch(r"[0-9A-Fa-f]*", digits) and len(digits) == 2 * MAP_BYTES:
        return bytes.fromhex(digits)
    wrong = re.search(r"[^0-9A-Fa-f]", digits)
    what = f"{wrong[0]!r} is not a hexadecimal digit" if wrong else f"it has {len(digits)} hexadecimal digits"
    raise UsageError(
        f"a tensor map is {MAP_BYTES} bytes, {2 * MAP_BYTES} hexadecimal digits in the order of memory; {what}"
    )


def _decoded(given: bytes) -> TensorMapFields:
    try:
        return TensorMapFields.decode(given)
    except ArgumentValueError as error:
        raise UsageError(str(error)) from error


def _broken(fields: TensorMapFields) -> str:
    try:
        require_legal(fields)
    except ArgumentValueError as error:
        return str(error)
    return ""
