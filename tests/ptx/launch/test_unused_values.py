# SPDX-License-Identifier: MIT
"""A race of a load is an error if anything depends on the loaded value, and a warning otherwise."""

import re

import numpy as np
import pytest

import wmma_emu as we
from tests.ptx.texts_of_kernels import HEADER, launch, numbers, put, text_of

UNUSED = "race of an unused value"

TILE = ".shared .align 16 .b8 tile[4096];\n"

COPIES = """and.b32 %r2, %r0, 31;
setp.ge.u32 %p1, %r0, 32;
mul.wide.u32 %rd3, %r2, 4;
"""
"""%r2 is the lane, %p1 is true if the thread's value is a copy of one in warp 0, %rd3 is an address in an array."""

USES = {
    "stored": put("%r4", "%rd2"),
    "an address": "cvt.u64.u32 %rd5, %r4; and.b64 %rd5, %rd5, 4; add.s64 %rd5, %rd5, %rd2; ld.global.u32 %r9, [%rd5];",
    "a guard": "setp.eq.u32 %p2, %r4, 5; @%p2 st.global.u32 [%rd2], 5;",
    "a branch": "setp.eq.u32 %p2, %r4, 5; @%p2 bra END; st.global.u32 [%rd2+512], 5; END:",
    "an operand of an atomic operation": "atom.global.add.u32 %r9, [%rd2], %r4;",
    "stored by another lane": "shfl.sync.bfly.b32 %r4, %r4, 1, 31, -1;" + put("%r4", "%rd2"),
    "stored by another lane through shared memory": """mov.u32 %r10, tile; shl.b32 %r11, %r2, 2;
        add.u32 %r10, %r10, %r11; st.shared.u32 [%r10], %r4; bar.warp.sync -1; ld.shared.u32 %r4, [tile+4];
        """ + put("%r4", "%rd2"),
    "kept in local memory": "st.local.u32 [mine], %r4; ld.local.u32 %r5, [mine];" + put("%r5", "%rd2"),
    "summed": "add.u32 %r4, %r4, %r4;" + put("%r4", "%rd2"),
}  # fmt: skip

NO_USES = {
    "nothing": "",
    "what the mask leaves out": "and.b32 %r4, %r4, 0;" + put("%r4", "%rd2"),
    "a choice of registers": "setp.eq.u32 %p2, %r4, 5; selp.b32 %r5, 1, 2, %p2;",
    "local memory": "st.local.u32 [mine], %r4;",
    "a sum that is overwritten": "add.u32 %r4, %r4, 1; mov.u32 %r4, 7;" + put("%r4", "%rd2"),
}


def kinds(report):
    return sorted({x.kind for x in report.findings})


def in_place(use):
    """All warps load the data that warp 0 stores; the others continue with a use."""
    return f"""{COPIES}.local .align 4 .b8 mine[8];
    add.s64 %rd4, %rd1, %rd3;
    ld.global.u32 %r4, [%rd4];
    add.u32 %r3, %r4, 100;
    @%p1 bra COPY;
    st.global.u32 [%rd4], %r3;
    ret;
    COPY: {use} ret;"""


@pytest.mark.parametrize("use", NO_USES)
def test_a_race_of_an_unused_copy_is_a_warning(use):
    x = np.arange(32, dtype=np.uint32)
    report = launch(in_place(NO_USES[use]), x, numbers(256), block=64, before=TILE)
    assert kinds(report) == [UNUSED] and not report.errors
    assert "nothing depends on the value loaded at " in report.findings[0].message
    assert x.tolist() == list(range(100, 132))


@pytest.mark.parametrize("use", USES)
def test_a_race_of_a_used_copy_is_an_error_that_names_the_use(use):
    report = launch(in_place(USES[use]), np.arange(32, dtype=np.uint32), numbers(256), block=64, before=TILE)
    assert [x.kind for x in report.errors] == ["race"] and UNUSED not in kinds(report)
    said = [x.message for finding in report.errors for x in finding.sightings]
    assert all(re.search(r"; the value loaded at line \d+ is used at line \d+ by [a-z]", x) for x in said)


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize("first", ["load", "store"])
def test_the_order_of_load_and_store_does_not_matter(space, used, first):
    where = "[%rd1]" if space == "global" else "[tile]"
    load, store = f"@%p1 ld.{space}.u32 %r4, {where};", f"@!%p1 st.{space}.u32 {where}, %r0;"
    body = COPIES + "mov.u32 %r4, 0;" + "\n".join([load, store] if first == "load" else [store, load])
    report = launch(body + (put("%r4", "%rd2") if used else "") + "ret;", numbers(), numbers(64), block=64, before=TILE)
    found = [(x.kind, x.text.split()[1][:2]) for x in report.findings if x.kind in ("race", UNUSED)]
    assert found == [("race" if used else UNUSED, "st" if first == "load" else "ld")]


