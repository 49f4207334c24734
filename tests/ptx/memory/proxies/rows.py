# SPDX-License-Identifier: MIT
"""The mistakes about proxies, buffers and tensor maps, by name."""

from tests.ptx.memory.proxies.completion_rows import COMPLETION
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
    WAIT_READ,
    WAIT_SENT,
    Misuse,
    box_load,
    box_store,
    expect,
    load,
    store,
    wait,
)

PROXY = {
    "store_before_bulk_store": Misuse("missing proxy fence", f"""st.shared.u32 [%r13], %t;
FIX {FENCE}
bar.sync 0;
{store('%out', 'a', 512)} // HERE
{COMMIT} {WAIT_SENT}"""),
    "store_before_product": Misuse("missing proxy fence", f"""{FILL_A}{FILL_B}
FIX {FENCE}
bar.sync 0;
{MMA} // HERE
{WAIT_MMA}
{RESULT}"""),
    "fence_before_the_stores": Misuse("missing proxy fence", f"""BUG {FENCE}
st.shared.u32 [%r13], %t;
FIX {FENCE}
bar.sync 0;
{store('%out', 'a', 512)} // HERE
{COMMIT} {WAIT_SENT}"""),
    "fence_of_another_space": Misuse("missing proxy fence", f"""st.shared.u32 [%r13], %t;
BUG fence.proxy.async.global;
FIX fence.proxy.async.shared::cluster;
bar.sync 0;
{store('%out', 'a', 512)} // HERE
{COMMIT} {WAIT_SENT}"""),
    "fence_of_one_thread": Misuse("missing proxy fence", f"""st.shared.u32 [%r13], %t;
BUG @%one {FENCE}
FIX {FENCE}
bar.sync 0;
{store('%out', 'a', 512)} // HERE
{COMMIT} {WAIT_SENT}"""),
    "fence_after_the_barrier": Misuse("missing proxy fence", f"""setp.lt.u32 %q, %warp, 2;
@%q st.shared.u32 [%r13+0], %t;
BUG bar.sync 0;
FIX {FENCE} bar.sync 0;
setp.eq.u32 %p, %t, 64; @%q {FENCE}
@%p cp.async.bulk.global.shared::cta.bulk_group [%out], [a], 256; // HERE
{COMMIT} {WAIT_SENT}"""),
    "stmatrix_before_tensor_store": Misuse("missing proxy fence", f"""shl.b32 %r1, %lane, 4; add.u32 %r1, %r1, %r14;
shl.b32 %r2, %warp, 8; add.u32 %r1, %r1, %r2; and.b32 %r3, %lane, 15; shl.b32 %r3, %r3, 4; add.u32 %r3, %r3, %r2;
add.u32 %r3, %r3, %r14; stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r3], {{%t, %t}};
FIX {FENCE}
bar.sync 0;
{box_store('a')} // HERE
{COMMIT} {WAIT_SENT}"""),
    "atomics_before_reduction": Misuse("missing proxy fence", f"""st.shared.u32 [%r13], %t; {FENCE} bar.sync 0;
red.shared.add.u32 [%r13], 1;
FIX {FENCE}
bar.sync 0;
@%one cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%out], [a], 512; // HERE
{COMMIT} {WAIT_SENT}"""),
    "store_before_load_that_overwrites": Misuse("missing proxy fence", f"""{SET_UP}mov.u32 %r1, 0;
st.shared.u32 [%r13], %r1;
FIX {FENCE}
bar.sync 0;
{expect('full', 512)}
{load('a', '%in', 512, 'full')} // HERE
{wait('full')}{READ}"""),
    "global_store_before_load": Misuse("missing proxy fence", f"""{SET_UP}st.global.u32 [%rd6], %t;
FIX fence.proxy.async.global;
bar.sync 0;
{expect('full', 512)}
{load('a', '%in', 512, 'full')} // HERE
{wait('full')}{READ}"""),
}  # fmt: skip

