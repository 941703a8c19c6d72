"""Checks a store's SQLite file directly."""

import sqlite3

LIVING = "zone IN (SELECT number FROM zones WHERE state = 0)"
POSITION = "(id & 1099511627775)"

# The stored totals, and queries that compute them again: docs/storage.md.
COUNTS = {
    "typeCounts": (
        f"SELECT zone, type, count FROM typeCounts WHERE count <> 0 AND {LIVING}",
        f"SELECT zone, CASE WHEN state & 1 THEN 0 ELSE type END, count(*) FROM records WHERE {LIVING} GROUP BY 1, 2",
    ),
    "changeCounts": (
        f"SELECT zone, bucket, count FROM changeCounts WHERE count <> 0 AND {LIVING}",
        f"SELECT zone, {POSITION} >> 10, count(*) FROM records WHERE {LIVING} GROUP BY 1, 2",
    ),
    "members of types": (
        f"SELECT e.zone, f.type, count(*) FROM entries e JOIN fields f ON f.number = e.field "
        f"WHERE f.name = '___recordID' AND e.value = 0 AND e.{LIVING} GROUP BY 1, 2",
        f"SELECT zone, type, count(*) FROM records WHERE state & 1 = 0 AND {LIVING} GROUP BY 1, 2",
    ),
}


def problems(file):
    """Empty if the file is intact and its counts are right."""
    connection = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    try:
        found = []
        integrity = connection.execute("PRAGMA integrity_check").fetchall()
        if integrity != [("ok",)]:
            found.append(f"integrity_check: {integrity[:3]}")
        for name, (kept, counted) in COUNTS.items():
            if set(connection.execute(kept)) != set(connection.execute(counted)):
                found.append(f"{name} differ from a recount")
        return found
    finally:
        connection.close()
