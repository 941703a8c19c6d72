"""The clients of the demo data, which ask when a server starts."""

import json
import time
import urllib.request


def wait_until_they_have_asked(address: str):
    """Their last request is refused. Before it, the latest request of a server may be one of theirs."""
    end = time.monotonic() + 60
    while True:
        with urllib.request.urlopen(f"{address}/skylight/1/requests?errors=1", timeout=60) as answer:
            if any(request["client"].get("name") == "Chat Web" for request in json.load(answer)["requests"]):
                return
        assert time.monotonic() < end, "The clients of the demo data have not asked"
        time.sleep(0.05)
