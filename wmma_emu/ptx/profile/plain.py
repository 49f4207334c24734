# SPDX-License-Identifier: MIT
"""Profiles as plain data: JSON that can be read again and reviews well, and CSV for spreadsheets."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from wmma_emu.chips import ARCHS
from wmma_emu.errors import ArgumentValueError, shorten
from wmma_emu.layouts.spec import LANES
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
    x, y, z = (_number(size, "a size of the grid", least=1) for size in given["grid"])
    u, v, w = (_number(size, "a size of the block", least=1) for size in given["block"])
    chip = given["arch"]
    if chip not in ARCHS:
        raise ValueError(f"there is no chip {shorten(chip)}")
    return KernelProfile(
        _string(given["kernel"], "kernel"), chip, _number(given["launches"], "launches"), (x, y, z), (u, v, w),
        _number(given["shared_bytes"], "shared_bytes"), tuple(map(_instruction_of, given["instructions"])),
    )  # fmt: skip


def _instruction_of(given: Mapping[str, Any]) -> ProfiledInstruction:
    found = {**given, "late": tuple(LateWarp(*(_number(y, "late") for y in x)) for x in given.get("late", ()))}
    for name in {"line", "number", *COUNTERS} & {*given}:
        _number(given[name], name)
    for name in {"opcode", "text", "kind", "file"} & {*given}:
        _string(given[name], name)
    if "conflicting" in given:
        addresses, size, joins, *more = given["conflicting"]
        _number(len(addresses), "the number of lanes", least=LANES)
        known = tuple(_number(x, "an address", least=-1) for x in addresses[:LANES])
        conflicts = (_number(x, "conflicting") for x in more)
        found["conflicting"] = ConflictingAccess(known, _number(size, "a size", least=1), bool(joins), *conflicts)
    return ProfiledInstruction(**found)


def _number(given: object, name: str, least: int = 0) -> int:
    if not isinstance(given, int) or given < least:
        raise ValueError(f"{name} is {shorten(given)}, not an integer of at least {least}")
    return given


def _string(given: object, name: str) -> str:
    if not isinstance(given, str):
        raise ValueError(f"{name} is {shorten(given)}, not a string")
    return given


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
        sources = {file: _string(text, "a source") for file, text in dict(given.get("sources", {})).items()}
        return tuple(map(kernel_from_dict, given["kernels"])), sources
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
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
