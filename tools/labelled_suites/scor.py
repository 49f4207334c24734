# SPDX-License-Identifier: MIT
"""ScoR's microbenchmarks: scopes of atomic operations, fences and locks."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tools.labelled_suites.case import LabelledLaunch, LabelledProgram

__all__ = ["FOLDER", "cases"]

FOLDER = "ScoR"


def cases(folder: Path, _: str) -> Iterator[LabelledProgram]:
    """Yield every program twice: unchanged, and with data that are not volatile."""
    for file in sorted((folder / "microbenchmarks/src").glob("*.cu")):
        text = file.read_text()
        label = "race" if file.name.startswith("race") else ""
        for variant, options in (("as it is", ()), ("-Dvolatile=", ("-Dvolatile=",))):
            yield LabelledProgram("scor", file.name, variant, label, _device_code(text), _launches(text), options)


def _launches(text: str) -> Callable[[Any], list[LabelledLaunch]]:
    blocks, threads = (int(re.findall(rf"#define {x}\s+(\d+)", text)[0]) for x in ("NBLOCKS", "TPERBLK"))
    return lambda module: [LabelledLaunch("kmain", blocks, threads, [np.zeros(1, np.uint32)])]


def _device_code(text: str) -> str:
    main = re.search(r"^int main", text, re.MULTILINE)
    text = (text[: main.start()] if main else text).replace("#include <stdio.h>", "")
    host = re.compile(r"^void errCheck\(\)\n\{.*?^\}", re.MULTILINE | re.DOTALL)
    return host.sub(lambda x: "\n" * x[0].count("\n"), text)
