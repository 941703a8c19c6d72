"""A program of Skylight and its data folder: commands, and a server to ask."""

import contextlib
import http.client
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import urllib.parse

CONTAINER = "iCloud.com.example.Formats"


class Program:
    """A binary that works on a data folder, and perhaps on a database that has the records."""

    def __init__(self, binary, data, store=None):
        self.binary = str(binary)
        self.data = pathlib.Path(data)
        self.places = ["--data", str(data), *(["--store", store] if store else [])]
        # The folder and the address of the tests, not those of the user.
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("SKYLIGHT_")}

    def run(self, *arguments, input=None, status=(0,), places=None, **environment):
        """Runs a command, and returns what it printed."""
        done = subprocess.run(
            [self.binary, *arguments, *(self.places if places is None else places)], input=input, capture_output=True, text=True, timeout=120,
            env=self.environment | environment)
        assert done.returncode in status, f"{arguments} ended with {done.returncode}: {done.stderr}{done.stdout}"
        return done.stdout

    @contextlib.contextmanager
    def served(self, *options, is_killed=False):
        """A server of the folder, which ends as it should, or like in a power failure."""
        # A file, because nobody reads a pipe while the server runs.
        with tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen(
                [self.binary, "serve", "--port", "0", *options, *self.places], stdout=subprocess.PIPE, stderr=errors, text=True, env=self.environment)
            try:
                line = process.stdout.readline()
                if "listening on http://" not in line:
                    process.wait(timeout=60)
                    errors.seek(0)
                    raise AssertionError(f"The server did not start: {errors.read()}")
                yield Server(line.split()[-1])
            except BaseException:
                process.kill()
                process.wait(timeout=60)
                raise
            else:
                process.send_signal(signal.SIGKILL if is_killed else signal.SIGTERM)
                assert process.wait(timeout=60) == (-signal.SIGKILL if is_killed else 0)
            finally:
                process.stdout.close()


class Refused(Exception):
    """An answer that is an error as a whole."""

    def __init__(self, status, body):
        super().__init__(f"{status} {body}")
        self.status = status
        self.body = body


class Server:
    """A running server. Requests come from users in a container and environment."""

    def __init__(self, address):
        self.address = address
        self.connection = http.client.HTTPConnection(urllib.parse.urlsplit(address).netloc, timeout=60)

    def send(self, method, target, body=None, headers=None):
        """The status, headers and bytes of an answer."""
        self.connection.request(method, target, body, headers or {})
        response = self.connection.getresponse()
        return response.status, response.headers, response.read()

    def ask(self, target, body=None, user=None, method=None, headers=None):
        """The JSON of an answer: of a GET, or of a POST with a body."""
        headers = ({"X-Skylight-User": user} if user else {}) | (headers or {})
        data = None if body is None else json.dumps(body).encode()
        status, _, answer = self.send(method or ("GET" if body is None else "POST"), target, data, headers)
        answer = json.loads(answer)
        if status != 200:
            raise Refused(status, answer)
        return answer

    def place(self, user=None, environment="development", container=CONTAINER, **headers):
        return Place(self, user, f"{container}/{environment}", headers)


class Place:
    """A container's environment as a user asks it."""

    def __init__(self, server, user, path, headers):
        self.server = server
        self.user = user
        self.path = path
        self.headers = headers

    def post(self, action, **body):
        """A service of CloudKit, such as `private/records/modify`."""
        return self.server.ask(f"/database/1/{self.path}/{action}", body, self.user, headers=self.headers)

    def own(self, action, **body):
        """A service of Skylight's own."""
        return self.server.ask(f"/skylight/1/{self.path}/{action}", body, self.user, headers=self.headers)

    def get(self, action, **parameters):
        query = urllib.parse.urlencode({name: value for name, value in parameters.items() if value is not None})
        return self.server.ask(f"/skylight/1/{self.path}/{action}" + (f"?{query}" if query else ""), user=self.user, headers=self.headers)

    def modify(self, scope, zone, *operations, restores=False, **options):
        """Saves and deletes records, each a pair of the kind of operation and the record."""
        send = self.own if restores else self.post
        zone_id = {"zoneName": zone} if isinstance(zone, str) else zone
        answers = send(
            f"{scope}/records/{'restore' if restores else 'modify'}", zoneID=zone_id, **options,
            operations=[{"operationType": kind, "record": record} for kind, record in operations])["records"]
        refused = [answer for answer in answers if "serverErrorCode" in answer]
        assert not refused, refused
        return answers

    def upload(self, scope, zone, record, record_type, field, content, name):
        """Uploads a file, and returns the value to save."""
        [token] = self.post(
            f"{scope}/assets/upload", zoneID={"zoneName": zone}, tokens=[{"recordType": record_type, "fieldName": field, "recordName": record}])["tokens"]
        target = token["url"].removeprefix(self.server.address)
        status, _, answer = self.server.send("POST", target, content, {"X-Skylight-File-Name": urllib.parse.quote(name)})
        assert status == 200, answer
        return json.loads(answer)["singleFile"]
