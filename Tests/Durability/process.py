"""A server process for killing, and a connection to it."""

import http.client
import json
import subprocess
import tempfile
import time

CONTAINER = "iCloud.com.example.Kill"


class Server:
    """A process that serves a data folder, or reports why it cannot."""

    def __init__(self, binary, data, before=(), store=None):
        """Starts it. `before` is a command that runs the server, `store` the address of a database that has the records."""
        self.file = data / CONTAINER / "development.sqlite"
        self.assets = data / CONTAINER / "development.assets"
        # A file, because nobody reads a pipe while the server runs.
        self.errors = tempfile.TemporaryFile("w+")
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            [*before, binary, "serve", "--data", str(data), "--port", "0", *(["--store", store] if store else [])],
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
        )
        self.complaint = ""

    def listens(self):
        """Waits for its address. True if it serves."""
        line = self.process.stdout.readline()
        if "listening on http://" in line:
            self.host, _, port = line.split()[-1].removeprefix("http://").rstrip("/").partition(":")
            self.port = int(port)
            return True
        self.process.wait(timeout=60)
        self.errors.seek(0)
        self.complaint = self.errors.read()
        return False

    def kill(self):
        """Kills the process like a power failure."""
        self.process.kill()
        self.end()

    def stop(self):
        self.process.terminate()
        return self.end()

    def end(self):
        self.process.wait(timeout=60)
        self.process.stdout.close()
        self.errors.close()
        return self.process.returncode

    def connect(self):
        return Connection(self.host, self.port)


class Gone(Exception):
    """The server died before it answered."""


class Connection:
    """A keep-alive connection, like a client's."""

    def __init__(self, host, port):
        self.connection = http.client.HTTPConnection(host, port, timeout=60)

    def post(self, action, scope="private", user=None, refusals=(), way="database", **body):
        """Sends a request as a user. The refusals are codes of answers that are expected. The way is `skylight` to services of our own."""
        path = f"/{way}/1/{CONTAINER}/development/{scope}/{action}"
        try:
            self.connection.request("POST", path, json.dumps(body).encode(), {"X-Skylight-User": user} if user else {})
            response = self.connection.getresponse()
            answer = json.load(response)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Gone from error
        assert response.status == 200 or answer.get("serverErrorCode") in refusals, answer
        return answer

    def pull(self, zone, held=None, token=None):
        """Updates a client's copy: its records by name, and the token of that state."""
        records = dict(held or {})
        while True:
            asked = {"zoneID": zone, "resultsLimit": 100} | ({"syncToken": token} if token else {})
            page = self.post("changes/zone", zones=[asked])["zones"][0]
            assert "serverErrorCode" not in page, page
            for record in page["records"]:
                if record.get("deleted"):
                    records.pop(record["recordName"], None)
                else:
                    number = record["fields"]["number"]["value"]
                    records[record["recordName"]] = (number, record["recordChangeTag"])
            token = page["syncToken"]
            if not page["moreComing"]:
                return records, token
