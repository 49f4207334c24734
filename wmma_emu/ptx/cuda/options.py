# SPDX-License-Identifier: MIT
"""Options of NVRTC and nvcc: the options of only one compiler, and their effect on the other."""

import platform
import re
import sys
from collections.abc import Iterable, Sequence
from itertools import pairwise

_NVCC_ONLY = (
    "--optimize", "-Xcompiler", "--compiler-options", "-ccbin", "--compiler-bindir", "-Xlinker",
    "--linker-options", "--library", "-L", "--library-path", "-Xptxas", "-g", "--debug", "-allow-unsupported",
    "--allow-unsupported-compiler", "-Wno-deprecated-gpu-targets", "-m64", "-Wall",
    "-expt-relaxed-constexpr", "--expt-relaxed-constexpr", "-extended-lambda", "--extended-lambda",
    "--expt-extended-lambda", "-expt-extended-lambda", "-std=gnu", "--keep", "--threads", "-t",
)  # fmt: skip
"""Prefixes of options for host code, linking and machine code, which do not affect the PTX, and of permissions that
NVRTC grants anyway."""

_LEVEL_OR_LIBRARY = re.compile(r"-O(?:=?\w)?|-l(?!ineinfo$)\w[\w.+-]*|-l(?:=.*)?")
"""``-O3`` and ``-lcublas``, but neither ``-Ofast-compile=max`` nor ``-lineinfo``, which NVRTC supports."""

_WITH_A_VALUE = (
    "-Xcompiler", "--compiler-options", "-ccbin", "--compiler-bindir", "-Xlinker", "--linker-options", "-Xptxas",
    "-l", "-L", "--library", "--library-path", "-O", "--optimize", "--threads", "-t",
)  # fmt: skip

_NVRTC_ONLY = (
    "-default-device", "--device-as-default-execution-space", "-builtin-", "--builtin-", "-device-int128",
    "--device-int128", "--pch", "-pch", "--create-pch", "--use-pch", "--no-source-include", "-jit", "--minimal",
)  # fmt: skip
"""Prefixes of options that change the language of NVRTC."""

_FOLDER = ("-I", "--include-path", "-include-path")
_READING = {
    "include", "pre-include", "isystem", "system-include", "optf", "options-file", "pch", "use-pch", "iquote",
    "idirafter",
}  # fmt: skip
"""Options that read files without an ``#include``."""

_PERMISSIONS = ("--expt-relaxed-constexpr", "--extended-lambda")
"""Permissions that nvcc requires and NVRTC grants by default; they accept more code, and change no kernel."""


def of_nvrtc(options: Sequence[str]) -> list[str]:
    """Remove the options that NVRTC does not support or need.

    Examples
    --------
    >>> of_nvrtc(["-O3", "-Xcompiler", "-fopenmp", "-DN=4", "-lcublas", "-l", "m", "-lineinfo", "-Ofc=max"])
    ['-DN=4', '-lineinfo', '-Ofc=max']
    """
    found, is_value = [], False
    for option in options:
        if not is_value and not option.startswith(_NVCC_ONLY) and not _LEVEL_OR_LIBRARY.fullmatch(option):
            found.append(option)
        is_value = not is_value and option in _WITH_A_VALUE
    return found


def of_nvcc(options: Sequence[str]) -> list[str]:
    """Add the permissions that nvcc requires, once.

    Examples
    --------
    >>> of_nvcc(["-O3", "--extended-lambda"])
    ['--expt-relaxed-constexpr', '-O3', '--extended-lambda']
    """
    given = {x.lstrip("-").replace("expt-extended", "extended") for x in options}
    return [*(x for x in _PERMISSIONS if x.lstrip("-") not in given), *options]


def needs_nvrtc(options: Sequence[str]) -> bool:
    """Return whether only NVRTC supports one of the options."""
    return any(x.startswith(_NVRTC_ONLY) for x in options)


def has_standard(options: Sequence[str]) -> bool:
    """Return whether the options name a C++ standard."""
    return any(x.lstrip("-").startswith("std=") for x in options)


def folders_in(options: Sequence[str]) -> list[str]:
    """Return the folders of headers that options name, in order.

    Examples
    --------
    >>> folders_in(["-Ia", "-I", "b", "--include-path=c", "-DN=4"])
    ['a', 'b', 'c']
    """
    found, is_value = [], False
    for option in options:
        if is_value:
            found.append(option)
        is_value = not is_value and option in _FOLDER
        begin = next((x for x in _FOLDER if option.startswith(x) and (x == "-I" or option[len(x) :][:1] == "=")), "")
        if begin and not is_value:
            found.append(option[len(begin) :].removeprefix("="))
    return [x for x in found if x]


def may_read_more(options: Sequence[str]) -> bool:
    """Return whether an option reads files without an ``#include``, or names folders for another program.

    Examples
    --------
    >>> may_read_more(["-Ia", "-Xcompiler", "-O3"]), may_read_more(["--pre-include=a.h"])
    (False, True)
    """
    words = [y for x in options for y in x.replace("=", ",").replace(" ", ",").split(",")]
    plain = [x.lstrip("-") for x in words if x.startswith("-")]
    within = [y for x, y in pairwise(options) if x in ("-Xcompiler", "--compiler-options")]
    within += [x for x in options if x.startswith(("-Xcompiler=", "--compiler-options=")) or " " in x]
    return bool(_READING & set(plain)) or any("-I" in x or "@" in x for x in within)


_LINUX = ("__linux__=1", "__linux=1", "__gnu_linux__=1", "__unix__=1", "__unix=1", "__ELF__=1", "__LP64__=1", "_LP64=1",
          "__SIZEOF_LONG__=8", "__SIZEOF_INT__=4", "__SIZEOF_POINTER__=8", "__CHAR_BIT__=8")  # fmt: skip
_PROCESSORS = {"x86_64": ("__x86_64__=1", "__x86_64=1", "__amd64__=1"), "aarch64": ("__aarch64__=1",)}
_DIFFERENT = {
    "__CUDACC_RTC__": "is defined, which nvcc does not do",
    "__GNUC__": "is not defined, which nvcc does where its host compiler is GCC or Clang",
}
"""Macros by which CUDA's headers distinguish NVRTC from host compilers."""

_TESTED = re.compile(rf"^[ \t]*#[ \t]*(?:el)?if.*?\b({'|'.join(_DIFFERENT)})\b", re.MULTILINE)


def predefined() -> tuple[str, ...]:
    """Return options that define nvcc's macros for this machine, as far as CUDA's headers accept them."""
    names = ("__NVCC__", *((*_LINUX, *_PROCESSORS.get(platform.machine(), ())) if sys.platform == "linux" else ()))
    return tuple(f"-D{x}" for x in names)


def tested_differences(texts: Iterable[str]) -> tuple[str, ...]:
    """Describe the differing macros that preprocessor conditions in some sources test.

    Examples
    --------
    >>> tested_differences(["#ifndef __CUDACC_RTC__"])
    ('the macro __CUDACC_RTC__ is defined, which nvcc does not do',)
    """
    asked = {x: None for text in texts for x in _TESTED.findall(text)}
    return tuple(f"the macro {x} {_DIFFERENT[x]}" for x in asked)
