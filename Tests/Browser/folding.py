"""What is folded on a page: the forms of Query, Fetch and Changes once they have an answer, and the menu of a record."""


def unfold(page):
    """Opens the form of the page, unless it is open."""
    form = page.locator(".asking > details").first
    if form.get_attribute("open") is None:
        form.locator("summary").first.click()


def choose(page, action: str):
    """Presses an entry of the menu with a record's rarer actions."""
    page.locator("summary[aria-label='More actions']").click()
    page.get_by_role("link", name=action, exact=True).click()
