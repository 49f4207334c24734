# SPDX-License-Identifier: MIT
"""The rules of proxies, one fact each: fences and what they separate, phases and the threads that observed them."""

import numpy as np
import pytest

from tests.ptx.memory.proxies.kernels import COMMIT, FENCE, SET_UP, WAIT_SENT, Misuse, expect, load, store, wait
from tests.ptx.memory.proxies.rows import BUFFERS, LOADED, MAPS, PHASES, PROXY, READ
from wmma_emu.ptx.causality import CausalityOrder
from wmma_emu.ptx.memory.proxies.asynchronous import UsedProxies, fenced_spaces, is_asynchronous
from wmma_emu.ptx.memory.proxies.fences import ProxyFences
from wmma_emu.ptx.program.program import PtxInstruction


def instruction(opcode):
    mnemonic, *modifiers = opcode.split(".")
    return PtxInstruction(opcode, mnemonic, tuple(modifiers), (), None, 1, 1)


def kinds(kernel, **options):
    return [x.kind for x in kernel.launch(fixed=False, **options).findings]


def test_bulk_copies_and_products_are_asynchronous_and_cp_async_is_not():
    assert is_asynchronous(instruction("cp.async.bulk.global.shared::cta.bulk_group"))
    assert is_asynchronous(instruction("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"))
    assert not is_asynchronous(instruction("cp.async.cg.shared.global"))
    assert not is_asynchronous(instruction("wgmma.fence.sync.aligned"))


def test_a_program_without_asynchronous_instructions_is_not_followed():
    assert UsedProxies.of([instruction("st.shared.u32"), instruction("cp.async.ca.shared.global")]) is None


@pytest.mark.parametrize(("opcode", "spaces"), [
    ("fence.proxy.async", ("shared", "global")), ("fence.proxy.async.global", ("global",)),
    ("fence.proxy.async.shared::cta", ("shared",)), ("fence.proxy.async.shared::cluster", ("shared",)),
    ("fence.proxy.alias", ()), ("fence.acq_rel.gpu", ()), ("fence.proxy.tensormap::generic.release.gpu", ()),
])  # fmt: skip
def test_a_fence_concerns_the_space_that_it_names_or_all(opcode, spaces):
    assert fenced_spaces(instruction(opcode)) == spaces


@pytest.fixture
def order():
    found = CausalityOrder(1, 2)
    found.begin(np.arange(1))
    return found


def test_a_fence_before_an_access_does_not_count(order):
    fences = ProxyFences(order, (1, 2, 32))
    fences.execute(None)
    stamps = order.stamps().reshape(-1)[:1]
    order.meet_all()
    assert not fences.lie_between(stamps, np.array([40])).any()


def test_a_fence_of_the_accessing_thread_counts_once_the_other_is_ordered_after_it(order):
    fences, stamps = ProxyFences(order, (1, 2, 32)), order.stamps().reshape(-1)[:1]
    order.meet_all()
    fences.execute(np.arange(64).reshape(1, 2, 32) < 32)
    assert not fences.lie_between(stamps, np.array([40])).any()
    order.meet_all()
    assert fences.lie_between(stamps, np.array([40])).all()


def test_a_fence_of_the_other_thread_counts_if_it_knew_the_access(order):
    fences, stamps = ProxyFences(order, (1, 2, 32)), order.stamps().reshape(-1)[:1]
    other = np.arange(64).reshape(1, 2, 32) >= 32
    fences.execute(other)
    assert not fences.lie_between(stamps, np.array([40])).any()
    order.meet_all()
    fences.execute(other)
    order.meet_all()
    assert fences.lie_between(stamps, np.array([40])).all()


def test_a_race_is_reported_instead_of_a_missing_fence():
    body = f"st.shared.u32 [%r13], %t; {FENCE} bar.sync 0;\nsetp.eq.u32 %p, %t, 64; @%p st.shared.u32 [%r14], %t;\n"
    kernel = Misuse("", f"{body}{store('%out', 'a', 512)} {COMMIT} {WAIT_SENT}")
    assert kinds(kernel) == ["race"]


