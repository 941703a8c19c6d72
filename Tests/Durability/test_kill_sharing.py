"""Owners and guests who share, and a server that is killed at random and restarted: nothing acknowledged is lost, and nobody sees what he must not.
"""

import json
import random
import threading
import time
import urllib.request

from chance import SEED, times
import recount
from process import CONTAINER, Gone
from sharers import GUESTS, Sharer
from waiting import until

ROUNDS = times(5)
SHARERS = 3


class Load:
    """Sharers, each with its own connection and thread, until the server dies."""

    def __init__(self, server, sharers):
        self.failures = []
        self.threads = [threading.Thread(target=self.run, args=(server, sharer)) for sharer in sharers]
        for thread in self.threads:
            thread.start()

    def run(self, server, sharer):
        try:
            connection = server.connect()
            while True:
                sharer.act(connection)
        except Gone:
            pass
        except Exception as error:  # A failure is told by the test, not by the thread.
            self.failures.append(repr(error))

    def join(self):
        for thread in self.threads:
            thread.join()


def ask(server, action, **body):
    """Asks one of Skylight's own services."""
    request = urllib.request.Request(f"http://{server.host}:{server.port}/skylight/1/{action}", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert answer.status == 200


def counts(sharers):
    """What sharers did: changes that were acknowledged, changes that were refused, and records that guests saw."""
    return tuple(sum(getattr(sharer, name) for sharer in sharers) for name in ["acknowledged", "refused", "seen_by_guests"])


def has_shared(sharers, rounds):
    """True if so many rounds were worth their time."""
    acknowledged, refused, seen = counts(sharers)
    return acknowledged > 10 * rounds and refused > rounds and seen > 10 * rounds


def test_nobody_sees_too_much_or_loses_anything(start):
    choice = random.Random(SEED)
    sharers = [Sharer(number, SEED) for number in range(SHARERS)]
    server = start()
    assert server.listens(), server.complaint
    for guest in GUESTS:
        ask(server, "accounts/users/make", displayName=guest.capitalize(), emailAddress=f"{guest}@example.org")
    ask(
        server, f"{CONTAINER}/development/private/schema/edit",
        edits=[{"addType": {"name": "Item", "fields": {"number": {"type": "INT64"}}, "systemIndexes": {"___recordID": ["QUERYABLE"]}}}])
    for sharer in sharers:
        sharer.prepare(server.connect())
    for number in range(ROUNDS):
        try:
            load = Load(server, sharers)
            time.sleep(choice.uniform(0.5, 4))
            # A busy machine gets the time for some changes in each round.
            until(lambda: load.failures or has_shared(sharers, number + 1))
            server.kill()
            load.join()
            assert not load.failures, load.failures
            server = start()
            assert server.listens(), server.complaint
            connection = server.connect()
            problems = [problem for sharer in sharers if (problem := sharer.check(connection))] or recount.problems(server.file)
            assert not problems, problems
        except AssertionError as error:
            raise AssertionError(f"seed {SEED}, round {number}: {error}") from error
    acknowledged, refused, seen = counts(sharers)
    print(f"\n{ROUNDS} kills, {acknowledged} changes acknowledged, {refused} refused as they must be, guests saw {seen} records")
    assert has_shared(sharers, ROUNDS), "hardly anything was shared"
    assert server.stop() == 0
