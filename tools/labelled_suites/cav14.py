# SPDX-License-Identifier: MIT
"""cav14: kernels of SDKs, unchanged, with their authors' seeded bugs, and with each barrier deleted separately."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tools.labelled_suites.annotations import TYPES, Parameter, clean, demanded, dimensions, kernels, prelude
from tools.labelled_suites.case import LabelledLaunch, LabelledProgram
from tools.labelled_suites.cav14_launches import LAUNCHES

__all__ = ["FOLDER", "cases"]

FOLDER = "Faial-MCP/workspace/datasets/cav14-inv"

_REALS = ("_type", "real", "data_t_float")


def cases(folder: Path, _: str) -> Iterator[LabelledProgram]:
    for file in sorted(folder.rglob("*.cu")):
        raw = file.read_text(errors="replace")
        if not re.search("__shared__|MUTATION|sharedMem", raw):
            continue
        program = _Program(str(file.relative_to(folder)), raw, str(file.parent))
        yield program.case(raw, "", "right")
        if "MUTATION" in raw:
            kind = re.search(r"BUGINJECT:? ([A-Z_]+)", raw)
            label = f"seed {kind[1] if kind else '?'}"
            yield program.case(raw, label, "seed", "-DMUTATION")
            yield program.case(raw, label, "seed -G", "-DMUTATION", "-G")
        for i, (start, end) in enumerate(_barriers(raw)):
            without = raw[:start] + "(void)0" + (";" if raw[start:end].endswith(";") else "") + raw[end:]
            variant = f"mutant {i} line {raw[:start].count(chr(10)) + 1}"
            yield program.case(without, "barrier deleted", variant)


def _barriers(raw: str) -> list[tuple[int, int]]:
    """Return the ranges of barriers in code that is compiled without MUTATION, and not in a comment."""
    code = re.sub(r"/\*.*?\*/|//[^\n]*", lambda x: re.sub(r"[^\n]", " ", x[0]), raw, flags=re.DOTALL)
    within: list[str] = []
    found, at = [], 0
    for line in code.splitlines(keepends=True):
        word = line.strip()
        if word.startswith("#if"):
            is_off = re.match(r"#ifdef MUTATION\b", word)
            within.append("off" if is_off else "on" if "MUTATION" in word else "unknown")
        elif word.startswith("#else") and within:
            within[-1] = {"off": "on", "on": "off"}.get(within[-1], "unknown")
        elif word.startswith("#endif") and within:
            within.pop()
        if "off" not in within:
            found += [(at + x.start(), at + x.end()) for x in re.finditer(r"__syncthreads *\(\)\s*;?", line)]
        at += len(line)
    return found


class _Program:
    """A kernel's file, and how it is launched."""

    def __init__(self, name: str, raw: str, folder: str) -> None:
        self.name, self.raw, self.folder = name, raw, folder
        self.how: dict[str, Any] = next((x for key, x in LAUNCHES.items() if key in name), {})
        head = "\n".join(raw.splitlines()[:3])
        block, grid = dimensions(head, "blockDim"), dimensions(head, "gridDim")
        if np.prod(block) > 1024:
            block = [1024] if len(block) == 1 else [min(x, y) for x, y in zip(block, (32, 32, 1), strict=False)]
        most = (3,) if len(grid) == 1 else (2, 2, 1)
        self.block = self.how.get("block", block)
        self.grid = self.how.get("grid", [min(x, y) for x, y in zip(grid, most, strict=False)])

    def case(self, text: str, label: str, variant: str, *defines: str) -> LabelledProgram:
        extra = re.findall(r"-D\w+(?:=\w+)?", self.raw.splitlines()[1])
        text = clean(text)
        for pattern, other in self.how.get("repair", ()):
            text = re.sub(pattern, other, text)
        before = self.how.get("before", "")
        if "__assert" in text or before:
            text = f"#include <cassert>\n#line 1\n{before}{text}"
        wanted = (self.how["instantiate"],) if "instantiate" in self.how else ()
        options = (*prelude(), *extra, *self.how.get("options", ()), *defines)
        return LabelledProgram(
            "cav14", self.name, variant, label, text, self._launches(), options, (self.folder,), wanted
        )

    def _launches(self) -> Callable[[Any], list[LabelledLaunch]]:
        def launches(module: Any) -> list[LabelledLaunch]:
            rng, fixed = np.random.default_rng(7), demanded(self.raw)
            return [
                LabelledLaunch(
                    self.how.get("instantiate", kernel), tuple(self.grid), tuple(self.block),
                    [self._argument(x, fixed, rng) for x in parameters], self.how.get("shared", 0),
                )
                for kernel, parameters in kernels(self.raw)
            ]  # fmt: skip

        return launches

    def _argument(self, parameter: Parameter, fixed: dict[str, str], rng: np.random.Generator) -> Any:
        dtype, named = TYPES.get(parameter.type), self.how.get("arguments", {}).get(parameter.name)
        if named is not None:
            return named() if callable(named) else named
        if not parameter.is_array:
            value = self._value(fixed.get(parameter.name, "1"))
            return (dtype or np.int32)(1 if value is None else value)
        count = self.how.get("bytes", 1 << 20)
        if parameter.type in _REALS or (dtype is not None and np.issubdtype(dtype, np.floating)):
            dtype = dtype or np.float32
            return (rng.random(count // np.dtype(dtype).itemsize) + 0.5).astype(dtype)
        dtype = dtype or np.uint32
        return rng.integers(0, 64, count // np.dtype(dtype).itemsize).astype(dtype)

    def _value(self, text: str) -> int | None:
        """Evaluate a required value: numbers, and sizes of the launch."""
        for name, size in (("blockDim", self.block), ("gridDim", self.grid)):
            for axis, n in zip("xyz", [*size, 1, 1][:3], strict=True):
                text = text.replace(f"{name}.{axis}", str(n))
        if not re.fullmatch(r"[\d\s()+*/<-]+", text):
            return None
        return int(eval(text.replace("/", "//"), {"__builtins__": {}}))
