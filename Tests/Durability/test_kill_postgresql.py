"""Saving clients, records in PostgreSQL, and Skylight or PostgreSQL killed at random: no acknowledged save is lost, and none is applied half.

SKYLIGHT_KILL_ROUNDS asks for more rounds, SKYLIGHT_KILL_SEED for other clients and moments.
"""

import os
import random
import time

import pytest

from postgresql import PostgreSQL, programs
from process import Connection, Gone, Server
from savers import ZONE, Load, Saver
from test_kill import Memory

ROUNDS = int(os.environ.get("SKYLIGHT_KILL_ROUNDS", "12"))
SEED = int(os.environ.get("SKYLIGHT_KILL_SEED", "1"))
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


def answering(server):
    """Waits until a server can reach its database again."""
    end = time.monotonic() + 30
    while True:
        try:
            return server.connect().pull(ZONE)
        except Gone:
            assert time.monotonic() < end, "the server does not find its database again"
            time.sleep(0.05)


def test_nothing_acknowledged_is_lost(binary, tmp_path, database):
    choice = random.Random(SEED)
    savers = [CarefulSaver(number, SEED) for number in range(SAVERS)]
    memory = Memory()
    starts, returns = [], []

    def start():
        server = PatientServer(binary, tmp_path / "data", store=database.address)
        assert server.listens(), server.complaint
        return server

    server = start()
    try:
        server.connect().post("zones/modify", operations=[{"operationType": "create", "zone": {"zoneID": ZONE}}])
        held = (None, None)
        for number in range(ROUNDS):
            load = Load(server, savers, held)
            time.sleep(choice.uniform(0.05, 0.7))
            if choice.random() < 0.5:
                server.kill()
                load.join()
                server = start()
                starts.append(time.monotonic() - server.began)
            else:
                database.kill()
                time.sleep(choice.uniform(0, 0.5))
                began = time.monotonic()
                database.start()
                returns.append(time.monotonic() - began)
                # While the database is away, the server looks for the outcome of the last commit.
                load.stop()
            assert not load.failures, f"seed {SEED}, round {number}: {load.failures}"
            records, token = answering(server)
            wrong = [problem for saver in savers if (problem := saver.check(records))]
            assert not wrong, f"seed {SEED}, round {number}: {wrong}"
            for saver in savers:
                for tag in saver.tags:
                    memory.tag(*tag)
                saver.tags = []
            for pull in load.pulls[-5:]:
                memory.pull(*pull, choice)
            memory.pull(records, token, choice)
            connection = server.connect()
            for earlier, known in choice.sample(memory.pulls, min(4, len(memory.pulls))) + load.pulls[-1:]:
                assert connection.pull(ZONE, earlier, known) == (records, token), f"seed {SEED}, round {number}: an earlier token leads elsewhere"
            held = (records, token)
        acknowledged, refused = sum(saver.acknowledged for saver in savers), sum(saver.refused for saver in savers)
        print(f"\n{len(starts)} kills of Skylight, {len(returns)} of PostgreSQL; {acknowledged} requests acknowledged, {refused} refused; {len(memory.tokens)} tokens")
        assert acknowledged > ROUNDS, "hardly anything was saved"
        assert server.stop() == 0
    finally:
        if server.process.poll() is None:
            server.kill()
