"""How much the tests that depend on chance do, and where they begin. `make test` begins elsewhere with each commit and says where.

SKYLIGHT_SEED repeats a run, SKYLIGHT_TIMES does so many times as much. `make test-long` goes on with other seeds.
"""

import os
import zlib

SEED = int(os.environ.get("SKYLIGHT_SEED") or 1)
TIMES = float(os.environ.get("SKYLIGHT_TIMES") or 1)
# In `make test-long`, tests leave out nothing for the sake of time.
IS_LONG = TIMES > 1


def times(count):
    """So many rounds in `make test`, and at least one."""
    return max(1, round(count * TIMES))


def some(choices: list, of: str) -> list:
    """All of the choices in `make test-long`; in `make test` one of them, which differs from thing to thing and from commit to commit."""
    return choices if IS_LONG else [choices[(SEED + zlib.crc32(of.encode())) % len(choices)]]
