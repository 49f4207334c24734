# SPDX-License-Identifier: MIT
"""Races in whole kernels, each with its repaired twin: in every order of the warps, and with few blocks at a time."""

import numpy as np
import pytest

from tests.ptx.machine.races_in_ptx import FIRST, MINE, PAIRS, TILE, USED, WHO, Pair
from tests.ptx.texts_of_kernels import launch, numbers
from wmma_emu.ptx.machine import run

SEEDS = [None, 1, 2, 3]


def findings(pair: Pair, choice: str, **options):
    words = np.zeros(pair.words, np.uint32)
    body = pair.body.replace("{}", choice)
    before = pair.before
    return launch(body, words, grid=pair.grid, block=pair.block, before=before, **options).findings


@pytest.mark.sweep(keep=1 / 2)
@pytest.mark.parametrize("pair", PAIRS, ids=[x.name for x in PAIRS])
def test_a_race_is_found_in_every_order_and_in_no_order_once_it_is_fixed(pair):
    for seed in SEEDS:
        found = findings(pair, pair.wrong, schedule=seed)
        assert {x.kind for x in found} == {pair.kind}, "\n".join(map(str, found))
        assert not findings(pair, pair.right, schedule=seed)


@pytest.mark.parametrize("pair", [x for x in PAIRS if x.grid > 1 and "SPIN" not in x.body and "OTHER" not in x.body],
                         ids=lambda x: x.name)  # fmt: skip
def test_blocks_that_do_not_run_concurrently_race_too(pair, monkeypatch):
    monkeypatch.setattr(run, "blocks_at_once", lambda *_: 1)
    assert {x.kind for x in findings(pair, pair.wrong)} == {pair.kind}
    assert not findings(pair, pair.right)


@pytest.mark.parametrize("pair", PAIRS, ids=[x.name for x in PAIRS])
def test_races_can_be_switched_off(pair):
    assert not findings(pair, pair.wrong, checks=("memory", "synchronisation"))


def test_a_finding_names_both_sides():
    body = WHO + "add.s64 %rd5, %rd1, %rd0;\nst.global.v2.u32 [%rd5], {%r4, %r4};\nret;"
    body = body.replace("%rd0;", "%rd6;").replace("add.s64", "shl.b64 %rd6, %rd0, 1;\nadd.s64")
    body = body.replace("ret;", "ld.global.u32 %r5, [%rd5+4];\n" + USED + "ret;")
    found = launch(body, np.zeros(64, np.uint32), grid=2).findings
    assert {x.kind for x in found} == {"race"}
    sightings = list(dict.fromkeys(x for finding in found for x in finding.sightings))
    assert [(x.kind, x.text.split()[0]) for x in sightings] == [("race", "st.global.v2.u32"), ("race", "ld.global.u32")]
    (finding,) = found
    assert [(x.role, x.where) for x in finding.sides] == [("writes", f"line {sightings[0].line}")]
    assert finding.details == (f"p1 at lines {sightings[0].line}/{sightings[1].line}",)
    first, second = (x.message for x in sightings)
    begin = "global memory (argument 0 (p1) of k +"
    assert first.startswith(f"block (0, 0, 0) writes 8 bytes at 0x17f0000010000 of {begin} 0); block ")
    assert first.endswith("block (1, 0, 0) writes a different value there in the same instruction")
    assert second.startswith(f"block (0, 0, 0) reads 4 bytes at 0x17f0000010004 of {begin} 4), which holds 0x000000")
    wrote = f"; thread (0, 0, 0) of block (1, 0, 0) wrote 8 bytes at 0x17f0000010000 of {begin} 0) "
    assert f"{wrote}(line {sightings[0].line}, " in second
    assert "st.global.v2.u32), and nothing orders the two: blocks are ordered by a fence with a flag " in second
    assert "or a second launch; the value that it loads is used at line " in second


def test_an_array_that_is_only_read_is_not_watched():
    body = WHO + "add.s64 %rd5, %rd1, %rd0;\nld.global.u32 %r5, [%rd5];\nadd.s64 %rd6, %rd2, %rd10;\n"
    body += "st.global.u32 [%rd6], %r5;\nret;"
    assert not launch(body, np.zeros(32, np.uint32), np.zeros(64, np.uint32), grid=2).findings


