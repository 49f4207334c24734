# SPDX-License-Identifier: MIT
"""Accesses that poll, in loops of several shapes."""

import pytest

from wmma_emu.ptx.program.build import program_of
from wmma_emu.ptx.program.polling import polls_of

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
TEST = "setp.eq.u32 %p, %r0, 0;"
LOAD = "ld.volatile.global.u32 %r0, [%a0];"


@pytest.mark.parametrize(
    ("body", "waits", "lock_attempts"),
    [
        (f"L: {LOAD} {TEST} @%p bra L; ret;", 1, 0),
        (f"L: {LOAD} {TEST} @!%p ret; bra L;", 1, 0),
        (f"L: {LOAD} {TEST} @!%p bra E; bra L; E: ret;", 1, 0),
        (f"L: {LOAD} add.u32 %r1, %r0, 1; setp.eq.u32 %p, %r1, 1; @%p bra L; ret;", 1, 0),
        (f"L: ld.global.u32 %r0, [%a0]; {TEST} @%p bra L; ret;", 0, 0),
        (f"{LOAD} {TEST} @%p bra E; E: ret;", 0, 0),
        (f"L: {LOAD} setp.eq.u32 %p, %r2, 0; @%p bra L; ret;", 0, 0),
        (f"L: atom.global.cas.b32 %r0, [%a0], 0, 1; {TEST} @!%p bra L; ret;", 0, 1),
        (f"L: atom.global.add.u32 %r0, [%a0], 0; {TEST} @%p bra L; ret;", 1, 0),
    ],
    ids=[
        "goes round", "returns", "leaves", "by a sum", "weak", "no loop", "another value decides",
        "takes a lock", "by an atomic operation",
    ],
)  # fmt: skip
def test_an_access_polls_if_its_value_ends_the_loop_around_it(body, waits, lock_attempts):
    text = f"{HEAD}.visible .entry k() {{ .reg .b32 %r<9>; .reg .b64 %a<9>; .reg .pred %p, %q; {body} }}"
    found = polls_of(program_of(text).kernels["k"])
    assert (len(found.waits), len(found.lock_attempts)) == (waits, lock_attempts)
    assert bool(found) == bool(waits + lock_attempts)


@pytest.mark.parametrize(
    ("body", "guesses"),
    [
        ("ld.global.u32 %r0, [%a0]; atom.global.cas.b32 %r1, [%a0], %r0, %r2; ret;", 1),
        ("ld.global.u32 %r0, [%a0]; atom.global.add.u32 %r1, [%a0], %r0; ret;", 0),  # nobody finds out
        ("ld.global.u32 %r0, [%a0]; atom.global.cas.b32 %r1, [%a1], %r0, %r2; ret;", 0),
    ],
    ids=["compared", "added", "another word"],
)
def test_a_weak_load_is_a_guess_if_a_compare_and_swap_of_its_word_compares_it(body, guesses):
    text = f"{HEAD}.visible .entry k() {{ .reg .b32 %r<9>; .reg .b64 %a<9>; {body} }}"
    assert len(polls_of(program_of(text).kernels["k"]).cas_guesses) == guesses
