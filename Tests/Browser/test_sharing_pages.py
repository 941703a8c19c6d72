"""How a list looks that is shared in the console and accepted by its link."""

import urllib.parse

import pytest
from playwright.sync_api import expect

from looks import check_looks


@pytest.fixture
def lists(server, container):
    """A shared list with an item. Returns the address of their database's pages."""
    server.save(
        container, "Lists", {"recordType": "List", "recordName": "groceries", "fields": {"title": {"value": "Groceries"}}},
        {"recordType": "Item", "recordName": "milk", "parent": {"recordName": "groceries"}, "fields": {"title": {"value": "Milk"}}},
    )
    return f"/c/{container}/development/private"


def share(page) -> str:
    """Shares the list with Ada, and returns the path of the link."""
    page.get_by_label("title", exact=True).fill("Groceries")
    page.get_by_label("who can use the link").select_option("READ_WRITE")
    page.get_by_role("checkbox", name="Ada", exact=True).check()
    page.get_by_role("button", name="Share", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("The share is created.")
    address, here = (urllib.parse.urlsplit(text) for text in [page.locator(".heading code").text_content(), page.url])
    # The link works where the browser is, whatever name the server has there.
    assert (address.scheme, address.netloc, address.fragment) == (here.scheme, here.netloc, "Groceries")
    assert address.path.startswith("/share/")
    return address.path


def test_how_an_unknown_link_looks(new_page):
    page = new_page()
    page.goto("/share/0000")
    expect(page.get_by_role("alert")).to_contain_text("Ask the owner for the link")
    check_looks(page, picture="unknown link")


def test_how_the_pages_look(open_page, lists):
    page = open_page(f"{lists}/share?zone=Lists&name=groceries")
    check_looks(page, picture="share form")
    link = share(page)
    check_looks(page, picture="share")
    page.goto(f"{lists}/record?zone=Lists&name=milk#shared")
    check_looks(page, picture="shared record")
    page.goto(link)
    check_looks(page, picture="invitation")
    page.get_by_role("button", name="Accept as Ada").click()
    expect(page.get_by_role("status")).to_be_visible()
    check_looks(page, picture="accepted invitation")
