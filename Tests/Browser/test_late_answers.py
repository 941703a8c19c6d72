"""An answer that comes after the one to a newer question does not replace it."""

import re

import pytest
from playwright.sync_api import expect

from test_cells import cell
from waiting import until


@pytest.fixture
def there(server, container):
    server.save(container, "Notes", *[
        {"recordType": "Note", "recordName": name, "fields": {"title": {"value": f"Title of {name}"}, "rank": {"value": number}}}
        for number, name in enumerate(["bread", "milk"])])
    return f"/c/{container}/development/private"


class FirstAnswer:
    """Keeps the first answer from an address back."""

    def __init__(self, page, address: re.Pattern):
        self.page = page
        self.address = address
        self.kept = []
        page.route(address, lambda route: self.kept.append((route, route.fetch())), times=1)

    def wait(self):
        until(lambda: self.kept, self.page)

    def come(self):
        (route, answer), = self.kept
        with self.page.expect_response(self.address) as late:
            route.fulfill(response=answer)
        late.value.finished()
        # The scripts have seen it by then.
        self.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def test_names_for_fewer_letters_come_late(open_page, there):
    page = open_page(f"{there}/record/compare?zone=Notes&name=bread")
    box, options = page.get_by_label("with", exact=True), page.locator("#names-of-other option")
    first = FirstAnswer(page, re.compile(r"/record/names\?.*q=$"))
    box.focus()
    first.wait()
    box.fill("mil")
    expect(options).to_have_count(1)
    first.come()
    expect(options).to_have_count(1)


def test_a_record_as_it_was_before_a_save_comes_late(open_page, there):
    page = open_page(f"{there}/query?type=Note&zone=Notes&filter1=rank&is1=GREATER_THAN_OR_EQUALS&value1=0&sort1=rank", reduced_motion="reduce")
    first = FirstAnswer(page, re.compile(r"/record\?.*name=bread"))
    page.get_by_role("button", name="Side panel").click()
    first.wait()
    cell(page, 0, "title").dblclick(position={"x": 3, "y": 4})
    page.locator(".celledit").locator("input, textarea").fill("Rolls")
    page.keyboard.press("Enter")
    title = page.get_by_role("region", name="Record beside the table").get_by_role("heading", level=2).first
    expect(title).to_have_text("Rolls")
    first.come()
    expect(title).to_have_text("Rolls")
