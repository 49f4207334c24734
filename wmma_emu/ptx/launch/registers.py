# SPDX-License-Identifier: MIT
"""The registers that ptxas assigns to the threads of kernels, if it is installed."""

import re
from collections.abc import Mapping
from functools import lru_cache

from wmma_emu.errors import BackendUnavailableError, CompilationError
from wmma_emu.ptx.launch.assembler import Assembler, find_assemblers

_KEPT = 32
_NEWEST = re.compile(r"current version is '([\d.]+)'")
_VERSION = re.compile(r"^\s*\.version\s+[\d.]+", re.MULTILINE)


@lru_cache(_KEPT)
def registers_of(text: str, target: str) -> Mapping[str, int]:
    """Return the registers of a thread of each kernel; none without a ptxas that accepts the PTX."""
    try:
        assemblers = find_assemblers()
    except BackendUnavailableError:
        return {}
    for assembler in assemblers:
        try:
            return _assembled(assembler, text, target)
        except CompilationError:
            continue
    return {}


def _assembled(assembler: Assembler, text: str, target: str) -> Mapping[str, int]:
    """Return the registers; PTX of a newer version is assembled as the newest version that ptxas supports."""
    try:
        return assembler.registers(text, target)
    except CompilationError as error:
        known = _NEWEST.search(str(error))
        if known is None:
            raise
    return assembler.registers(_VERSION.sub(f".version {known[1]}", text, count=1), target)
