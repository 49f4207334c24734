# SPDX-License-Identifier: MIT
"""Sources written for GPUVerify: its annotations become nothing, and arguments are made from a kernel's signature."""

import re
from typing import Any, NamedTuple

import numpy as np

__all__ = ["TYPES", "Parameter", "clean", "demanded", "dimensions", "kernels", "prelude"]

_NOTHING = "requires ensures axiom assume requires_fresh_array function_wide_invariant global_assert"
_NOTHING += " function_wide_candidate_invariant barrier_invariant barrier_invariant_1 barrier_invariant_2"
_NOTHING += " barrier_invariant_binary" + "".join(f" barrier_invariant_binary{i}" for i in range(1, 5))
_VOID = "invariant global_invariant candidate_invariant candidate_assert array_snapshot"
_MACROS = {
    "__non_temporal_loads_begin()": "((void)0)", "__non_temporal_loads_end()": "((void)0)",
    "__implies(a,b)": "(!(a)||(b))", "__enabled()": "true", "__all(x)": "(x)", "__other_int(x)": "(-1)",
    "__no_read(x)": "true", "__no_write(x)": "true", "__mod_pow2(a,b)": "((a)&((b)-1))",
    "__add_noovfl_unsigned(...)": "0", "__ptr_base(x)": "0", "__uniform_int(x)": "true", "__uniform_bool(x)": "true",
    "__distinct_int(x)": "true", "__assert(...)": "assert(__VA_ARGS__)",
} | {f"__{x}(...)": "" for x in _NOTHING.split()} | {f"__{x}(...)": "((void)0)" for x in _VOID.split()}  # fmt: skip

_HOST = "cuda|stdio|stdlib|math|assert|curand|curand_kernel|device_functions|cuda_runtime"

_SPELLED = {
    np.int8: "char, signed char", np.uint8: "unsigned char, uchar, uchar4, bool", np.int16: "short",
    np.uint16: "ushort, unsigned short, ushort4", np.int32: "int, int2", np.float64: "double",
    np.uint32: "unsigned, unsigned int, uint, uint32, uint2, uint4", np.float32: "float, float2, float3, float4",
    np.int64: "long, long long, long int", np.uint64: "unsigned long long, unsigned long, size_t, uint64, "
    "unsigned long long int, unsigned long int",
}  # fmt: skip
TYPES: dict[str, Any] = {name: dtype for dtype, names in _SPELLED.items() for name in names.split(", ")}


class Parameter(NamedTuple):
    type: str
    name: str
    is_array: bool


def prelude() -> list[str]:
    """Return options that define the annotations, so that the lines of the source keep their numbers."""
    return [f"-D{name}={value}" for name, value in _MACROS.items()]


def clean(text: str) -> str:
    """Leave out headers of the host."""
    return re.sub(rf'^[ \t]*#[ \t]*include[ \t]*[<"]({_HOST})(\.h)?[>"].*', "", text, flags=re.MULTILINE)


def dimensions(text: str, name: str) -> list[int]:
    """Return the size that a comment gives: ``--blockDim=[16,16]``."""
    found = re.search(rf"--{name}=(\[[^\]]*\]|\d+)", text)
    return [int(x) for x in re.findall(r"\d+", found[1])] if found else [1]


def demanded(text: str) -> dict[str, str]:
    """Return values that the annotations demand of parameters: ``__requires(n == 64)``."""
    found = re.finditer(r"__requires\(\s*(\w+)\s*==\s*([^;]*?)\)\s*;", _without_comments(text))
    return {x[1]: x[2].strip() for x in found}


def kernels(text: str) -> list[tuple[str, list[Parameter]]]:
    """Return every kernel that a source defines, with its parameters."""
    text = _without_comments(text)
    bounds = r"(?:__launch_bounds__\s*\([^)]*\)\s*)?"
    head = rf"__global__\s+(?:static\s+)?{bounds}(?:static\s+)?void\s*{bounds}(\w+)\s*\("
    found = []
    for start in re.finditer(head, text):
        end = _closing(text, start.end())
        inner = text[start.end() : end - 1]
        if text[end:].lstrip().startswith("{"):
            parts = [x for x in _split(inner) if x.strip() and x.strip() != "void"]
            found.append((start[1], [_parameter(x) for x in parts]))
    return found


def _without_comments(text: str) -> str:
    text = re.sub(r"/\*.*?\*/", lambda x: "\n" * x[0].count("\n"), text, flags=re.DOTALL)
    return re.sub(r"//[^\n]*", "", text)


def _closing(text: str, at: int) -> int:
    """Find the end of a bracket that is open."""
    depth = 1
    while depth:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at


def _split(text: str) -> list[str]:
    depth, parts = 0, [""]
    for letter in text:
        depth += {"(": 1, ")": -1, "<": 1, ">": -1}.get(letter, 0)
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _parameter(text: str) -> Parameter:
    text = re.sub(r"=.*", "", text)
    text = re.sub(r"\b(const|volatile|__restrict__|__restrict|restrict|struct)\b", " ", text)
    is_array = "*" in text or "[" in text
    words = re.sub(r"\[[^\]]*\]", " ", text).replace("*", " ").split()
    if " ".join(words) in TYPES or len(words) == 1:
        return Parameter(" ".join(words), "", is_array)
    return Parameter(" ".join(words[:-1]), words[-1], is_array)
