# SPDX-License-Identifier: MIT
"""Campaigns on Dask's workers: report and state equal those in one process, even if workers die meanwhile."""

import json
import os
import re
import time
from collections import deque

import pytest

from tests.applications.altered_backends import Dies, DiesOnce, NoGpuHere, Refuses, SomethingElse
from wmma_emu.applications.campaign import dask_patience
from wmma_emu.applications.campaign import on_dask as module
from wmma_emu.errors import BackendUnavailableError, FragmentMismatchError, UnsupportedInstructionError
from wmma_emu.gpu.campaign import EmulatedBackend, crosscheck

pytestmark = pytest.mark.slow

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

F16 = "m16n8k16.f32.f16.f16.f32"
BOTH = [F16, "m16n8k8.f32.f16.f16.f32"]


@pytest.fixture(scope="module")
def client():
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def _campaign(what=F16, **changed):
    return crosscheck(what, **{"count": 40_000, "backend": EmulatedBackend(), **changed})


def _counts(report):
    return sorted(tuple(x.values()) for x in report.counts)


def test_workers_of_a_client_count_what_one_process_counts(client):
    other = {"backend": EmulatedBackend(alter={"fraction_bits": 24}), "generators": ["single_bits", "wide"]}
    ours, theirs = _campaign(BOTH, client=client, **other), _campaign(BOTH, workers=0, **other)
    assert _counts(ours) == _counts(theirs)
    assert ours.mismatches > 0
    assert (ours.device, ours.planned, ours.settings["families"]) == (
        theirs.device, theirs.planned, theirs.settings["families"])  # fmt: skip
    assert {(x["mnemonic"], x["family"]) for x in ours.findings} == {
        (x["mnemonic"], x["family"]) for x in theirs.findings
    }
    assert ours.settings["processes"] == 2


def test_a_worker_that_is_killed_in_the_middle_changes_no_count(client, tmp_path):
    before = set(client.run(os.getpid).values())
    killed = tmp_path / "killed"
    report = _campaign(count=100_000, client=client, backend=DiesOnce(marker=str(killed)))
    assert killed.exists()
    assert len(before & set(client.run(os.getpid).values())) == 1, "one of the two is another process now"
    assert report.ok
    assert _counts(report) == _counts(_campaign(count=100_000, workers=0))


class _Interrupts:
    def __init__(self, after):
        self.left = after

    def __call__(self, progress):
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


def test_a_campaign_that_began_on_a_cluster_continues_in_a_process_and_back(client, tmp_path):
    state = tmp_path / "state.json"
    for options in ({"client": client}, {"workers": 0}):
        with pytest.raises(KeyboardInterrupt):
            _campaign(BOTH, state=state, progress=_Interrupts(2), **options)
        assert json.loads(state.read_text())["totals"]["counts"]
    assert _counts(_campaign(BOTH, state=state, client=client)) == _counts(_campaign(BOTH, workers=0))


def _tasks_of_campaigns(dask_scheduler):
    return [key for key in dask_scheduler.tasks if str(key).startswith("crosscheck-")]


def test_an_interrupt_leaves_nothing_to_do_on_the_cluster(client):
    with pytest.raises(KeyboardInterrupt):
        _campaign(BOTH, client=client, progress=_Interrupts(1))
    deadline = time.monotonic() + 10
    while client.run_on_scheduler(_tasks_of_campaigns) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert client.run_on_scheduler(_tasks_of_campaigns) == []


def test_the_scheduler_has_few_tasks_at_a_time(client, monkeypatch):
    monkeypatch.setattr(module, "_IN_FLIGHT", 1)
    known = []
    monkeypatch.setattr(module, "bundles_of", lambda tasks, threads: deque([x] for x in tasks))
    report = _campaign(
        BOTH, client=client, progress=lambda _: known.append(len(client.run_on_scheduler(_tasks_of_campaigns)))
    )
    assert 0 < max(known) <= 3  # one in flight for each of two threads, and the one whose result is being counted
    assert _counts(report) == _counts(_campaign(BOTH, workers=0))


def test_the_gpu_is_the_workers_and_this_machine_needs_none(client):
    assert _campaign(client=client, backend=NoGpuHere(home=os.getpid())).ok


def test_workers_that_differ_are_refused(client):
    client.wait_for_workers(2, timeout=30)
    with pytest.raises(UnsupportedInstructionError, match=r"same GPU and version: one has GPU \d+.* another GPU \d+"):
        _campaign(BOTH, count=400_000, client=client, backend=SomethingElse())


def test_an_error_of_the_backend_passes_through(client):
    with pytest.raises(BackendUnavailableError, match="the GPU has gone"):
        _campaign(client=client, backend=Refuses())


@pytest.mark.parametrize("client_of", [lambda: 5, lambda: "tcp://127.0.0.1:8786"], ids=["number", "address"])
def test_only_dask_clients_are_accepted(client_of):
    with pytest.raises(FragmentMismatchError, match=re.escape(f"client={client_of()!r} is not a Dask client")):
        _campaign(client=client_of())


def test_processes_and_a_client_exclude_each_other(client):
    with pytest.raises(UnsupportedInstructionError, match=r"workers=2 and client= exclude each other"):
        _campaign(client=client, workers=2)


def test_a_task_that_kills_every_worker_ends_the_campaign_with_a_message(client):
    with pytest.raises(BackendUnavailableError, match="workers died one after another on the same task"):
        _campaign(count=1000, generators=["normal"], client=client, backend=Dies())


def test_a_cluster_without_workers_is_said(monkeypatch):
    monkeypatch.setattr(dask_patience, "PATIENCE", 0.5)
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
        pytest.raises(BackendUnavailableError, match=r"no worker for 0 s; start some: dask worker tcp://127"),
    ):
        _campaign(client=client)
