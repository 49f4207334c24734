# SPDX-License-Identifier: MIT
"""Locations of findings in SARIF: files relative to a root, and regions of their lines."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

ROOT = "%SRCROOT%"
"""The base of relative addresses."""


def root_address(root: Path) -> str:
    """Return the address of a folder."""
    return Path(os.path.abspath(root)).as_uri().rstrip("/") + "/"


def artifact(path: str, root: Path) -> dict[str, Any]:
    """Return the address of a file: relative if it is below the root or does not exist, else absolute.

    Examples
    --------
    >>> artifact("/repo/kernels/a b.cu", Path("/repo"))
    {'uri': 'kernels/a%20b.cu', 'uriBaseId': '%SRCROOT%'}
    >>> artifact("/usr/local/cuda/include/mma.h", Path("/repo"))
    {'uri': 'file:///usr/local/cuda/include/mma.h'}
    """
    if not os.path.isabs(path) and not os.path.exists(path):  # source code that was compiled under this name
        return {"uri": quote(os.path.normpath(path).replace(os.sep, "/")), "uriBaseId": ROOT}
    for place in (os.path.abspath, os.path.realpath):
        full = Path(place(path))
        if full.is_relative_to(place(root)):
            return {"uri": quote(full.relative_to(place(root)).as_posix()), "uriBaseId": ROOT}
    return {"uri": Path(os.path.abspath(path)).as_uri()}


def physical_location(side: Mapping[str, Any], report: Mapping[str, Any], root: Path) -> dict[str, Any] | None:
    """Return the location of a side: in its source, in the PTX file, or in the test file; None if there is none."""
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
    """Return the kernel as a logical location."""
    return {"name": kernel.rpartition("::")[2] or kernel, "fullyQualifiedName": kernel, "kind": "function"}


def _region(side: Mapping[str, Any]) -> dict[str, Any]:
    """Return a line's region, from the column that the compiler names, or else from the end of the indentation."""
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
