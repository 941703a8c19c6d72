"""The result of a query as a file: JSON, NDJSON and CSV, for one page and for all."""

import csv
import io
import json
import urllib.request

from odd_container import ODD, ODD_FILTERS, odd, question  # odd is a fixture
from pages import CHAT
from rows import names


def test_every_page_of_results_is_there_as_a_file(open_page, server):
    page = open_page(CHAT + "/query?type=Message&zone=Chats&filter1=room&is1=EQUALS&value1=Room%2Fgeneral&sort1=sentAt&limit=25")
    page.locator("summary", has_text="Export").click()
    links = {link.inner_text(): link.get_attribute("href") for link in page.locator(".foot .menu a").all()}
    assert list(links) == ["JSON this page", "JSON all pages", "NDJSON this page", "NDJSON all pages", "CSV this page", "CSV all pages"]

    def load(name: str) -> str:
        with urllib.request.urlopen(server.address + links[name], timeout=60) as answer:
            return answer.read().decode()

    assert [record["recordName"] for record in json.loads(load("JSON this page"))["records"]] == names(page)
    everything = [json.loads(line)["recordName"] for line in load("NDJSON all pages").splitlines()]
    rows = list(csv.DictReader(io.StringIO(load("CSV all pages"))))
    assert [row["recordName"] for row in rows] == everything and len(everything) > 25
    assert {row["room"] for row in rows} == {"Room/general"}
    assert [row["recordName"] for row in csv.DictReader(io.StringIO(load("CSV this page")))] == names(page)
    assert [record["recordName"] for record in json.loads(load("JSON all pages"))["records"]] == everything


def test_exported_values_come_back(open_page, server, odd):
    there, place = odd
    with urllib.request.urlopen(f"{server.address}{there}/query.csv?{question(place, **ODD_FILTERS)}&all=1", timeout=60) as answer:
        rows = list(csv.DictReader(io.TextIOWrapper(answer, encoding="utf-8", newline="")))
    assert [row["recordName"] for row in rows] == ["three", ODD, "one"]
    row = rows[1]
    assert row["title"] == ODD and json.loads(row["tags"]) == ["a", ODD] and row["ratio"] == "0.5" and row["raw"] == "AQI="
    assert row["at"] == "1970-01-01T00:00:01.500Z" and row["place"] == "1.5, -2.0" and row["none"] == "[]" and row["link"] == "one"
