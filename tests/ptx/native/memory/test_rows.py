# SPDX-License-Identifier: MIT
"""Rows of memory and collective instructions: the bits of the NumPy machine, on drawn warps."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tests.ptx.native.memory.straight_line import StraightLine

THREAD = np.arange(64).reshape(1, 2, 32)
SHAPE = THREAD.shape


def draw(seed, bits=32):
    """Drawn values, a quarter of them with few different bits."""
    rng = np.random.default_rng(seed)
    found = rng.integers(0, 1 << min(bits, 63), SHAPE, dtype=np.uint64)
    return np.where(rng.random(SHAPE) < 0.25, found % 3, found)


def require_equal(body, *results, **options):
    """No machine has anything to say against the kernel, and their bits are equal."""
    found = StraightLine(body, **options).compare(*results)
    assert (found.flags, found.kinds) == (0, [])


ORDERS = {
    "neighbours": THREAD, "from the second word": THREAD + 4, "backwards": 63 - THREAD, "apart": 2 * THREAD,
    "one word": 0 * THREAD, "rows": THREAD % 32 + 40 * (THREAD // 32),
}  # fmt: skip
"""The elements that threads access, in units of an access."""

TYPES = {"u8": 1, "s8": 1, "u16": 2, "s16": 2, "u32": 4, "b64": 8}
WIDE = {1: "h", 2: "h", 4: "r", 8: "d"}


@pytest.mark.parametrize("space", ["global", "shared", "generic"])
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.sweep(keep=1 / 3)
def test_loads_and_stores_of_every_type_in_every_order(kind, space):
    size = TYPES[kind]
    memory = np.random.default_rng(size).integers(0, 256, 4096, dtype=np.uint8)
    window = {"shared": 0, "generic": 0x17E0000000000}.get(space, 0)
    for count in (1, 2, 4) if size < 8 else (1, 2):
        vector, names = "" if count == 1 else f".v{count}", [f"{WIDE[size]}{2 + i}" for i in range(count)]
        data = f"%{names[0]}" if count == 1 else "{" + ", ".join(f"%{x}" for x in names) + "}"
        where = "" if space == "generic" else f".{space}"
        body = f"ld{where}{vector}.{kind} {data}, [%d0]; bar.sync 0; st{where}{vector}.{kind} [%d1], {data};"
        prepare = (
            "ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%d20]; st.shared.v4.u32 [%d21], {%r10, %r11, %r12, %r13};"
        )
        if space != "global":
            body = f"{prepare} {prepare.replace('d2', 'd3')} bar.sync 0; {body}"
        for order in ORDERS.values():
            offsets = size * count * order % 2048
            base = (lambda o: lambda a: a["x"] + o) if space == "global" else (lambda o: o + window)
            stored = size * count * (THREAD ^ 1)
            registers = {
                "d0": base(offsets), "d1": base(stored), "d20": lambda a: a["x"] + 16 * THREAD, "d21": 16 * THREAD,
                "d30": lambda a: a["x"] + 1024 + 16 * THREAD, "d31": 1024 + 16 * THREAD,
            }  # fmt: skip
            require_equal(body, *names, registers=registers, arrays={"x": memory}, dynamic=4096)


@pytest.mark.parametrize("kind", ["u8", "s8", "s16", "s32"])
def test_narrow_elements_fill_wide_registers(kind):
    memory = np.random.default_rng(1).integers(0, 256, 1024, dtype=np.uint8)
    registers = {"d0": lambda a: a["x"] + 4 * THREAD}
    require_equal(f"ld.global.{kind} %d1, [%d0];", "d1", registers=registers, arrays={"x": memory})


def test_lanes_that_a_guard_excludes_keep_their_registers():
    x = np.arange(64, dtype=np.uint32)
    registers = {"d0": lambda a: a["x"] + 4 * THREAD, "r0": draw(1), "p0": THREAD % 3 == 0, "r1": draw(2)}
    body = "@%p0 ld.global.u32 %r0, [%d0]; @!%p0 shfl.sync.bfly.b32 %r1, %r1, 0, 31, %r2; @%p0 st.global.u32 [%d0], 7;"
    lanes = np.uint32(sum(1 << i for i in range(32) if i % 3))
    other = np.uint32(sum(1 << i for i in range(32) if (i + 32) % 3))
    registers["r2"] = np.where(THREAD < 32, lanes, other)
    require_equal(body, "r0", "r1", registers=registers, arrays={"x": x})


OPERATIONS = [
    *(f"{x}.u32" for x in ("add", "inc", "dec", "min", "max")), "min.s32", "max.s64", "add.u64", "min.u64",
    "and.b32", "or.b64", "xor.b32", "exch.b64", "add.f32", "add.f64", "add.noftz.f16x2", "add.noftz.bf16",
]  # fmt: skip


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.sweep(keep=1 / 4)
def test_atomic_operations_return_old_values_and_leave_new_ones(operation):
    size = 2 if operation.endswith("bf16") else 8 if "64" in operation else 4
    place, value, old = {2: ("h0", "h1", "h2"), 4: ("r0", "r1", "r2"), 8: ("d10", "d11", "d12")}[size]
    x = np.random.default_rng(7).integers(0, 256, 2048, dtype=np.uint8)
    store = f"st.global.b{8 * size} [%d1], %{old};"
    for words in (THREAD, THREAD // 4):
        registers = {
            value: draw(size, 8 * size), "d0": lambda a, w=words: a["x"] + size * w,
            "d1": lambda a: a["x"] + 1024 + size * THREAD, "d2": size * words, place: draw(9, 8 * size),
        }  # fmt: skip
        body = f"atom.global.{operation} %{old}, [%d0], %{value}; {store}"
        require_equal(body, old, registers=registers, arrays={"x": x})
        begin = f"st.shared.b{8 * size} [%d2], %{value}; bar.warp.sync -1;"
        if words is THREAD:
            body = f"{begin} atom.shared.{operation} %{old}, [%d2], %{place}; {store}"
            require_equal(body, old, registers=registers, arrays={"x": x}, dynamic=512)


def test_commutative_operations_of_all_threads_meet():
    x = np.zeros(64, np.uint32)
    for operation in ("add.u32", "max.s32", "and.b32", "or.b32", "xor.b32", "min.u32"):
        registers = {"d0": lambda a: a["x"] + 4 * (THREAD % 4), "r0": draw(3)}
        require_equal(f"red.global.{operation} [%d0], %r0;", registers=registers, arrays={"x": x}, grid=3)


def test_an_exchange_of_equal_values():
    x = np.arange(64, dtype=np.uint32)
    registers = {"d0": lambda a: a["x"] + 4 * (THREAD // 2), "r1": THREAD // 2, "r2": draw(5), "d1": lambda a: a["x"]}
    body = "atom.global.cas.b32 %r0, [%d0], %r1, %r2; add.u32 %r3, %r0, 1;".split(" add")[0]
    require_equal(body + " red.global.add.u32 [%d0], %r0;", "r0", registers=registers, arrays={"x": x})


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
def test_shuffles(mode):
    registers = {"r0": draw(1), "r1": draw(2), "r2": draw(3)}
    require_equal(f"shfl.sync.{mode}.b32 %r3|%p0, %r0, %r1, %r2, -1;", "r3", "p0", registers=registers)
    for distance, clamp in ((1, 31), (16, 0), (5, 0x1807)):
        body = f"shfl.sync.{mode}.b32 %r0|%p0, %r0, {distance}, {clamp}, -1;"
        require_equal(body, "r0", "p0", registers=registers)


def test_votes_and_matches():
    for share in (0.0, 0.5, 1.0):
        held = np.random.default_rng(4).random(SHAPE) < share
        body = "vote.sync.all.pred %p1, %p0, -1; vote.sync.any.pred %p2, !%p0, -1; vote.sync.uni.pred %p3, %p0, -1; "
        body += "vote.sync.ballot.b32 %r1, %p0, -1; activemask.b32 %r2; elect.sync %r3|%p4, -1;"
        for block in (64, 50):
            results = ("p1", "p2", "p3", "p4", "r1", "r2", "r3")
            require_equal(body, *results, registers={"p0": held}, block=block)
    registers = {"r0": draw(6) % 3, "d0": THREAD // 32}
    body = "match.any.sync.b32 %r1, %r0, -1; match.all.sync.b32 %r2|%p0, %r0, -1; match.all.sync.b64 %r3|%p1, %d0, -1;"
    require_equal(body, "r1", "r2", "r3", "p0", "p1", registers=registers)


@pytest.mark.parametrize("operation", ["add.u32", "min.s32", "max.s32", "min.u32", "max.u32", "and.b32", "xor.b32"])
@pytest.mark.sweep(keep=1 / 4)
def test_reductions(operation):
    for block in (64, 50):
        require_equal(f"redux.sync.{operation} %r1, %r0, -1;", "r1", registers={"r0": draw(8)}, block=block)


def test_copies_of_every_size_and_number_of_bytes():
    x = np.random.default_rng(2).integers(0, 256, 2048, dtype=np.uint8)
    for size in (4, 8, 16):
        copy = f"cp.async.ca.shared.global [%d0], [%d1], {size}"
        end = "cp.async.commit_group; cp.async.wait_group 0; bar.sync 0; ld.shared.u32 %r1, [%d2];"
        registers = {
            "d0": size * THREAD, "d1": lambda a, size=size: a["x"] + size * THREAD, "d2": 4 * THREAD[..., ::-1],
            "r0": THREAD % (size + 1), "p0": THREAD % 3 == 0,
        }  # fmt: skip
        for limit in ("", ", %r0", ", %p0", ", 0"):
            require_equal(f"{copy}{limit}; {end}", "r1", registers=registers, arrays={"x": x}, dynamic=1024)


def test_groups_of_copies_are_waited_for_one_by_one():
    x = np.arange(256, dtype=np.uint32)
    registers = {"d0": 4 * THREAD, "d1": lambda a: a["x"] + 4 * THREAD}
    issue = "".join(
        f"cp.async.ca.shared.global [%d0+{256 * i}], [%d1+{256 * i}], 4; cp.async.commit_group;" for i in range(4)
    )
    use = "".join(f"cp.async.wait_group {3 - i}; ld.shared.u32 %r{i}, [%d0+{256 * i}];" for i in range(4))
    require_equal(issue + use, "r0", "r1", "r2", "r3", registers=registers, arrays={"x": x}, dynamic=1024)


def test_addresses_of_spaces():
    body = "cvta.shared.u64 %d1, %d0; cvta.to.shared.u64 %d2, %d1; cvta.local.u64 %d3, %d0; mapa.u64 %d4, %d0, 0;"
    for i, space in enumerate(("shared", "global", "local", "const")):
        body += f"isspacep.{space} %p{2 * i}, %d1; isspacep.{space} %p{2 * i + 1}, %d0;"
    body += "membar.gl; fence.acq_rel.gpu; prefetch.global.L2 [%d0];"
    results = ("d1", "d2", "d3", "d4", *(f"p{i}" for i in range(8)))
    require_equal(body, *results, registers={"d0": 4 * THREAD})


def test_variables_of_the_module():
    before = ".global .align 4 .u32 g[64]; .const .align 4 .u32 c[2] = {5, 7};"
    body = "st.global.u32 [g], 3; ld.const.u32 %r0, [c+4];"
    require_equal(body, "r0", before=before, block=32)


def test_parameters():
    registers = {"d1": 0x17C0000000000 + 0 * THREAD}
    body = "ld.param.u64 %d0, [a0]; ld.u32 %r0, [%d1];"
    require_equal(body, "d0", "r0", arrays={"x": np.zeros(8)}, registers=registers)