OMITTED = {
    "load_before_reuse": Misuse("omitted proxy fence", f"""{LOADED}{wait('full')}{READ}
FIX {FENCE}
bar.sync 0;
{expect('full', 512)}
{load('a', '%in', 512, 'full')} // HERE
{wait('full', 1)}{READ}"""),
    "ldmatrix_before_reuse": Misuse("omitted proxy fence", f"""{LOADED}{wait('full')}
shl.b32 %r1, %lane, 4; add.u32 %r1, %r1, %r14; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r2, %r3, %r4, %r5}}, [%r1];
st.global.u32 [%rd5], %r2;
FIX {FENCE}
bar.sync 0;
{expect('full', 512)}
{load('a', '%in', 512, 'full')} // HERE
{wait('full', 1)}{READ}"""),
    "cp_async_before_product": Misuse("omitted proxy fence", f"""shl.b32 %r1, %t, 4; add.u32 %r2, %r1, %r14;
cvt.u64.u32 %rd1, %r1; add.u64 %rd1, %rd1, %in; cp.async.cg.shared.global [%r2], [%rd1], 16; cp.async.wait_all;
{FILL_B}{FENCE}
BUG bar.sync 0;
FIX bar.sync 0;
{MMA}
{WAIT_MMA}
bar.sync 0; cp.async.cg.shared.global [%r2], [%rd1], 16; cp.async.wait_all;
FIX {FENCE}
bar.sync 0;
{MMA} // HERE
{WAIT_MMA}
{RESULT}"""),
    "cp_async_before_bulk_store": Misuse("omitted proxy fence", f"""shl.b32 %r1, %t, 4; add.u32 %r2, %r1, %r14;
cvt.u64.u32 %rd1, %r1; add.u64 %rd1, %rd1, %in; cp.async.cg.shared.global [%r2], [%rd1], 16; cp.async.wait_all;
FIX {FENCE}
bar.sync 0;
{store('%out', 'a', 2048)} // HERE
{COMMIT} {WAIT_SENT}"""),
}  # fmt: skip

_MAP_IN_GLOBAL = """shl.b32 %r1, %lane, 2; cvt.u64.u32 %rd1, %r1; add.u64 %rd2, %map, %rd1; add.u64 %rd3, %maps, %rd1;
setp.lt.u32 %p, %t, 32; @%p ld.u32 %r2, [%rd2]; @%p st.global.u32 [%rd3], %r2; bar.warp.sync -1;
"""
_RELEASE = "fence.proxy.tensormap::generic.release.gpu;"
_ACQUIRE = "fence.proxy.tensormap::generic.acquire.gpu [%maps], 128;"
_COPIED = (
    "@%p tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%maps], [edited], 128;"
)
_MAP_IN_SHARED = """shl.b32 %r1, %lane, 2; cvt.u64.u32 %rd1, %r1; add.u64 %rd2, %map, %rd1; mov.u32 %r3, edited;
add.u32 %r3, %r3, %r1; setp.lt.u32 %p, %t, 32; @%p ld.u32 %r2, [%rd2]; @%p st.shared.u32 [%r3], %r2; bar.warp.sync -1;
@%one tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [edited], 1, 32; bar.warp.sync -1;
"""
_LOAD_BY_MAP = f"{expect('full', 1024)}{box_load('a', '%maps')} // HERE\n{wait('full')}{READ}"

