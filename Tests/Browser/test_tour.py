"""The README's claims about the demo data are true: its links, pictures and commands."""

import json
import re
import subprocess

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
    # In blocks of code, and on lines of their own in lists.
    commands = re.findall(r"^curl .*?(?=^(?:curl|```))", README, re.MULTILINE | re.DOTALL) + re.findall(r"^ +(curl .*)$", README, re.MULTILINE)
    assert len(commands) >= 4
    for command in commands:
        assert ADDRESS in command
        ran = subprocess.run(["bash", "-c", command.replace(ADDRESS, server.address)], capture_output=True, text=True, timeout=60, check=True)
        answer = json.loads(ran.stdout)
        if "X-Skylight-Rehearse: throttled" in command:
            assert answer["serverErrorCode"] == "THROTTLED"
        else:
            assert answer.get("records") or answer["zones"][0]["records"], command


def test_the_page_of_an_item_that_a_guest_never_sees_says_why(open_page):
    page = open_page("/c/iCloud.com.example.Shopping/development/private/record?zone=Household&name=Weekly-cake#deliveries")
    row = page.locator(".deliveries tr", has_text="Ada").first
    expect(row).to_contain_text("it has no parent")
    row.get_by_role("link", name="Edit the record").click()
    expect(page).to_have_url(re.compile(r"/record/edit\?.*name=Weekly-cake"))
