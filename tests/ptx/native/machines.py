# SPDX-License-Identifier: MIT
"""Launches on both machines: equal bits, equal counts, no finding; or a flag."""

import numpy as np

import wmma_emu as we

HEAD = ".version 8.6\n.target sm_90\n.address_size 64\n"


def module(body, registers="", before=""):
    """A module with the kernel ``k(x, y)``, whose threads have their index in %r0 and 4 * index + y in %d1."""
    return we.ptx.Module(
        f"""{HEAD}{before}
.visible .entry k(.param .u64 x, .param .u64 y) {{
  .reg .b32 %r<32>; .reg .b64 %d<16>; .reg .pred %p<8>; .reg .f32 %f<8>; {registers}
  ld.param.u64 %d0, [x]; ld.param.u64 %d1, [y];
  mov.u32 %r29, %ctaid.x; mov.u32 %r30, %ntid.x; mov.u32 %r31, %tid.x;
  mad.lo.u32 %r0, %r29, %r30, %r31;
  mul.wide.u32 %d2, %r0, 4; add.u64 %d1, %d1, %d2; add.u64 %d3, %d0, %d2;
{body}
}}""",
        arch="sm_90",
        findings="report",
    )


def both(launch, *arrays, **options):
    """Launch on both machines with copies of the arrays: the two reports, after the bits were compared."""
    reports, results = [], []
    for machine in ("native", "numpy"):
        copies = [x.copy() for x in arrays]
        reports.append(launch(*copies, machine=machine, **options))
        results.append(copies)
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)
    return reports


def require_native(launch, *arrays, **options):
    """Launch on both machines: the native one has no flag, the other no finding, and instructions are equal."""
    native, numpy = both(launch, *arrays, **options)
    assert (native.machine, native.machine_reason) == ("native", "")
    assert numpy.machine == "numpy"
    assert not numpy.findings, str(numpy)
    assert native.instructions == numpy.instructions
    return native, numpy


def require_flag(launch, reason, *arrays, **options):
    """Launch on both machines: the native one hands over for a reason, and the findings are equal."""
    native, numpy = both(launch, *arrays, **options)
    assert native.machine == "numpy"
    assert reason in native.machine_reason
    assert [(x.kind, x.line) for x in native.findings] == [(x.kind, x.line) for x in numpy.findings]
    return native
