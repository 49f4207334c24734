# SPDX-License-Identifier: MIT
"""Options of the two compilers: what one of them alone knows, and why the other can do without it."""

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
"""Beginnings of what is about the host's code, linking and machine code, none of which is in the PTX, and of
permissions that NVRTC gives anyway."""

_LEVEL_OR_LIBRARY = re.compile(r"-O(?:=?\w)?|-l(?!ineinfo$)\w[\w.+-]*|-l(?:=.*)?")
"""``-O3`` and ``-lcublas``, but neither ``-Ofast-compile=max`` nor ``-lineinfo``, which NVRTC knows."""

_WITH_A_VALUE = (
    "-Xcompiler", "--compiler-options", "-ccbin", "--compiler-bindir", "-Xlinker", "--linker-options", "-Xptxas",
    "-l", "-L", "--library", "--library-path", "-O", "--optimize", "--threads", "-t",
)  # fmt: skip

_NVRTC_ONLY = (
    "-default-device", "--device-as-default-execution-space", "-builtin-", "--builtin-", "-device-int128",
    "--device-int128", "--pch", "-pch", "--create-pch", "--use-pch", "--no-source-include", "-jit", "--minimal",
)  # fmt: skip
"""Beginnings of what changes the language that NVRTC takes."""

_FOLDER = ("-I", "--include-path", "-include-path")
_READING = {
    "include", "pre-include", "isystem", "system-include", "optf", "options-file", "pch", "use-pch", "iquote",
    "idirafter",
}  # fmt: skip
"""Options that read files which a source does not include."""

_PERMISSIONS = ("--expt-relaxed-constexpr", "--extended-lambda")
"""What nvcc has to be told, and NVRTC takes by itself: they make it take more, and no kernel another."""


def of_nvrtc(options: Sequence[str]) -> list[str]:
    """Leave out what NVRTC does not know, and does not need.

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
    """Add what nvcc needs to be told, once.

    Examples
    --------
    >>> of_nvcc(["-O3", "--extended-lambda"])
    ['--expt-relaxed-constexpr', '-O3', '--extended-lambda']
    """
    given = {x.lstrip("-").replace("expt-extended", "extended") for x in options}
    return [*(x for x in _PERMISSIONS if x.lstrip("-") not in given), *options]


def needs_nvrtc(options: Sequence[str]) -> bool:
    """Whether an option is one that only NVRTC has."""
    return any(x.startswith(_NVRTC_ONLY) for x in options)


def has_standard(options: Sequence[str]) -> bool:
    """Whether the standard of C++ is named."""
    return any(x.lstrip("-").startswith("std=") for x in options)


def folders_in(options: Sequence[str]) -> list[str]:
    """Folders of headers that options name, in their order.

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
    """Whether an option names files that no ``#include`` names, or folders among words for another program.

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
"""Headers of CUDA rest on these, by which they tell NVRTC from a compiler of the host."""

_TESTED = re.compile(rf"^[ \t]*#[ \t]*(?:el)?if.*?\b({'|'.join(_DIFFERENT)})\b", re.MULTILINE)


def predefined() -> tuple[str, ...]:
    """Options that define what nvcc would on this machine, where CUDA's headers take it."""
    names = ("__NVCC__", *((*_LINUX, *_PROCESSORS.get(platform.machine(), ())) if sys.platform == "linux" else ()))
    return tuple(f"-D{x}" for x in names)


def tested_differences(texts: Iterable[str]) -> tuple[str, ...]:
    """Say how macros differ for which the preprocessor's conditions of some texts ask.

    Examples
    --------
    >>> tested_differences(["#ifndef __CUDACC_RTC__"])
    ('the macro __CUDACC_RTC__ is defined, which nvcc does not do',)
    """
    asked = {x: None for text in texts for x in _TESTED.findall(text)}
    return tuple(f"the macro {x} {_DIFFERENT[x]}" for x in asked)
