# SPDX-License-Identifier: MIT
"""Profiles as plain data: JSON that can be read again and reviews well, and CSV for spreadsheets."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from wmma_emu.errors import ArgumentValueError, shorten
from wmma_emu.ptx.profile.conflicts import ConflictingAccess
from wmma_emu.ptx.profile.counters import COUNTERS, RATIOS
from wmma_emu.ptx.profile.late_warps import LateWarp
from wmma_emu.ptx.profile.lines import KernelProfile, ProfiledInstruction, ProfiledLine
from wmma_emu.version import __version__

VERSION = 1
"""The version of the format."""

_FACTS = ("line", "opcode", "text", "kind", "file", "number", "is_branch", "conflicting", "late")


def kernel_to_dict(kernel: KernelProfile) -> dict[str, Any]:
    """Return a kernel as plain data; counters that are 0 are left out."""
    return {
        "kernel": kernel.kernel,
        "arch": kernel.arch,
        "launches": kernel.launches,
        "grid": list(kernel.grid),
        "block": list(kernel.block),
        "shared_bytes": kernel.shared_bytes,
        "instructions": [
            {name: getattr(x, name) for name in (*_FACTS, *COUNTERS) if getattr(x, name) or name == "line"}
            for x in kernel.instructions
        ],
    }


def kernel_from_dict(given: Mapping[str, Any]) -> KernelProfile:
    """Return the kernel of plain data."""
    x, y, z = given["grid"]
    u, v, w = given["block"]
    return KernelProfile(
        given["kernel"], given["arch"], given["launches"], (x, y, z), (u, v, w), given["shared_bytes"],
        tuple(map(_instruction_of, given["instructions"])),
    )  # fmt: skip


def _instruction_of(given: Mapping[str, Any]) -> ProfiledInstruction:
    found = {**given, "late": tuple(LateWarp(*x) for x in given.get("late", ()))}
    if "conflicting" in given:
        addresses, *more = given["conflicting"]
        found["conflicting"] = ConflictingAccess(tuple(addresses), *more)
    return ProfiledInstruction(**found)


def json_of(kernels: Iterable[KernelProfile], sources: Mapping[str, str]) -> str:
    """Return kernels as JSON with a line for each instruction, so that a difference of two files is short."""
    written = []
    for kernel in kernels:
        plain = kernel_to_dict(kernel)
        rows = ",\n    ".join(json.dumps(x) for x in plain.pop("instructions"))
        written.append(f'  {json.dumps(plain)[:-1]}, "instructions": [\n    {rows}\n  ]}}')
    head = {"version": VERSION, "tool": {"name": "wmma-emu", "version": __version__}}
    inside = ",\n".join(written)
    return f'{json.dumps(head)[:-1]}, "kernels": [\n{inside}\n], "sources": {json.dumps(dict(sources))}}}\n'


def parsed(text: str | bytes, name: str) -> tuple[tuple[KernelProfile, ...], dict[str, str]]:
    """Read kernels and sources from JSON.

    Raises
    ------
    ArgumentValueError
        If the text is not the JSON of a profile.
    """
    try:
        given = json.loads(text)
        if given["version"] != VERSION:
            raise ArgumentValueError(f"{name} has version {shorten(given['version'])}; this package reads {VERSION}")
        return tuple(map(kernel_from_dict, given["kernels"])), dict(given.get("sources", {}))
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, ArgumentValueError):
            raise
        raise ArgumentValueError(f"{name} is not a profile that Profile.write has written: {error}") from None


def csv_of(lines: Sequence[ProfiledLine]) -> str:
    """Return lines as CSV: all counters, and the ratios with six digits."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["line", *COUNTERS, *RATIOS, "source"])
    for x in lines:
        ratios = (f"{getattr(x, name):.6g}" for name in RATIOS)
        writer.writerow([x.where, *(getattr(x, name) for name in COUNTERS), *ratios, x.text])
    return out.getvalue()
