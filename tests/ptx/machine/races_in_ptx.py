# SPDX-License-Identifier: MIT
"""Kernels with races, each with its corrected twin: bodies of PTX, see `texts_of_kernels`."""

from typing import NamedTuple

TILE = ".shared .align 8 .b8 tile[1024];\n"
MINE = "mov.u32 %r10, tile;\nshl.b32 %r11, %r0, 2;\nadd.u32 %r11, %r10, %r11;\n"
"""%r11 is the thread's own word of shared memory."""

USED = "setp.eq.u32 %p7, %r5, 0xdead;\n@%p7 trap;\n"
"""%r5 decides something: a race of an unused value is another finding."""

WHO = "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmad.lo.u32 %r4, %r2, %r3, %r0;\nmul.wide.u32 %rd10, %r4, 4;\n"
"""%r4 counts the threads of the grid, %rd10 is that times 4."""


class Pair(NamedTuple):
    """The wrong and the right code, which replace ``{}`` in the body, and the finding."""

    name: str
    body: str
    wrong: str
    right: str
    kind: str = "race"
    grid: int = 1
    block: int = 64
    words: int = 512
    before: str = TILE


def exchange(through: str, qualifier: str = "", partner: str = "252") -> str:
    """Store to the thread's own word, load another thread's: usually the last word for the first of 64."""
    return (
        f"{MINE}st{qualifier}.shared.u32 [%r11], %r0;\n{through}\nmov.u32 %r12, {partner};\nsub.u32 %r13, %r12, %r11;\n"
        f"add.u32 %r13, %r13, %r10;\nadd.u32 %r13, %r13, %r10;\nld{qualifier}.shared.u32 %r14, [%r13];\n"
        "add.s64 %rd9, %rd1, %rd0;\nst.global.u32 [%rd9], %r14;\nret;"
    )


FIRST = "setp.ne.u32 %p1, %r0, 0;\nsetp.ne.u32 %p2, %r1, 0;\n"
"""%p1: not the first thread of the block; %p2: not of the first block."""

HAND_OVER = (  # the first thread of block 0 passes a word to that of block 1, by a flag
    FIRST
    + """@%p1 ret;
    @%p2 bra OTHER;
    mov.u32 %r5, 42;
    st.global.u32 [%rd1], %r5;
    {}
    STORE [%rd1+64], 1;
    ret;
    OTHER:
    ld.CONSUME.global.u32 %r6, [%rd1+64];
    setp.eq.u32 %p3, %r6, 0;
    @%p3 bra OTHER;
    FENCE
    ld.global.u32 %r7, [%rd1];
    st.global.u32 [%rd1+128], %r7;
    ret;"""
)


def hand_over(consume: str, fence: str = "", store: str = "st.volatile.global.u32") -> str:
    return HAND_OVER.replace("CONSUME", consume).replace("FENCE", fence).replace("STORE", store)


LOCK = (
    FIRST
    + """@%p1 ret;
    AGAIN: atom.relaxed.gpu.global.cas.b32 %r5, [%rd1+64], 0, 1;
    setp.ne.u32 %p3, %r5, 0;
    @%p3 bra AGAIN;
    {}
    ld.global.u32 %r6, [%rd1];
    add.u32 %r6, %r6, 1;
    st.global.u32 [%rd1], %r6;
    {}
    atom.relaxed.gpu.global.exch.b32 %r5, [%rd1+64], 0;
    ret;"""
)

LAST_BLOCK = (  # every block stores a sum; the last one adds them up
    FIRST
    + """@%p1 bra WAIT;
    mul.wide.u32 %rd5, %r1, 4;
    add.s64 %rd6, %rd1, %rd5;
    st.global.u32 [%rd6], %r1;
    {}
    atom.global.inc.u32 %r5, [%rd1+256], 3;
    setp.eq.u32 %p3, %r5, 3;
    selp.u32 %r6, 1, 0, %p3;
    st.shared.u32 [tile], %r6;
    WAIT: bar.sync 0;
    ld.shared.u32 %r7, [tile];
    setp.eq.u32 %p4, %r7, 0;
    @%p4 ret;
    setp.gt.u32 %p5, %r0, 3;
    @%p5 ret;
    add.s64 %rd7, %rd1, %rd0;
    ld.volatile.global.u32 %r8, [%rd7];
    st.global.u32 [%rd7+512], %r8;
    ret;"""
)

GRID_BARRIER = (  # each thread writes a word, waits for all blocks, and reads another block's word
    WHO
    + FIRST
    + """add.s64 %rd5, %rd1, %rd10;
    st.global.u32 [%rd5], %r4;
    bar.sync 0;
    @%p1 bra MET;
    {}
    atom.global.add.u32 %r5, [%rd1+1024], 1;
    SPIN: ld.volatile.global.u32 %r6, [%rd1+1024];
    setp.lt.u32 %p3, %r6, 2;
    @%p3 bra SPIN;
    fence.acq_rel.gpu;
    MET: bar.sync 0;
    xor.b32 %r7, %r4, 64;
    mul.wide.u32 %rd6, %r7, 4;
    add.s64 %rd7, %rd1, %rd6;
    ld.global.u32 %r8, [%rd7];
    st.global.u32 [%rd5+512], %r8;
    ret;"""
)