@pytest.mark.parametrize("rows", [PROXY, PHASES], ids=["proxy", "phases"])
def test_each_block_is_checked_separately(rows):
    kernel = next(iter(rows.values()))
    reports = [kernel._replace(grid=grid).launch(fixed=False) for grid in (1, 3)]
    found = [x for report in reports for x in report.findings if x.kind == kernel.kind]
    assert found[1].count == 3 * found[0].count
    assert kernel.kind not in [x.kind for x in kernel._replace(grid=3).launch(fixed=True).findings]


def test_a_store_after_a_fence_needs_another_fence():
    kernel = Misuse(
        "",
        f"""st.shared.u32 [%r13], %t; {FENCE} st.shared.u32 [%r13], %lane; bar.sync 0;
{store("%out", "a", 512)} {COMMIT} {WAIT_SENT}""",
    )
    assert kinds(kernel) == ["missing proxy fence"]


def test_bytes_next_to_those_that_were_stored_need_no_fence():
    kernel = Misuse(
        "",
        f"""st.shared.u32 [%r13], %t; {FENCE} st.shared.u32 [%r13+512], %t; bar.sync 0;
{store("%out", "a", 512)} {COMMIT} {WAIT_SENT}""",
    )
    assert kinds(kernel) == []


def test_a_store_by_a_whole_warp_is_a_note_since_the_same_bytes_are_stored_again():
    kernel = Misuse(
        "",
        f"""st.shared.u32 [%r13], %t; {FENCE} bar.sync 0; setp.lt.u32 %one, %t, 32;
{store("%out", "a", 512)} {COMMIT} {WAIT_SENT}""",
    )
    assert kinds(kernel) == ["race of equal bytes"]


def test_bytes_that_a_bulk_copy_wrote_need_no_fence_for_another_copy():
    kernel = Misuse("", f"{LOADED}{wait('full')}{store('%out', 'a', 512)}\n{COMMIT} {WAIT_SENT}")
    assert kinds(kernel) == []


def test_a_phase_of_each_round_has_to_be_observed():
    rounds = "".join(
        f"{expect('full', 512)}{load('a', '%in', 512, 'full')}\n{wait('full', k % 2)}{READ} {FENCE} bar.sync 0;\n"
        for k in range(6)
    )
    assert kinds(Misuse("", SET_UP + rounds)) == []
    lines = rounds.splitlines()
    last = max(k for k, line in enumerate(lines) if "try_wait" in line)
    lines[last] = "bar.sync 0; " + lines[last].partition("_END:")[2]
    assert kinds(Misuse("", SET_UP + "\n".join(lines))) == ["missing wait"]


@pytest.mark.parametrize("rows", [PROXY, PHASES, BUFFERS, MAPS], ids=["proxy", "phases", "buffers", "maps"])
def test_without_the_check_of_synchronisation_nothing_is_reported(rows):
    for kernel in list(rows.values())[:2]:
        assert kinds(kernel, checks=("memory", "undefined", "races")) == []


def test_without_the_check_of_races_any_order_counts():
    kernel = PROXY["store_before_bulk_store"]
    assert kinds(kernel, checks=("synchronisation",)) == ["missing proxy fence"]
    assert not kernel.launch(fixed=True, checks=("synchronisation",)).findings
    assert kinds(PROXY["fence_after_the_barrier"], checks=("synchronisation",)) == []


def test_a_finding_is_explained_by_the_history_of_its_bytes():
    (finding,) = PROXY["store_before_bulk_store"].launch(fixed=False).findings
    text = str(finding.explain())
    assert "writes 0x00000000" in text and "meet at barrier 0" in text and "through the asynchronous proxy" in text
