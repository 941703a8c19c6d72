"""Clients that save until the server dies, and record the answers."""

import random
import threading

from process import Gone

ZONE = {"zoneName": "Kill"}


class Saver:
    """A client with its own records, which waits for each answer."""

    def __init__(self, number, seed):
        self.prefix = f"s{number}."
        self.random = random.Random(f"{seed} {number}")
        # The acknowledged records by name: the saved number and the change tag.
        self.records = {}
        # The results of the request in progress by name; None if there is none.
        self.open = None
        self.number = number * 1_000_000_000
        self.acknowledged = 0
        # Every change tag, with the save that returned it.
        self.tags = []

    def act(self, connection):
        """Saves, changes and deletes some records atomically, sometimes with a conflicting tag."""
        operations = []
        after = {name: number for name, (number, _) in self.records.items()}
        is_conflict = False
        for index in self.random.sample(range(12), self.random.choice([1, 1, 1, 3, 6])):
            name = f"{self.prefix}{index}"
            self.number += 1
            choice = self.random.random()
            record = {"recordName": name, "recordType": "Item", "fields": self.fields()}
            if choice < 0.1:
                kind, record = "forceDelete", {"recordName": name}
                after.pop(name, None)
            elif name in self.records and choice < 0.2:
                # Longer than any real tag, so that it never becomes valid.
                kind, record["recordChangeTag"] = "update", "zzzzzzzz"
                is_conflict = True
            elif name in self.records and choice < 0.7:
                kind, record["recordChangeTag"] = "update", self.records[name][1]
                after[name] = self.number
            else:
                kind = "forceReplace"
                after[name] = self.number
            operations.append({"operationType": kind, "record": record})
        self.open = None if is_conflict else after
        answer = connection.post("records/modify", zoneID=ZONE, atomic=True, operations=operations)["records"]
        failed = [record["serverErrorCode"] for record in answer if "serverErrorCode" in record]
        assert bool(failed) == is_conflict, answer
        if is_conflict:
            return
        tags = {name: tag for name, (_, tag) in self.records.items()}
        for record in answer:
            if not record.get("deleted"):
                name, tag = record["recordName"], record["recordChangeTag"]
                tags[name] = tag
                self.tags.append((tag, name, after[name]))
        self.records = {name: (number, tags[name]) for name, number in after.items()}
        self.open = None
        self.acknowledged += 1

    def fields(self):
        # Some records fill whole pages, so that the log grows.
        length = self.random.choice([3, 3, 3, 3, 1000])
        return {"number": {"value": self.number}, "text": {"value": f"{self.number} é" * length}}

    def check(self, found):
        """Lists the problems after a crash, and continues from the current state."""
        mine = {name: value for name, value in found.items() if name.startswith(self.prefix)}
        numbers = {name: number for name, (number, _) in mine.items()}
        is_right = mine == self.records or (self.open is not None and numbers == self.open)
        problem = None if is_right else f"lost or half there: acknowledged {self.records}, under way {self.open}, found {mine}"
        self.records, self.open = mine, None
        return problem


class Load:
    """Savers and a puller, each with its own connection and thread, until the server dies or `stop` is called."""

    def __init__(self, server, savers, held):
        self.failures = []
        self.is_stopped = False
        # The states that a client received: records and token.
        self.pulls = []
        self.threads = [threading.Thread(target=self.run, args=(server, saver.act)) for saver in savers]
        self.threads.append(threading.Thread(target=self.run, args=(server, self.pull)))
        self.held = held
        for thread in self.threads:
            thread.start()

    def run(self, server, act):
        try:
            connection = server.connect()
            while not self.is_stopped:
                act(connection)
        except Gone:
            pass
        except Exception as error:  # A failure is told by the test, not by the thread.
            self.failures.append(repr(error))

    def pull(self, connection):
        self.held = connection.pull(ZONE, *self.held)
        self.pulls.append(self.held)

    def stop(self):
        """Waits for the requests in progress."""
        self.is_stopped = True
        self.join()

    def join(self):
        for thread in self.threads:
            thread.join()
