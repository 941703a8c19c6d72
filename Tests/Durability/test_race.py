"""Two processes on one data folder: one gets it, the other reports the conflict."""

import random

from chance import times

ROUNDS = times(4)


def race(start):
    """Starts two servers at once, and returns the one that serves."""
    servers = [start(), start()]
    serving = [server for server in servers if server.listens()]
    assert len(serving) == 1, [server.complaint for server in servers]
    loser = next(server for server in servers if server is not serving[0])
    assert "is open in another" in loser.complaint, loser.complaint
    assert loser.process.returncode not in (0, None)
    return serving[0]


def test_one_wins_and_the_other_says_so(start):
    choice = random.Random(7)
    for _ in range(ROUNDS):
        server = race(start)
        server.connect().post("zones/list")
        # The lock ends with its process, however the process ends.
        if choice.random() < 0.6:
            server.kill()
        else:
            assert server.stop() == 0
