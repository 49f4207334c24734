# SPDX-License-Identifier: MIT
"""``wmma-emu ptx tensor-map``."""

import json

import numpy as np
import pytest

from wmma_emu.cli import main
from wmma_emu.ptx import tensor_map

MAP = tensor_map(np.zeros((16, 128), np.float16), (8, 64), swizzle="128B").pack(lambda array: 0x7F0012340000)


@pytest.mark.parametrize("separator", ["", " ", ", 0x", ":"])
def test_the_fields_are_shown_whatever_is_between_the_bytes(capsys, separator):
    assert main(["ptx", "tensor-map", *separator.join(f"{x:02x}" for x in MAP).split(" ")]) == 0
    lines = dict(x.split(maxsplit=1) for x in capsys.readouterr().out.splitlines() if x.startswith(("addr", "box")))
    assert lines == {"address": "0x7f0012340000", "box": "64, 8"}


def test_json_has_numbers(capsys):
    assert main(["ptx", "tensor-map", MAP.hex(), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["address"], found["dims"], found["swizzle"], found["broken_rule"]) == (
        0x7F0012340000, [128, 16], "128B", None,
    )  # fmt: skip


def test_a_map_that_breaks_a_rule_is_shown_and_the_status_is_1(capsys):
    assert main(["ptx", "tensor-map", "00" * 128]) == 1
    assert "a row of the box has 1 bytes; it needs a multiple of 16" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("0011", "it has 4 hexadecimal digits"),
        ("g" * 256, "'g' is not a hexadecimal digit"),
        ("ff" * 128, "does not exist"),
    ],
)
def test_anything_else_is_an_error(capsys, given, message):
    assert main(["ptx", "tensor-map", given]) == 2
    assert message in capsys.readouterr().err
