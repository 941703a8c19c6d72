"""Saving clients, and a server that is killed at random and restarted: no acknowledged save is lost.
"""

import os
import random
import time

from chance import SEED, times
import recount
from savers import ZONE, Load, Saver
from waiting import until

ROUNDS = times(10)
SAVERS = 6


class Memory:
    """Everything that clients were told: no change tag and no token may be used twice."""

    def __init__(self):
        self.tags = {}
        self.tokens = {}
        # Some of the states that clients hold, of various ages.
        self.pulls = []

    def tag(self, tag, name, number):
        assert self.tags.setdefault(tag, (name, number)) == (name, number), f"the change tag {tag} was used twice"

    def pull(self, records, token, choice):
        for name, (number, tag) in records.items():
            self.tag(tag, name, number)
        state = hash(frozenset(records.items()))
        assert self.tokens.setdefault(token, state) == state, "a token was used twice"
        if len(self.pulls) < 60:
            self.pulls.append((records, token))
        elif choice.random() < 0.1:
            self.pulls[choice.randrange(60)] = (records, token)

    def check(self, savers, load, state, choice, pull):
        """Takes what clients were told in a round, and checks that earlier tokens lead to the state that they can pull."""
        for saver in savers:
            for tag in saver.tags:
                self.tag(*tag)
            saver.tags = []
        for pulled in load.pulls[-5:]:
            self.pull(*pulled, choice)
        self.pull(*state, choice)
        for records, token in choice.sample(self.pulls, min(4, len(self.pulls))) + load.pulls[-1:]:
            assert pull(records, token) == state, f"seed {SEED}: an earlier token leads elsewhere"


def check(server, savers, load, memory, choice):
    """Checks the conditions after a restart, and returns the current state."""
    assert not load.failures, load.failures
    connection = server.connect()
    records, token = connection.pull(ZONE)
    wrong = [problem for saver in savers if (problem := saver.check(records))]
    assert not wrong, wrong
    memory.check(savers, load, (records, token), choice, lambda *earlier: connection.pull(ZONE, *earlier))
    problems = recount.problems(server.file)
    assert not problems, problems
    return records, token


def test_nothing_acknowledged_is_lost(start):
    choice = random.Random(SEED)
    savers = [Saver(number, SEED) for number in range(SAVERS)]
    memory = Memory()
    starts = []
    logs = []
    held = (None, None)
    server = start()
    assert server.listens(), server.complaint
    server.connect().post("zones/modify", operations=[{"operationType": "create", "zone": {"zoneID": ZONE}}])
    for number in range(ROUNDS):
        try:
            load = Load(server, savers, held)
            time.sleep(choice.uniform(0.02, 0.7))
            # A busy machine gets the time for one save in each round.
            until(lambda: load.failures or sum(saver.acknowledged for saver in savers) > number + 1)
            server.kill()
            load.join()
            logs.append(os.path.getsize(f"{server.file}-wal"))
            server = start()
            assert server.listens(), server.complaint
            server.connect().post("zones/list")
            starts.append(time.monotonic() - server.began)
            held = check(server, savers, load, memory, choice)
        except AssertionError as error:
            raise AssertionError(f"seed {SEED}, round {number}: {error}") from error
    acknowledged = sum(saver.acknowledged for saver in savers)
    print(
        f"\n{ROUNDS} kills, {acknowledged} requests acknowledged, {len(memory.tags)} change tags, {len(memory.tokens)} tokens; start to first "
        f"answer {sorted(starts)[len(starts) // 2]:.2f} s, at most {max(starts):.2f} s; log at most {max(logs) / 2**20:.1f} MiB"
    )
    assert acknowledged > ROUNDS, "hardly anything was saved"
    assert server.stop() == 0
    assert not recount.problems(server.file)
