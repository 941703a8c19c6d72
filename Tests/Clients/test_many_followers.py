"""Twenty clients follow one zone while it changes. Five of them stall, lose their connection and reconnect.

SKYLIGHT_FOLLOW_CHANGES says how many changes there are.
"""

import asyncio
import concurrent.futures
import json
import os
import pathlib
import random
import urllib.parse

import pytest
from test_feeds import Feeds

CHANGES = int(os.environ.get("SKYLIGHT_FOLLOW_CHANGES", "2000"))
FOLLOWERS = 20
UNSTEADY = 5
CONTAINER = "iCloud.com.example.Feeds/development/private"
# The maximum growth of the server's memory, in bytes. Two pages for each follower would take about 5 MB.
GROWTH = 48 << 20


def resident(pid):
    """The memory of a process, in bytes."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


async def lines(reader):
    """The lines of a chunked body. A line may be in several chunks."""
    while (await reader.readline()).strip():
        pass
    rest = b""
    while size := int((await asyncio.wait_for(reader.readline(), 60)).strip() or b"0", 16):
        rest += (await asyncio.wait_for(reader.readexactly(size + 2), 60))[:-2]
        *whole, rest = rest.split(b"\n")
        for line in whole:
            yield line


class Follower:
    """Reads events until it has seen all changes. An unsteady client reads slowly and disconnects now and then."""

    def __init__(self, server, zone, token, is_unsteady, seed):
        self.address = urllib.parse.urlparse(server)
        self.zone, self.token, self.is_unsteady = zone, token, is_unsteady
        self.random = random.Random(seed)
        self.positions, self.connections = [], 0

    async def follow(self):
        while len(self.positions) < CHANGES:
            await self.connect()

    async def connect(self):
        self.connections += 1
        # With a small window, unread data stays on the server's side.
        reader, writer = await asyncio.open_connection(self.address.hostname, self.address.port, limit=1 << 22)
        writer.write(
            f"GET /skylight/1/{CONTAINER}/changes/follow?zone={self.zone} HTTP/1.1\r\nHost: {self.address.netloc}\r\n"
            f"Last-Event-ID: {self.token}\r\n\r\n".encode()
        )
        assert b" 200 " in await reader.readline()
        hangs_up_after = self.random.randint(1, 4) if self.is_unsteady else None
        data, events = None, 0
        async for line in lines(reader):
            if line.startswith(b"id: "):
                token = line[4:].decode().strip()
            elif line.startswith(b"data: "):
                data = json.loads(line[6:])
                self.positions += [change["position"] for change in data["changes"]]
                self.token = token
                events += 1
                if len(self.positions) >= CHANGES:
                    break
                if self.is_unsteady:
                    await asyncio.sleep(self.random.random() / 4)
                    if events == hangs_up_after:
                        break
        writer.close()


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="memory is measured by way of /proc")
def test_no_follower_misses_a_change(server, server_process):
    feeds = Feeds(server, "Followed")
    feeds.save("first")
    token = feeds.get("token/current")["syncToken"]
    followers = [Follower(server, "Followed", token, number < UNSTEADY, number) for number in range(FOLLOWERS)]
    saved = 0

    def save():
        nonlocal saved
        count = min(random.randint(1, 20), CHANGES - saved)
        feeds.save(*[f"r{number}" for number in range(saved, saved + count)])
        saved += count

    async def run():
        following = [asyncio.create_task(follower.follow()) for follower in followers]
        largest = 0
        while saved < CHANGES:
            await asyncio.to_thread(save)
            largest = max(largest, resident(server_process.pid))
        await asyncio.wait_for(asyncio.gather(*following), 300)
        return largest

    before = resident(server_process.pid)
    # In its own thread, because Playwright may keep an event loop running in this one.
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        largest = pool.submit(asyncio.run, run()).result()
    expected = [line["position"] for line in feeds.playback(since=token) if "change" in line]
    assert len(expected) == CHANGES
    for follower in followers:
        assert follower.positions == expected, f"one missed something or saw it twice, in {follower.connections} connections"
    assert all(follower.connections > 1 for follower in followers[:UNSTEADY]), "nobody lost a connection"
    assert largest - before < GROWTH, f"the server grew by {(largest - before) >> 20} MiB"
    print(f"{CHANGES} changes to {FOLLOWERS} followers; the server grew by {(largest - before) >> 10} KiB")
