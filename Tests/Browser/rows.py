"""Rows of a table of records, and a table to have some."""

import re


def names(page) -> list[str]:
    """The names of the records. Their links have the titles before them, and name what nobody could see by its number."""
    # A click returns at the first bytes of the page it leads to.
    page.wait_for_load_state()
    shown = page.locator(".answer tbody th.name a").evaluate_all("links => links.map(link => link.title)")
    return [re.sub("⟨U\\+([0-9A-F]+)⟩", lambda mark: chr(int(mark[1], 16)), name) for name in shown]


def notes(server, container, count=5):
    server.save(container, "Notes", *[
        {"recordType": "Note", "recordName": f"note{number}", "fields": {"rank": {"value": number}}} for number in range(count)])
    return f"/c/{container}/development/private/query?type=Note&zone=Notes&filter1=rank&is1=GREATER_THAN_OR_EQUALS&value1=0&sort1=rank"
