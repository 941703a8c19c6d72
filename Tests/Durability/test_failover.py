"""Saving clients, records in a cluster of PostgreSQL, and its leader killed: no acknowledged save is lost, and none is applied half.

Two Skylights have the database. Takes minutes, so only the long tier has it. SKYLIGHT_CLUSTER_TTL asks for a cluster that waits longer for a leader
that is gone.
"""

import random
import statistics
import time

import pytest

from chance import SEED, TIMES, times
from cluster import Cluster, is_installed
from savers import ZONE, Load
from test_kill import Memory
from test_kill_postgresql import CarefulSaver, Fleet, Refused, answering
from waiting import until

ROUNDS = times(1)
SAVERS = 6

pytestmark = [
    pytest.mark.skipif(TIMES == 1, reason="takes minutes; SKYLIGHT_TIMES=10 asks for ten failovers"),
    pytest.mark.skipif(not is_installed(), reason="Patroni or etcd is not installed"),
]


class PersistentSaver(CarefulSaver):
    """Goes on after a refusal with what is there then: what was acknowledged, or all of the request whose outcome is not known."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        # When saves were acknowledged.
        self.moments = []

    def act(self, connection):
        before = self.acknowledged
        try:
            super().act(connection)
        except Refused:
            problem = self.check(self.pull(connection))
            assert not problem, problem
        if self.acknowledged > before:
            self.moments.append(time.monotonic())

    @staticmethod
    def pull(connection):
        while True:
            try:
                return connection.pull(ZONE)[0]
            except Refused:
                time.sleep(0.05)


class LastingLoad(Load):
    """Goes on while the database is away. The end of Skylight is a failure."""

    def run(self, server, act):
        try:
            connection = server.connect()
            while not self.is_stopped:
                try:
                    act(connection)
                except Refused:
                    time.sleep(0.05)
        except Exception as error:  # A failure is told by the test, not by the thread.
            self.failures.append(repr(error))


def outage(savers, since):
    """The longest time without an acknowledged save."""
    moments = sorted(moment for saver in savers for moment in saver.moments if moment >= since)
    return max(after - before for before, after in zip([since, *moments], [*moments, time.monotonic()]))


@pytest.fixture
def cluster():
    cluster = Cluster()
    yield cluster
    cluster.end()


@pytest.fixture
def fleet(binary, tmp_path, cluster, monkeypatch):
    # The address has a password, which is not for arguments.
    monkeypatch.setenv("SKYLIGHT_STORE", cluster.address)
    fleet = Fleet(binary, tmp_path / "data", store=None)
    fleet.connect().post("zones/modify", operations=[{"operationType": "create", "zone": {"zoneID": ZONE}}])
    yield fleet
    fleet.end()


def test_nothing_acknowledged_is_lost(cluster, fleet):
    choice = random.Random(SEED)
    savers = [PersistentSaver(number, SEED) for number in range(SAVERS)]
    memory = Memory()
    outages = []
    held = (None, None)
    for number in range(ROUNDS):
        load = LastingLoad(fleet, savers, held)
        try:
            time.sleep(choice.uniform(0.5, 3))
            killed = time.monotonic()
            cluster.wait_for_leader_besides(cluster.kill_leader())
            whole = time.monotonic()
            # Saves are acknowledged again.
            until(lambda: load.failures or any(saver.moments and saver.moments[-1] > whole for saver in savers))
        finally:
            load.stop()
        assert not load.failures, f"seed {SEED}, round {number}: {load.failures}"
        outages.append(outage(savers, killed))
        records, token = answering(fleet)
        wrong = [problem for saver in savers if (problem := saver.check(records))]
        assert not wrong, f"seed {SEED}, round {number}: {wrong}"
        held = (records, token)
        memory.check(savers, load, held, choice, lambda *earlier: fleet.connect().pull(ZONE, *earlier))
    acknowledged, refused = sum(saver.acknowledged for saver in savers), sum(saver.refused for saver in savers)
    print(
        f"\n{ROUNDS} leaders killed; no save was acknowledged for {statistics.median(outages):.1f} s, at most {max(outages):.1f} s; "
        f"{acknowledged} requests acknowledged, {refused} refused; {len(memory.tokens)} tokens"
    )
    assert acknowledged > ROUNDS, "hardly anything was saved"
    fleet.stop()