def test_one_bad_race_does_not_make_errors_of_the_others():
    body = COPIES + """@!%p1 bra WRITE;
    ld.global.u32 %r4, [%rd1];
    ld.global.u32 %r5, [%rd1+4];
    ld.global.u32 %r6, [%rd1+8];
    st.global.u32 [%rd2], %r5;
    ret;
    WRITE: setp.ne.u32 %p2, %r0, 0;
    @%p2 ret;
    st.global.u32 [%rd1], 1;
    st.global.u32 [%rd1+4], 2;
    st.global.v2.u32 [%rd1+8], {%r0, %r0};
    ret;"""  # fmt: skip
    report = launch(body, numbers(), numbers(), block=64)
    assert [x.text[:22] for x in report.errors] == ["st.global.u32 [%rd1+4]"]
    (finding,) = report.warnings
    assert [x.kind for x in finding.sightings] == [UNUSED] * 2


def test_a_store_that_races_with_a_used_load_and_an_unused_one_is_an_error():
    body = COPIES + """@!%p1 bra WRITE;
    ld.global.u32 %r4, [%rd1];
    ld.global.u32 %r5, [%rd1+4];
    st.global.u32 [%rd2], %r5;
    ret;
    WRITE: st.global.v2.u32 [%rd1], {1, 2};
    ret;"""  # fmt: skip
    report = launch(body, numbers(), numbers(), block=64)
    assert [x.kind for x in report.errors] == ["race"]


@pytest.mark.parametrize(("used", "kind"), [("%r4", UNUSED), ("%r5", "race")])
def test_of_a_vector_only_the_bytes_that_race_count(used, kind):
    body = COPIES + f"""@!%p1 bra WRITE;
    ld.global.v2.u32 {{%r4, %r5}}, [%rd1];
    st.global.u32 [%rd2], {used};
    ret;
    WRITE: st.global.u8 [%rd1+6], 1;
    ret;"""  # fmt: skip
    report = launch(body, numbers(), numbers(), block=64)
    assert kinds(report) == sorted({kind, "race of equal bytes"} & set(kinds(report)) | {kind})


@pytest.mark.parametrize(("used", "kind"), [(0, UNUSED), (1, "race")])
def test_the_iterations_of_a_loop_are_distinguished(used, kind):
    """Warp 1 loads in both iterations; after the first barrier, the second load races with the store of warp 0."""
    body = COPIES + f"""mov.u32 %r7, 0;
    LOOP:
    setp.ne.u32 %p3, %r7, {used};
    setp.ne.u32 %p4, %r7, 1;
    @!%p1 bra STORE;
    ld.shared.u32 %r4, [tile];
    @!%p3 st.global.u32 [%rd1], %r4;
    bra ON;
    STORE: @!%p4 st.shared.u32 [tile], 1;
    ON: bar.sync 0;
    add.u32 %r7, %r7, 1;
    setp.lt.u32 %p2, %r7, 2;
    @%p2 bra LOOP;
    ret;"""  # fmt: skip
    start = "st.shared.u32 [tile], 7; bar.sync 0;"
    report = launch(start + body, numbers(), block=64, before=TILE)
    assert [x.kind for x in report.findings if x.kind in ("race", UNUSED)] == [kind]


READERS = """setp.eq.u32 %p1, %r1, 0;
@%p1 bra WRITE;
setp.ge.u32 %p2, %r0, 32;
@%p2 bra MEET;
ld.global.u32 %r4, [%rd1];
{use}
MEET: bar.sync 0;
@!%p2 ret;
ld.global.u32 %r5, [%rd1];
ret;
WRITE: setp.ne.u32 %p3, %r0, 0;
@%p3 ret;
st.global.u32 [%rd1], 5;
ret;"""
"""Block 1: warp 0 loads, and warp 1 after a barrier; then block 0 stores."""


@pytest.mark.parametrize(("use", "kind"), [("st.global.u32 [%rd2], %r4;", "race"), ("", UNUSED)])
def test_a_reader_that_a_later_one_replaces_counts_too(use, kind):
    report = launch(READERS.format(use=use), numbers(), numbers(), grid=2, block=64)
    (finding,) = (x for x in report.findings if x.kind in ("race", UNUSED))
    (store,) = finding.sightings
    assert (finding.kind, store.kind) == (kind, kind) and store.text == "st.global.u32 [%rd1], 5;"
    assert len(store.others) == 2 and len(finding.details) == 1


