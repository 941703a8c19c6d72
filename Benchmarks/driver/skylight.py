"""Requests to Skylight, and to its store in this process."""

import json
import time
import urllib.parse

import messages
import tools

ZONE = {"zoneName": "Bench"}
#: The options of a server without the log of requests.
NO_LOG = ("--request-log", "0")


class Container:
    """Requests to one container's private database."""

    def __init__(self, name, notes):
        self.name = name
        self.notes = notes
        self._database = f"/database/1/{name}/development/private/"
        self._beyond = f"/skylight/1/{name}/development/private/"

    def path(self, service):
        return self._database + service

    def feed(self, service, **parameters):
        return self._beyond + service + "?" + urllib.parse.urlencode({"zone": "Bench", **parameters})

    def _operations(self, numbers, version):
        return ",".join(
            '{"operationType":"forceReplace","record":{"recordName":"%s","recordType":"Note","fields":%s}}'
            % (self.notes.name(number), self.notes.fields(number, version))
            for number in numbers
        )

    def save(self, numbers, version=0, client=None):
        """A request that saves notes; of a client that says its name."""
        body = '{"operations":[%s],"zoneID":{"zoneName":"Bench"}}' % self._operations(numbers, version)
        return messages.post(self.path("records/modify"), body, self._saying(client))

    def lookup(self, numbers, client=None):
        """A request for notes by their names."""
        records = [{"recordName": self.notes.name(number)} for number in numbers]
        return messages.post(self.path("records/lookup"), {"zoneID": ZONE, "records": records}, self._saying(client))

    @staticmethod
    def _saying(client):
        return {"X-Skylight-Client": client} if client else None

    def page(self, author, limit=50):
        """A request for a page of an author's notes, highest rank first."""
        filters = [{"fieldName": "author", "comparator": "EQUALS", "fieldValue": {"value": author, "type": "STRING"}}]
        query = {"recordType": "Note", "filterBy": filters, "sortBy": [{"fieldName": "rank", "ascending": False}]}
        return messages.post(self.path("records/query"), {"zoneID": ZONE, "resultsLimit": limit, "query": query})

    @staticmethod
    def ranking(limit, marker=None, **more):
        """The body of a request for a page of all notes by rank."""
        query = {"recordType": "Note", "sortBy": [{"fieldName": "rank", "ascending": True}]}
        body = {"zoneID": ZONE, "resultsLimit": limit, "query": query, **more}
        return {**body, "continuationMarker": marker} if marker else body

    def own_query(self, body):
        """A request to the query of Skylight's own, which also takes a point."""
        return messages.post(self._beyond + "records/query", body)

    def changes(self, token, limit):
        """A request for the changes since a token."""
        body = {"zones": [{"zoneID": ZONE, "syncToken": token, "resultsLimit": limit}]}
        return messages.post(self.path("changes/zone"), body)

    # Answered at once

    def current_token(self, server):
        return server.send(self.feed("token/current"))["syncToken"]

    def edit_now(self, server, edit):
        """Adds or removes the composite index that pages of an author's notes can use."""
        edits = [{edit: {"filter": "author", "sort": "rank"}, "recordType": "Note"}]
        server.send(self._beyond + "schema/edit", {"edits": edits})
        while server.send(self._beyond + "schema/builds")["builds"]:
            time.sleep(0.05)

    def save_now(self, server, numbers, version, user=None):
        """Saves notes; as another user, into a zone of that user's own."""
        body = json.loads('{"operations":[%s]}' % self._operations(numbers, version))
        headers = {"X-Skylight-User": user} if user else None
        if user:
            zones = {"operations": [{"operationType": "create", "zone": {"zoneID": ZONE}}]}
            server.send(self.path("zones/modify"), zones, headers=headers)
        answer = server.send(self.path("records/modify"), {**body, "zoneID": ZONE}, headers=headers)
        failed = [record for record in answer["records"] if "serverErrorCode" in record]
        if failed:
            raise RuntimeError(f"A save failed: {failed[0]}")


class Store:
    """The store without a server: Benchmarks/SkylightBenchmarks."""

    def __init__(self, program):
        self._program = program

    def _run(self, work, data, container, environment=None, **options):
        parts = [part for name, value in options.items() for part in (f"--{name}", value)]
        return tools.run(self._program, work, "--data", data, "--container", container, *parts, environment=environment)

    def fill(self, data, container, records):
        return self._run("fill", data, container, records=records)

    def play(self, data, container):
        return self._run("play", data, container, rounds=2)

    def fetch(self, data, container, records, rounds):
        return self._run("fetch", data, container, records=records, rounds=rounds)

    def save(self, data, container, environment=None, **options):
        return self._run("save", data, container, environment, **options)

    def index(self, data, container, **options):
        return self._run("index", data, container, **options)

    def match(self, data, container, **options):
        return self._run("match", data, container, **options)

    def tree(self, data, container, **options):
        return self._run("tree", data, container, **options)
