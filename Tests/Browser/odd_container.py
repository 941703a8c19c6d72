"""A container with names and values that are hard to quote, and queries about it."""

import urllib.parse

import pytest

# Names and values that could end a quotation in a shell, in Swift or in a script.
ODD = "it's \"odd\" \\ $(date) `x` \u2028 é </script> '\u0301$(date)'\u0301"
ODD_USER = "o'hara \"q\""


@pytest.fixture
def odd(server):
    """A container with names that are hard to quote, and the path of its pages."""
    container = "iCloud.com.example.Odd"
    user = urllib.parse.urlencode({"skylightUser": ODD_USER}, quote_via=urllib.parse.quote)
    path = f"/{container}/development/private"
    server.ask(f"{path}/zones/modify?{user}", {"operations": [{"operationType": "create", "zone": {"zoneID": {"zoneName": ODD}}}]})
    for name, rank in [("one", 1), (ODD, 2), ("three", 3)]:
        fields = {
            "title": {"value": ODD}, "rank": {"value": rank}, "ratio": {"value": 0.5, "type": "DOUBLE"}, "at": {"value": 1500, "type": "TIMESTAMP"},
            "raw": {"value": "AQI=", "type": "BYTES"}, "tags": {"value": ["a", ODD], "type": "STRING_LIST"}, "none": {"value": [], "type": "INT64_LIST"},
            "place": {"value": {"latitude": 1.5, "longitude": -2}, "type": "LOCATION"},
            "link": {"value": {"recordName": "one", "action": "NONE"}, "type": "REFERENCE"},
        }
        record = {"recordType": "Note", "recordName": name, "fields": fields}
        answer = server.ask(f"{path}/records/modify?{user}", {
            "zoneID": {"zoneName": ODD}, "operations": [{"operationType": "forceReplace", "record": record}]})
        assert "serverErrorCode" not in answer["records"][0], answer
    return f"/c{path}", urllib.parse.urlencode({"user": ODD_USER, "zone": ODD})


def question(place: str, **filters: str) -> str:
    return f"{place}&type=Note&{urllib.parse.urlencode(filters)}"


ODD_FILTERS = {"filter1": "title", "is1": "EQUALS", "value1": ODD, "filter2": "tags", "is2": "LIST_CONTAINS", "value2": ODD, "sort1": "rank", "order1": "descending"}
