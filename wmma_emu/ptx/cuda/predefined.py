# SPDX-License-Identifier: MIT
"""Macros that nvcc defines for every source, and NVRTC does not: which are given to it, and which are not."""

import platform
import re
import sys
from collections.abc import Iterable

__all__ = ["differences_asked_for", "predefined"]

_LINUX = ("__linux__=1", "__linux=1", "__gnu_linux__=1", "__unix__=1", "__unix=1", "__ELF__=1", "__LP64__=1", "_LP64=1",
          "__SIZEOF_LONG__=8", "__SIZEOF_INT__=4", "__SIZEOF_POINTER__=8", "__CHAR_BIT__=8")  # fmt: skip
_PROCESSORS = {"x86_64": ("__x86_64__=1", "__x86_64=1", "__amd64__=1"), "aarch64": ("__aarch64__=1",)}
_DIFFERENT = {
    "__CUDACC_RTC__": "is defined, which nvcc does not do",
    "__GNUC__": "is not defined, which nvcc does where its host compiler is GCC or Clang",
}
"""Headers of CUDA rest on these, by which they tell NVRTC from a compiler of the host."""

_ASKED = re.compile(rf"^[ \t]*#[ \t]*(?:el)?if.*?\b({'|'.join(_DIFFERENT)})\b", re.MULTILINE)


def predefined() -> tuple[str, ...]:
    """Options that define what nvcc would on this machine, where CUDA's headers take it."""
    names = ("__NVCC__", *((*_LINUX, *_PROCESSORS.get(platform.machine(), ())) if sys.platform == "linux" else ()))
    return tuple(f"-D{x}" for x in names)


def differences_asked_for(texts: Iterable[str]) -> tuple[str, ...]:
    """Say how macros differ for which the preprocessor's conditions of some texts ask.

    Examples
    --------
    >>> differences_asked_for(["#ifndef __CUDACC_RTC__"])
    ('the macro __CUDACC_RTC__ is defined, which nvcc does not do',)
    """
    asked = {x: None for text in texts for x in _ASKED.findall(text)}
    return tuple(f"the macro {x} {_DIFFERENT[x]}" for x in asked)
