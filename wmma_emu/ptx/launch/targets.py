# SPDX-License-Identifier: MIT
"""Which chips a text is for: what ``.target`` says, against the chip that is to run it."""

import re

from wmma_emu.errors import UnsupportedInstructionError, shorten
from wmma_emu.instructions import DEFAULT_ARCH, Arch, arch_of

__all__ = ["arch_for", "require_target"]

_TARGET = re.compile(r"sm_(\d+)([af]?)")


def require_target(target: str, arch: Arch) -> None:
    """Refuse a text that a chip would refuse: one of a later chip, or of another one's own features.

    Code for sm_80 runs on every later chip; code for sm_90a on Hopper alone; code for sm_100f on sm_100 and on later
    chips of its family, sm_103 (PTX ISA, .target; ptxas 13.0 assembles it for those and no other).

    Raises
    ------
    UnsupportedInstructionError
        Naming both.

    Examples
    --------
    >>> from wmma_emu.instructions import arch_of
    >>> require_target("sm_80", arch_of("h200"))
    >>> require_target("sm_90a", arch_of("a100"))
    Traceback (most recent call last):
        ...
    wmma_emu.errors.UnsupportedInstructionError: the text is for sm_90a, and sm_80 (Ampere) is an older chip; compile it
    for sm_80, or name the chip: arch="sm_90"
    >>> require_target("sm_120f", arch_of("sm_121"))
    """
    found = _TARGET.search(target)
    if found is None:
        raise UnsupportedInstructionError(f"the text's .target is {shorten(target)}, which names no chip such as sm_80")
    number, suffix = int(found[1]), found[2]
    name = f"{arch} ({arch.generation})"
    if number > arch.number:
        problem = f"{name} is an older chip"
    elif suffix == "a" and number != arch.number:
        problem = f"its features are that chip's alone, not those of {name}"
    elif suffix == "f" and number // 10 != arch.number // 10:
        problem = f"its features are those of that chip's family alone, and {name} is of another"
    else:
        return
    raise UnsupportedInstructionError(
        f'the text is for {found[0]}, and {problem}; compile it for {arch}, or name the chip: arch="sm_{number}"'
    )


def arch_for(text: str) -> Arch:
    """Choose a chip that runs a text: the default one if it does, else the one that the text is for.

    Raises
    ------
    UnsupportedInstructionError
        If that is a chip that has no row.

    Examples
    --------
    >>> arch_for(".version 8.0 .target sm_80").name, arch_for(".version 8.7 .target sm_120a").name
    ('sm_90', 'sm_120')
    """
    found = re.search(r"^[^\n{]*\.target\s+(sm_\d+[af]?)", text, re.MULTILINE)
    default = arch_of(DEFAULT_ARCH)
    try:
        if found is not None:
            require_target(found[1], default)
    except UnsupportedInstructionError:
        return arch_of(re.sub(r"[af]$", "", found[1])) if found is not None else default
    return default