MAPS = {
    "map_without_fences": Misuse("stale tensor map", f"""{SET_UP}{_MAP_IN_GLOBAL}
@%one tensormap.replace.tile.global_dim.global.b1024.b32 [%maps], 1, 32;
FIX {_RELEASE} bar.sync 0; {_ACQUIRE}
BUG bar.sync 0;
{_LOAD_BY_MAP}""", "release"),
    "map_without_a_release": Misuse("stale tensor map", f"""{SET_UP}{_MAP_IN_GLOBAL}
FIX {_RELEASE}
bar.sync 0; {_ACQUIRE}
{_LOAD_BY_MAP}""", "executed no fence.proxy.tensormap::generic.release"),
    "map_without_an_acquire": Misuse("stale tensor map", f"""{SET_UP}{_MAP_IN_SHARED}{_COPIED}
bar.sync 0;
FIX {_ACQUIRE}
{_LOAD_BY_MAP}""", "no fence.proxy.tensormap::generic.acquire"),
    "map_acquired_too_early": Misuse("stale tensor map", f"""{SET_UP}{_MAP_IN_SHARED}
BUG {_ACQUIRE}
{_COPIED}
bar.sync 0;
FIX {_ACQUIRE}
{_LOAD_BY_MAP}""", "no fence.proxy.tensormap::generic.acquire"),
    "map_acquired_by_another_thread": Misuse("stale tensor map", f"""{SET_UP}{_MAP_IN_SHARED}{_COPIED}
bar.sync 0;
setp.eq.u32 %q, %warp, 1;
@%q {_ACQUIRE}
FIX bar.sync 0;
{_LOAD_BY_MAP}""", "no fence.proxy.tensormap::generic.acquire"),
}  # fmt: skip

_EVERYONE = "BUG setp.lt.u32 %one, %t, 32;"

LANES = {
    "bulk_load_by_a_warp": Misuse("copy by several lanes", f"""{SET_UP}
BUG {expect('full', 512 * 32)}FIX {expect('full', 512)}
{_EVERYONE}
{load('a', '%in', 512, 'full')} // HERE
{wait('full')}{READ}"""),
    "tensor_reduction_by_a_warp": Misuse("copy by several lanes", f"""st.shared.u32 [%r13], %t;
st.shared.u32 [%r13+512], %t; {FENCE} bar.sync 0;
{_EVERYONE}
{box_store('a', what='add')} // HERE
{COMMIT} {WAIT_SENT}"""),
    "tensor_load_by_a_warp": Misuse("copy by several lanes", f"""{SET_UP}
BUG {expect('full', 1024 * 32)}FIX {expect('full', 1024)}
{_EVERYONE}
{box_load('a')} // HERE
{wait('full')}{READ}"""),
    "reduction_by_a_warp": Misuse("copy by several lanes", f"""st.shared.u32 [%r13], %t; {FENCE} bar.sync 0;
{_EVERYONE}
@%one cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%out], [a], 512; // HERE
{COMMIT} {WAIT_SENT}"""),
}  # fmt: skip

PHASES = {
    "barrier_instead_of_a_wait": Misuse("missing wait", f"""{LOADED}BUG bar.sync 0;
FIX {wait('full')}
ld.shared.u32 %r1, [%r13]; // HERE
st.global.u32 [%rd5], %r1;""", "has not observed the phase"),
    "product_without_a_wait": Misuse("missing wait", f"""{LOADED}{FILL_B}{FENCE}
bar.sync 0;
FIX {wait('full')}
{MMA} // HERE
{WAIT_MMA}
{RESULT}""", "has not observed the phase"),
    "only_one_warp_waits": Misuse("missing wait", f"""{LOADED}bar.sync 0;
setp.eq.u32 %q, %warp, 0;
{wait('full', who='%q')}
FIX bar.sync 0;
ld.shared.u32 %r1, [%r13]; // HERE
st.global.u32 [%rd5], %r1;""", "has not observed the phase"),
    "wait_for_another_stage": Misuse("missing wait", f"""{LOADED}{expect('full+8', 512)}
{load('b', '%in', 512, 'full+8')}
bar.sync 0;
{wait('full')}
FIX {wait('full+8')}
ld.shared.u32 %r1, [%r11]; // HERE
st.global.u32 [%rd5], %r1;""", "has not observed the phase"),
    "the_copying_lane_reads": Misuse("missing wait", f"""{LOADED}
FIX {wait('full')}
@%one ld.shared.u32 %r1, [%r13]; // HERE
@%one st.global.u32 [%rd5], %r1;
BUG {wait('full')}""", "has not observed the phase"),
    "bulk_store_of_what_has_not_arrived": Misuse("missing wait", f"""{LOADED}
FIX {wait('full')}
{store('%out', 'a', 512)} // HERE
{COMMIT} {WAIT_SENT}""", "has not observed the phase"),
}  # fmt: skip

