# SPDX-License-Identifier: MIT
"""Published mistakes in kernels with bulk copies, each rebuilt as a small kernel of one block.

The names are the projects and the numbers of the reports, which describe the original kernels. These kernels are our
own.
"""

from tests.ptx.memory.proxies.kernels import (
    COMMIT,
    FENCE,
    FILL_A,
    LOADED,
    MMA,
    READ,
    RESULT,
    SET_UP,
    WAIT_MMA,
    WAIT_SENT,
    Misuse,
    box_store,
    expect,
    load,
    store,
    wait,
)

_TWO_OPERANDS = f"""{SET_UP}{expect("full", 2048)}{load("a", "%in", 2048, "full")}
{expect("full+8", 256)}{load("b", "%in", 256, "full+8")}
"""
_SPIN = """mov.u32 %r1, 0;
SPIN: add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, 64; @%p bra SPIN;
"""
_SPARSE = (
    "wgmma.fence.sync.aligned; wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 "
    "{%f0, %f1, %f2, %f3}, %da, %db, %r3, 0, 1, 1, 1, 0, 0; wgmma.commit_group.sync.aligned;"
)

PUBLIC = {
    "MoonshotAI/FlashKDA#24, the state": Misuse("missing proxy fence", f"""{LOADED}{wait('full')}
ld.shared.u32 %r1, [%r13]; shl.b32 %r1, %r1, 16; st.shared.u32 [%r11], %r1;
st.shared.u32 [%r11+512], %r1;
FIX {FENCE}
bar.sync 0;
{box_store('b')} // HERE
{COMMIT} {WAIT_SENT}""", "no fence.proxy.async.shared::cta"),
    "MoonshotAI/FlashKDA#24, no tiles": Misuse("missing proxy fence", f"""mov.u32 %r1, 0; st.shared.u32 [%r13], %r1;
FIX {FENCE}
bar.sync 0;
ld.global.u32 %r2, [%in];
TILES: setp.ge.u32 %p, %r1, %r2; @%p bra DONE;
st.shared.u32 [%r13], %r1; {FENCE} bar.sync 0; add.u32 %r1, %r1, 1; bra TILES;
DONE:
{store('%out', 'a', 512)} // HERE
{COMMIT} {WAIT_SENT}""", "no fence.proxy.async.shared::cta"),
    "facebookexperimental/CUTracer#106, a late wait": Misuse("missing wait", f"""{_TWO_OPERANDS}bar.sync 0;
{_SPIN}FIX {wait('full')}
{wait('full+8')}
{MMA} // HERE
{WAIT_MMA}
BUG {wait('full')}
{RESULT}""", "has not observed the phase"),
    "facebookexperimental/CUTracer#106, no wait": Misuse("missing wait", f"""{_TWO_OPERANDS}bar.sync 0;
{wait('full')}
FIX {wait('full+8')}
{_SPIN}
{MMA} // HERE
{WAIT_MMA}
{RESULT}""", "has not observed the phase"),
    "tile-ai/tilelang#2634": Misuse("missing proxy fence", f"""{SET_UP}{expect('full+8', 256)}
{load('b', '%in', 256, 'full+8')}
{FILL_A}{FENCE}
bar.sync 0; mov.u32 %r3, 0x44444444;
{wait('full+8')}setp.lt.u32 %p, %t, 64;
@%p ld.shared.u32 %r1, [%r11]; @%p add.u32 %r1, %r1, 3; @%p st.shared.u32 [%r11], %r1; st.shared.u32 [%r11+256], %r15;
FIX {FENCE}
bar.sync 0;
{_SPARSE} // HERE
{WAIT_MMA}
{RESULT}""", "no fence.proxy.async.shared::cta"),
    "tile-ai/tilelang#3087, a stage": Misuse("missing wait", f"""{SET_UP}setp.ge.u32 %q, %t, 128;
{FILL_A}{FENCE}
bar.sync 0;
@!%q bra CONSUMER;
setp.eq.u32 %one, %t, 128;
{expect('full', 256)}{load('b', '%in', 256, 'full')}
{wait('empty')}{expect('full', 256)}
{load('b', '%in', 256, 'full')} // HERE
{wait('full', 1)}bra END;
CONSUMER:
{wait('full')}{MMA}
FIX {WAIT_MMA}
@%one mbarrier.arrive.shared::cta.b64 %rd1, [empty];
BUG {WAIT_MMA}
{RESULT}END:""", "wgmma.wait_group", 160),
    "tile-ai/tilelang#3087, a phase": Misuse("missing wait", f"""{_TWO_OPERANDS}{wait('full')}{wait('full+8')}{MMA}
{WAIT_MMA}
bar.sync 0;
{expect('full', 2048)}{load('a', '%in', 2048, 'full')}
BUG bar.sync 0;
FIX {wait('full', 1)}
{MMA} // HERE
{WAIT_MMA}
{RESULT}""", "has not observed the phase"),
    "deepseek-ai/DeepEP#621": Misuse("missing proxy fence", f"""{SET_UP}setp.lt.u32 %q, %t, 32;
@!%q bra RECEIVER;
st.global.u32 [%rd6+1024], %t; bar.warp.sync -1;
@%one st.release.gpu.global.u32 [%out+8192], 1;
bra END;
RECEIVER:
setp.eq.u32 %one, %t, 32;
POLL: ld.acquire.gpu.global.u32 %r1, [%out+8192]; setp.eq.u32 %p, %r1, 0; @%p bra POLL;
FIX @%one fence.proxy.async.global;
{expect('full', 128)}add.u64 %rd1, %in, 1024;
{load('a', '%rd1', 128, 'full')} // HERE
{wait('full')}sub.u32 %r13, %r13, 128; ld.shared.u32 %r1, [%r13]; st.global.u32 [%rd5], %r1;
END:""", "no fence.proxy.async.global", 64),
    "deepseek-ai/DeepEP#642": Misuse("omitted proxy fence", f"""{SET_UP}setp.lt.u32 %q, %t, 32;
@!%q bra DECODE;
{expect('full', 128)}{load('a', '%in', 128, 'full')}
{wait('empty')}{expect('full', 128)}
{load('a', '%in', 128, 'full')} // HERE
bra END;
DECODE:
sub.u32 %r13, %r13, 128; setp.eq.u32 %one, %t, 32;
{wait('full')}ld.shared.u32 %r1, [%r13]; st.global.u32 [%rd5], %r1;
FIX {FENCE}
bar.warp.sync -1;
@%one mbarrier.arrive.shared::cta.b64 %rd1, [empty];
{wait('full', 1)}ld.shared.u32 %r1, [%r13]; st.global.u32 [%rd5], %r1;
END:""", "no fence.proxy.async.shared::cta", 64),
    "deepseek-ai/DeepEP#657": Misuse("missing wait", f"""{LOADED}{wait('full')}{store('%out', 'a', 512)} {COMMIT}
BUG cp.async.bulk.wait_group 1;
FIX cp.async.bulk.wait_group 0;
FIX {FENCE}
{expect('full', 512)}
{load('a', '%in', 512, 'full')} // HERE
{wait('full', 1)}{store('%out+1024', 'a', 512)} {COMMIT} {WAIT_SENT}""", "cp.async.bulk.wait_group"),
}  # fmt: skip
"""Mistakes that are found at their lines."""

