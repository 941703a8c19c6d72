"""User content is displayed and never interpreted."""

import urllib.parse

import pytest
from playwright.sync_api import expect

NASTY = [
    '"><script>alert(1)</script>',
    "'><img src=x onerror=alert(1)>",
    # A quotation mark that forms one character with the accent after it.
    '"\u0301 autofocus onfocus=alert(1) x="',
    "<\u0301script>alert(1)</script>",
    "{{title}} {{{title}}} {{&title}}",
    "&lt;b&gt;&amp;",
    "</textarea></select></title>",
    "line one\r\n   line two\u2028three\u202e",
]

# The scripts of pages, and elements that can only come from user content. The browser parses the pages as it parses those that it shows.
LOOK = """async urls => Promise.all(urls.map(async url => {
  const page = url ? new DOMParser().parseFromString(await (await fetch(url)).text(), 'text/html') : document
  return [
    [...page.scripts].map(script => script.getAttribute('src') ?? ''),
    [...page.querySelectorAll('main img, main script, [onfocus], [onerror], [autofocus]')].map(it => it.outerHTML)
  ]
}))"""


def check(looks, urls):
    for url, (scripts, strange) in zip(urls, looks, strict=True):
        # Both are the console's own: the script for the first rendering and the modules.
        assert [source.rsplit("/", 1)[1] for source in scripts if source.startswith("/static/")] == ["first-rendering.js", "skylight.js"] and len(scripts) == 2 and strange == [], url


@pytest.mark.parametrize("nasty", NASTY)
def test_user_content_is_shown_as_it_is(open_page, server, nasty):
    container = "iCloud.com.example.Nasty"
    there = f"/c/{container}/development/private"
    name = nasty.replace("\r\n", " ").replace("\u2028", " ")
    zone = name
    records = [
        {"recordType": "Note", "recordName": name, "fields": {
            "title": {"value": nasty}, "list": {"value": [nasty], "type": "STRING_LIST"},
            "link": {"value": {"recordName": name, "action": "NONE"}, "type": "REFERENCE"}}},
    ]
    server.save(container, zone, *records)
    quoted = urllib.parse.quote(name, safe="")

    def value(text):
        """A filter's value as an address has it: a text that begins with a quote is in quotes itself."""
        return '"' + text.replace('"', '""') + '"' if text.startswith('"') else text

    urls = [
        f"/query?zone={quoted}&type=Note&filter1=title&is1=EQUALS&value1={urllib.parse.quote(value(nasty), safe='')}",
        f"/query?type=Note&filter1={quoted}&value1={quoted}&sort1={quoted}", f"/query?type={quoted}",
        f"/fetch?zone={quoted}&names={quoted}", f"/changes?zone={quoted}", "/changes", f"/changes?since=1&token={quoted}",
        f"/record?zone={quoted}&name={quoted}", f"/record/delete?zone={quoted}&name={quoted}", "/zones", f"/zone?zone={quoted}",
        f"/zone/delete?zone={quoted}", f"/token?token={quoted}", f"/token?token={quoted}&with={quoted}", f"/errors?error={quoted}&find={quoted}",
        f"/errors?error=CKError+21+{quoted}", f"/find?q={quoted}x",
        f"/explain?type=Note&filter1=title&is1=EQUALS&value1={quoted}", f"/explain?type=Note&filter1={quoted}&value1={quoted}", "/advice",
        f"/requests?text={quoted}", "/clients", f"/record/edit?zone={quoted}&name={quoted}", f"/record/history?zone={quoted}&name={quoted}",
        f"/bulk?zone={quoted}&type=Note&filter1=title&is1=EQUALS&value1={quoted}",
    ]
    page = open_page("/")
    check(page.evaluate(LOOK, [there + url for url in urls]), urls)
    # Scripts work on these pages.
    for path in ["fetch", "changes", "requests", "record/edit", "bulk"]:
        url = next(url for url in urls if url.startswith(f"/{path}?"))
        page.goto(there + url)
        check(page.evaluate(LOOK, [""]), [url])
    page.goto(f"{there}/record?zone={quoted}&name={quoted}")
    check(page.evaluate(LOOK, [""]), ["record"])
    assert page.locator(".heading [data-copy-source]").text_content() == name
    title = page.locator(".fields > div", has=page.locator("dt:text-is('title')")).locator(".full")
    assert title.text_content().removesuffix(" Edit") == nasty.replace("\r\n", "\n")
    page.goto(there + urls[0])
    check(page.evaluate(LOOK, [""]), urls[:1])
    assert page.get_by_label("Value of filter 1").input_value() == value(nasty).replace("\r\n", "")
    expect(page.locator("tbody th.name")).to_have_count(1)
