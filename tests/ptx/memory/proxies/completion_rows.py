# SPDX-License-Identifier: MIT
"""The mistakes about the completion of bulk copies, and about the memory of mbarriers, by name."""

from tests.ptx.memory.proxies.kernels import (
    COMMIT,
    FENCE,
    FILL_A,
    FILL_B,
    LOADED,
    READ,
    SET_UP,
    WAIT_READ,
    WAIT_SENT,
    Misuse,
    box_load,
    expect,
    load,
    store,
    wait,
)

_SENT = f"{FILL_A}{FENCE} bar.sync 0;\n{store('%out', 'a', 512)} {COMMIT}\n"
_REDUCED = f"""{FILL_A}{FENCE} bar.sync 0;
@%one cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%out], [a], 512; {COMMIT}
"""
_WAIT = f"BUG {WAIT_READ}\nFIX {WAIT_SENT}\n"

TARGETS = {
    "target_read_by_the_lane_that_copies": Misuse("missing wait", f"""{_SENT}{_WAIT}
@%one ld.global.u32 %r1, [%out]; // HERE
@%one st.global.u32 [%out+8192], %r1;""", "without .read"),
    "target_read_after_a_barrier": Misuse("missing wait", f"""{_SENT}{_WAIT}
bar.sync 0;
ld.global.u32 %r1, [%rd5]; // HERE
st.global.u32 [%rd5+8192], %r1;""", "without .read"),
    "target_read_by_another_block": Misuse("missing wait", f"""mov.u32 %r1, %ctaid.x; setp.ne.u32 %q, %r1, 0;
@%q bra READER;
{_SENT}{_WAIT}
fence.acq_rel.gpu; @%one st.release.gpu.global.u32 [%out+8192], 1;
bra END;
READER:
POLL: ld.acquire.gpu.global.u32 %r1, [%out+8192]; setp.eq.u32 %p, %r1, 0; @%p bra POLL;
ld.global.u32 %r1, [%rd5]; // HERE
st.global.u32 [%rd5+1024], %r1;
END:""", "without .read", grid=2),
    "target_of_a_reduction_read": Misuse("missing wait", f"""{_REDUCED}{_WAIT}
bar.sync 0;
ld.global.u32 %r1, [%rd5]; // HERE
st.global.u32 [%rd5+8192], %r1;""", "without .read"),
    "target_rewritten": Misuse("missing wait", f"""{_SENT}{_WAIT}
bar.sync 0;
st.global.u32 [%rd5], %t; // HERE""", "without .read"),
    "target_of_two_copies": Misuse("missing wait", f"""{_SENT}{_WAIT}
setp.eq.u32 %one, %t, 64; bar.sync 0;
{store('%out', 'a+512', 512)} // HERE
{COMMIT} cp.async.bulk.wait_group 0;""", "without .read"),
    "target_loaded_again": Misuse("missing wait", f"""{SET_UP}{_SENT}{_WAIT}
fence.proxy.async.global; {expect('full', 512)}
{load('b', '%out', 512, 'full')} // HERE
{wait('full')}""", "without .read"),
    "target_read_after_the_wait_of_another_thread": Misuse("missing wait", f"""{_SENT}
BUG setp.eq.u32 %p, %t, 64; @%p {WAIT_SENT}
FIX {WAIT_SENT}
bar.sync 0;
ld.global.u32 %r1, [%rd5]; // HERE
st.global.u32 [%rd5+8192], %r1;
{WAIT_SENT}""", "without .read"),
}  # fmt: skip

SOURCES = {
    "source_of_a_load_rewritten_by_the_lane_that_copies": Misuse("missing wait", f"""{LOADED}
FIX {wait('full')}
@%one st.global.u32 [%in+16], %t; // HERE
BUG {wait('full')}""", "may still read"),
    "source_of_a_load_rewritten_after_a_barrier": Misuse("missing wait", f"""{LOADED}
FIX {wait('full')}
bar.sync 0; st.global.u32 [%rd6], %t; // HERE
BUG {wait('full')}""", "may still read"),
    "source_of_a_load_rewritten_by_a_copy": Misuse("missing wait", f"""{FILL_B}{FENCE}{LOADED}
FIX {wait('full')}
{store('%in', 'b', 128)} // HERE
{COMMIT} {WAIT_SENT}
BUG {wait('full')}""", "may still read"),
    "source_of_a_load_rewritten_when_another_warp_waits": Misuse("missing wait", f"""{LOADED}bar.sync 0;
BUG setp.eq.u32 %q, %warp, 0; setp.eq.u32 %p, %warp, 1;
FIX setp.eq.u32 %q, %warp, 1; setp.eq.u32 %p, %warp, 1;
{wait('full', who='%q')}
@%p st.global.u32 [%rd6], %t; // HERE""", "may still read"),
}  # fmt: skip

_OWN_TARGET = "FIX mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd1, %r1, 512; add.u64 %out, %out, %rd1;\n"

