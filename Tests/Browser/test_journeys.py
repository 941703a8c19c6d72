"""The way to an edited record by keyboard alone, and the main ways on a phone."""

from playwright.sync_api import expect

from folding import choose, unfold
from pictures import keep

def notes(server, container: str, names) -> str:
    """Saves notes, and returns the address of their database's pages."""
    server.save(container, "Notes", *[
        {"recordType": "Note", "recordName": name, "fields": {"title": {"value": f"About {name}"}, "rank": {"value": rank}}} for rank, name in enumerate(names)])
    return f"/c/{container}/development/private"


# MARK: By keyboard alone

# The focused element, its visibility, and any element that covers it.
FOCUS = """
() => {
  const element = document.activeElement
  const style = getComputedStyle(element)
  const box = element.getClientRects()[0]
  if (element === document.body || !box) return { name: '', problem: 'nothing is focused' }
  const name = element.getAttribute('aria-label') || element.labels?.[0]?.textContent.trim() || element.textContent.trim()
  const isOutlined = element.matches(':focus-visible') && style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2
  const isInside = box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth
  const on = document.elementFromPoint(box.x + box.width / 2, Math.min(box.y + box.height / 2, innerHeight - 1))
  const isFree = on !== null && (element.contains(on) || on.contains(element) || element.labels?.[0]?.contains(on))
  const problem = !isOutlined ? 'has no outline' : !isInside ? 'is out of sight' : !isFree ? `lies under ${on?.outerHTML.slice(0, 80)}` : null
  return { name, problem }
}
"""


def tab_to(page, name: str, most: int = 90, is_whole: bool = True):
    """Presses Tab until the element with this name, or beginning of a name, has the focus. Every focused element on the way must be visible."""
    passed = []
    for _ in range(most):
        page.keyboard.press("Tab")
        focus = page.evaluate(FOCUS)
        assert focus["problem"] is None, f"{page.url}: {focus['name']!r} {focus['problem']}"
        passed.append(focus["name"])
        if focus["name"] == name or not is_whole and focus["name"].startswith(name):
            return
    raise AssertionError(f"{name} is not among {passed}")


def test_from_the_start_page_to_an_edited_record_without_a_mouse(open_page, server):
    container = "iCloud.com.example.Keys"
    notes(server, container, [f"note{number}" for number in range(3)])
    page = open_page("/", reduced_motion="reduce")
    tab_to(page, "Find a container or a record")
    page.keyboard.type(container)
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_be_visible()
    # A type that a save created cannot be listed, as in CloudKit, until its recordName has an index.
    tab_to(page, "Add QUERYABLE to recordName")
    page.keyboard.press("Enter")
    expect(page.locator("tbody tr")).to_have_count(3)
    # The folded form.
    tab_to(page, "Edit", is_whole=False)
    page.keyboard.press("Enter")
    tab_to(page, "Record type")
    # A filter is made by keys, and the query run.
    tab_to(page, "Field of filter 1")
    page.keyboard.type("rank")
    expect(page.get_by_label("Value of filter 1")).to_be_visible()
    tab_to(page, "Value of filter 1")
    page.keyboard.type("1")
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**filter1=rank**")
    rows = page.locator("tbody tr")
    count = rows.count()
    assert count >= 1
    # From row to row, and into a record.
    expect(page.get_by_role("button", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("j")
    assert page.evaluate(FOCUS)["problem"] is None
    name = rows.first.locator("th a").get_attribute("title")
    expect(rows.first.locator("th a")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text(name)
    tab_to(page, "Edit")
    page.keyboard.press("Enter")
    page.wait_for_url("**/record/edit**")
    expect(page.get_by_role("button", name="Keyboard shortcuts")).to_be_visible()
    while page.evaluate("document.activeElement.tagName") != "TEXTAREA":
        page.keyboard.press("Tab")
        assert page.evaluate(FOCUS)["problem"] is None
    page.keyboard.press("Control+A")
    page.keyboard.type("Written without a mouse")
    tab_to(page, "Save")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("Saved title.")
    keep(page, "journey keyboard")
    assert server.values(container, "Notes", name)["title"] == "Written without a mouse"


# MARK: The main ways on a phone

PHONE = {"viewport": {"width": 380, "height": 800}, "has_touch": True, "is_mobile": True}
# Things to press that are out of sight.
OUT = """() => [...document.querySelectorAll('main button, main .button, main input, main select')]
  .filter(it => it.checkVisibility() && it.getBoundingClientRect().right > 381).map(it => it.outerHTML)"""


def test_the_main_ways_on_a_phone(open_page, empty_server):
    container = "iCloud.com.example.Phone"
    there = notes(empty_server, container, [f"note{number}" for number in range(12)])
    page = open_page("/", at=empty_server, **PHONE)

    def look(title: str):
        """The page fits the window."""
        page.wait_for_load_state()
        assert page.evaluate("document.documentElement.scrollWidth") <= 380, f"{title} sticks out"
        assert page.evaluate(OUT) == [], title
        keep(page, f"journey on a phone {title}")

    look("start")
    page.get_by_role("link", name=container, exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sync")
    look("sync")
    page.get_by_label("Ways to read records").get_by_role("link", name="Query", exact=True).click()
    # A type that a save created cannot be listed, as in CloudKit, until its recordName has an index.
    look("refused query")
    page.get_by_role("button", name="Add QUERYABLE to recordName").click()
    expect(page.locator("tbody tr")).to_have_count(12)
    look("query")
    unfold(page)
    page.get_by_label("Field of filter 1").select_option("rank")
    page.get_by_label("Value of filter 1").fill("7")
    page.get_by_role("button", name="Query", exact=True).last.click()
    page.wait_for_url("**value1=7**")
    look("query with a filter")
    page.goto(f"{there}/fetch?zone=Notes&names=note7%0Anobody")
    look("fetch")
    page.locator("tbody").get_by_role("link", name="About note7 note7", exact=True).click()
    look("record")
    page.get_by_role("link", name="Edit", exact=True).click()
    look("editor")
    page.get_by_role("textbox", name="title", exact=True).fill("Changed on the way")
    page.get_by_role("button", name="Save", exact=True).last.click()
    expect(page.get_by_role("status")).to_contain_text("Saved title.")
    look("saved")
    choose(page, "Changes of the zone")
    look("changes")
    page.get_by_role("link", name="Fetch again").click()
    look("no changes")
    page.get_by_role("button", name="Pages and search").click()
    page.get_by_label("Pages", exact=True).get_by_role("link", name="Requests").click()
    expect(page.locator("tbody tr").filter(has_text="records/modify").first).to_be_visible()
    look("requests")
    page.goto(f"{there}/record?zone=Notes&name=note7")
    page.locator("details.more > summary").first.click()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_role("button", name="Undo the deletion")).to_be_visible()
    look("deleted")
