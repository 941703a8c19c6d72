"""What nobody could see in a text is marked in the rows that scripts draw, as the server marks it in those of its pages."""

import urllib.parse

from playwright.sync_api import expect

from waiting import until

CONTAINER = "iCloud.com.example.Unseen"
THERE = f"/c/{CONTAINER}/development/private"
NAME = "gnp\u202ea"

# The texts of MarkedTextTests: with their marks, and without any.
MARKED = {
    "a\0b": 'a<i data-u="0000"></i>b', "\a": '<i data-u="0007">\a</i>', "a\u202eb<": 'a<i data-u="202E">\u202e</i>b&lt;',
    "a\u200b": 'a<i data-u="200B">\u200b</i>', "a\u2003b": 'a<i data-u="2003">\u2003</i>b', "\xad": '<i data-u="00AD">\xad</i>',
    "a\ufe0f": 'a<i data-u="FE0F">\ufe0f</i>', "a\u200db": 'a<i data-u="200D">\u200d</i>b', "\u3164": '<i data-u="3164">\u3164</i>',
    "a\U000e0041": 'a<i data-u="E0041">\U000e0041</i>', "\u2028": '<i data-u="2028">\u2028</i>', "\ufeffa": '<i data-u="FEFF">\ufeff</i>a',
}
SEEN = [
    "plain", "a\tb\r\nc", "ü é\u0301 “x” – …", "👩\u200d💻👨🏽\u200d💻", "❤️ 1️⃣", "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "می\u200cخواهم", "क्\u200dष", "東京\u3000大阪", "한국어", "العربية", "𠮷",
]
# Adds texts as scripts do, and looks at them when they are drawn.
ADD = """async texts => {
  const places = texts.map(text => Object.assign(document.createElement('bdi'), { textContent: text }))
  document.querySelector('main').append(...places)
  await new Promise(done => requestAnimationFrame(done))
  return places.map(place => place.innerHTML)
}"""


def saved(server):
    fields = {"title": {"value": "white\u200bspace"}, "other": {"value": {"recordName": NAME, "action": "NONE"}, "type": "REFERENCE"}}
    server.save(CONTAINER, "Notes", {"recordType": "Note", "recordName": NAME, "fields": fields})


def test_texts_that_scripts_add_are_marked(open_page, server):
    page = open_page("/")
    # The script comes after the others.
    until(lambda: page.evaluate(ADD, ["\u202e"]) != ["\u202e"])
    assert page.evaluate(ADD, list(MARKED)) == list(MARKED.values())
    assert page.evaluate(ADD, SEEN) == SEEN


def test_followed_changes_are_marked(open_page, server):
    server.save(CONTAINER, "Notes", {"recordType": "Note", "recordName": "first", "fields": {"title": {"value": "First"}}})
    page = open_page(f"{THERE}/changes?zone=Notes")
    page.get_by_role("button", name="Follow").click()
    expect(page.get_by_role("region", name="Feed")).to_contain_text("Live")
    saved(server)
    row = page.locator("tbody.live tr").first
    expect(row.locator("[data-u='202E']")).to_have_count(1)
    expect(row.locator("[data-u='200B']")).to_have_count(1)
    assert row.locator("a").first.get_attribute("title") == "gnp⟨U+202E⟩a"
    # What is copied, and where a link leads, stays as it is.
    assert NAME in row.locator("a").first.text_content()
    assert row.locator("a").first.get_attribute("href").endswith(urllib.parse.quote(NAME, safe=""))


def test_suggestions_and_recent_places_are_marked(open_page, server):
    saved(server)
    page = open_page(f"{THERE}/record/edit?zone=Notes&name={urllib.parse.quote(NAME)}")
    field = page.locator("input[data-names]").first
    field.focus()
    option = page.locator("datalist[id^='names-of-'] option").first
    expect(option).to_have_text("white⟨U+200B⟩space · Note")
    assert option.get_attribute("value") == NAME
    page.goto(f"{THERE}/query?zone=Notes&type=Note&filter1=title&is1=EQUALS&value1={urllib.parse.quote(NAME)}")
    page.goto(f"{THERE}/zones")
    page.keyboard.press("Control+k")
    expect(page.locator("dialog section", has_text="Recent places").locator("[data-u='202E']").first).to_be_visible()
