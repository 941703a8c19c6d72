"""A server that is killed while it brings a store of an earlier version up to date: nothing is lost, and the next start ends it."""

import contextlib
import random
import shutil
import sqlite3
import threading
import time

from chance import SEED, times
import recount
from process import CONTAINER, Gone

ROUNDS = times(8)
ZONE = {"zoneName": "Words"}
# Longer than what an index keeps of a word.
WORD = "long" * 300
# What the migrations 16 to 18 change, undone: whole words, no failures of builds, and no creator of what was deleted.
EARLIER = """
    UPDATE tokens SET token = token || hex(randomblob(600)) WHERE token LIKE 'long%';
    ALTER TABLE indexWork DROP COLUMN failures;
    ALTER TABLE indexWork DROP COLUMN failureCode;
    ALTER TABLE indexWork DROP COLUMN failure;
    ALTER TABLE journal DROP COLUMN createdAt;
    ALTER TABLE journal DROP COLUMN createdBy;
    ALTER TABLE journal DROP COLUMN createdOn;
    DELETE FROM grdb_migrations WHERE identifier IN ('16', '17', '18');
"""


def migrations(file):
    with contextlib.closing(sqlite3.connect(file)) as store:
        return [name for (name,) in store.execute("SELECT identifier FROM grdb_migrations ORDER BY CAST(identifier AS INTEGER)")]


def fill(server):
    connection = server.connect()
    connection.post("zones/modify", operations=[{"operationType": "create", "zone": {"zoneID": ZONE}}])
    for first in range(0, 2000, 200):
        connection.post("records/modify", zoneID=ZONE, operations=[
            {"operationType": "create", "record": {"recordType": "Note", "recordName": f"r{number}", "fields": {
                "number": {"value": number}, "text": {"value": f"word{number} {WORD}"}}}} for number in range(first, first + 200)])
    return connection.pull(ZONE)[0]


def opening(server):
    """A request that opens the store, and so begins the migration. It may be broken off."""
    def ask():
        with contextlib.suppress(Gone):
            server.connect().post("zones/list")

    thread = threading.Thread(target=ask)
    thread.start()
    return thread


def test_a_killed_migration_loses_nothing(start):
    choice = random.Random(SEED)
    server = start()
    assert server.listens(), server.complaint
    records = fill(server)
    assert server.stop() == 0 and len(records) == 2000
    present = migrations(server.file)
    with contextlib.closing(sqlite3.connect(server.file)) as store:
        store.executescript(EARLIER)
    assert migrations(server.file) == present[:-3]
    folder, earlier = server.file.parent, server.file.parents[2] / "earlier"
    shutil.copytree(folder, earlier)

    takes, unfinished = None, 0
    for number in range(ROUNDS + 1):
        shutil.rmtree(folder)
        shutil.copytree(earlier, folder)
        server = start()
        assert server.listens(), server.complaint
        began = time.monotonic()
        thread = opening(server)
        if takes is None:
            # The first is not killed, and says how long the others have.
            thread.join()
            takes = time.monotonic() - began
            assert server.stop() == 0
        else:
            time.sleep(choice.uniform(0, takes))
            server.kill()
            thread.join()
            unfinished += migrations(server.file) != present
        server = start()
        assert server.listens(), server.complaint
        connection = server.connect()
        assert connection.pull(ZONE)[0] == records, f"seed {SEED}, round {number}"
        answer = connection.post("records/query", zoneID=ZONE, query={"recordType": "Note", "filterBy": [
            {"fieldName": "text", "comparator": "CONTAINS_ALL_TOKENS", "fieldValue": {"value": "word7"}}]})
        assert [record["recordName"] for record in answer["records"]] == ["r7"], answer
        assert server.stop() == 0
        assert migrations(server.file) == present
        assert recount.problems(server.file) == [], f"seed {SEED}, round {number}"
    print(f"\n{ROUNDS} kills in {takes:.2f} s of migration; {unfinished} of them before its end")
    assert unfinished or ROUNDS < 8, "every migration had ended"
