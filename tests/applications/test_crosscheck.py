# SPDX-License-Identifier: MIT
"""Campaigns, without a GPU: what is drawn, executed and counted, and what cannot be done."""

import re
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest

import wmma_emu as we
from tests.applications.altered_backends import Dies, Refuses
from wmma_emu.applications.campaign.groups import GROUPS, bound_instructions, group_of
from wmma_emu.applications.campaign.pairs import emulate_pairs
from wmma_emu.applications.campaign.registers import apply_variant, pack_operands, variants_of
from wmma_emu.applications.campaign.tasks import plan_tasks
from wmma_emu.errors import BackendUnavailableError, FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.gpu.availability import available
from wmma_emu.gpu.campaign import EmulatedBackend, GpuBackend, crosscheck
from wmma_emu.testing import generators
from wmma_emu.warp.sparse import Extras, multiply

F16 = "m16n8k16.f32.f16.f16.f32"
SPARSE = ("mma.sp.m16n8k32.f32.f16.f16.f32", "mma.sp.m16n8k16.f32.tf32.tf32.f32", "mma.sp.m16n8k64.s32.s8.u8.s32",
          "mma.sp.m16n8k128.s32.s4.s4.s32", "mma.sp.m16n8k64.f32.e4m3.e5m2.f32",
          "mma.sp::ordered_metadata.m16n8k16.f16.f16.f16.f16")  # fmt: skip
DENSE = (F16, "m8n8k4.f32.f16.f16.f32", "m16n8k8.f32.tf32.tf32.f32", "m16n8k32.f32.e4m3.e5m2.f32",
         "m8n8k4.f64.f64.f64.f64.rz", "m16n8k32.s32.u8.s8.s32.satfinite", "m16n8k256.s32.b1.b1.s32.and.popc",
         "wmma.mma.m32n8k16.f16.f16", "wmma.mma.row.row.m16n16k16.s32.s8.s8.s32")  # fmt: skip
WARPGROUP = (
    "wgmma.m64n8k16.f32.f16.f16",
    "wgmma.m64n16k8.f32.tf32.tf32",
    "wgmma.m64n24k32.f16.e4m3.e5m2",
    "wgmma.m64n16k32.s32.s8.u8.satfinite",
    "wgmma.m64n8k256.s32.b1.b1.and.popc",
    "wgmma.sp.m64n8k32.f32.bf16.bf16",
    "wgmma.sp.m64n16k64.s32.u8.u8",
    "wgmma.sp.m64n8k64.f32.e5m2.e5m2",
    "wgmma.sp.m64n8k16.f32.tf32.tf32",
)

pytestmark = pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")


# Counting


@pytest.mark.sweep(keep=1 / 3)
@pytest.mark.parametrize("mnemonic", DENSE + SPARSE + WARPGROUP)
def test_the_emulator_agrees_with_itself_and_everything_is_counted(mnemonic):
    report = crosscheck(mnemonic, count=30_000, workers=0, backend=EmulatedBackend())
    assert report.ok
    assert report.mismatches == 0
    assert report.dot_products >= 30_000
    assert {x["family"] for x in report.counts} == set(generators.generators_of(we.instruction(mnemonic)))
    assert all(x["executed"] > 0 and x["referenced"] == 4 for x in report.counts)


@pytest.mark.sweep(keep=1 / 4)
@pytest.mark.parametrize("mnemonic", DENSE + SPARSE + WARPGROUP)
def test_all_pairs_at_once_are_the_products_tile_by_tile(mnemonic):
    ins = we.instruction(mnemonic)
    row, together = ins.instruction, ins.instruction.products
    every = variants_of(row)
    for turn, generator in enumerate(generators.generators_of(row)):
        operands = generators.draw(row, generator, 3, 2 * together, 3 * together, 3 * together)
        variant = every[turn % len(every)]
        pairs = emulate_pairs(row, ins.product, apply_variant(row, operands, variant))
        packed = pack_operands(ins, operands, variant)
        (a, b, c), keywords = packed.all_pairs()
        assert np.array_equal(ins.execute(a, b, c, **keywords), ins.d.pack_bits(pairs)), (generator, variant)


@pytest.mark.sweep(keep=1 / 3)
@pytest.mark.parametrize("mnemonic", SPARSE)
def test_zeros_instead_of_the_elements_that_a_packed_matrix_omits_change_nothing(mnemonic):
    ins = we.instruction(mnemonic)
    for generator in generators.generators_of(ins.instruction):
        o = generators.draw(ins, generator, 1, 4, 2, 2)
        gathered = multiply(ins.product, o.a[:, None], o.b, o.c, Extras(o.indices[:, None]))
        assert np.array_equal(emulate_pairs(ins.instruction, ins.product, o), gathered), generator


def test_the_count_applies_to_each_instruction_and_is_spread_over_the_generators():
    report = crosscheck(r"^m16n8k(8|16)\.f32\.bf16", count=40_000, workers=0, backend=EmulatedBackend())
    by_instruction = report.summed("mnemonic")
    assert len(by_instruction) == 2
    assert all(40_000 <= x["dot_products"] < 60_000 for x in by_instruction)
    assert len({x["dot_products"] for x in report.counts}) == 1