_ROLES = "setp.ge.u32 %q, %t, 128;\n"
_PRODUCER = f"""@!%q bra CONSUMER;
setp.eq.u32 %one, %t, 128;
{wait("empty")}
{expect("full", 512)}
{load("b", "%in", 512, "full")} // HERE
{wait("full")}bra END;
CONSUMER:
"""
_TOLD = "@%one mbarrier.arrive.shared::cta.b64 %rd1, [empty];\n"

BUFFERS = {
    "load_over_an_operand": Misuse("missing wait", f"""{SET_UP}{FILL_A}{FILL_B}{FENCE}
bar.sync 0;
{MMA}
FIX {WAIT_MMA} bar.sync 0;
{expect('full', 512)}
{load('b', '%in', 512, 'full')} // HERE
{WAIT_MMA}
{wait('full')}{RESULT}""", "wgmma.wait_group"),
    "stage_released_before_the_wait": Misuse("missing wait", f"""{SET_UP}{_ROLES}{FILL_A}{FILL_B}{FENCE}
bar.sync 0;
{_PRODUCER}{MMA}
FIX {WAIT_MMA}
{_TOLD}
BUG {WAIT_MMA}
{RESULT}END:""", "wgmma.wait_group", 160),
    "store_over_an_operand": Misuse("missing wait", f"""{FILL_A}{FILL_B}{FENCE}
bar.sync 0;
{MMA}
FIX {WAIT_MMA}
bar.sync 0;
st.shared.u32 [%r13], %t; // HERE
{WAIT_MMA}
{RESULT}""", "wgmma.wait_group"),
    "wait_that_leaves_a_group": Misuse("missing wait", f"""{SET_UP}{FILL_A}{FILL_B}{FENCE}
bar.sync 0;
{MMA}
BUG wgmma.wait_group.sync.aligned 1; bar.sync 0;
FIX {WAIT_MMA} bar.sync 0;
{expect('full', 512)}
{load('b', '%in', 512, 'full')} // HERE
{WAIT_MMA}
{wait('full')}{RESULT}""", "wgmma.wait_group"),
    "source_rewritten_before_the_wait": Misuse("missing wait", f"""st.shared.u32 [%r13], %t; {FENCE} bar.sync 0;
{store('%out', 'a', 512)} {COMMIT}
FIX {WAIT_READ}
bar.sync 0;
st.shared.u32 [%r13], %lane; // HERE
{WAIT_SENT}""", "cp.async.bulk.wait_group"),
    "source_rewritten_when_one_thread_waits": Misuse("missing wait", f"""st.shared.u32 [%r13], %t; {FENCE} bar.sync 0;
{store('%out', 'a', 512)} {COMMIT}
BUG bar.sync 0; {WAIT_READ}
FIX {WAIT_READ} bar.sync 0;
st.shared.u32 [%r13], %lane; // HERE
{WAIT_SENT}""", "cp.async.bulk.wait_group"),
    "source_rewritten_by_the_lane_that_copies": Misuse("missing wait", f"""{FILL_A}{FENCE} bar.sync 0;
{store('%out', 'a', 512)} {COMMIT}
FIX {WAIT_READ}
@%one st.shared.u32 [%r13], %lane; // HERE
{WAIT_SENT}""", "cp.async.bulk.wait_group"),
    "load_over_a_source": Misuse("missing wait", f"""{SET_UP}st.shared.u32 [%r13], %t; {FENCE} bar.sync 0;
{store('%out+8192', 'a', 512)} {COMMIT}
BUG cp.async.bulk.wait_group.read 1;
FIX {WAIT_READ}
{expect('full', 512)}
{load('a', '%in', 512, 'full')} // HERE
{WAIT_SENT}
{wait('full')}{READ}""", "cp.async.bulk.wait_group"),
}  # fmt: skip

