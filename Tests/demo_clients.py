"""The clients of the demo data, which ask when a server starts."""

import json
import urllib.request

from waiting import until


def wait_until_they_have_asked(address: str):
    """Their last request is refused. Before it, the latest request of a server may be one of theirs."""

    def have_asked():
        with urllib.request.urlopen(f"{address}/skylight/1/requests?errors=1", timeout=60) as answer:
            return any(request["client"].get("name") == "Chat Web" for request in json.load(answer)["requests"])

    until(have_asked)
