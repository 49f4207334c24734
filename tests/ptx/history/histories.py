# SPDX-License-Identifier: MIT
"""Histories of the findings of planted bugs."""

from functools import cache

import wmma_emu as we
from tests.ptx.planted.table import PLANTED


@cache
def module(file):
    bug = next(x for x in PLANTED.values() if x.file == file)
    return we.ptx.Module(bug.ptx(False), arch="sm_90", findings="report")


def launched(name, *arguments, **options):
    """Return the report of a planted bug, with its own arguments unless others are given."""
    bug = PLANTED[name]
    given = arguments or bug.arguments()
    return module(bug.file)[bug.kernel][bug.grid, bug.block, bug.shared](*given, **options)


def finding_of(name, **options):
    kind = PLANTED[name].kind
    return next(x for x in launched(name, **options).findings if x.kind == kind)


def rows(history):
    """Return the action, the threads and the bits of each event."""
    return [(x.step, x.what, x.block[0], x.warps, x.lanes, x.bits or x.detail) for x in history.events]