_NO_FENCE = SET_UP.replace("@%one fence.mbarrier_init.release.cluster;\n", "")

OF_BARRIERS = {
    "MoonshotAI/FlashKDA#24, the barriers": Misuse("", f"""BUG {_NO_FENCE.splitlines()[0]}
FIX {_NO_FENCE.splitlines()[0]} @%one fence.mbarrier_init.release.cluster;
bar.sync 0;
{expect('full', 512)}{load('a', '%in', 512, 'full')}
{wait('full')}{READ}"""),
    "mlc-ai/TIRx-kernels#9": Misuse("", f"""setp.eq.u32 %p, %t, 32; {_NO_FENCE.splitlines()[0]}
BUG @%p fence.mbarrier_init.release.cluster;
FIX @%one fence.mbarrier_init.release.cluster;
bar.sync 0;
{expect('full', 512)}{load('a', '%in', 512, 'full')}
{wait('full')}{READ}"""),
}  # fmt: skip
"""Kernels without a right fence after mbarrier.init, which only other blocks of a cluster need.

A bulk copy accesses its mbarrier by the generic proxy (PTX ISA 9.1, cp.async.bulk), and is ordered after the earlier
instructions of its thread (Asynchronous Operations). CUTLASS's unit tests of TMA have no such fence either.
"""

DEADLOCKS = {
    "facebookexperimental/triton#1121, no arrival": Misuse("deadlock", f"""{SET_UP}setp.lt.u32 %q, %t, 32;
@!%q bra CONSUMER;
{wait('empty')}{expect('full', 128)}{load('a', '%in', 128, 'full')}
bra END;
CONSUMER:
setp.eq.u32 %one, %t, 32;
FIX @%one mbarrier.arrive.shared::cta.b64 %rd1, [empty];
{wait('full')}ld.shared.u32 %r1, [%r14]; st.global.u32 [%rd5], %r1;
END:""", block=64),
    "facebookexperimental/triton#1121, a wrong phase": Misuse("deadlock", f"""{SET_UP}{expect('full', 512)}
{load('a', '%in', 512, 'full')} bar.sync 0;
BUG {wait('full', 1)}
FIX {wait('full', 0)}
{READ}"""),
    "facebookexperimental/triton#1121, a wrong count": Misuse("deadlock", f"""{SET_UP}
BUG {expect('full', 528)}FIX {expect('full', 512)}
{load('a', '%in', 512, 'full')}
{wait('full')}{READ}"""),
}  # fmt: skip
"""Mistakes of the use of mbarriers, with which the launch ends in a deadlock."""
