# SPDX-License-Identifier: MIT
"""The list of the kernels of all cases, as a table: ``fixed_list.csv`` was written before the cases were run."""

import csv
import io
from collections.abc import Iterator

from tools.language_programs.case import CASES

__all__ = ["HEAD", "listed"]

HEAD = ("project", "repository", "revision", "file", "kernel", "case")


def listed() -> Iterator[str]:
    """Yield the lines of the table: a kernel of a case each."""
    rows = [
        (x.project.name, x.project.repository, x.project.revision, kernel.file, kernel.name, x.name)
        for x in CASES.values()
        for kernel in x.kernels
    ]
    for row in (HEAD, *rows):
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerow(row)
        yield out.getvalue()
