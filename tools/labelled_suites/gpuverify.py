# SPDX-License-Identifier: MIT
"""GPUVerify's tests of CUDA that are labelled right, or wrong for a race, a barrier or an assertion."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import wmma_emu as we
from tools.labelled_suites.annotations import TYPES, Parameter, clean, dimensions, kernels, prelude
from tools.labelled_suites.case import LabelledLaunch, LabelledProgram

__all__ = ["FOLDER", "cases"]

FOLDER = "gpuverify"

_COUNT = 1 << 17

_LARGEST_BLOCK = {1: (1024,), 2: (16, 16), 3: (8, 8, 8)}
_LARGEST_GRID = {1: (4,), 2: (10, 10), 3: (10, 10, 10)}


def _f() -> Any:
    return np.zeros(_COUNT, np.float32)


def _i() -> Any:
    return np.zeros(_COUNT, np.int32)


def _struct(*fields: Any) -> Any:
    return we.ptx.Struct(*fields)


_ARGUMENTS: dict[str, Callable[[], list[Any]]] = {
    "fresh_arrays/.*/array": lambda: [_struct(*[_f()] * 42)],
    "fresh_arrays/.*/struct_char": lambda: [_struct(np.zeros(2 * _COUNT, np.int8))],
    "fresh_arrays/": lambda: [_struct(_f())],
    "pointers_in_structs/test[23]": lambda: [_struct(_i())],
    "pointers_in_structs/test4": lambda: [_struct(_i(), _i())],
    "store_in_byval": lambda: [_struct(_i())],
    "inheritance_struct": lambda: [_struct(np.int32(1)), _struct(np.int32(2))],
    "i8_element_parameter": lambda: [_struct(np.int8(3))],
    "parameter_passed_to_call": lambda: [_struct(np.int32(3))],
    "miscfail8": lambda: [_struct(np.uint32(1), np.uint32(2))],
    "miscfail7|misc7": lambda: [None],
    "miscfail2": lambda: [
        np.int32(32), np.int32(0), np.float32(1), np.float32(1), np.float32(0.25), np.int32(13), np.int32(143), _f(),
        _f(), _f(),
    ],
    "misc1/": lambda: [np.int32(143)],
    "misc4/": lambda: [np.int32(64), np.int32(0)],
    "value_causing_race": lambda: [_f(), np.int32(185)],
    "value_in_assert": lambda: [np.uint32(12), np.uint32(36), np.uint32(48)],
    "reduced_strength_with_requires": lambda: [_f(), np.int32(1024)],
    "test_assert/|test_assume/": lambda: [np.int32(50)],
    "transitiveclosure": lambda: [np.zeros(64 * 64, np.uint32), np.int32(0)],
    "barrierconditional": lambda: [np.int32(0)],
    "basic_assignment_fail": lambda: [_f(), np.uint32(1024), np.uint32(3)],  # which assigns a null pointer
    "funcptr_to_ptr_add": lambda: [_f(), None, np.uint32(1024), np.int32(0)],
    "atomics/pointer_add": lambda: [np.int32(3)],
    "memset/null_dst": lambda: [np.zeros(4096, np.uint32)],
    "localarrayaccess": list,
}  # fmt: skip
"""All arguments of some programs, where the signature does not say enough."""

_BODIES = {
    r"__device__ (int|char) nondet\((void)?\);": r"__device__ \1 nondet(\2) { return 0; }",
    r"__device__ void bar\((\w+) (\w+)\);": r"__device__ void bar(\1 \2) { }",
    r"__device__ int bar\(void\);": "__device__ int bar(void) { return 1; }",
    r"^#define mem(cpy|set)\(.*__builtin.*$": "",  # clang's own names
    r"^(char \*buffer;|s x;|int gB = 200;)": r"__device__ \1",  # variables of the host
    r"__requires\((\w+) == (multiply|divide)ByTwo\b.*\);": r"\1 = \2ByTwo;",  # the host has no address of a function
}
"""Replacements of source that only GPUVerify's compiler accepts."""


def cases(folder: Path, headers: str) -> Iterator[LabelledProgram]:
    """``headers`` is the folder of CUDA's headers, for those of cooperative groups."""
    root = folder / "testsuite/CUDA"
    for file in sorted(root.rglob("*.cu")):
        raw = file.read_text()
        label, flags = (x.strip() for x in raw.splitlines()[:2])
        if not re.search("bugle_error|clang_error", label.lower()):
            yield from _cases(str(file.relative_to(root)), raw, label, flags, headers)


def _cases(name: str, raw: str, label: str, flags: str, headers: str) -> Iterator[LabelledProgram]:
    options = [*prelude(), "-Duint=unsigned int", *re.findall(r"-D\w+=\w+", flags)]
    text, include = clean(raw), ()
    for pattern, body in _BODIES.items():
        text = re.sub(pattern, body, text, flags=re.MULTILINE)
    if "cooperative" in text:
        text, include = "#include <cooperative_groups.h>\n#line 1\n" + text, (headers, f"{headers}/cccl")
        options.append("-Dsynchronize(g)=(g).sync()")
    if "__assert" in text:
        text = "#include <cassert>\n#line 1\n" + text
    launches = _launches(name, raw, flags)
    for variant in ("-O3", "-G"):
        more = ("-G",) if variant == "-G" else ()
        bug = "" if label.lower() == "//pass" else "fail"
        yield LabelledProgram("gpuverify", name, variant, bug, text, launches, (*options, *more), include)


def _launches(name: str, raw: str, flags: str) -> Callable[[Any], list[LabelledLaunch]]:
    block, grid = dimensions(flags, "blockDim"), dimensions(flags, "gridDim")
    block = [min(x, y) for x, y in zip(block, _LARGEST_BLOCK[len(block)], strict=True)]
    grid = [2, 2] if "test_axiom" in name else [min(x, y) for x, y in zip(grid, _LARGEST_GRID[len(grid)], strict=True)]
    whole = next((make for pattern, make in _ARGUMENTS.items() if re.search(pattern, name)), None)

    def launches(module: Any) -> list[LabelledLaunch]:
        return [
            LabelledLaunch(kernel, tuple(grid), tuple(block), whole() if whole else [_argument(x) for x in parameters])
            for kernel, parameters in kernels(raw)
        ]

    return launches


def _argument(parameter: Parameter) -> Any:
    if parameter.type == "funcType":
        return None
    dtype = TYPES.get(parameter.type)
    if not parameter.is_array:
        return (dtype or np.int32)(1)
    numbers = np.random.default_rng(5).integers(0, 100, _COUNT).astype(np.uint32)
    if parameter.type in ("float", "double"):
        return numbers.astype(dtype) + 1
    if dtype is None or parameter.type in ("char", "short"):
        return (numbers * np.uint32(0x01020305)).view(dtype or np.uint8)
    return numbers.view(dtype)
