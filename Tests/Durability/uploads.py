"""Clients that upload files and save records with them until the server dies, and record the answers."""

import hashlib
import http.client
import json
import random
import threading

from process import CONTAINER, Gone

ZONE = {"zoneName": "Files"}
SKYLIGHT = f"/skylight/1/{CONTAINER}/development/assets"


def checksum(content):
    return hashlib.sha256(content).hexdigest()


class Refused(AssertionError):
    """An unexpected answer."""

    def __init__(self, status, answer):
        super().__init__(answer)
        self.status, self.answer = status, answer


class Client:
    """A connection that sends JSON and bytes."""

    def __init__(self, server):
        self.connection = http.client.HTTPConnection(server.host, server.port, timeout=60)

    def ask(self, method, path, body=None, headers=None):
        """The status and body of an answer."""
        try:
            self.connection.request(method, path, body, headers or {})
            response = self.connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            raise Gone from error

    def call(self, action, root="/database/1", **body):
        status, answer = self.ask("POST", f"{root}/{CONTAINER}/development/private/{action}", json.dumps(body).encode())
        answer = json.loads(answer)
        if status != 200:
            raise Refused(status, answer)
        return answer

    def grant(self, name, field="file"):
        """The upload address for a field of a record."""
        token = {"recordType": "Note", "fieldName": field, "recordName": name}
        grant = self.call("assets/upload", zoneID=ZONE, tokens=[token])["tokens"][0]
        assert "url" in grant, grant
        return "/assets/" + grant["url"].partition("/assets/")[2]

    def upload(self, name, content, field="file", in_parts=False):
        """Uploads a file. Returns the value to save in the record, or the error."""
        path = self.grant(name, field)
        # Sends in parts like a slow client, so that the server dies in the middle.
        body = (content[start : start + 65536] for start in range(0, len(content), 65536)) if in_parts and content else content
        try:
            status, answer = self.ask("POST", path, body)
            return status, json.loads(answer)
        except ValueError as error:
            raise Gone from error

    def save(self, records, deleted=()):
        """Saves records with their assets atomically."""
        operations = [
            {
                "operationType": "forceReplace",
                "record": {"recordName": name, "recordType": "Note", "fields": {"file": {"value": asset}} if asset else {}},
            }
            for name, asset in records.items()
        ]
        operations += [{"operationType": "forceDelete", "record": {"recordName": name}} for name in deleted]
        return self.call("records/modify", zoneID=ZONE, atomic=True, operations=operations)["records"]

    def records(self):
        """The existing records, each with its asset or None."""
        records, token = {}, None
        while True:
            asked = {"zoneID": ZONE, "resultsLimit": 100} | ({"syncToken": token} if token else {})
            page = self.call("changes/zone", zones=[asked])["zones"][0]
            assert "serverErrorCode" not in page, page
            for record in page["records"]:
                if record.get("deleted"):
                    records.pop(record["recordName"], None)
                else:
                    records[record["recordName"]] = record["fields"].get("file", {}).get("value")
            token = page["syncToken"]
            if not page["moreComing"]:
                return records

    def download(self, asset, headers=None):
        path = "/assets/" + asset["downloadURL"].partition("/assets/")[2]
        return self.ask("GET", path, headers=headers)

    def verify(self):
        """The final result of a verification by the server."""
        status, lines = self.ask("GET", f"{SKYLIGHT}/verify")
        assert status == 200, lines
        return json.loads(lines.splitlines()[-1])

    def sweep(self, grace=0, dry=False):
        """The last line of a sweep."""
        _, lines = self.ask("POST", f"{SKYLIGHT}/sweep", json.dumps({"graceSeconds": grace, "dryRun": dry}).encode())
        return json.loads(lines.splitlines()[-1])


class Uploader:
    """A client with its own records, which waits for each answer."""

    # Some contents are shared by all clients: the same bytes are uploaded, used, dropped and swept at once.
    COMMON = [random.Random(f"common {number}").randbytes(20_000 + number) for number in range(6)]

    def __init__(self, number, seed):
        self.prefix = f"u{number}."
        self.random = random.Random(f"{seed} {number}")
        # The acknowledged records by name: the checksum of the asset, or None for no asset.
        self.records = {}
        # The result of the save in progress; None if there is none.
        self.open = None
        self.uploads = 0
        self.acknowledged = 0

    def content(self):
        choice = self.random.random()
        if choice < 0.4:
            return self.random.choice(self.COMMON)
        if choice < 0.45:
            return b""
        if choice < 0.6:
            # Compressible, so that a gzip form is made in the background.
            return (f"{self.random.random()} some text that repeats itself\n" * self.random.randrange(100, 9000)).encode()
        return self.random.randbytes(self.random.choice([1, 1000, 100_000, 600_000, 2_500_000]))

    def act(self, client):
        """Uploads some files and saves the records with them. Sometimes deletes records or their assets."""
        names = [f"{self.prefix}{index}" for index in self.random.sample(range(8), self.random.choice([1, 1, 2, 3]))]
        records, deleted, after = {}, [], dict(self.records)
        for name in names:
            choice = self.random.random()
            if choice < 0.15:
                deleted.append(name)
                after.pop(name, None)
                continue
            if choice < 0.25:
                records[name] = None
                after[name] = None
                continue
            content = self.content()
            status, answer = client.upload(name, content, in_parts=self.random.random() < 0.5)
            assert status == 200, answer
            asset = answer["singleFile"]
            assert asset["fileChecksum"] == checksum(content) and asset["size"] == len(content), asset
            self.uploads += 1
            # Some uploads are never saved.
            if choice < 0.35:
                continue
            records[name] = asset
            after[name] = asset["fileChecksum"]
        if not records and not deleted:
            return
        self.open = after
        answer = client.save(records, deleted)
        failed = [record for record in answer if "serverErrorCode" in record]
        assert not failed, failed
        self.records, self.open = after, None
        self.acknowledged += 1

    def check(self, found):
        """Lists the problems after a crash, and continues from the current state."""
        mine = {name: asset and asset["fileChecksum"] for name, asset in found.items() if name.startswith(self.prefix)}
        is_right = mine == self.records or (self.open is not None and mine == self.open)
        problem = None if is_right else f"lost or half there: acknowledged {self.records}, under way {self.open}, found {mine}"
        self.records, self.open = mine, None
        return problem


class Storm:
    """Uploaders, a reader and a sweeper, each with its own connection and thread, until the server dies."""

    def __init__(self, server, uploaders):
        self.failures = []
        self.downloads = 0
        acts = [uploader.act for uploader in uploaders] + [self.read, self.sweep]
        self.threads = [threading.Thread(target=self.run, args=(server, act)) for act in acts]
        for thread in self.threads:
            thread.start()

    def run(self, server, act):
        try:
            client = Client(server)
            while True:
                act(client)
        except Gone:
            pass
        except Exception as error:  # A failure is told by the test, not by the thread.
            self.failures.append(repr(error))

    def read(self, client):
        """The assets of all records can be downloaded, unless they were dropped meanwhile."""
        for asset in list(client.records().values()):
            if asset is None:
                continue
            status, content = client.download(asset)
            # If the record changed since, its file may have been swept.
            assert status in (200, 404), (status, content)
            if status == 200:
                assert checksum(content) == asset["fileChecksum"], "the bytes are not those of the record"
                self.downloads += 1

    def sweep(self, client):
        answer = client.sweep()
        assert "removed" in answer or answer["serverErrorCode"] == "TRY_AGAIN_LATER", answer

    def join(self):
        for thread in self.threads:
            thread.join()
