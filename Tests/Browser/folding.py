"""The forms of Query, Fetch and Changes, folded to one line once they have an answer."""


def unfold(page):
    """Opens the form of the page, unless it is open."""
    form = page.locator(".asking > details").first
    if form.get_attribute("open") is None:
        form.locator("summary").first.click()
