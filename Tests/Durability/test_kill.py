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


def check(server, savers, load, memory, choice):
    """Checks the conditions after a restart, and returns the current state."""
    assert not load.failures, load.failures
    connection = server.connect()
    records, token = connection.pull(ZONE)
    wrong = [problem for saver in savers if (problem := saver.check(records))]
    assert not wrong, wrong
    for saver in savers:
        for tag in saver.tags:
            memory.tag(*tag)
        saver.tags = []
    for pull in load.pulls[-5:]:
        memory.pull(*pull, choice)
    memory.pull(records, token, choice)
    for held, earlier in choice.sample(memory.pulls, min(4, len(memory.pulls))) + load.pulls[-1:]:
        assert connection.pull(ZONE, held, earlier) == (records, token), "an earlier token does not lead to what is there"
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
