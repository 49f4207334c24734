# SPDX-License-Identifier: MIT
"""An interrupted campaign continues to the same totals; a state of a different campaign is refused."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import wmma_emu as we
from wmma_emu.errors import FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.gpu.campaign import EmulatedBackend, crosscheck
from wmma_emu.warp import BoundInstruction

ROOT = Path(__file__).parents[2]
F16 = "m16n8k16.f32.f16.f16.f32"

pytestmark = pytest.mark.filterwarnings("ignore::wmma_emu.errors.UnverifiedModelWarning")


def _small_campaign(state, **changed):
    own = {"what": F16, "count": 20_000, "generators": ["normal"], "state": state, "workers": 0}
    return crosscheck(**{**own, "backend": EmulatedBackend(), **changed})


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


@pytest.mark.slow
def test_an_interrupted_campaign_continues_to_the_same_totals(tmp_path):
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


@pytest.mark.thorough
def test_worker_processes_count_what_one_process_counts():
    def run(workers):
        return crosscheck([F16, "m16n8k8.f32.f16.f16.f32"], count=50_000, workers=workers, backend=EmulatedBackend())

    assert _counts(run(2)) == _counts(run(0))


def _alive(group):
    """Processes of a group that are not merely waiting to be buried."""
    processes = subprocess.run(["ps", "-A", "-o", "pgid=,stat="], capture_output=True, text=True).stdout
    return [x for x in processes.splitlines() if x.split()[0] == str(group) and not x.split()[1].startswith("Z")]


@pytest.mark.thorough
def test_ctrl_c_leaves_a_state_and_no_process(tmp_path):
    state = tmp_path / "state.json"
    command = [sys.executable, "-m", "wmma_emu", "crosscheck", "--dry-run", "--instr", F16, "--count", "2e8",
               "--workers", "2", "--state", str(state)]  # fmt: skip
    # A job in the background ignores Ctrl-C, and its children inherit that; this one is to be in the foreground.
    process = subprocess.Popen(command, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)},
                               start_new_session=True,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))  # fmt: skip
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (state.exists() and '"counts": [[' in state.read_text()):
        time.sleep(0.2)
    os.killpg(process.pid, signal.SIGINT)  # a terminal sends it to all processes of the group
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert str(state) in err.decode()
    assert "Traceback" not in err.decode()
    deadline = time.monotonic() + 10
    while _alive(process.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _alive(process.pid)
    assert json.loads(state.read_text())["totals"]["counts"]


@pytest.mark.parametrize(
    ("changed", "words"),
    [({"seed": 1}, "seed: 0 in the file, 1 in this call"), ({"count": 21_000}, "counts: "),
     ({"generators": ["wide"]}, "generators: normal in the file, wide in this call"),
     ({"what": "m16n8k8.f32.f16.f16.f32"}, "instructions: 1: "),
     ({"backend": EmulatedBackend(alter={"fraction_bits": 24})}, "device: emulator, sm_90")],
)  # fmt: skip
def test_the_state_of_another_campaign_is_refused_with_words(tmp_path, changed, words):
    state = tmp_path / "state.json"
    _small_campaign(state)
    with pytest.raises(UnsupportedInstructionError, match=re.escape(words)) as caught:
        _small_campaign(state, **changed)
    assert "state of another campaign" in str(caught.value)


def test_the_state_of_another_version_is_refused(tmp_path, monkeypatch):
    state = tmp_path / "state.json"
    _small_campaign(state)
    monkeypatch.setattr("wmma_emu.applications.campaign.state.__version__", "99")
    with pytest.raises(UnsupportedInstructionError, match=r"version: [0-9.]+ in the file, 99 in this call"):
        _small_campaign(state)


def test_the_state_of_another_form_is_refused(tmp_path):
    state = tmp_path / "state.json"
    _small_campaign(state)
    data = json.loads(state.read_text())
    del data["campaign"]["form of the state"]
    state.write_text(json.dumps(data))
    with pytest.raises(UnsupportedInstructionError, match="form of the state: None in the file, 3 in this call"):
        _small_campaign(state)


def test_faults_of_the_emulator_survive_an_interruption(tmp_path, monkeypatch):
    execute = BoundInstruction.execute
    monkeypatch.setattr(BoundInstruction, "execute", lambda self, *a, **k: execute(self, *a, **k) ^ np.uint32(1))
    state = tmp_path / "state.json"
    whole = _small_campaign(None, generators=["normal", "wide"])
    with pytest.raises(KeyboardInterrupt):
        _small_campaign(state, generators=["normal", "wide"], progress=_Interrupts(1))
    resumed = _small_campaign(state, generators=["normal", "wide"])
    assert resumed.self_mismatches == whole.self_mismatches > 0
    assert [x["kind"] for x in resumed.findings] == ["registers"] * 6
    assert _counts(resumed) == _counts(whole)


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"kind": "wmma_emu campaign"}', "cut", "done", "counts"])
def test_a_damaged_state_is_refused_with_words(tmp_path, damage):
    state = tmp_path / "state.json"
    _small_campaign(state)
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
        _small_campaign(state)


def _falsified(key, value):
    def change(totals):
        totals["counts"][0][key] = value

    return change


FALSE = {
    "more dot products": _falsified(2, 10**12),
    "fewer than none": _falsified(2, -5),
    "negative mismatches": _falsified(3, -3),
    "more mismatches than dot products": _falsified(3, 10**9),
    "a count twice": lambda totals: totals["counts"].append(totals["counts"][0]),
    "time backwards": lambda totals: totals.update(elapsed=-1e9),
    "no time": lambda totals: totals.update(elapsed=float("nan")),
}


@pytest.mark.parametrize("name", FALSE)
def test_counts_that_cannot_be_true_are_refused(tmp_path, name):
    """A state is evidence: what the tasks that are done do not add up to must not get into a report."""
    state = tmp_path / "state.json"
    _small_campaign(state)
    data = json.loads(state.read_text())
    FALSE[name](data["totals"])
    state.write_text(json.dumps(data))
    with pytest.raises(FragmentMismatchError, match="is damaged"):
        _small_campaign(state)


def test_a_state_that_is_nested_beyond_reason_is_refused(tmp_path):
    state = tmp_path / "state.json"
    state.write_text("[" * 100_000)
    with pytest.raises(FragmentMismatchError, match="is damaged"):
        _small_campaign(state)


def test_the_state_of_another_arithmetic_is_refused(tmp_path, monkeypatch):
    state = tmp_path / "state.json"
    _small_campaign(state)
    ins = we.instruction(F16)
    other = replace(ins.product, model=replace(ins.model, fraction_bits=24))
    monkeypatch.setattr(ins, "product", other)
    with pytest.raises(UnsupportedInstructionError, match="another campaign \\(arithmetic: "):
        _small_campaign(state, what=ins)


@pytest.mark.thorough
def test_a_script_without_a_guard_is_told_so(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import wmma_emu as we\nfrom wmma_emu.gpu.campaign import EmulatedBackend\n"
        f"we.gpu.crosscheck({F16!r}, count=10**6, workers=2, backend=EmulatedBackend())\n"
    )
    paths = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=paths, check=False)
    assert done.returncode == 1
    assert "if __name__ == '__main__':" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"count": 10**30}, "1e\\+30 dot products exceed the limit of a campaign"),
        ({"generators": 5}, "generators=5 is not a list"),
        ({"generators": ["normall"]}, "there is no input generator 'normall'; did you mean 'normal'\\?"),
    ],
)
def test_what_no_campaign_can_do_is_refused_at_once(arguments, words):
    with pytest.raises(UnsupportedInstructionError, match=words):
        crosscheck(F16, workers=0, backend=EmulatedBackend(), **arguments)


def test_generators_of_a_pattern_leave_out_the_instructions_that_have_none_of_them():
    report = crosscheck("m16n8k32.*(s8.s8|e4m3.e4m3)", count=1000, workers=0, backend=EmulatedBackend(),
                        generators=iter(["normal"]))  # fmt: skip
    assert {x["family"] for x in report.counts} == {"normal"}
    assert {we.INSTRUCTIONS[x["mnemonic"]].a for x in report.counts} == {"e4m3"}
