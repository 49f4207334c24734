# SPDX-License-Identifier: MIT
"""The cases of `barrier_probe` for one mbarrier: sequences of operations, and the ways to read the barrier after each.

A case is a list of operations on the barrier. It is launched once for each of its beginnings and each way of reading:
so no reading disturbs a later operation. Every operation with a result records it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

OPERATION_SLOTS, READ_SLOTS = 4, 8
"""64-bit words of the output for each operation (state, predicate, nanoseconds, clocks) and for the reading."""

MOST_OPERATIONS = 14
SLOTS = OPERATION_SLOTS * MOST_OPERATIONS + READ_SLOTS
"""Words of the output for each lane; the reading comes last."""

PATTERN = (0x5AC3_1234, 0xA53C_9876)
"""The two words of each eight bytes of shared memory before the first operation, the lower one first."""

# The barrier is at 0, the target of copies at 128, and other barriers at 8320. ptxas gives a kernel only the variables
# that it uses, so they are one variable.
_HEAD = """.version 8.6
.target sm_90a
.address_size 64
.shared .align 128 .b8 bar[41088];
"""

_BEGIN = """.visible .entry {name}(.param .u64 src, .param .u64 out)
{{
 .reg .b64 %src, %out, %mine, %v, %w, %t, %c, %g, %s<{count}>; .reg .b32 %lane, %a, %i, %x, %cl, %n32_<2>; .reg .b64 %n64_<2>; .reg .pred %q, %first, %p<{count}>;
 ld.param.u64 %src, [src]; ld.param.u64 %out, [out]; cvta.to.global.u64 %src, %src; cvta.to.global.u64 %out, %out;
 mov.u32 %lane, %tid.x; setp.eq.u32 %first, %lane, 0; mad.wide.u32 %mine, %lane, {stride}, %out;
 shl.b32 %i, %lane, 3; mov.u32 %a, bar; cvt.u64.u32 %g, %a; cvta.shared.u64 %g, %g; mapa.shared::cluster.u32 %cl, %a, 0;
FILL: add.u32 %x, %a, %i; st.shared.v2.b32 [%x], {{{low}, {high}}}; add.u32 %i, %i, 256;
 setp.lt.u32 %q, %i, 41088; @%q bra FILL;
 bar.sync 0; setp.ge.u32 %q, %lane, {lanes}; @%q bra END;
"""  # noqa: E501

_END = "END: bar.warp.sync 0xffffffff; ret;\n}\n"

_TIMED = """ mov.u64 %t, %globaltimer; mov.u64 %c, %clock64;
 {0}
 mov.u64 %w, %clock64; sub.u64 %c, %w, %c; mov.u64 %w, %globaltimer; sub.u64 %t, %w, %t;"""

_STATES = ("arrive", "arrive_drop")

_OPERATIONS = {
    "st": " st.shared.b64 [bar], {0};",
    "bulk": " cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [bar+128], [%src], {0}, [bar];",
    "bulk.cta": " cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [bar+128], [%src], {0}, [bar];",
    "cp.async": " cp.async.ca.shared.global [bar+128], [%src], 16;",
    "cp.async.arrive": " cp.async.mbarrier.arrive.shared.b64 [bar];",
    "cp.async.arrive.noinc": " cp.async.mbarrier.arrive.noinc.shared.b64 [bar];",
    "delay": " nanosleep.u32 500000; nanosleep.u32 500000; nanosleep.u32 500000;",
    "fence": " fence.proxy.async;",
    "remote.arrive": " mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%cl];",
    "remote.arrive.count": " mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%cl], {0};",
    "remote.expect_tx": " mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%cl], {0};",
    "remote.complete_tx": " mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%cl], {0};",
    "remote.arrive_drop": " mbarrier.arrive_drop.release.cluster.shared::cluster.b64 _, [%cl];",
    "remote.arrive.expect_tx": " mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%cl], {0};",
}  # fmt: skip

READINGS = {
    "plain": " ld.volatile.shared.b64 %v, [bar]; st.global.b64 [%mine+{0}], %v;",
    "generic": " ld.volatile.b64 %v, [%g]; st.global.b64 [%mine+{0}], %v;",
    "atomic": """ atom.shared.or.b64 %v, [bar], 0; st.global.b64 [%mine+{0}], %v;
 ld.volatile.shared.b64 %v, [bar]; st.global.b64 [%mine+{1}], %v;
 atom.shared.exch.b64 %v, [bar], 0; st.global.b64 [%mine+{2}], %v;""",
    "late": """ nanosleep.u32 500000; nanosleep.u32 500000; fence.proxy.async; membar.gl;
 ld.volatile.shared.b64 %v, [bar]; st.global.b64 [%mine+{0}], %v;
 ld.volatile.shared.b64 %v, [bar+8]; st.global.b64 [%mine+{1}], %v;
 ld.shared::cluster.b64 %v, [%cl]; st.global.b64 [%mine+{2}], %v;""",
    "waits": """
 mbarrier.test_wait.parity.shared.b64 %q, [bar], 0; selp.b64 %v, 1, 0, %q; st.global.b64 [%mine+{0}], %v;
 mbarrier.test_wait.parity.shared.b64 %q, [bar], 1; selp.b64 %v, 1, 0, %q; st.global.b64 [%mine+{1}], %v;
 mbarrier.try_wait.parity.shared.b64 %q, [bar], 0, 0; selp.b64 %v, 1, 0, %q; st.global.b64 [%mine+{2}], %v;
 mbarrier.try_wait.parity.shared.b64 %q, [bar], 1, 0; selp.b64 %v, 1, 0, %q; st.global.b64 [%mine+{3}], %v;""",
    "arrive": """ mbarrier.arrive.shared.b64 %v, [bar]; st.global.b64 [%mine+{0}], %v;
 mbarrier.arrive.shared.b64 %v, [bar]; st.global.b64 [%mine+{1}], %v;
 mbarrier.arrive.shared.b64 %v, [bar]; st.global.b64 [%mine+{2}], %v;
 mbarrier.pending_count.b64 %x, %v; cvt.u64.u32 %v, %x; st.global.b64 [%mine+{3}], %v;""",
    "inval": """ mbarrier.inval.shared.b64 [bar]; ld.volatile.shared.b64 %v, [bar]; st.global.b64 [%mine+{0}], %v;
 nanosleep.u32 500000; ld.volatile.shared.b64 %v, [bar]; st.global.b64 [%mine+{1}], %v;
 ld.volatile.shared.b64 %v, [bar+8]; st.global.b64 [%mine+{2}], %v;""",
    "evict": """ mov.u32 %i, bar; add.u32 %x, %i, 41088; add.u32 %i, %i, 8320;
EVICT: mbarrier.init.shared.b64 [%i], 1; add.u32 %i, %i, 8; setp.lt.u32 %q, %i, %x; @%q bra EVICT;
 ld.volatile.shared.b64 %v, [bar]; st.global.b64 [%mine+{0}], %v;
 ld.volatile.shared.b64 %v, [bar+8320]; st.global.b64 [%mine+{1}], %v;
 ld.volatile.shared.b64 %v, [bar+24704]; st.global.b64 [%mine+{2}], %v;
 ld.volatile.shared.b64 %v, [bar+41080]; st.global.b64 [%mine+{3}], %v;""",
    "bulk": """ fence.proxy.async; add.u64 %v, %mine, {0};
 cp.async.bulk.global.shared::cta.bulk_group [%v], [bar], 16;
 cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;""",
}
"""The ways to read the barrier after the operations, by name; only "plain" is launched if it ends in an error."""

_CASES: dict[str, str] = {
    # The words of a barrier: expected and pending arrivals.
    **{f"init_{n}": f"init {n}" for n in (1, 2, 3, 31, 32, 1000, 0x12345, 0x7FFFF, 0x80000, 0xFFFFE, 0xFFFFF)},
    **{f"init_illegal_{n}": f"init {n}; arrive; arrive" for n in (0, 0x100000, 0x100001, 0xFFFFFFFF)},
    "init_over_live": "init 3; arrive; init 5; arrive",
    "init_over_live_with_tx": "init 3; arrive.expect_tx 4096; init 5; arrive; complete_tx 4096",
    "phases_of_one": "init 1; arrive; arrive; arrive; arrive; arrive",
    "phases_of_two": "init 2; arrive; arrive; arrive; arrive; arrive",
    "counts": "init 7; arrive 2; arrive 5; arrive 6; arrive 1; arrive 7",
    "count_0": "init 2; arrive 0; arrive; arrive 0",
    "large_counts": "init 1048575; arrive 5; arrive 1048570; arrive 1048574; arrive",
    "relaxed": "init 4; arrive.relaxed.cta; arrive.relaxed.cluster; arrive.release.cta; arrive.release.cluster",
    "remote": "init 4; remote.arrive; remote.arrive.count 2; remote.expect_tx 8192; remote.complete_tx 4096; "
    "remote.complete_tx 4096; remote.arrive; remote.arrive_drop; remote.arrive.expect_tx 16; remote.complete_tx 16",
    # More arrivals than pending ones.
    "over_arrival_1_2": "init 1; arrive 2; arrive; arrive",
    "over_arrival_2_3": "init 2; arrive 3; arrive; arrive",
    "over_arrival_2_1_2": "init 2; arrive; arrive 2; arrive",
    "over_arrival_5_12": "init 5; arrive 12; arrive; arrive",
    "over_arrival_1_1048575": "init 1; arrive 1048575; arrive",
    "over_arrival_pending_tx": "init 1; arrive.expect_tx 64; arrive; arrive; complete_tx 64",
    "over_arrival_no_complete": "init 2; arrive.noComplete 3; arrive",
    # .noComplete and arrive_drop.
    "no_complete": "init 4; arrive.noComplete 1; arrive.noComplete 2; arrive",
    "no_complete_completes": "init 2; arrive.noComplete 1; arrive.noComplete 1; arrive",
    "drop": "init 3; arrive_drop; arrive; arrive; arrive; arrive; arrive",
    "drop_counts": "init 7; arrive_drop 3; arrive 4; arrive 4; arrive",
    "drop_to_zero": "init 1; arrive_drop; test_wait.parity 0; test_wait.parity 1; arrive",
    "drop_to_zero_2": "init 2; arrive_drop; arrive_drop; test_wait.parity 0; arrive",
    "drop_all_at_once": "init 2; arrive_drop 2; arrive",
    "drop_too_many": "init 2; arrive_drop 3; arrive",
    "drop_expect_tx": "init 2; arrive_drop.expect_tx 64; arrive; complete_tx 64; arrive",
    "drop_no_complete": "init 3; arrive_drop.noComplete 1; arrive 2; arrive; arrive",
    # Transactions.
    **{f"expect_{n}": f"init 2; expect_tx {n}" for n in (1, 2, 16, 0x800, 0x12345, 0x55555, 0xAAAAA, 0xFFFFF)},
    **{f"complete_{n}": f"init 2; complete_tx {n}" for n in (1, 2, 16, 0x800, 0x12345, 0x55555, 0xAAAAA, 0xFFFFF)},
    "expect_0": "init 1; expect_tx 0; arrive; arrive.expect_tx 0",
    "expect_and_complete": "init 1; arrive.expect_tx 4096; complete_tx 1024; complete_tx 3072; arrive",
    "expect_first": "init 1; expect_tx 64; arrive; expect_tx 64; complete_tx 128",
    "expect_without_completion": "init 1; arrive.expect_tx 16; test_wait.parity 0; try_wait.parity 0",
    "complete_before_expect": "init 1; complete_tx 64; expect_tx 64; arrive",
    "complete_before_arrive_expect": "init 1; complete_tx 8192; arrive.expect_tx 8192; arrive",
    "complete_then_arrive_then_expect": "init 1; complete_tx 64; arrive; expect_tx 64; arrive",
    "complete_too_many": "init 1; arrive.expect_tx 64; complete_tx 80; expect_tx 16; arrive",
    "complete_without_expect": "init 1; complete_tx 16; arrive; arrive; arrive",
    "complete_in_two_arrivals": "init 2; arrive.expect_tx 4096; complete_tx 4096; arrive",
    "tx_cleared_by_phase": "init 1; expect_tx 4096; complete_tx 4096; arrive; arrive",
    "tx_sum_to_the_limit": "init 2; expect_tx 1048574; expect_tx 1; complete_tx 1048575",
    "tx_overflow_by_1": "init 2; expect_tx 1048575; expect_tx 1; complete_tx 16; arrive",
    "tx_overflow_double": "init 2; expect_tx 1048575; expect_tx 1048575; arrive",
    "tx_overflow_triple": "init 2; expect_tx 1048575; expect_tx 1048575; expect_tx 1048575",
    "tx_underflow_by_1": "init 2; complete_tx 1048575; complete_tx 1; arrive",
    "tx_underflow_double": "init 2; complete_tx 1048575; complete_tx 1048575; arrive",
    **{f"expect_illegal_{n}": f"init 2; expect_tx {n}; arrive"
       for n in (0x100000, 0x1FFFFF, 0x200000, 0x80000000, 0xFFFFFFF0)},
    **{f"complete_illegal_{n}": f"init 2; complete_tx {n}; arrive" for n in (0x100000, 0x1FFFFF, 0x200000, 0xFFFFFFF0)},
    # Waiting: states, parities, phases further back, time limits.
    "states": "init 1; arrive; test_wait s1; arrive; test_wait s1; test_wait s3; arrive; test_wait s1; test_wait s3; "
    "test_wait s6",
    "states_try": "init 1; arrive; try_wait s1; arrive; try_wait s1; try_wait s3; arrive; try_wait s1; try_wait s3",
    "made_up_states": "init 2; test_wait 0; test_wait 9223372036854775808; test_wait 9223372036854775807; "
    "test_wait 18446744073709551615; arrive 2; test_wait 0; test_wait 9223372036854775808",
    "odd_parities": "init 1; test_wait.parity 2; test_wait.parity 3; test_wait.parity 4294967295; arrive; "
    "test_wait.parity 2; test_wait.parity 3; test_wait.parity 4294967295",
    "wait_forms": "init 1; test_wait.parity.acquire.cta 0; test_wait.parity.acquire.cluster 1; "
    "try_wait.parity.acquire.cluster 1; try_wait.parity.relaxed.cta 1; test_wait.parity.relaxed.cluster 0",
    **{f"limit_{n}": f"init 1; try_wait.parity 0 {n}; try_wait.parity 0 {n}; try_wait.parity 1 {n}"
       for n in (0, 1, 1000, 100000, 10000000, 1000000000, 0xFFFFFFFF)},
    "limit_default": "init 1; try_wait.parity 0; try_wait.parity 0; try_wait.parity 0; try_wait.parity 1",
    # The end of a barrier, and memory that is not one.
    "inval": "init 3; arrive; inval; init 2; arrive",
    "inval_twice": "init 3; inval; inval",
    "inval_then_arrive": "init 3; inval; arrive",
    "inval_then_test": "init 3; inval; test_wait.parity 0; test_wait.parity 1",
    "inval_then_expect": "init 3; inval; expect_tx 64",
    "uninitialised_arrive": "arrive; arrive",
    "uninitialised_test": "test_wait.parity 0; test_wait.parity 1; try_wait.parity 0 0",
    "uninitialised_expect": "expect_tx 64; complete_tx 64",
    "zero_arrive": "st 0; arrive; arrive; test_wait.parity 0",
    "zero_test": "st 0; test_wait.parity 0; test_wait.parity 1",
    "zero_expect": "st 0; expect_tx 64; complete_tx 64",
    "stored_word": "st 9223354444668731390; arrive; arrive; arrive",  # 0x7fffe800001ffffa: 3 arrivals
    "stored_over_live": "init 5; arrive; st 9223354444668731390; arrive; arrive; arrive",
    # Copies.
    **{f"cp_async_{n}": f"init 2; cp.async; cp.async.arrive{form}; delay; arrive; arrive"
       for n, form in (("inc", ""), ("noinc", ".noinc"))},
    "cp_async_inc_of_1": "init 1; cp.async; cp.async.arrive; delay; cp.async.arrive; delay; arrive",
    "cp_async_noinc_of_1": "init 1; cp.async; cp.async.arrive.noinc; delay; cp.async.arrive.noinc; delay; arrive",
    "cp_async_nothing": "init 2; cp.async.arrive.noinc; delay; cp.async.arrive; delay",
    "cp_async_at_the_limit": "init 1048575; cp.async; cp.async.arrive; delay; arrive",
    "bulk": "init 1; arrive.expect_tx 1024; bulk 1024; delay; arrive",
    "bulk_cta": "init 1; arrive.expect_tx 1024; bulk.cta 1024; delay; arrive",
    "bulk_before_expect": "init 1; bulk 1024; delay; arrive.expect_tx 1024; arrive",
    "bulk_before_expect_of_2": "init 2; arrive; bulk 1024; delay; arrive.expect_tx 1024; arrive",
    "bulk_not_expected": "init 1; arrive; bulk 1024; delay; arrive; arrive.expect_tx 1024; arrive",
    "bulk_not_expected_pending": "init 2; arrive; bulk 1024; delay; arrive; arrive; expect_tx 1024; arrive",
    **{f"bulk_1024_of_{n}": f"init 1; arrive.expect_tx {n}; bulk 1024; delay; arrive; arrive"
       for n in (16, 32, 64, 96, 128, 256, 384, 512, 768, 1008, 1040, 2048)},
    "bulk_0": "init 1; arrive.expect_tx 16; bulk 0; delay; complete_tx 16",
    "bulk_size_8": "init 1; arrive.expect_tx 16; bulk 8; delay; complete_tx 8",
    "bulk_after_inval": "init 1; inval; bulk 1024; delay",
    "bulk_without_barrier": "bulk 1024; delay",
}  # fmt: skip

_CASES_OF_A_WARP: dict[str, str] = {
    "warp_arrives": "0:init 32; arrive; arrive",
    "warp_arrives_twice_a_phase": "0:init 64; arrive; arrive; arrive",
    "warp_over_arrives": "0:init 1; arrive",
    "warp_over_arrives_5": "0:init 5; arrive",
    "warp_expects": "0:init 32; arrive.expect_tx 16; 0:complete_tx 512; test_wait s1",
    "warp_drops": "0:init 33; arrive_drop; 0:arrive; 0:arrive",
    "warp_cp_async": "0:init 32; cp.async; cp.async.arrive.noinc; delay; test_wait.parity 0",
    "warp_bulk": "0:init 1; 0:arrive.expect_tx 16384; bulk 1024; delay; test_wait.parity 0",
}


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch of the probe: the beginning of a case, and how the barrier is read after it."""

    case: str
    operations: tuple[str, ...]
    reading: str
    lanes: int

    @property
    def kernel(self) -> str:
        """The name of its kernel."""
        return f"k_{len(self.operations)}_{self.reading}"

    @property
    def text(self) -> str:
        """The PTX of its kernel."""
        begin = _BEGIN.format(
            name=self.kernel, count=MOST_OPERATIONS + 1, stride=8 * SLOTS, lanes=self.lanes,
            low=PATTERN[0], high=PATTERN[1],
        )  # fmt: skip
        body = [_statements(text, i) for i, text in enumerate(self.operations)]
        first_read = 8 * (SLOTS - READ_SLOTS)
        reading = READINGS[self.reading].format(*range(first_read, 8 * SLOTS, 8))
        return begin + "\n".join([*body, _guarded(reading), _END])


def launches(case: str) -> list[Launch]:
    """Return the launches of a case, shorter beginnings first, and "plain" first for each."""
    lanes, text = (1, _CASES[case]) if case in _CASES else (32, _CASES_OF_A_WARP[case])
    operations = tuple(x.strip() for x in text.split(";"))
    ends = range(1, len(operations) + 1)
    return [Launch(case, operations[:end], reading, lanes) for end in ends for reading in READINGS]


def cases() -> Iterator[str]:
    """Return the names of all cases."""
    yield from _CASES
    yield from _CASES_OF_A_WARP


def module_text(some: list[Launch]) -> str:
    """Return a module with the kernels of some launches."""
    return _HEAD + "\n".join(launch.text for launch in some)


def _guarded(text: str) -> str:
    """Let only the first lane read."""
    return " @!%first bra END;\n" + text


def _statements(operation: str, index: int) -> str:
    """Return the PTX of an operation, which records its result in the slots of its index."""
    first_only, _, operation = operation.rpartition(":")
    name, *values = operation.split()
    lines = [f" @!%first bra AFTER{index};"] if first_only else []
    lines += [_TIMED.format(_instruction(name, values, index)), *_recorded(name, index)]
    return "\n".join([*lines, *([f"AFTER{index}: bar.warp.sync 0xffffffff;"] if first_only else [])])


def _instruction(name: str, values: list[str], index: int) -> str:
    bits = 64 if name in ("st", "test_wait", "try_wait") else 32
    moves = "".join(f" mov.b{bits} %n{bits}_{k}, {x};" for k, x in enumerate(values) if not x.startswith("s"))
    values = [f"%{x}" if x.startswith("s") else f"%n{bits}_{k}" for k, x in enumerate(values)]
    if name in _OPERATIONS:
        return moves + _OPERATIONS[name].format(*values)
    action, *rest = name.split(".")
    spelled = ".".join(["mbarrier", action, *rest, "shared::cta", "b64"])
    target = f"%s{index}, " if action in _STATES else f"%p{index}, " if action.endswith("_wait") else ""
    return moves + f" {spelled} {target}{', '.join(['[bar]', *values])};"


def _recorded(name: str, index: int) -> list[str]:
    at = 8 * OPERATION_SLOTS * index
    lines = []
    if name.split(".")[0] in _STATES:
        lines.append(f" st.global.b64 [%mine+{at}], %s{index};")
    if name.split(".")[0].endswith("_wait"):
        lines.append(f" selp.b64 %v, 1, 0, %p{index}; st.global.b64 [%mine+{at + 8}], %v;")
    return [*lines, f" st.global.b64 [%mine+{at + 16}], %t; st.global.b64 [%mine+{at + 24}], %c;"]
