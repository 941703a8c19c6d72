"""Saving clients, records in PostgreSQL, and Skylight or PostgreSQL killed at random: no acknowledged save is lost, and none is applied half.

Two Skylights have the database.
"""

import random
import time

from chance import SEED, times
import pytest

from postgresql import PostgreSQL, programs
from process import Connection, Gone, Server
from savers import ZONE, Load, Saver
from test_kill import Memory
from waiting import until

ROUNDS = times(5)
OPERATIONS = times(300)
SAVERS = 6

pytestmark = pytest.mark.skipif(programs() is None, reason="PostgreSQL is not installed")

#: Codes with which a server answers while its database is away, or has just gone.
AWAY = ("TRY_AGAIN_LATER", "INTERNAL_ERROR")


class Refused(Gone):
    """The server answered that the database is away."""


class PatientConnection(Connection):
    """A client that takes an answer about the database for the end of its server."""

    def post(self, action, **body):
        answer = super().post(action, refusals=AWAY, **body)
        items = [answer, *answer.get("records", []), *answer.get("zones", [])]
        reasons = [item.get("reason", "") for item in items if item.get("serverErrorCode") in AWAY]
        if reasons:
            raise Refused(reasons[0])
        return answer


class PatientServer(Server):
    def connect(self):
        return PatientConnection(self.host, self.port)


class Fleet:
    """Servers with one database and one data folder. Each client has one of them."""

    def __init__(self, binary, data, store, count=2):
        self.start = lambda: PatientServer(binary, data, store=store)
        self.servers = [self.start() for _ in range(count)]
        if not all([server.listens() for server in self.servers]):
            self.end()
            raise AssertionError([server.complaint for server in self.servers])
        self.turn = 0

    def connect(self):
        self.turn += 1
        return self.servers[self.turn % len(self.servers)].connect()

    def kill(self, choice):
        """Kills one of them, and returns its number."""
        number = choice.randrange(len(self.servers))
        self.servers[number].kill()
        return number

    def replace(self, number):
        """Starts another one instead, and returns the time until it listened."""
        self.servers[number] = self.start()
        assert self.servers[number].listens(), self.servers[number].complaint
        return time.monotonic() - self.servers[number].began

    def stop(self):
        assert [server.stop() for server in self.servers] == [0] * len(self.servers)

    def end(self):
        for server in self.servers:
            if server.process.poll() is None:
                server.kill()


class CarefulSaver(Saver):
    """Knows that what was refused with 'nothing was saved' must not be there."""

    def act(self, connection):
        try:
            super().act(connection)
        except Refused as refusal:
            if "nothing was saved" in str(refusal):
                self.open = None
                self.refused += 1
            raise

    refused = 0


@pytest.fixture
def database():
    server = PostgreSQL()
    yield server
    server.end()


@pytest.fixture
def fleet(binary, tmp_path, database):
    fleet = Fleet(binary, tmp_path / "data", database.address)
    fleet.connect().post("zones/modify", operations=[{"operationType": "create", "zone": {"zoneID": ZONE}}])
    yield fleet
    fleet.end()


def answering(fleet):
    """The records and the token of a client, when a server can reach its database again."""

    def answer():
        try:
            return fleet.connect().pull(ZONE)
        except Gone:
            return None

    return until(answer)


def test_nothing_acknowledged_is_lost(database, fleet):
    choice = random.Random(SEED)
    savers = [CarefulSaver(number, SEED) for number in range(SAVERS)]
    memory = Memory()
    starts, returns = [], []
    held = (None, None)
    for number in range(ROUNDS):
        load = Load(fleet, savers, held)
        time.sleep(choice.uniform(0.05, 0.7))
        # A busy machine gets the time for one save in each round.
        until(lambda: load.failures or sum(saver.acknowledged for saver in savers) > number + 1)
        if choice.random() < 0.5:
            killed = fleet.kill(choice)
            time.sleep(choice.uniform(0, 0.2))
            # The clients of the other server have gone on.
            load.stop()
            starts.append(fleet.replace(killed))
        else:
            database.kill()
            time.sleep(choice.uniform(0, 0.5))
            began = time.monotonic()
            database.start()
            returns.append(time.monotonic() - began)
            # While the database is away, the servers look for the outcome of their last commits.
            load.stop()
        assert not load.failures, f"seed {SEED}, round {number}: {load.failures}"
        records, token = answering(fleet)
        wrong = [problem for saver in savers if (problem := saver.check(records))]
        assert not wrong, f"seed {SEED}, round {number}: {wrong}"
        held = (records, token)
        memory.check(savers, load, held, choice, lambda *earlier: fleet.connect().pull(ZONE, *earlier))
    acknowledged, refused = sum(saver.acknowledged for saver in savers), sum(saver.refused for saver in savers)
    print(f"\n{len(starts)} kills of Skylight, {len(returns)} of PostgreSQL; {acknowledged} requests acknowledged, {refused} refused; {len(memory.tokens)} tokens")
    assert acknowledged > ROUNDS, "hardly anything was saved"
    fleet.stop()


def test_clients_of_two_servers_have_the_same_feed(fleet):
    savers = [CarefulSaver(number, SEED) for number in range(SAVERS)]
    pulls, held = [], (None, None)
    while sum(saver.acknowledged for saver in savers) < OPERATIONS:
        load = Load(fleet, savers, held)
        time.sleep(0.5)
        load.stop()
        assert not load.failures, load.failures
        held = load.held
        pulls += load.pulls[-2:]
        feeds = [server.connect().pull(ZONE) for server in fleet.servers]
        assert feeds[0] == feeds[1]
        wrong = [problem for saver in savers if (problem := saver.check(feeds[0][0]))]
        assert not wrong, wrong
    for records, token in pulls[:: max(1, len(pulls) // 50)]:
        # A client may change its server.
        for server in fleet.servers:
            assert server.connect().pull(ZONE, records, token) == feeds[0]
    assert sum(saver.refused for saver in savers) == 0
    print(f"\n{sum(saver.acknowledged for saver in savers)} requests, {len(pulls)} tokens")
    fleet.stop()