def test_a_store_to_an_array_that_was_expected_to_be_only_read_is_watched():
    # The address of the second array is computed from the first one: the gap between them is the heap's.
    words = np.zeros(32, np.uint32), np.zeros(32, np.uint32)
    body = """mov.u32 %r20, 0x17f00;\nmov.u32 %r21, {};\nmov.b64 %rd5, {%r21, %r20};\nsub.s64 %rd5, %rd5, %rd1;
    add.s64 %rd5, %rd5, %rd1;\nld.global.u32 %r5, [%rd2];\nst.global.u32 [%rd5], %r1;\nret;"""
    report = launch("mov.u64 %rd3, %rd2;\nst.global.u32 [%rd1], 3;\nret;", *words)
    assert not report.findings
    report = launch(body.replace("{}", "0x20100", 1), *words, grid=2)
    assert {x.kind for x in report.findings} == {"race"}
    assert (words[1][0], words[0][0]) == (1, 3)
    # The launch restarts then: earlier findings are not reported twice.
    report = launch("ld.global.u32 %r6, [%rd2+1];\n" + body.replace("{}", "0x20100", 1), *words, grid=2)
    assert {x.kind: x.count for x in report.findings}["misaligned"] == 64


def test_one_store_to_two_arrays_is_watched_in_the_array_that_was_expected_to_be_only_read():
    words = np.zeros(32, np.uint32), np.zeros(32, np.uint32)
    body = """mov.u32 %r20, 0x17f00;\nmov.u32 %r21, 0x20100;\nmov.b64 %rd5, {%r21, %r20};
    mul.wide.u32 %rd6, %r1, 4;\nadd.s64 %rd6, %rd6, %rd1;\nsetp.eq.u32 %p1, %r0, 0;\nselp.b64 %rd7, %rd6, %rd5, %p1;
    ld.global.u32 %r5, [%rd2];\nsetp.gt.u32 %p2, %r0, 1;\n@!%p2 st.global.u32 [%rd7], %r1;\nret;"""
    report = launch(body, *words, grid=2)
    assert {x.kind for x in report.findings} == {"race"}
    assert (words[0][:2].tolist(), words[1][0]) == ([0, 1], 1)


def test_a_polled_word_of_shared_memory_is_not_a_race():
    body = (
        FIRST
        + MINE
        + """@!%p1 st.shared.u32 [%r10], 0;
    bar.sync 0;
    setp.gt.u32 %p3, %r0, 31;
    @%p3 bra OTHER;
    @!%p1 st.volatile.shared.u32 [%r10], 1;
    ret;
    OTHER: ld.volatile.shared.u32 %r5, [%r10];
    setp.eq.u32 %p4, %r5, 0;
    @%p4 bra OTHER;
    """
        + USED
        + "ret;"
    )
    assert not launch(body, np.zeros(1, np.uint32), block=64, before=TILE).findings
    # Another volatile word, for which no thread waits.
    write = "@!%p1 st.volatile.shared.u32 [%r10{}], 1;"
    with_other_word = body.replace(write.format(""), write.format("+8") + write.format(""))
    with_other_word = with_other_word.replace("%p4 bra OTHER", "%p4 bra AGAIN")
    with_other_word = with_other_word.replace(
        "OTHER:", "OTHER: ld.volatile.shared.u32 %r5, [%r10+8];\n" + USED + "AGAIN:"
    )
    found = launch(with_other_word, np.zeros(1, np.uint32), block=64, before=TILE).findings
    assert [x.kind for x in found] == ["race"]
    once = body.replace("@%p4 bra OTHER;", "")
    found = launch(once, np.zeros(1, np.uint32), block=64, before=TILE).findings
    assert [x.kind for x in found] == ["race"]


@pytest.mark.parametrize("schedule", SEEDS)
def test_a_plain_store_of_equal_bytes_races_with_an_atomic_operation(schedule):
    body = """mov.u32 %r10, tile;
    setp.gt.u32 %p3, %r0, 31;
    @%p3 bra OTHER;
    atom.shared.exch.b32 %r5, [%r10], 5;
    ret;
    OTHER: st.shared.u32 [%r10], {};
    ret;"""
    for value in (5, 6):
        found = launch(body.format(value), numbers(1), block=64, before=TILE, schedule=schedule).findings
        assert [x.kind for x in found] == ["race"]
    plain = body.replace("atom.shared.exch.b32 %r5, [%r10], 5;", "st.shared.u32 [%r10], 5;")
    found = launch(plain.format(5), numbers(1), block=64, before=TILE, schedule=schedule).findings
    assert [x.kind for x in found] == ["race of equal bytes"]
