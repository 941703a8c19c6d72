"""PocketBase and Datasette with the same notes and an index for each request, on this machine only."""

import datetime
import os
import shutil
import sqlite3
import sys
import urllib.parse

import messages
import servers
import tools

_ADMINISTRATOR = {"identity": "bench@example.com", "password": "bench-password"}
_LATEST = "2026-01-01 00:00:{:06.3f}Z"


def program(name):
    """The path of a program that `Benchmarks/requirements.txt` installs."""
    return os.path.join(os.path.dirname(sys.executable), name)


def _moment(number):
    """When a note was updated, before the 100 latest."""
    moment = datetime.datetime(2025, 1, 1) + datetime.timedelta(seconds=number)
    return moment.strftime("%Y-%m-%d %H:%M:%S.000Z")


#: The last 100 notes are later than this.
RECENT = "2025-12-31 00:00:00.000Z"


def _rows(notes, records):
    for number in range(records):
        values = notes.values(number)
        recent = number - (records - 100)
        updated = _moment(number) if recent < 0 else _LATEST.format(recent / 10)
        yield (notes.name(number).replace("-", "").lower()[:15], *(values[name] for name in sorted(values)), updated)


class PocketBase:
    """One Go program on SQLite, with rules and a web console."""

    name = "PocketBase"

    def __init__(self, folder, notes, records):
        self.folder, self.notes, self.records = folder, notes, records
        if not (folder / "filled").exists():
            self._fill()

    def serve(self, logs=True):
        """Serves the notes; without `logs`, it keeps no log of requests."""
        server = self._start()
        # It keeps its log for five days by default.
        server.send("/api/settings", {"logs": {"maxDays": 5 if logs else 0}}, "PATCH", self._sign_in(server))
        return server

    def _start(self):
        port = servers.free_port()
        command = [program("pocketbase"), "serve", "--http", f"127.0.0.1:{port}", "--dir", self.folder]
        server = servers.Server(command, port=port)
        server.wait_until_up("/api/health")
        return server

    @staticmethod
    def _sign_in(server):
        token = server.send("/api/collections/_superusers/auth-with-password", _ADMINISTRATOR)["token"]
        return {"Authorization": token}

    def _fill(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        tools.run_quietly(
            program("pocketbase"), "superuser", "upsert", *_ADMINISTRATOR.values(), "--dir", self.folder
        )
        with self._start() as server:
            headers = self._sign_in(server)
            texts, numbers = ("author", "text", "title", "updated"), ("at", "done", "rank")
            fields = [{"name": name, "type": "text"} for name in texts] + [{"name": name, "type": "number"} for name in numbers]
            collection = {
                "name": "notes", "type": "base", "fields": fields, "listRule": "", "viewRule": "",
                "indexes": [
                    "CREATE INDEX notes_by_author ON notes (author, rank)",
                    "CREATE INDEX notes_by_update ON notes (updated)",
                ],
            }
            server.send("/api/collections", collection, headers=headers)
        with sqlite3.connect(self.folder / "data.db") as db:
            db.executemany(
                "INSERT INTO notes (id, at, author, done, rank, text, title, updated) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                _rows(self.notes, self.records),
            )
        db.close()
        (self.folder / "filled").touch()

    def _records(self, **parameters):
        path = "/api/collections/notes/records?" + urllib.parse.urlencode({"skipTotal": 1, **parameters})
        return messages.get(path)

    def page(self, author):
        return self._records(perPage=50, sort="-rank", filter=f"(author='{author}')")

    def record(self, number):
        return messages.get("/api/collections/notes/records/" + self.notes.name(number).replace("-", "").lower()[:15])

    def changes(self):
        return self._records(perPage=100, sort="updated", filter=f"(updated>'{RECENT}')")


class Datasette:
    """A SQLite file as pages and JSON, in Python."""

    name = "Datasette"

    def __init__(self, folder, notes, records):
        self.file, self.notes = folder / "bench.db", notes
        if not (folder / "filled").exists():
            self._fill(folder, records)

    def _fill(self, folder, records):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with sqlite3.connect(self.file) as db:
            db.execute(
                "CREATE TABLE notes (id TEXT PRIMARY KEY, at INTEGER, author TEXT, done INTEGER, rank INTEGER, text TEXT, title TEXT,"
                " updated TEXT)"
            )
            db.executemany("INSERT INTO notes VALUES (?, ?, ?, ?, ?, ?, ?, ?)", _rows(self.notes, records))
            db.execute("CREATE INDEX notes_by_author ON notes (author, rank)")
            db.execute("CREATE INDEX notes_by_update ON notes (updated)")
        db.close()
        (folder / "filled").touch()

    def serve(self):
        port = servers.free_port()
        server = servers.Server([program("datasette"), "serve", self.file, "--host", "127.0.0.1", "--port", port], port=port)
        server.wait_until_up("/-/versions.json")
        return server

    @staticmethod
    def _records(**parameters):
        quick = {"_shape": "objects", "_nocount": 1, "_nofacet": 1, "_nosuggest": 1}
        return messages.get("/bench/notes.json?" + urllib.parse.urlencode({**parameters, **quick}))

    def page(self, author):
        return self._records(author=author, _sort_desc="rank", _size=50)

    def record(self, number):
        identifier = self.notes.name(number).replace("-", "").lower()[:15]
        return messages.get(f"/bench/notes/{identifier}.json?_shape=objects")

    def changes(self):
        return self._records(updated__gt=RECENT, _sort="updated", _size=100)
