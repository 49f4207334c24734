# SPDX-License-Identifier: MIT
"""The ordering that modifiers of accesses and fences specify: PTX ISA 9.1, ld, st, atom, red, fence, membar."""

import pytest

from wmma_emu.ptx.causality import fence_of, ordering_of, synchronises_through_memory
from wmma_emu.ptx.memory.resolved_access import BLOCK, SYSTEM, VOLATILE, WEAK, strength_of
from wmma_emu.ptx.program.program import PtxInstruction


def instruction(opcode):
    mnemonic, *modifiers = opcode.split(".")
    return PtxInstruction(opcode, mnemonic, tuple(modifiers), (), None, 1, 1)


@pytest.mark.parametrize(
    ("opcode", "strong", "acquires", "releases", "wide"),
    [
        ("ld.global.u32", False, False, False, True),
        ("ld.weak.global.u32", False, False, False, True),
        ("ld.volatile.global.u32", True, False, False, True),
        ("st.volatile.shared.u32", True, False, False, True),
        ("ld.mmio.relaxed.sys.global.u32", True, False, False, True),
        ("ld.relaxed.cta.global.u32", True, False, False, False),
        ("ld.acquire.cluster.global.u32", True, True, False, False),
        ("ld.acquire.sys.global.u32", True, True, False, True),
        ("st.release.gpu.global.u32", True, False, True, True),
        ("atom.global.add.u32", True, False, False, True),
        ("atom.acq_rel.cta.global.add.u32", True, True, True, False),
        ("red.release.gpu.global.add.u32", True, False, True, True),
    ],
)
def test_the_ordering_of_an_access_follows_from_its_modifiers(opcode, strong, acquires, releases, wide):
    x = instruction(opcode)
    assert ordering_of(x.mnemonic, x.modifiers) == (strong, acquires, releases, wide, x.mnemonic != "red")


@pytest.mark.parametrize(
    ("opcode", "order"),
    [
        ("membar.cta", (True, True, True, False)),
        ("membar.gl", (True, True, True, True)),
        ("membar.sys", (True, True, True, True)),
        ("fence.acq_rel.cta", (True, True, True, False)),
        ("fence.cluster", (True, True, True, False)),
        ("fence.sc.gpu", (True, True, True, True)),
        ("fence.acquire.sync_restrict::shared::cluster.cluster", (True, True, False, False)),
        ("fence.release.gpu", (True, False, True, True)),
        ("fence.mbarrier_init.release.cluster", (True, False, True, False)),
    ],
)
def test_the_ordering_of_a_fence_follows_from_its_modifiers(opcode, order):
    assert fence_of(instruction(opcode)) == (*order, True)


PROXIES = ["fence.proxy.async", "membar.proxy.alias", "fence.proxy.tensormap::generic.acquire.gpu"]


@pytest.mark.parametrize("opcode", PROXIES)
def test_a_proxy_fence_does_not_order_threads(opcode):
    assert fence_of(instruction(opcode)) is None


@pytest.mark.parametrize(
    ("opcodes", "found"),
    [
        (("st.release.gpu.global.u32",), False),
        (("st.release.gpu.global.u32", "ld.relaxed.gpu.global.u32"), True),
        (("st.volatile.global.u32", "ld.volatile.global.u32"), False),
        (("st.volatile.global.u32", "membar.gl", "ld.volatile.global.u32"), True),
        (("red.global.add.u32", "fence.acquire.gpu", "ld.acquire.gpu.global.u32"), False),
        (("fence.release.gpu", "red.global.add.u32", "ld.acquire.gpu.global.u32"), True),
        (("fence.release.cta", "mbarrier.arrive.relaxed.cta.shared.b64"), True),
        (("fence.acquire.cta", "mbarrier.test_wait.relaxed.cta.shared.b64"), True),
        (("fence.acquire.cta", "mbarrier.test_wait.shared.b64", "mbarrier.arrive.shared.b64"), False),
    ],
)
def test_programs_synchronise_through_memory_if_they_release_and_read(opcodes, found):
    assert synchronises_through_memory([instruction(x) for x in opcodes]) is found


@pytest.mark.parametrize(
    ("ordering", "scope", "strength"),
    [
        ("weak", "", WEAK), ("relaxed", "cta", BLOCK), ("relaxed", "cluster", BLOCK), ("acquire", "gpu", SYSTEM),
        ("relaxed", "sys", SYSTEM), ("relaxed", "", SYSTEM), ("volatile", "", VOLATILE),
    ],
)  # fmt: skip
def test_the_strength_of_an_access_follows_from_its_scope(ordering, scope, strength):
    assert strength_of(ordering, scope) == strength