@pytest.mark.parametrize(("use", "kind"), [("st.global.u32 [%rd2], %r4;", "race"), ("", UNUSED)])
def test_blocks_that_do_not_run_at_a_time_race_too(use, kind):
    body = f"""mov.u32 %r4, 0;
    setp.ne.u32 %p1, %r0, 0;
    @%p1 ret;
    setp.eq.u32 %p2, %r1, 69;
    @%p2 st.global.u32 [%rd1], 5;
    @!%p2 ld.global.u32 %r4, [%rd1];
    setp.eq.u32 %p3, %r1, 3;
    @!%p3 ret;
    {use}
    ret;"""
    report = launch(body, numbers(), numbers(), grid=70, block=1024)
    assert kinds(report) == [kind]


def test_racing_stores_are_errors_whichever_thread_reads_them():
    body = COPIES + "add.s64 %rd4, %rd1, %rd3; ld.global.u32 %r4, [%rd4]; st.global.u32 [%rd4], %r0; ret;"
    assert "race" in kinds(launch(body, numbers(), block=64))


@pytest.mark.parametrize(
    ("load", "kind"),
    [
        ("ld.volatile.global", UNUSED),
        ("ld.global.nc", UNUSED),
        ("ld.relaxed.gpu.global", "race"),
        ("ld.acquire.gpu.global", "race"),
    ],
)
def test_loads_that_may_order_something_stay_errors(load, kind):
    body = COPIES + f"@!%p1 bra WRITE; {load}.u32 %r4, [%rd1]; ret; WRITE: st.global.u32 [%rd1], 1; ret;"
    assert [x.kind for x in launch(body, numbers(), block=64).findings if x.kind in ("race", UNUSED)] == [kind]


def test_a_load_that_races_with_atomic_operations_is_a_warning_if_it_is_unused():
    body = COPIES + "@!%p1 bra ADD; ld.global.u32 %r4, [%rd1]; ret; ADD: atom.global.add.u32 %r5, [%rd1], 1; ret;"
    assert kinds(launch(body, numbers(), block=64)) == [UNUSED]


def test_races_of_unused_values_are_errors_in_a_program_with_locks():
    body = in_place("") + "\n"
    lock = """setp.ne.u32 %p5, %r2, 0;
    @%p5 bra GO;
    TAKE: atom.global.cas.b32 %r9, [%rd2], 0, 1;
    setp.ne.u32 %p6, %r9, 0;
    @%p6 bra TAKE;
    fence.acq_rel.gpu;
    atom.global.exch.b32 %r9, [%rd2], 0;
    GO:
    """
    body = body.replace("add.s64 %rd4", lock + "add.s64 %rd4", 1)
    assert "race" in kinds(launch(body, numbers(), numbers(), block=64))


@pytest.mark.parametrize(
    ("use", "kind"), [("", UNUSED), ("ld.shared.u32 %r4, [tile]; st.global.u32 [%rd2], %r4;", "race")]
)
def test_what_an_asynchronous_copy_reads_is_followed(use, kind):
    body = COPIES + f"""@!%p1 bra WRITE;
    mov.u32 %r5, tile;
    setp.ne.u32 %p2, %r2, 0;
    @%p2 ret;
    cp.async.ca.shared.global [%r5], [%rd1], 4;
    cp.async.wait_all;
    {use}
    ret;
    WRITE: st.global.u32 [%rd1], 1;
    ret;"""  # fmt: skip
    report = launch(body, numbers(), numbers(), block=64, before=TILE)
    assert [x.kind for x in report.findings if x.kind in ("race", UNUSED)] == [kind]


@pytest.mark.parametrize(("use", "kind"), [("", UNUSED), (put("%r6", "%rd1"), "race")])
def test_what_ldmatrix_reads_is_followed(use, kind):
    body = COPIES + f"""shl.b32 %r5, %r2, 4;
    mov.u32 %r4, tile;
    add.u32 %r5, %r5, %r4;
    @!%p1 bra WRITE;
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r6, %r7, %r8, %r9}}, [%r5];
    {use}
    ret;
    WRITE: st.shared.v4.u32 [%r5], {{%r0, %r0, %r0, %r0}};
    ret;"""  # fmt: skip
    start = "st.shared.u32 [tile], 7; bar.sync 0;"
    report = launch(start + body, numbers(64), block=64, before=TILE)
    assert [x.kind for x in report.errors + report.warnings if x.kind in ("race", UNUSED)] == [kind]


