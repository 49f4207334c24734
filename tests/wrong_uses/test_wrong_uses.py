# SPDX-License-Identifier: MIT
"""Every row of the tables of wrong uses raises the error of its row, word for word, and writes nothing.

A row of a ``.toml`` file in this folder is a ``[[use]]`` with ``name``, ``code``, ``error`` (a class of
`wmma_emu`) and ``text`` (all of the message). The code finds NumPy, ml_dtypes, the package and the arrays of
`namespace`; it must leave every one of those arrays as it was.
"""

import tomllib
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import wmma_emu as we

USES = [
    pytest.param(use, id=f"{path.stem}: {use['name']}")
    for path in sorted(Path(__file__).parent.glob("*.toml"))
    for use in tomllib.loads(path.read_text())["use"]
]


def counting(shape, dtype):
    return (np.arange(np.prod(shape)) % 7).reshape(shape).astype(dtype)


def namespace():
    """Modules, and memory: 1-D arrays of 4096 elements named after their dtype, 64 x 64 ones with ``_2d``."""
    names = {"np": np, "ml_dtypes": ml_dtypes, "we": we, "wmma": we.wmma}
    dtypes = {
        "half": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32, "float64": np.float64,
        "int8": np.int8, "uint8": np.uint8, "int32": np.int32, "uint32": np.uint32,
    }  # fmt: skip
    for name, dtype in dtypes.items():
        names[name] = counting(4096, dtype)
        names[f"{name}_2d"] = counting((64, 64), dtype)
    return names


def test_no_two_wrong_uses_have_the_same_name_or_the_same_code():
    names = [param.values[0]["name"] for param in USES]
    assert len(set(names)) == len(names)
    assert len({param.values[0]["code"] for param in USES}) == len(names)


@pytest.mark.parametrize("use", USES)
def test_a_wrong_use_raises_its_error_and_writes_nothing(use):
    names = namespace()
    arrays = {name: value for name, value in names.items() if isinstance(value, np.ndarray)}
    before = {name: value.tobytes() for name, value in arrays.items()}
    with pytest.raises(we.WmmaEmuError) as caught:
        exec(compile(use["code"], use["name"], "exec"), names)
    assert (type(caught.value).__name__, str(caught.value)) == (use["error"], use["text"])
    assert {name: value.tobytes() for name, value in arrays.items()} == before
