# SPDX-License-Identifier: MIT
"""Campaigns, without a GPU: against the emulator itself, with and without planted errors."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import wmma_emu as we
from tests.gpu.altered_backends import AnyModel, Dies, OneLaneFails, Refuses
from wmma_emu.arithmetic import dot_product_of, matmul
from wmma_emu.errors import BackendUnavailableError, FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.gpu.availability import available
from wmma_emu.gpu.campaign import EmulatedBackend, GpuBackend, crosscheck
from wmma_emu.gpu.campaign.groups import GROUPS, bound_instructions, group_of
from wmma_emu.gpu.campaign.pairs import emulate_pairs
from wmma_emu.gpu.campaign.registers import apply_options, options_of, pack_operands
from wmma_emu.gpu.campaign.rows import append_rows, load_rows, replay
from wmma_emu.gpu.campaign.tasks import plan_tasks
from wmma_emu.testing import families
from wmma_emu.warp.sparse import matmul_sparse

ROOT = Path(__file__).parents[2]
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


def non_zero_terms(row):
    """Terms of a saved row of which anything is not zero; c counts as one."""
    indices = row["indices"] or range(len(row["a"]))
    products = sum(int(a, 16) != 0 or int(row["b"][k], 16) != 0 for a, k in zip(row["a"], indices, strict=True))
    return products + (int(row["c"], 16) != 0)


# Counting


@pytest.mark.parametrize("mnemonic", DENSE + SPARSE + WARPGROUP)
def test_the_emulator_agrees_with_itself_and_everything_is_counted(mnemonic):
    report = crosscheck(mnemonic, count=30_000, workers=0, backend=EmulatedBackend())
    assert report.ok
    assert report.mismatches == 0
    assert report.dot_products >= 30_000
    assert {x["family"] for x in report.counts} == set(families.families_of(we.instruction(mnemonic)))
    assert all(x["executed"] > 0 and x["referenced"] == 4 for x in report.counts)


@pytest.mark.parametrize("mnemonic", DENSE + SPARSE + WARPGROUP)
def test_all_pairs_at_once_are_the_products_tile_by_tile(mnemonic):
    ins = we.instruction(mnemonic)
    row, together = ins.instruction, ins.instruction.products
    every = options_of(row)
    for turn, family in enumerate(families.families_of(row)):
        operands = families.draw(row, family, 3, 2 * together, 3 * together, 3 * together)
        options = every[turn % len(every)]
        pairs = emulate_pairs(row, ins.product, apply_options(row, operands, options))
        packed = pack_operands(ins, operands, options)
        (a, b, c), keywords = packed.all_pairs()
        assert np.array_equal(ins.execute(a, b, c, **keywords), ins.d.pack_bits(pairs)), (family, options)


@pytest.mark.parametrize("mnemonic", SPARSE)
def test_zeros_in_the_place_of_what_a_packed_matrix_leaves_out_change_nothing(mnemonic):
    ins = we.instruction(mnemonic)
    for family in families.families_of(ins.instruction):
        o = families.draw(ins, family, 1, 4, 2, 2)
        gathered = matmul_sparse(ins.product, o.a[:, None], o.b, o.c, o.indices[:, None])
        assert np.array_equal(emulate_pairs(ins.instruction, ins.product, o), gathered), family


def test_the_count_is_of_each_instruction_and_spread_over_the_families():
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


def test_every_instruction_has_a_kind_and_every_kind_an_instruction_of_hopper():
    rows = [row for row in we.INSTRUCTIONS.values() if "sm_90" in row.archs]
    assert {group_of(row) for row in rows} == set(GROUPS)


def test_the_same_seed_gives_the_same_tasks_and_another_one_others():
    instructions = bound_instructions(F16, "sm_90")
    first, again, other = (plan_tasks(instructions, [10**7], None, seed) for seed in (0, 0, 1))
    assert first == again
    assert {x.seed for x in first}.isdisjoint(x.seed for x in other)


def test_no_two_tasks_of_a_family_have_a_seed_in_common():
    tasks = plan_tasks(bound_instructions(F16, "sm_90"), [10**8], ["normal"], 0)
    assert len({x.seed for x in tasks}) == len(tasks) > 90


# Planted errors

VISIBLE = {
    "one bit less": (F16, "sm_90", {"fraction_bits": 24}),
    "one bit more": (F16, "sm_90", {"fraction_bits": 26}),
    "rounded to nearest": (F16, "sm_90", {"rounding": "RNE"}),
    "rounded toward zero": ("m16n8k16.f16.f16.f16.f16", "sm_90", {"rounding": "RZ"}),
    "another order of k": ("m16n8k16.f32.f16.f16.f32", "sm_80", {"k_order": "byte_pairs"}),
    "k ascending in FP8": ("m16n8k32.f32.e4m3.e4m3.f32", "sm_90", {"k_order": "ascending"}),
    "tf32, one bit less": ("m16n8k8.f32.tf32.tf32.f32", "sm_90", {"fraction_bits": 24}),
    "FP8, one bit more": ("m16n8k32.f32.e5m2.e4m3.f32", "sm_89", {"fraction_bits": 14}),
    "FP8 of Ada, rounded to nearest": ("m16n8k32.f32.e5m2.e4m3.f32", "sm_89", {"rounding": "RNE"}),
    "wgmma, one bit less": ("wgmma.m64n16k16.f32.f16.f16", "sm_90", {"fraction_bits": 24}),
    "FP8 wgmma, one bit less": ("wgmma.m64n8k32.f32.e4m3.e5m2", "sm_90", {"fraction_bits": 12}),
    "FP8 wgmma, rounded to nearest": ("wgmma.m64n8k32.f32.e4m3.e5m2", "sm_90", {"rounding": "RNE"}),
    "FP8 wgmma into f16, floor one higher": ("wgmma.m64n8k32.f16.e5m2.e5m2", "sm_90", {"min_exponent": -18}),
    "FP8 wgmma, one bit more": ("wgmma.m64n8k32.f32.e4m3.e5m2", "sm_90", {"fraction_bits": 14}),
    "sparse wgmma, one bit less": ("wgmma.sp.m64n8k32.f32.f16.f16", "sm_90", {"fraction_bits": 24}),
    "sparse, two steps": ("mma.sp.m16n8k32.f32.f16.f16.f32", "sm_90", {"terms_per_step": 8}),
    "sparse, one bit less": ("mma.sp.m16n8k32.f32.f16.f16.f32", "sm_90", {"fraction_bits": 24}),
    "bf16, floor one lower": ("m16n8k16.f32.bf16.bf16.f32", "sm_90", {"min_exponent": -134}),
    "bf16, floor one higher": ("m16n8k16.f32.bf16.bf16.f32", "sm_90", {"min_exponent": -132}),
    "tf32, floor one lower": ("m16n8k8.f32.tf32.tf32.f32", "sm_90", {"min_exponent": -134}),
    "f16 results, floor one higher": ("m16n8k16.f16.f16.f16.f16", "sm_90", {"min_exponent": -20}),
}


def _altered(arch, alter):
    return AnyModel(arch, alter) if "rounding" in alter else EmulatedBackend(arch, alter)


@pytest.mark.parametrize("name", VISIBLE)
def test_a_planted_error_is_found_and_shrunk_to_three_terms(name):
    mnemonic, arch, alter = VISIBLE[name]
    backend = _altered(arch, alter)
    report = crosscheck(mnemonic, count=30_000, workers=0, backend=backend)
    assert report.mismatches > 0
    assert report.findings
    for finding in report.findings:
        row = finding["test_row"]
        assert finding["reproduced"]
        assert non_zero_terms(row) <= 3, finding["text"]
        assert row["expected"] != row["emulated"]
        [field] = alter
        assert finding["hints"], finding["text"]
    hints = {hint for finding in report.findings for hint in finding["hints"]}
    [(field, value)] = alter.items()
    assert any(hint.startswith(f"{field} {value} ") for hint in hints)


def test_products_that_are_zero_and_take_part_in_the_alignment_are_found():
    report = crosscheck(F16, count=30_000, workers=0, families=["zero_times_huge", "mostly_zero", "normal"],
                        backend=AnyModel(zeros_align=True))  # fmt: skip
    assert report.mismatches > 0
    assert all(non_zero_terms(x["test_row"]) <= 3 for x in report.findings)
    assert any("products that are zero take part in the alignment" in x["hints"] for x in report.findings)


def test_a_unit_without_planted_errors_is_the_emulator():
    """What makes the test above mean something."""
    ins = we.instruction(F16)
    o = families.draw(ins, "normal", 0, 2, 2, 2)
    expected = matmul(ins.product, o.a[:, None], o.b, o.c)
    nonzero = [x for x in (o.a, o.b) if (x & 0x7FFF).all()]
    assert len(nonzero) == 2
    assert np.array_equal(AnyModel(zeros_align=True).pairs(ins.instruction, ins.product, o), expected)


INVISIBLE = {
    "f16 into f32, floor one lower": (F16, "sm_90", {"min_exponent": -134}),
    "f16 into f32, floor one higher": (F16, "sm_90", {"min_exponent": -132}),
    "FP8 wgmma into f32, floor one higher": ("wgmma.m64n8k32.f32.e5m2.e5m2", "sm_90", {"min_exponent": -130}),
    "FP8 into f32, floor one higher": ("m16n8k32.f32.e5m2.e5m2.f32", "sm_90", {"min_exponent": -132}),
}


@pytest.mark.parametrize("name", INVISIBLE)
def test_no_input_shows_a_floor_below_the_smallest_product(name):
    mnemonic, arch, alter = INVISIBLE[name]
    row = we.instruction(mnemonic, arch=arch).instruction
    smallest = sum(row.format(x).emin - row.format(x).fraction_bits for x in "ab")
    # A sum of c and products aligned at the floor: c has no bits below 2**-149, where the floor leaves all of them.
    product = dot_product_of(row, arch)
    assert smallest > max(alter["min_exponent"], product.model.min_exponent)
    report = crosscheck(mnemonic, count=200_000, workers=0, backend=EmulatedBackend(arch, alter))
    assert report.ok


@pytest.mark.slow
@pytest.mark.parametrize("name", VISIBLE)
def test_a_planted_error_shows_in_a_campaign_of_ten_million(name):
    mnemonic, arch, alter = VISIBLE[name]
    report = crosscheck(mnemonic, count=10**7, workers=0, backend=_altered(arch, alter))
    assert report.mismatches > 0


# Faults of hardware


def test_a_fault_in_one_lane_is_found_in_every_family_and_cannot_hide_behind_zeros():
    report = crosscheck(F16, count=20_000, workers=0, backend=OneLaneFails(), families=["normal", "c_alone"])
    assert all(x["mismatches"] for x in report.counts)
    assert report.mismatches == report.dot_products // 128
    # Lane 5 holds row 1, column 2 in its first register.
    assert {(x["test_row"]["row"], x["test_row"]["column"]) for x in report.findings} == {(1, 2)}
    assert all(non_zero_terms(x["test_row"]) == 0 for x in report.findings)
    assert len(report.findings) == 6, "three of each family are kept"


# Rows


def test_a_mismatch_becomes_a_row_that_replays(tmp_path):
    report = crosscheck("mma.sp.m16n8k32.f32.f16.f16.f32", count=20_000, workers=0, families=["single_bits"],
                        backend=EmulatedBackend(alter={"fraction_bits": 24}))  # fmt: skip
    file = tmp_path / "rows.json"
    assert report.save_rows(file) == len(report.findings) > 0
    assert report.save_rows(file) == 0, "what is there is not added again"
    for row in load_rows(file):
        expected, product, registers = replay(row)
        assert product == registers == int(row["emulated"], 16) != expected


@pytest.mark.parametrize("text", ["", "{}", '[{"a": 1}]', "[1"])
def test_a_file_that_holds_no_rows_is_refused(tmp_path, text):
    file = tmp_path / "rows.json"
    file.write_text(text)
    with pytest.raises(FragmentMismatchError, match="holds no rows of mismatches"):
        append_rows(file, [])


# Interruption


def _small_campaign(state):
    what = {"what": F16, "count": 20_000, "families": ["normal"], "state": state}
    return {**what, "workers": 0, "backend": EmulatedBackend()}


class _Interrupts:
    """Ctrl-C after some tasks."""

    def __init__(self, after):
        self.left = after

    def __call__(self, progress):
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


def _counts(report):
    return sorted(tuple(x.values()) for x in report.counts)


def test_an_interrupted_campaign_goes_on_to_the_same_totals(tmp_path):
    def run(state=None, progress=None):
        return crosscheck(F16, count=60_000, workers=0, backend=EmulatedBackend(alter={"fraction_bits": 24}),
                          state=state, progress=progress)  # fmt: skip

    whole = run()
    state = tmp_path / "state.json"
    for after in (1, 5):
        with pytest.raises(KeyboardInterrupt):
            run(state, _Interrupts(after))
        assert len(json.loads(state.read_text())["totals"]["counts"]) in (1, 6)
    resumed = run(state)
    assert _counts(resumed) == _counts(whole)
    again = run(state, _Interrupts(1))
    assert _counts(again) == _counts(whole), "nothing is left to do"
    assert list(tmp_path.iterdir()) == [state], "no half-written file is left"


def test_worker_processes_count_what_one_process_counts():
    def run(workers):
        return crosscheck([F16, "m16n8k8.f32.f16.f16.f32"], count=50_000, workers=workers, backend=EmulatedBackend())

    assert _counts(run(2)) == _counts(run(0))


def _alive(group):
    """Processes of a group that are not merely waiting to be buried."""
    processes = subprocess.run(["ps", "-A", "-o", "pgid=,stat="], capture_output=True, text=True).stdout
    return [x for x in processes.splitlines() if x.split()[0] == str(group) and not x.split()[1].startswith("Z")]


def test_ctrl_c_leaves_a_state_and_no_process(tmp_path):
    state = tmp_path / "state.json"
    command = [sys.executable, "-m", "wmma_emu", "crosscheck", "--dry-run", "--instr", F16, "--count", "2e8",
               "--workers", "2", "--state", str(state)]  # fmt: skip
    process = subprocess.Popen(command, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)},
                               start_new_session=True)  # fmt: skip
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (state.exists() and '"counts": [[' in state.read_text()):
        time.sleep(0.2)
    os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to all processes of the group
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert f"the same command goes on from {state}" in err.decode()
    assert "Traceback" not in err.decode()
    deadline = time.monotonic() + 10
    while _alive(process.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _alive(process.pid)
    assert json.loads(state.read_text())["totals"]["counts"]


@pytest.mark.parametrize(
    ("changed", "words"),
    [({"seed": 1}, "seed: 0 there, 1 here"), ({"count": 21_000}, "counts: "),
     ({"families": ["wide"]}, "families: normal there, wide here"),
     ({"what": "m16n8k8.f32.f16.f16.f32"}, "instructions: 1: "),
     ({"backend": EmulatedBackend(alter={"fraction_bits": 24})}, "device: emulator, sm_90")],
)  # fmt: skip
def test_the_state_of_another_campaign_is_refused_with_words(tmp_path, changed, words):
    state = tmp_path / "state.json"
    own = {
        "what": F16,
        "count": 20_000,
        "families": ["normal"],
        "workers": 0,
        "backend": EmulatedBackend(),
        "state": state,
    }
    crosscheck(**own)
    with pytest.raises(UnsupportedInstructionError, match=re.escape(words)) as caught:
        crosscheck(**{**own, **changed})
    assert "state of another campaign" in str(caught.value)


def test_the_state_of_another_version_is_refused(tmp_path, monkeypatch):
    state = tmp_path / "state.json"
    own = {
        "what": F16,
        "count": 20_000,
        "families": ["normal"],
        "workers": 0,
        "backend": EmulatedBackend(),
        "state": state,
    }
    crosscheck(**own)
    monkeypatch.setattr(we, "__version__", "99")
    with pytest.raises(UnsupportedInstructionError, match=r"version: 0\.1\.0 there, 99 here"):
        crosscheck(**own)


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"kind": "wmma_emu campaign"}', "cut", "done", "counts"])
def test_a_damaged_state_is_refused_with_words(tmp_path, damage):
    state = tmp_path / "state.json"
    own = {
        "what": F16,
        "count": 20_000,
        "families": ["normal"],
        "workers": 0,
        "backend": EmulatedBackend(),
        "state": state,
    }
    crosscheck(**own)
    whole = state.read_text()
    data = json.loads(whole)
    if damage == "done":
        data["totals"]["done"] = "0"
    if damage == "counts":
        data["totals"]["counts"] = []
    state.write_text(
        {"cut": whole[: len(whole) // 2], "done": json.dumps(data), "counts": json.dumps(data)}.get(damage, damage)
    )
    with pytest.raises(FragmentMismatchError, match="damaged"):
        crosscheck(**own)


# What cannot be done


def test_without_a_gpu_the_message_says_what_is_missing():
    if available():
        pytest.skip("there is a GPU")
    with pytest.raises(BackendUnavailableError, match=r"cuda-core|driver|GPU"):
        crosscheck(F16, count=1)
    with pytest.raises(BackendUnavailableError):
        GpuBackend().describe()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [({"count": 0}, "count=0 is no number of dot products"), ({"count": -5}, "count=-5"), ({"count": 1.5}, "count=1.5"),
     ({"per_group": 0}, "per_group=0"), ({"families": ["normul"]}, "there is no family 'normul'"),
     ({"families": []}, "the list of families is empty"),
     ({"families": ["bit_raw"]}, "has none of the families bit_raw"),
     ({"what": "nothing_of_the_kind"}, "matches no instruction"), ({"what": "("}, "neither a mnemonic nor a regular"),
     ({"what": []}, "the list of instructions is empty"), ({"what": 5}, "5 is no instruction"),
     ({"what": we.INSTRUCTIONS["mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32"]}, "sm_90"),
     ({"what": "kind::f8f6f4"}, "none of sm_90"), ({"seed": -1}, "seed=-1"), ({"seed": "x"}, "seed='x'"),
     ({"workers": -1}, "workers=-1"), ({"workers": 1.5}, "workers=1.5")],
)  # fmt: skip
def test_what_cannot_be_done_is_said(arguments, words):
    own = {"what": F16, "count": 1000, "workers": 0, "backend": EmulatedBackend()}
    with pytest.raises((UnsupportedInstructionError, FragmentMismatchError), match=re.escape(words)):
        crosscheck(**{**own, **arguments})


def test_an_instruction_of_another_chip_is_refused():
    with pytest.raises(UnsupportedInstructionError, match="bound to sm_80, but what it is checked against is sm_90"):
        crosscheck(we.instruction(F16, arch="sm_80"), count=1, workers=0, backend=EmulatedBackend("sm_90"))


@pytest.mark.parametrize("workers", [0, 1])
def test_an_error_of_the_backend_passes_through(workers):
    with pytest.raises(BackendUnavailableError, match="the GPU has gone"):
        crosscheck(F16, count=1000, workers=workers, backend=Refuses())


def test_a_worker_that_dies_is_said():
    with pytest.raises(BackendUnavailableError, match="a worker process ended with status 9"):
        crosscheck(F16, count=1000, workers=1, backend=Dies())


# Reports


@pytest.fixture(scope="module")
def report():
    return crosscheck(F16, count=20_000, workers=0, families=["single_bits", "normal"],
                      backend=EmulatedBackend(alter={"fraction_bits": 24}))  # fmt: skip


def test_the_report_says_everything_as_text(report):
    text = str(report)
    for words in ("mismatches in", "emulator (fraction_bits=24), sm_90", "dot products a second and core", "GPU",
                  "processes: 1", "seed 0", "fraction_bits 24 instead of 25", "rounded RZ to f32"):  # fmt: skip
        assert words in text


def test_the_report_as_json_holds_the_counts_and_the_rows(report, tmp_path):
    report.save(tmp_path / "r.json")
    data = json.loads((tmp_path / "r.json").read_text())
    assert data["dot_products"] == sum(x["dot_products"] for x in data["counts"])
    assert data["mismatches"] == report.mismatches
    assert not data["ok"]
    assert set(data["timing"]) == {"elapsed", "rate", "emulated_per_core", "device_share", "workers_busy", "seconds"}
    assert [x["test_row"] for x in data["findings"]] == [x["test_row"] for x in report.findings]


def test_the_page_needs_nothing_else_and_is_well_formed(report, tmp_path):
    from html.parser import HTMLParser

    report.save(tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert not re.search(r"<script|<link|<img|src=|href=|@import|url\(|https?:", text)
    assert "prefers-color-scheme: dark" in text
    open_tags = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attributes):
            if tag not in ("meta",):
                open_tags.append(tag)

        def handle_endtag(self, tag):
            assert open_tags.pop() == tag

    Reader(convert_charrefs=True).feed(text)
    assert open_tags == []
    assert report.findings[0]["mnemonic"] in text
    assert "fraction_bits 24 instead of 25" in text


def test_what_is_not_finished_says_so(report):
    from dataclasses import replace

    unfinished = replace(report, counts=[{**x, "mismatches": 0} for x in report.counts], planned=10**9)
    assert str(unfinished).startswith("not finished: ")
    assert not unfinished.ok


# Options


@pytest.mark.parametrize("mnemonic", SPARSE)
def test_every_selector_takes_its_turn(mnemonic):
    from wmma_emu.layouts import metadata_map

    row = we.instruction(mnemonic).instruction
    selectors = [x.selector for x in options_of(row)]
    assert selectors == list(range(len(selectors)))
    for selector in selectors:
        metadata_map(row, selector)
    with pytest.raises(FragmentMismatchError):
        metadata_map(row, len(selectors))


def test_options_of_wgmma_leave_c_out_and_turn_signs():
    row = we.INSTRUCTIONS["wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"]
    o = families.draw(row, "normal", 0, 1, 1, 1)
    seen = {"scale_d": set(), "negate_a": set(), "negate_b": set(), "a_shared": set()}
    for options in options_of(row):
        done = apply_options(row, o, options)
        assert np.array_equal(done.a, o.a ^ (0x8000 if options.negate_a else 0))
        assert np.array_equal(done.b, o.b ^ (0x8000 if options.negate_b else 0))
        assert np.array_equal(done.c, o.c if options.scale_d else np.zeros_like(o.c))
        for name, values in seen.items():
            values.add(bool(getattr(options, name)))
    assert all(values == {False, True} for values in seen.values())
