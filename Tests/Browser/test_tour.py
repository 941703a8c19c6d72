"""The README's claims about the demo data are true: its links, pictures and commands."""

import json
import re
import subprocess
import urllib.parse
import urllib.request

import pytest
from playwright.sync_api import expect

from page_server import PACKAGE
from pictures import keep

README = (PACKAGE / "README.md").read_text()
ADDRESS = "http://127.0.0.1:8080"
LINKS = sorted(set(re.findall(r"\]\(" + re.escape(ADDRESS) + r"(/[^)\s]+)\)", README)))
PICTURES = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)


def test_the_tour_is_all_there():
    assert len(LINKS) >= 8 and len(PICTURES) >= 5


@pytest.mark.parametrize("path", LINKS)
def test_links_lead_to_pages_with_something_on_them(open_page, path):
    page = open_page(path)
    expect(page.locator("main")).not_to_contain_text("Page not found")
    keep(page, "readme " + path.rsplit("/", 1)[-1][:60])


@pytest.mark.parametrize("path", PICTURES)
def test_pictures_are_there_and_small(path):
    picture = (PACKAGE / path).read_bytes()
    assert picture.startswith(b"\x89PNG") and len(picture) <= 150_000, f"{path}: run 'make screenshots'"


def test_commands_with_curl_run(server):
    commands = re.findall(r"^ *(curl -s .*?(?:\n.*?)*?')$", README, re.MULTILINE)
    commands = [command for command in commands if ADDRESS in command and "Rehearse" not in command]
    assert len(commands) >= 3
    for command in commands:
        ran = subprocess.run(["sh", "-c", command.replace(ADDRESS, server.address.rstrip("/"))], capture_output=True, text=True, timeout=60, check=True)
        answer = json.loads(ran.stdout)
        assert "serverErrorCode" not in answer and (answer.get("records") or answer["zones"][0]["records"]), command


def test_the_client_with_a_bug_is_found_out(open_page, server):
    place = "/c/iCloud.com.example.Chat/development/private"
    body = {"zones": [{"zoneID": {"zoneName": "Chats"}, "resultsLimit": 20}]}
    for _ in range(2):
        request = urllib.request.Request(
            server.address + place.replace("/c/", "/database/1/") + "/changes/zone", json.dumps(body).encode(), {"X-Skylight-Client": "Tour"})
        urllib.request.urlopen(request, timeout=60).read()
    page = open_page(place + "/clients")
    expect(page.get_by_role("region", name="Tour as Developer", exact=True)).to_contain_text("more pages to fetch")
    page.goto(f"{place}/record?{urllib.parse.urlencode({'zone': 'Chats', 'name': 'Room/general'})}#deliveries")
    expect(page.locator(".deliveries:has(#deliveries) tr", has_text="Tour")).to_contain_text("the response had moreComing true")


def test_the_page_of_an_item_that_a_guest_never_sees_says_why(open_page):
    page = open_page("/c/iCloud.com.example.Shopping/development/private/record?zone=Household&name=Weekly-cake#deliveries")
    row = page.locator(".deliveries tr", has_text="Ada").first
    expect(row).to_contain_text("it has no parent")
    row.get_by_role("link", name="Edit the record").click()
    expect(page).to_have_url(re.compile(r"/record/edit\?.*name=Weekly-cake"))
