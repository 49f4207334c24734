# SPDX-License-Identifier: MIT
"""Uninitialised memory affects no bit if nothing is found: the result is the same with every fill."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import wmma_emu as we
from examples.ptx.cases import CASES, SLOW
from examples.ptx.texts import compiled
from tests.ptx.planted.table import PLANTED
from tests.ptx.texts_of_launches import entry
from tools.record_ptx_kernels import bits, kept, load
from wmma_emu.errors import UnsupportedInstructionError

FILLS = ["ones", 1]

CHECKS = ("memory", "undefined", "synchronisation")
"""The checks that can depend on uninitialised values; races take time, and have separate tests."""


@cache
def recording():
    return load(Path(__file__).parents[2] / "data" / "sm90_ptx_kernels.npz")


@cache
def module(text):
    return we.ptx.Module(compiled(text), arch="sm_90", findings="report")


@cache
def planted(file):
    one = next(x for x in PLANTED.values() if x.file == file)
    return we.ptx.Module(one.ptx(True), arch="sm_90", findings="report")


def left(launch, arguments, **options):
    """The bytes of all arrays after a launch in which nothing is found but notes."""
    report = launch(*arguments, checks=CHECKS, **options)
    assert report.findings == report.notes, "\n".join(map(str, report.findings))
    return [bits(x).tobytes() for x in arguments if isinstance(x, np.ndarray)]


@pytest.mark.sweep(keep=1 / 6)
@pytest.mark.parametrize("name", CASES)
def test_an_example_gives_the_bits_of_the_gpu_with_every_fill(name):
    if name in SLOW:
        pytest.importorskip("llvmlite")
    case, (recorded, seed) = CASES[name], recording()
    launch = module(case.text)[case.kernel][case.grid, case.block, case.shared]
    for fill in FILLS:
        arguments = case.draw(seed)
        report = launch(*arguments, fill=fill, checks=CHECKS)
        assert not report.findings, "\n".join(map(str, report.findings))
        for i, stored in recorded[name].items():
            found = kept(arguments[i])
            assert all((found[end] == stored[end]).all() for end in stored), (fill, i)


@pytest.mark.sweep(keep=1 / 20)
@pytest.mark.parametrize("name", PLANTED)
def test_a_repaired_kernel_gives_the_same_bits_with_every_fill(name):
    bug = PLANTED[name]
    launch = planted(bug.file)[bug.kernel][bug.grid, bug.block, bug.shared]
    first = left(launch, bug.arguments())
    for fill in FILLS:
        assert left(launch, bug.arguments(), fill=fill) == first, fill


UNWRITTEN = {
    "a register": ".reg .b32 %r;",
    "shared memory": ".shared .align 4 .b8 s[256]; .reg .b32 %r; ld.shared.u32 %r, [s];",
    "local memory": ".local .align 4 .b8 s[16]; .reg .b32 %r; ld.local.u32 %r, [s];",
    "a predicate": ".reg .pred %q; .reg .b32 %r; selp.b32 %r, -1, 0, %q;",
}
STORED = """
    .reg .b32 %t; .reg .b64 %a, %b;
    ld.param.u64 %a, [out]; mov.u32 %t, %tid.x; mul.wide.u32 %b, %t, 4; add.s64 %a, %a, %b;
    st.global.u32 [%a], %r;
"""


@pytest.mark.parametrize("what", UNWRITTEN)
def test_a_kernel_reads_the_fill_from_uninitialised_memory(what):
    text = entry(".param .u64 out", UNWRITTEN[what] + STORED + "ret;")
    launch = we.ptx.Module(text, findings="report")["k"][1, 32]

    def read(**options):
        out = np.full(32, 7, np.uint32)
        report = launch(out, **options)
        assert {x.kind for x in report.findings} == {"uninitialised"}
        return out

    assert (read() == 0).all() and (read(fill="zeros") == 0).all()
    assert (read(fill="ones") == 0xFFFFFFFF).all()
    assert (read(fill=3) == read(fill=3)).all()
    assert (read(fill=3) != read(fill=4)).any()


@pytest.mark.parametrize("fill", ["noise", -1, 1.5, None, True])
def test_an_unknown_fill_is_refused(fill):
    with pytest.raises(UnsupportedInstructionError, match=re.escape("neither 'zeros' nor 'ones' nor a seed")):
        we.ptx.Module(entry(""), fill=fill)
