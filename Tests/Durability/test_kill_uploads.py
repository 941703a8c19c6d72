"""Uploading clients, and a server that is killed at random and restarted: no record refers to missing bytes, and no files are left over.
"""

import json
import random
import sqlite3
import subprocess
import time

from chance import IS_LONG, SEED, times
from uploads import ZONE, Client, Storm, Uploader, checksum
from waiting import until

import recount

ROUNDS = times(5)
UPLOADERS = 5


def age(file):
    """Takes the hour away for which an upload may wait for its record, so that what nobody uses is swept at once.

    Nobody has the file open: the server is dead, and its clients forget what they had uploaded.
    """
    connection = sqlite3.connect(file)
    connection.execute("UPDATE assets SET inUseUntil = inUseUntil - 7200000")
    connection.commit()
    connection.close()


def files(folder):
    """Every file of the asset store, with its bytes on disk."""
    return {path.name: path.stat().st_size for path in folder.rglob("*") if path.is_file()}


def check(server, uploaders, storm):
    """The conditions after a restart."""
    assert not storm.failures, storm.failures
    client = Client(server)
    found = client.records()
    wrong = [problem for uploader in uploaders if (problem := uploader.check(found))]
    assert not wrong, wrong
    for name, asset in found.items():
        if asset is None:
            continue
        status, content = client.download(asset)
        assert status == 200, f"{name} refers to {asset['fileChecksum']}, which is not there: {status} {content[:300]}"
        assert checksum(content) == asset["fileChecksum"] and len(content) == asset["size"], f"{name} has other bytes"
    verification = client.verify()
    assert verification["verification"] == "finished" and not verification["problems"], verification
    incoming = list(server.assets.glob("incoming/*"))
    assert not incoming, f"uploads that were killed left {incoming}"


def run(binary, *arguments):
    result = subprocess.run([binary, *arguments], capture_output=True, text=True, timeout=120)
    return result.returncode, result.stdout, result.stderr


def test_no_record_refers_to_bytes_that_are_not_there(start, binary):
    choice = random.Random(SEED)
    uploaders = [Uploader(number, SEED) for number in range(UPLOADERS)]
    swept = downloads = 0
    server = start()
    assert server.listens(), server.complaint
    Client(server).call("zones/modify", operations=[{"operationType": "create", "zone": {"zoneID": ZONE}}])
    for number in range(ROUNDS):
        try:
            before = files(server.assets)
            storm = Storm(server, uploaders)
            # Sometimes long enough for a complete sweep.
            time.sleep(choice.uniform(0.02, 0.7) if choice.random() < 0.8 else choice.uniform(1, 2.5))
            # A busy machine gets the time for one save in each round.
            until(lambda: storm.failures or sum(uploader.acknowledged for uploader in uploaders) > number + 1)
            server.kill()
            storm.join()
            swept += len(before.keys() - files(server.assets).keys())
            downloads += storm.downloads
            if choice.random() < 0.7:
                age(server.file)
            server = start()
            assert server.listens(), server.complaint
            check(server, uploaders, storm)
        except AssertionError as error:
            raise AssertionError(f"seed {SEED}, round {number}: {error}") from error
    acknowledged = sum(uploader.acknowledged for uploader in uploaders)
    print(
        f"\n{ROUNDS} kills, {sum(uploader.uploads for uploader in uploaders)} uploads and {acknowledged} saves acknowledged, {swept} files swept and "
        f"{downloads} downloaded meanwhile"
    )
    assert acknowledged > ROUNDS and (swept > ROUNDS / 5 or not IS_LONG), "hardly anything was done"
    folder = server.assets
    used = {asset["fileChecksum"] for asset in Client(server).records().values() if asset}
    assert server.stop() == 0
    assert not recount.problems(server.file)
    # The commands agree on the closed folder, and a sweep leaves only referenced files.
    age(server.file)
    data = str(folder.parents[1])
    status, output, errors = run(binary, "assets", "verify", "--data", data, "--json")
    assert status == 0, output + errors
    status, output, errors = run(binary, "assets", "sweep", "--grace", "0", "--data", data, "--json")
    assert status == 0, output + errors
    status, output, errors = run(binary, "assets", "sweep", "--grace", "0", "--dry-run", "--data", data, "--json")
    assert json.loads(output)["removedFiles"] == 0, output
    left = files(folder)
    assert {name for name in left if not name.endswith(".gz")} == used, "what is left is not what records refer to"
    assert {name.removesuffix(".gz") for name in left} <= used, "a compressed form was left behind"
    status, output, errors = run(binary, "assets", "verify", "--data", data, "--json")
    assert json.loads(output)["containers"][0]["unusedFiles"] == 0, output + errors