OWN_STORE = WHO + "add.s64 %rd5, %rd1, {};\nst.global.u32 [%rd5], %r4;\nret;"

PAIRS = [
    # Kernels that were also checked with compute-sanitizer.
    Pair("volatile shared memory without a barrier", exchange("{}", ".volatile"), "", "bar.sync 0;"),
    Pair(
        "next to volatile accesses of other words",
        exchange("add.s64 %rd9, %rd1, %rd0;\nst.volatile.global.u32 [%rd9+512], %r0;\n"
                 "ld.volatile.global.u32 %r20, [%rd9+1024];\n{}"),
        "", "bar.sync 0;",
    ),
    Pair("lanes without __syncwarp", exchange("{}", partner="124"), "", "bar.warp.sync 0xffffffff;",
         "race within a warp", block=32),
    Pair("lanes that store different values to one word",
         MINE + "{}\nst.shared.u32 [%r10], %r0;\nret;", "", "mov.u32 %r0, 7;", "lanes store to one place", block=32),
    Pair("warps that store to one word", MINE + "{}\nst.shared.u32 [%r10], %r5;\nret;", "shr.u32 %r5, %r0, 5;",
         "setp.gt.u32 %p1, %r0, 31;\n@%p1 ret;\nmov.u32 %r5, 7;"),
    Pair("the same value from two warps", MINE + "{}\nst.shared.u32 [%r10], %r5;\nret;", "mov.u32 %r5, 7;",
         "setp.gt.u32 %p1, %r0, 31;\n@%p1 ret;\nmov.u32 %r5, 7;", "race of equal bytes"),
    # Global memory.
    Pair("blocks that write one range", OWN_STORE, "%rd0", "%rd10", grid=3),
    Pair("blocks that read the words of other blocks",
         WHO + "add.s64 %rd5, %rd1, %rd10;\nld.global.u32 %r5, [%rd5+{}];\n"
         "st.global.u32 [%rd5], %r5;\nret;", "256", "1024", grid=2, words=512),
    Pair("warps that read the words of other warps", "add.s64 %rd5, %rd1, %rd0;\nst.global.u32 [%rd5], %r0;\n{}\n"
         "mov.u64 %rd6, 252;\nsub.s64 %rd6, %rd6, %rd0;\nadd.s64 %rd6, %rd1, %rd6;\nld.global.u32 %r5, [%rd6];\n"
         "st.global.u32 [%rd5+512], %r5;\nret;", "", "bar.sync 0;"),
    Pair("lanes that read the words of other lanes", "add.s64 %rd5, %rd1, %rd0;\nst.global.u32 [%rd5], %r0;\n{}\n"
         "mov.u64 %rd6, 124;\nsub.s64 %rd6, %rd6, %rd0;\nadd.s64 %rd6, %rd1, %rd6;\nld.global.u32 %r5, [%rd6];\n"
         "st.global.u32 [%rd5+512], %r5;\nret;", "", "bar.warp.sync 0xffffffff;", "race within a warp", block=32),
    Pair("a plain add among blocks", FIRST + "@%p1 ret;\n{}\nret;",
         "ld.global.u32 %r5, [%rd1];\nadd.u32 %r5, %r5, 1;\nst.global.u32 [%rd1], %r5;",
         "red.global.add.u32 [%rd1], 1;", grid=4, block=32),
    Pair("a plain load among atomics", FIRST + "@%p1 ret;\nred.global.add.u32 [%rd1], 1;\n{}\n" + USED + "ret;",
         "ld.global.u32 %r5, [%rd1];", "ld.relaxed.gpu.global.u32 %r5, [%rd1];", grid=4, block=32),
    Pair("atomics of too narrow a scope", FIRST + "@%p1 ret;\nred.relaxed.{}.global.add.u32 [%rd1], 1;\nret;",
         "cta", "gpu", grid=4, block=32),
    Pair("a variable of the module", FIRST + "@%p1 ret;\nmov.u64 %rd5, counter;\n{}\nret;",
         "st.global.u32 [%rd5], %r1;", "atom.global.exch.b32 %r5, [%rd5], %r1;", grid=4, block=32,
         before=".global .align 4 .u32 counter;\n"),
    # Flags, locks, fences.
    Pair("a volatile flag without a fence", hand_over("volatile", "membar.gl;"), "", "membar.gl;", grid=2),
    Pair("a volatile flag that is read without a fence", hand_over("volatile", "{}").replace("{}", "membar.gl;", 1),
         "", "membar.gl;", grid=2),
    Pair("a flag that releases only in the block",
         hand_over("acquire.gpu", store="st.release.{}.global.u32").replace("{}", "", 1), "cta", "gpu", grid=2),
    Pair("a relaxed flag", hand_over("acquire.gpu", store="st.{}.gpu.global.u32").replace("{}", "", 1),
         "relaxed", "release", grid=2),
    Pair("a lock that is released without a fence", LOCK.replace("{}", "membar.gl;", 1), "", "membar.gl;", grid=3),
    Pair("a lock that is taken without a fence", LOCK.replace("{}", "FIRST", 1).replace("{}", "membar.gl;")
         .replace("FIRST", "{}"), "", "membar.gl;", grid=3),
    Pair("a word of a lock that is written again after its release", LOCK.replace("{}", "membar.gl;")
         .replace("add.u32 %r6, %r6, 1;\n    st.global.u32 [%rd1], %r6;", "st.global.u32 [%rd6+128], %r6;")
         .replace("AGAIN: ", "mul.wide.u32 %rd6, %r1, 4;\nadd.s64 %rd6, %rd6, %rd1;\nAGAIN: ")
         .replace("ret;", "{}\nret;").replace("@%p1 {}\n", "@%p1 "),
         "@!%p2 st.global.u32 [%rd1], 1;", "@!%p2 st.global.u32 [%rd1+4], 1;", grid=2),
    Pair("a volatile store and an atomic operation", FIRST + "@%p1 ret;\n@%p2 bra OTHER;\n"
         "atom.global.exch.b32 %r5, [%rd1], 1;\nret;\nOTHER: {}\nret;",
         "st.volatile.global.u32 [%rd1], 2;", "atom.global.exch.b32 %r5, [%rd1], 2;", grid=2),
    Pair("volatile stores of two blocks", FIRST + "@%p1 ret;\n{}\nret;",
         "st.volatile.global.u32 [%rd1], %r1;", "atom.global.exch.b32 %r5, [%rd1], %r1;", grid=2),
    Pair("a flag that is polled by an atomic operation",
         FIRST + "@%p1 ret;\n@%p2 bra OTHER;\nst.global.u32 [%rd1], 1;\n"
         "{}\natom.global.exch.b32 %r5, [%rd1+64], 1;\nret;\nOTHER: atom.global.exch.b32 %r5, [%rd1+64], 0;\n"
         "setp.eq.u32 %p3, %r5, 0;\n@%p3 bra OTHER;\nld.global.u32 %r6, [%rd1];\nst.global.u32 [%rd1+128], %r6;\nret;",
         "", "membar.gl;", grid=2),
    Pair("the last block without a fence", LAST_BLOCK, "", "membar.gl;", grid=4),
    Pair("a grid barrier without a fence", GRID_BARRIER, "", "fence.acq_rel.gpu;", grid=2),
    # Shared memory.
    Pair("one buffer instead of two", MINE + """mov.u32 %r20, 0;
    LOOP: and.b32 %r21, %r20, {};
    shl.b32 %r22, %r21, 8;
    add.u32 %r23, %r11, %r22;
    st.shared.u32 [%r23], %r0;
    bar.sync 0;
    xor.b32 %r24, %r23, 128;
    ld.shared.u32 %r5, [%r24];
    """ + USED + """add.u32 %r20, %r20, 1;
    setp.lt.u32 %p1, %r20, 4;
    @%p1 bra LOOP;
    ret;""", "0", "1"),
    Pair("named barriers that are arrived at too early", """setp.gt.u32 %p1, %r0, 31;
    """ + MINE + """@%p1 bra CONSUMER;
    {}
    ret;
    CONSUMER: bar.sync 1, 64;
    ld.shared.u32 %r12, [%r11+-128];
    add.s64 %rd9, %rd1, %rd0;
    st.global.u32 [%rd9], %r12;
    ret;""", "bar.arrive 1, 64;\nst.shared.u32 [%r11], %r0;", "st.shared.u32 [%r11], %r0;\nbar.arrive 1, 64;"),
    Pair("an mbarrier without a wait", FIRST + MINE + """mov.u32 %r20, tile;
    @!%p1 mbarrier.init.shared.b64 [%r20+512], 32;
    bar.sync 0;
    setp.gt.u32 %p3, %r0, 31;
    @%p3 bra CONSUMER;
    st.shared.u32 [%r11], %r0;
    mbarrier.arrive.shared.b64 %rd5, [%r20+512];
    ret;
    CONSUMER: {}
    ld.shared.u32 %r12, [%r11+-128];
    add.s64 %rd9, %rd1, %rd0;
    st.global.u32 [%rd9], %r12;
    ret;""", "", "mbarrier.test_wait.parity.shared.b64 %p4, [%r20+512], 0;\n@!%p4 bra CONSUMER;"),
    Pair("bytes of one word", MINE + "add.u32 %r12, %r10, {};\nst.shared.u8 [%r12], %r0;\nret;", "%r1", "%r0"),
    Pair("halves of one word in global memory", "mul.wide.u32 %rd5, %r0, {};\nadd.s64 %rd5, %rd1, %rd5;\n"
         "ld.global.u8 %r5, [%rd5];\nst.global.u16 [%rd5], %r0;\nret;", "0", "2"),
]  # fmt: skip