ENDS = {
    "end_without_a_wait": Misuse("copy in flight at the end", f"""st.shared.u32 [%r13], %t; {FENCE} bar.sync 0;
{store('%out', 'a', 512)} // HERE
{COMMIT}
FIX {WAIT_READ}""", "when its thread ends"),
    "end_without_a_commit": Misuse("copy in flight at the end", f"""st.shared.u32 [%r13], %t; {FENCE} bar.sync 0;
{store('%out', 'a', 512)} // HERE
FIX {COMMIT}
{WAIT_SENT}""", "when its thread ends"),
    "end_after_a_wait_that_leaves_a_group": Misuse("copy in flight at the end", f"""st.shared.u32 [%r13], %t; {FENCE}
bar.sync 0;
{store('%out', 'a', 256)} {COMMIT}
{store('%out+256', 'a+256', 256)} // HERE
{COMMIT}
BUG cp.async.bulk.wait_group.read 1;
FIX {WAIT_READ}""", "when its thread ends"),
    "end_after_the_wait_of_another_thread": Misuse("copy in flight at the end", f"""st.shared.u32 [%r13], %t;
st.shared.u32 [%r13+512], %t; {FENCE} bar.sync 0; setp.eq.u32 %p, %t, 64;
{box_store('a')} // HERE
{COMMIT}
BUG @%p {WAIT_READ}
FIX @%one {WAIT_READ}"""),
}  # fmt: skip

PLACES = {
    "size_of_a_bulk_load": Misuse("illegal operand", f"""{SET_UP}BUG {expect('full', 504)}FIX {expect('full', 496)}
BUG {load('a', '%in', 504, 'full')} // HERE
FIX {load('a', '%in', 496, 'full')}
FIX {wait('full')}""", "not a multiple of 16 bytes"),
    "address_of_a_bulk_load": Misuse("misaligned", f"""{SET_UP}{expect('full', 512)}
BUG {load('a+8', '%in', 512, 'full')} // HERE
FIX {load('a+16', '%in', 512, 'full')}
FIX {wait('full')}"""),
    "box_at_64_bytes": Misuse("misaligned", f"""{SET_UP}{expect('full', 1024)}
BUG {box_load('a+64')} // HERE
FIX {box_load('a+128')}
FIX {wait('full')}""", "multiple of 128 bytes"),
    "map_in_local_memory": Misuse("illegal operand", f""".local .align 64 .b8 copied[128];
{SET_UP}mov.b64 %rd2, copied; cvta.local.u64 %rd2, %rd2; mov.u32 %r1, 0; mov.b64 %rd3, %rd2;
COPY: ld.u64 %rd4, [%map]; st.u64 [%rd3], %rd4; add.u64 %map, %map, 8; add.u64 %rd3, %rd3, 8; add.u32 %r1, %r1, 1;
setp.lt.u32 %p, %r1, 16; @%p bra COPY; sub.u64 %map, %map, 128;
{expect('full', 1024)}
BUG {box_load('a', '%rd2')} // HERE
FIX {box_load('a')}
{wait('full')}""", "__grid_constant__"),
    "map_in_shared_memory": Misuse("illegal operand", f"""{SET_UP}{_MAP_IN_SHARED}{_COPIED}
bar.sync 0; {_ACQUIRE}
BUG mov.b64 %maps, edited; cvta.shared.u64 %maps, %maps;
{expect('full', 1024)}
{box_load('a', '%maps')} // HERE
{wait('full')}""", "tensormap.cp_fenceproxy"),
    "map_at_32_bytes": Misuse("misaligned", f"""{SET_UP}
BUG add.u64 %maps, %maps, 32;
FIX add.u64 %maps, %maps, 64;
{_MAP_IN_GLOBAL}{_RELEASE} bar.sync 0; {_ACQUIRE}
{expect('full', 1024)}
{box_load('a', '%maps')} // HERE
{wait('full')}""", "multiple of 64 bytes"),
}  # fmt: skip

ROWS = {**PROXY, **OMITTED, **MAPS, **LANES, **PHASES, **BUFFERS, **ENDS, **PLACES, **COMPLETION}
"""All mistakes."""
