# SPDX-License-Identifier: MIT
"""A cluster that has lost all its workers: a campaign waits some time, then reports how to continue."""

import json
import threading
from types import SimpleNamespace

import pytest

from tests.applications.altered_backends import Slow
from wmma_emu.applications.campaign import dask_patience as module
from wmma_emu.applications.campaign.dask_patience import Patience
from wmma_emu.errors import BackendUnavailableError
from wmma_emu.gpu.campaign import EmulatedBackend, crosscheck

F16 = "m16n8k16.f32.f16.f16.f32"


class _Cluster:
    """A client whose cluster has a settable number of threads and a settable clock."""

    scheduler = SimpleNamespace(address="tcp://127.0.0.1:8786")

    def __init__(self, threads=1):
        self.threads, self.now, self.looks = threads, 0.0, 0

    def nthreads(self):
        self.looks += 1
        if self.threads is None:
            raise OSError("no answer")
        return {"a worker": self.threads} if self.threads else {}

    def clock(self):
        return self.now


def _patience(cluster):
    return Patience(cluster, cluster.clock)


def _left():
    return "7 tasks are left; "


@pytest.mark.parametrize("threads", [0, None], ids=["no worker", "no answer"])
def test_a_cluster_without_workers_is_given_up_after_a_minute_and_not_before(threads):
    cluster = _Cluster()
    patience = _patience(cluster)
    cluster.threads = threads
    for cluster.now in range(0, 60, 10):
        patience.watch(_left)
    cluster.now = 61
    with pytest.raises(BackendUnavailableError) as raised:
        patience.watch(_left)
    assert str(raised.value) == (
        "the cluster has had no worker for 60 s; 7 tasks are left; start some: dask worker tcp://127.0.0.1:8786"
    )


def test_the_time_without_workers_starts_again_from_zero_after_some_came_back():
    cluster = _Cluster(0)
    patience = _patience(cluster)
    for cluster.now in range(0, 500, 5):
        cluster.threads = 4 if cluster.now % 50 == 0 else 0
        patience.watch(_left)
    assert patience.threads == 0


def test_a_cluster_is_looked_at_now_and_then_only():
    cluster = _Cluster()
    patience = _patience(cluster)
    for _ in range(1000):
        cluster.now += 0.01
        patience.watch(_left)
    assert 2 <= cluster.looks <= 3


def test_what_is_ready_is_not_waited_for():
    cluster = _Cluster(0)
    _patience(cluster).until(lambda: True, _left)
    assert cluster.looks == 1


# With a cluster of this process


@pytest.fixture
def cluster(monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(module, "PATIENCE", 1.0)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    from distributed import Client

    with Client(cluster) as client:
        yield client


def _campaign(**options):
    return crosscheck(F16, count=3000, backend=Slow(seconds=0.05), **options)


def _once(action):
    """A callback of progress that does something after the first task."""
    done = []

    def progress(_):
        if not done:
            done.append(True)
            action()

    return progress


@pytest.mark.thorough
def test_a_campaign_whose_cluster_loses_all_workers_ends_and_resumes_from_its_state(cluster, client, tmp_path):
    state = tmp_path / "campaign.json"
    with pytest.raises(BackendUnavailableError) as raised:
        _campaign(client=client, state=state, progress=_once(lambda: cluster.scale(0)))
    found = str(raised.value)
    assert found.startswith("the cluster has had no worker for 1 s; ")
    assert f"The counts are in {state}, and the same call continues from there; start some: dask worker " in found
    assert json.loads(state.read_text())["totals"]["counts"]
    cluster.scale(1)
    resumed = _campaign(client=client, state=state)
    assert _counts(resumed) == _counts(crosscheck(F16, count=3000, backend=EmulatedBackend(), workers=0))


@pytest.mark.thorough
def test_without_a_state_file_the_message_names_it(cluster, client):
    with pytest.raises(BackendUnavailableError, match="No counts of this campaign are saved: with state=FILE"):
        _campaign(client=client, progress=_once(lambda: cluster.scale(0)))


@pytest.mark.thorough
def test_a_campaign_continues_if_its_cluster_gets_a_worker_in_time(cluster, client, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 60.0)
    timers = []

    def lose_and_bring_back():
        cluster.scale(0)
        timers.append(threading.Timer(0.3, cluster.scale, (1,)))
        timers[0].start()

    report = _campaign(client=client, progress=_once(lose_and_bring_back))
    timers[0].join()
    assert _counts(report) == _counts(crosscheck(F16, count=3000, backend=EmulatedBackend(), workers=0))


def _counts(report):
    return sorted(tuple(x.values()) for x in report.counts)
