# SPDX-License-Identifier: MIT
"""Right kernels that resemble the mistakes: what libraries do, and no check may report."""

from tests.ptx.memory.proxies.kernels import (
    COMMIT,
    FENCE,
    FILL_A,
    FILL_B,
    LOADED,
    MMA,
    READ,
    RESULT,
    SET_UP,
    WAIT_MMA,
    WAIT_SENT,
    Misuse,
    expect,
    load,
    store,
    wait,
)

RIGHT = {
    "the_issuing_thread_executes_the_fence": Misuse("", f"""st.shared.u32 [%r13], %t; bar.sync 0;
@%one {FENCE}
{store('%out', 'a', 512)}
{COMMIT} {WAIT_SENT}"""),
    "all_threads_execute_the_fence_between_two_barriers": Misuse("", f"""st.shared.u32 [%r13], %t; bar.sync 0;
{FENCE} bar.sync 0;
{store('%out', 'a', 512)}
{COMMIT} {WAIT_SENT}"""),
    "the_warps_of_a_product_execute_the_fence": Misuse("", f"""{FILL_A}{FILL_B}bar.sync 0;
{FENCE}
{MMA}
{WAIT_MMA}
{RESULT}"""),
    "a_fence_counts_for_all_later_products": Misuse("", f"""{SET_UP}{FILL_A}{FENCE}
bar.sync 0;
{expect('full', 512)}{load('b', '%in', 512, 'full')}
{wait('full')}{MMA}
{WAIT_MMA}
bar.sync 0;
{expect('full', 512)}{load('b', '%in', 512, 'full')}
{wait('full', 1)}{MMA}
{WAIT_MMA}
{RESULT}"""),
    "one_thread_of_a_warpgroup_frees_the_stage": Misuse("", f"""{SET_UP}setp.ge.u32 %q, %t, 128;
{FILL_A}{FILL_B}{FENCE}
bar.sync 0;
@!%q bra CONSUMER;
setp.eq.u32 %one, %t, 128;
{wait('empty')}{expect('full', 512)}{load('b', '%in', 512, 'full')}
{wait('full')}bra END;
CONSUMER:
{MMA}
{WAIT_MMA}
setp.eq.u32 %p, %t, 96;
@%p mbarrier.arrive.shared::cta.b64 %rd1, [empty];
{RESULT}END:""", block=160),
    "a_producer_is_many_products_behind": Misuse("", f"""{SET_UP}setp.ge.u32 %q, %t, 128;
{FILL_A}{FILL_B}st.shared.u32 [%r11+1024], %t; {FENCE}
bar.sync 0;
@!%q bra CONSUMER;
setp.eq.u32 %one, %t, 128;
{wait('empty+8')}{wait('empty')}{expect('full', 512)}{load('b', '%in', 512, 'full')}
{wait('full')}bra END;
CONSUMER:
{MMA}
{WAIT_MMA}
@%one mbarrier.arrive.shared::cta.b64 %rd1, [empty];
add.u64 %db, %db, 64; mov.u32 %r3, 0;
LOOP:
{MMA}
{WAIT_MMA}
add.u32 %r3, %r3, 1; setp.lt.u32 %p, %r3, 100; @%p bra LOOP;
@%one mbarrier.arrive.shared::cta.b64 %rd1, [empty+8];
{RESULT}END:""", block=160),
    "lanes_issue_different_copies": Misuse("", f"""{SET_UP}{expect('full', 512)}bar.sync 0;
shl.b32 %r1, %t, 4; cvt.u64.u32 %rd1, %r1; add.u64 %rd1, %rd1, %in; add.u32 %r1, %r1, %r14;
setp.lt.u32 %one, %t, 32;
{load('%r1', '%rd1', 16, 'full')}
{wait('full')}{READ}"""),
    "one_lane_waits_and_its_warp_follows": Misuse("", f"""{LOADED}setp.eq.u32 %p, %lane, 0;
{wait('full', who='%p')}bar.warp.sync -1;
{READ}"""),
    "one_warp_waits_and_a_barrier_follows": Misuse("", f"""{LOADED}setp.eq.u32 %q, %warp, 2;
{wait('full', who='%q')}bar.sync 0;
{READ}"""),
    "stages_are_used_in_turn": Misuse("", f"""{SET_UP}mov.u32 %r3, 0;
LOOP:
{expect('full', 512)}{load('a', '%in', 512, 'full')}
and.b32 %r4, %r3, 1;
{wait('full', '%r4')}ld.shared.u32 %r1, [%r13]; st.global.u32 [%rd5], %r1; {FENCE} bar.sync 0;
add.u32 %r3, %r3, 1; setp.lt.u32 %p, %r3, 9; @%p bra LOOP;"""),
    "a_stored_tile_is_sent_in_every_round": Misuse("", f"""mov.u32 %r3, 0;
LOOP:
st.shared.u32 [%r13], %r3; {FENCE} bar.sync 0;
{store('%out', 'a', 256)}
{COMMIT} cp.async.bulk.wait_group.read 0; bar.sync 0; add.u64 %out, %out, 256;
add.u32 %r3, %r3, 1; setp.lt.u32 %p, %r3, 40; @%p bra LOOP;
{WAIT_SENT}"""),
    "blocks_reduce_to_the_same_bytes": Misuse("", f"""{FILL_A}{FENCE} bar.sync 0;
@%one cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%out], [a], 512;
{COMMIT} @%one red.global.add.u32 [%out], 1; cp.async.bulk.wait_group.read 0;""", grid=2),
    "a_sent_tile_is_read_after_the_wait": Misuse("", f"""{FILL_A}{FENCE} bar.sync 0;
{store('%out', 'a', 512)} {COMMIT} {WAIT_SENT}
bar.sync 0; ld.global.u32 %r1, [%rd5]; st.global.u32 [%rd5], %r1; fence.proxy.async.global; bar.sync 0;
{store('%out', 'a', 512)} {COMMIT} {WAIT_SENT}"""),
    "a_loaded_tile_is_sent": Misuse("", f"""{LOADED}{wait('full')}{store('%out', 'a', 512)}
{COMMIT} {WAIT_SENT}"""),
}  # fmt: skip
"""Kernels without a finding."""