@pytest.mark.parametrize("checks", [("races",), ("races", "memory"), ("races", "undefined")])
@pytest.mark.parametrize(("use", "kind"), [("nothing", UNUSED), ("stored", "race")])
def test_the_check_for_races_alone_distinguishes_unused_values(checks, use, kind):
    body = in_place({**NO_USES, **USES}[use])
    assert kinds(launch(body, numbers(), numbers(256), block=64, checks=checks, before=TILE)) == [kind]


@pytest.mark.parametrize(("use", "kind"), [("nothing", UNUSED), ("stored", "race")])
def test_every_order_of_the_warps_gives_the_same_finding(use, kind):
    body = in_place({**NO_USES, **USES}[use])
    for seed in range(6):
        report = launch(body, numbers(), numbers(256), block=64, schedule=seed, before=TILE)
        assert kinds(report) == [kind], seed


@pytest.mark.parametrize("limit", ["race._MOST", "suspects._MOST_ACCESSES", "suspects._MOST_PAIRS"])
def test_a_race_with_too_many_bytes_to_compare_stays_an_error(limit, monkeypatch):
    body = in_place("").replace("[%rd4], %r3;", "[%rd4], %r3;\nadd.s64 %rd4, %rd1, %rd3; st.global.u32 [%rd4], %r3;")
    assert kinds(launch(body, numbers(), numbers(), block=64, before=TILE)) == [UNUSED]
    monkeypatch.setattr("wmma_emu.ptx.memory.races.race._SOME", 0)
    monkeypatch.setattr(f"wmma_emu.ptx.memory.races.{limit}", 10)
    assert kinds(launch(body, numbers(), numbers(), block=64, before=TILE)) == ["race"]


@pytest.mark.parametrize(("limit", "kind"), [(512, UNUSED), (511, "race")])
def test_the_last_pair_that_may_be_compared_is_compared(limit, kind, monkeypatch):
    monkeypatch.setattr("wmma_emu.ptx.memory.races.suspects._MOST_PAIRS", limit)  # this kernel has 512
    assert kinds(launch(in_place(""), numbers(), numbers(), block=64, before=TILE)) == [kind]


def test_no_more_steps_are_needed_than_the_launch_may_take():
    steps = launch(in_place(""), numbers(), numbers(), block=64, before=TILE).steps
    assert kinds(launch(in_place(""), numbers(), numbers(), block=64, before=TILE, max_steps=steps)) == [UNUSED]


@pytest.mark.parametrize("kind", ["race", UNUSED])
def test_a_silence_of_either_kind_covers_a_race_of_an_unused_value(kind):
    line = launch(in_place(""), numbers(), numbers(), block=64, before=TILE).findings[0].line
    silence = we.ptx.Silence(kind, line, "copies of a tile")
    report = launch(in_place(""), numbers(), numbers(), block=64, before=TILE, silence=[silence])
    assert not report.findings and not report.unused_silences
    assert [x.finding.kind for x in report.silenced] == [kind]


def test_variables_and_arrays_are_as_one_run_leaves_them():
    text = HEADER + ".global .u32 count;\n" + text_of(in_place("")).split(HEADER, 1)[1]
    text = text.replace("ret;\n    COPY:", "atom.global.add.u32 %r9, [count], 1; ret;\n    COPY:")
    module = we.ptx.Module(text, findings="report")
    x = numbers()
    assert kinds(module["k"][1, 64](x)) == [UNUSED]
    assert module.variable("count").view(np.uint32).tolist() == [32] and x.tolist() == [100] * 32


def test_a_use_is_not_hidden_by_another_use_at_the_same_instruction():
    body = COPIES + """@!%p1 bra WRITE;
    ld.global.u32 %r4, [%rd1];
    ld.global.u32 %r5, [%rd1+4];
    ld.global.u32 %r6, [%rd1+8];
    add.u32 %r7, %r4, %r5;
    st.global.u32 [%rd2], %r7;
    ret;
    WRITE: st.global.u32 [%rd1], 1;
    st.global.u32 [%rd1+4], 2;
    st.global.u32 [%rd1+8], 2;
    ret;"""  # fmt: skip
    report = launch(body, numbers(), numbers(), block=64)
    assert [x.kind for x in report.findings if x.kind in ("race", UNUSED)] == ["race", UNUSED]
    seen = [[(x.kind, x.text) for x in finding.sightings] for finding in report.findings if "race" in finding.kind]
    assert seen == [
        [("race", "WRITE: st.global.u32 [%rd1], 1;"), ("race", "st.global.u32 [%rd1+4], 2;")],
        [(UNUSED, "st.global.u32 [%rd1+8], 2;")],
    ]