ORDER = {
    "copies_of_two_blocks": Misuse("race", f"""mov.u32 %r1, %ctaid.x; st.shared.u32 [%r13], %r1; {FENCE} bar.sync 0;
{_OWN_TARGET}{store('%out', 'a', 512)} // HERE
{COMMIT} {WAIT_SENT}""", grid=2),
    "copies_of_two_warps": Misuse("race", f"""{FILL_A}{FENCE} bar.sync 0;
setp.eq.u32 %one, %lane, 0; setp.lt.and.u32 %one, %warp, 2, %one;
mad.lo.u32 %r1, %warp, 512, %r14;
FIX mul.wide.u32 %rd1, %warp, 512; add.u64 %out, %out, %rd1;
{store('%out', '%r1', 512)} // HERE
{COMMIT} {WAIT_SENT}"""),
    "a_copy_and_a_store_of_another_warp": Misuse("race", f"""{FILL_A}{FENCE} bar.sync 0;
{store('%out', 'a', 512)} {COMMIT} {WAIT_SENT}
FIX bar.sync 0;
setp.gt.u32 %q, %t, 31; add.u32 %r1, %t, 5;
@%q st.global.u32 [%rd5], %r1; // HERE"""),
    "a_reduction_and_a_store_of_another_block": Misuse("race", f"""{FILL_A}{FENCE} bar.sync 0; mov.u32 %r1, %ctaid.x;
setp.eq.u32 %q, %r1, 0; setp.eq.and.u32 %p, %t, 0, %q; setp.ne.and.u32 %q, %r1, 0, !%q;
@%p cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%out], [a], 512; {COMMIT} {WAIT_SENT}
FIX add.u64 %rd5, %rd5, 512;
@%q st.global.u32 [%rd5], %t; // HERE""", grid=2),
}  # fmt: skip

NOT_AWAITED = {
    "load_that_nobody_waits_for": Misuse("load in flight at the end", f"""{SET_UP}{expect('full', 512)}
{load('a', '%in', 512, 'full')} // HERE
FIX {wait('full')}""", "no thread has waited"),
    "box_that_nobody_waits_for": Misuse("load in flight at the end", f"""{SET_UP}{expect('full', 1024)}
{box_load('a')} // HERE
FIX {wait('full', who='%one')}""", "no thread has waited"),
    "load_to_a_phase_that_is_not_complete": Misuse("load in flight at the end", f"""
@%one mbarrier.init.shared::cta.b64 [full], 2;
bar.sync 0;
{expect('full', 512)}
{load('a', '%in', 512, 'full')} // HERE
FIX @%one mbarrier.arrive.shared::cta.b64 %rd1, [full];
FIX {wait('full')}""", "no thread has waited"),
    "last_load_of_a_pipeline": Misuse("load in flight at the end", f"""{SET_UP}{expect('full', 512)}
{load('a', '%in', 512, 'full')}
{expect('full+8', 512)}
{load('a+512', '%in', 512, 'full+8')} // HERE
{wait('full')}{READ}
FIX {wait('full+8')}""", "no thread has waited"),
    "reuse_of_a_stage_that_nobody_waits_for": Misuse("load in flight at the end", f"""{LOADED}{wait('full')}{READ}
{FENCE} bar.sync 0;
{expect('full', 512)}
{load('a', '%in', 512, 'full')} // HERE
FIX {wait('full', 1)}""", "no thread has waited"),
}  # fmt: skip

_OVER = f"{SET_UP}@%one mbarrier.arrive.shared.b64 %rd1, [full];\n{wait('full')}bar.sync 0;\n"
_END = "FIX @%one mbarrier.inval.shared.b64 [full]; bar.sync 0;"
_STORED = "@%one st.shared.v2.u32 [full], {%t, %t};"

REUSED = {
    "memory_of_an_mbarrier_stored_to": Misuse("mbarrier not initialised", f"""{_OVER}{_END}
{_STORED} // HERE
bar.sync 0;
FIX ld.shared.u32 %r1, [full+4]; st.global.u32 [%rd5], %r1;""", "since mbarrier.init"),
    "memory_of_an_mbarrier_read": Misuse("mbarrier not initialised", f"""{_OVER}{_END}
FIX {_STORED}
bar.sync 0;
ld.shared.u32 %r1, [full]; // HERE
st.global.u32 [%rd5], %r1;""", "since mbarrier.init"),
    "memory_of_an_mbarrier_initialised_again": Misuse("mbarrier not initialised", f"""{_OVER}{_END}
@%one mbarrier.init.shared.b64 [full], 1; // HERE""", "since mbarrier.init"),
    "memory_of_an_mbarrier_copied_to": Misuse("mbarrier not initialised", f"""{_OVER}{_END}
FIX @%one mbarrier.inval.shared.b64 [full+8];
bar.sync 0; {FENCE} {expect('empty', 16)}
{load('full', '%in', 16, 'empty')} // HERE
{wait('empty')}""", "since mbarrier.init"),
}  # fmt: skip

COMPLETION = {**TARGETS, **SOURCES, **ORDER, **NOT_AWAITED, **REUSED}
