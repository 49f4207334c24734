# SPDX-License-Identifier: MIT
"""Launches with findings, for the tests of reports."""

from functools import cache

import numpy as np

import wmma_emu as we
from tests.ptx.memory.proxies.rows import ROWS as OF_PROXIES
from tests.ptx.planted.table import PLANTED

REVERSED = PLANTED["reversed"]

UNUSED = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out) {
    .reg .b32 %r<4>; .reg .b64 %rd<3>; .reg .pred %p;
    .shared .align 4 .b8 s[4];
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    ld.shared.u32 %r2, [s];
    setp.ne.u32 %p, %r1, 32;
    @%p bra done;
    st.shared.u32 [s], %r1;
done:
    ret;
}
"""
"""A kernel with a race of an unused value."""

EQUAL = UNUSED.replace("ld.shared.u32 %r2, [s]", "st.shared.u32 [s], 7")
EQUAL = EQUAL.replace("    st.shared.u32 [s], %r1;\n", "").replace("    @%p bra done;\n", "")
"""A kernel whose threads store the same bytes."""


def module_of(bug, source=True, **options):
    """Return the module of a planted bug, with or without its source."""
    module = we.ptx.Module(bug.ptx(False), arch="sm_90", **{"findings": "report", **options})
    module.sources = {f"{bug.file}.cu": bug.source} if source else None
    return module


def launched(bug=REVERSED, source=True, launch_options=None, **options):
    launch = module_of(bug, source, **options)[bug.kernel][bug.grid, bug.block, bug.shared]
    return launch(*bug.arguments(), **(launch_options or {}))


@cache
def one_of_each_kind():
    """Return a report with a finding of a kind."""
    found = {}
    for bug in PLANTED.values():
        if bug.kind not in found:
            found[bug.kind] = launched(bug)
    for kernel in OF_PROXIES.values():
        if kernel.kind not in found:
            found[kernel.kind] = kernel.launch(fixed=False)
    for text in (UNUSED, EQUAL):
        report = we.ptx.Module(text, arch="sm_90", findings="report")["k"][1, 64](np.zeros(64, np.uint32))
        found.update((x.kind, report) for x in report.findings)
    return found