def test_per_group_spreads_a_number_over_the_instructions_of_each_kind():
    what = [F16, "m16n8k8.f32.f16.f16.f32", "m16n8k16.s32.s8.s8.s32"]
    report = crosscheck(what, per_group=60_000, workers=0, backend=EmulatedBackend())
    groups = {x["group"]: x for x in report.summed("group")}
    assert list(groups) == ["f16", "8-bit"]
    assert groups["f16"]["instructions"] == 2
    assert all(60_000 <= x["dot_products"] < 80_000 for x in groups.values())


def test_every_instruction_has_a_kind_and_every_kind_an_instruction_of_hopper_or_blackwell():
    rows = [row for row in we.INSTRUCTIONS.values() if {"sm_90", "sm_120"} & {*row.archs}]
    assert {group_of(row) for row in rows} == set(GROUPS)


def test_the_same_seed_gives_the_same_tasks_and_a_different_seed_different_ones():
    instructions = bound_instructions(F16, "sm_90")
    first, again, other = (plan_tasks(instructions, [10**7], None, seed) for seed in (0, 0, 1))
    assert first == again
    assert {x.seed for x in first}.isdisjoint(x.seed for x in other)


def test_no_two_tasks_of_a_generator_have_a_seed_in_common():
    tasks = plan_tasks(bound_instructions(F16, "sm_90"), [10**8], ["normal"], 0)
    assert len({x.seed for x in tasks}) == len(tasks) > 1


# What cannot be done


def test_without_a_gpu_the_message_says_what_is_missing():
    if available():
        pytest.skip("there is a GPU")
    with pytest.raises(BackendUnavailableError, match=r"cuda-core|driver|GPU"):
        crosscheck(F16, count=1)
    with pytest.raises(BackendUnavailableError):
        GpuBackend().describe()


def test_the_time_of_kernels_is_read_without_asking_the_gpu_for_more(monkeypatch):
    # What it is given has nothing else.
    home = import_module("wmma_emu.gpu.crosscheck")
    monkeypatch.setattr(home, "open_gpu", lambda: SimpleNamespace(kernel_seconds=1.5))
    assert GpuBackend().kernel_seconds == 1.5


@pytest.mark.parametrize(
    ("arguments", "words"),
    [({"count": 0}, "count=0 is not a number of dot"), ({"count": -5}, "count=-5"), ({"count": 1.5}, "count=1.5"),
     ({"per_group": 0}, "per_group=0"), ({"generators": ["normul"]}, "there is no input generator 'normul'"),
     ({"generators": []}, "generators is empty"),
     ({"generators": ["bit_raw"]}, "has none of the input generators bit_raw"),
     ({"what": "nothing_of_the_kind"}, "matches no instruction"), ({"what": "("}, "neither a mnemonic nor a regular"),
     ({"what": []}, "the list of instructions is empty"), ({"what": 5}, "5 is not an instruction"),
     ({"what": we.INSTRUCTIONS["mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32"]}, "sm_90"),
     ({"what": "kind::f8f6f4"}, "none of sm_90"), ({"seed": -1}, "seed=-1"), ({"seed": "x"}, "seed='x'"),
     ({"workers": -1}, "workers=-1"), ({"workers": 1.5}, "workers=1.5")],
)  # fmt: skip
def test_what_cannot_be_done_is_said(arguments, words):
    own = {"what": F16, "count": 1000, "workers": 0, "backend": EmulatedBackend()}
    with pytest.raises((UnsupportedInstructionError, FragmentMismatchError), match=re.escape(words)):
        crosscheck(**{**own, **arguments})


def test_an_instruction_of_another_chip_is_refused():
    with pytest.raises(UnsupportedInstructionError, match="bound to sm_80, but the campaign runs on sm_90"):
        crosscheck(we.instruction(F16, arch="sm_80"), count=1, workers=0, backend=EmulatedBackend("sm_90"))


@pytest.mark.parametrize("workers", [0, 1])
def test_an_error_of_the_backend_passes_through(workers):
    with pytest.raises(BackendUnavailableError, match="the GPU has gone"):
        crosscheck(F16, count=1000, workers=workers, backend=Refuses())


def test_a_worker_that_dies_is_said():
    with pytest.raises(BackendUnavailableError, match="a worker process ended with status 9"):
        crosscheck(F16, count=1000, workers=1, backend=Dies())


# Variants


@pytest.mark.parametrize("mnemonic", SPARSE)
def test_every_selector_takes_its_turn(mnemonic):
    from wmma_emu.layouts import metadata_map

    row = we.instruction(mnemonic).instruction
    selectors = [x.selector for x in variants_of(row)]
    assert selectors == list(range(len(selectors)))
    for selector in selectors:
        metadata_map(row, selector)
    with pytest.raises(FragmentMismatchError):
        metadata_map(row, len(selectors))


def test_variants_of_wgmma_leave_c_out_and_turn_signs():
    row = we.INSTRUCTIONS["wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"]
    o = generators.draw(row, "normal", 0, 1, 1, 1)
    seen = {"scale_d": set(), "negate_a": set(), "negate_b": set(), "a_shared": set()}
    for variant in variants_of(row):
        done = apply_variant(row, o, variant)
        assert np.array_equal(done.a, o.a ^ (0x8000 if variant.negate_a else 0))
        assert np.array_equal(done.b, o.b ^ (0x8000 if variant.negate_b else 0))
        assert np.array_equal(done.c, o.c if variant.scale_d else np.zeros_like(o.c))
        for name, values in seen.items():
            values.add(bool(getattr(variant, name)))
    assert all(values == {False, True} for values in seen.values())
