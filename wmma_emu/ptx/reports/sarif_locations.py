# SPDX-License-Identifier: MIT
"""Where findings are, in SARIF's terms: files relative to a root, regions of their lines."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

ROOT = "%SRCROOT%"
"""What relative addresses are relative to."""


def root_address(root: Path) -> str:
    """Give the address of a folder."""
    return Path(os.path.abspath(root)).as_uri().rstrip("/") + "/"


def artifact(path: str, root: Path) -> dict[str, Any]:
    """Give the address of a file: relative where it lies below the root, or is in no file at all; else in full.

    Examples
    --------
    >>> artifact("/repo/kernels/a b.cu", Path("/repo"))
    {'uri': 'kernels/a%20b.cu', 'uriBaseId': '%SRCROOT%'}
    >>> artifact("/usr/local/cuda/include/mma.h", Path("/repo"))
    {'uri': 'file:///usr/local/cuda/include/mma.h'}
    """
    if not os.path.isabs(path) and not os.path.exists(path):  # a text that was compiled under some name
        return {"uri": quote(os.path.normpath(path).replace(os.sep, "/")), "uriBaseId": ROOT}
    for place in (os.path.abspath, os.path.realpath):
        full = Path(place(path))
        if full.is_relative_to(place(root)):
            return {"uri": quote(full.relative_to(place(root)).as_posix()), "uriBaseId": ROOT}
    return {"uri": Path(os.path.abspath(path)).as_uri()}


def physical_location(side: Mapping[str, Any], report: Mapping[str, Any], root: Path) -> dict[str, Any] | None:
    """Say where a side of a finding is: in its source, in the file of the PTX, or in that of its test; None in none."""
    if side["file"]:
        return {"artifactLocation": artifact(side["path"], root), "region": _region(side)}
    if report["ptx_file"]:
        at = {"startLine": max(side["line"], 1), "startColumn": 1}
        return {"artifactLocation": artifact(report["ptx_file"], root), "region": at}
    test = report.get("test", "").partition("::")[0]
    if test:
        return {"artifactLocation": artifact(test, root), "region": {"startLine": 1, "startColumn": 1}}
    return None


def logical_location(kernel: str) -> dict[str, str]:
    """Say in which kernel it is."""
    return {"name": kernel.rpartition("::")[2] or kernel, "fullyQualifiedName": kernel, "kind": "function"}


def _region(side: Mapping[str, Any]) -> dict[str, Any]:
    """Mark a line from the column that the compiler names, or from its first character that is no blank."""
    text = side["text"]
    line = max(side["line"], 1)
    if not text:
        return {"startLine": line, "startColumn": max(side["column"], 1)}
    first = len(text) - len(text.lstrip()) + 1
    column = side["column"] if 0 < side["column"] <= len(text) else first
    return {
        "startLine": line, "startColumn": column, "endLine": line, "endColumn": len(text) + 1,
        "snippet": {"text": text[column - 1 :]},
    }  # fmt: skip
