"""Previews of every kind, and malicious files."""

import plistlib
import struct
import urllib.parse
import uuid
import zlib

import pytest
from playwright.sync_api import expect

from axe import problems

CONTAINER = "iCloud.com.example.Previews"
THERE = f"/c/{CONTAINER}/development/private"


def png(width=40, height=30) -> bytes:
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + b"".join(bytes([x * 6 % 256, y * 8 % 256, 120]) for x in range(width)) for y in range(height))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def wave() -> bytes:
    samples = bytes(128 + (index % 40) for index in range(4000))
    return b"RIFF" + struct.pack("<I", 36 + len(samples)) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 8000, 1, 8) + b"data" + struct.pack("<I", len(samples)) + samples


def archive() -> bytes:
    reference = plistlib.UID
    objects = [
        "$null", {"$class": reference(2), "title": reference(3), "tags": reference(4), "owner": reference(1), "id": reference(7)},
        {"$classname": "App.Note", "$classes": ["App.Note", "NSObject"]}, "Shopping", {"$class": reference(5), "NS.objects": [reference(3), reference(6)]},
        {"$classname": "NSArray", "$classes": []}, "<b>milk</b>", {"$class": reference(8), "NS.uuidbytes": uuid.UUID(int=5).bytes}, {"$classname": "NSUUID"},
    ]
    return plistlib.dumps(
        {"$version": 100000, "$archiver": "NSKeyedArchiver", "$top": {"root": reference(1)}, "$objects": objects}, fmt=plistlib.FMT_BINARY
    )


def bomb() -> bytes:
    """A property list in which every list holds the next one twice."""
    objects = [b"\xa2" + bytes([index + 1] * 2) for index in range(40)] + [b"\x10\x01"]
    body, offsets = b"bplist00", []
    for item in objects:
        offsets.append(len(body))
        body += item
    table = len(body)
    body += b"".join(offset.to_bytes(2, "big") for offset in offsets)
    return body + bytes(6) + bytes([2, 1]) + len(objects).to_bytes(8, "big") + bytes(8) + table.to_bytes(8, "big")


def address(name: str) -> str:
    return f"{THERE}/record?zone=Files&name={urllib.parse.quote(name, safe='')}"


def preview(page, name: str):
    page.get_by_role("button", name=f"Preview {name}").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator("[data-content]")).not_to_contain_text("Looking…")
    return dialog


def test_images(open_page, server):
    server.attach(CONTAINER, "Files", "picture", ("picture.png", png()))
    page = open_page(address("picture"))
    thumbnail = page.locator("img.thumb")
    expect(thumbnail).to_be_visible()
    assert thumbnail.evaluate("async it => { await it.decode(); return it.naturalWidth }") == 40
    dialog = preview(page, "picture.png")
    expect(dialog.get_by_role("heading")).to_have_text("picture.png")
    expect(dialog.locator("[data-facts]")).to_contain_text("image/png")
    assert dialog.get_by_role("img", name="picture.png").evaluate("it => it.naturalHeight") == 30
    expect(dialog.get_by_role("button", name="Close")).to_be_focused()
    assert not problems(page)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("button", name="Preview picture.png")).to_be_focused()


def test_text_and_its_beginning(open_page, server):
    server.attach(CONTAINER, "Files", "text", ("note.txt", "Grüße 🙂\n".encode() * 20))
    server.attach(CONTAINER, "Files", "long", ("long.txt", "äöü\n".encode() * 50_000))
    page = open_page(address("text"))
    dialog = preview(page, "note.txt")
    expect(dialog.locator("pre")).to_contain_text("Grüße 🙂")
    expect(dialog.locator("[data-facts]")).not_to_contain_text("first")
    page.goto(address("long"))
    asked = []
    page.on("request", lambda request: asked.append(request.header_value("range")) if "/assets/" in request.url else None)
    dialog = preview(page, "long.txt")
    expect(dialog.locator("[data-facts]")).to_contain_text("the first 64 KB")
    assert asked == ["bytes=0-65535"]
    assert "\ufffd" not in dialog.locator("pre").text_content()


def test_json_is_laid_out_with_its_numbers_as_they_are(open_page, server):
    server.attach(CONTAINER, "Files", "json", ("data.json", b'{"big":9007199254740993,"list":[],"html":"<img src=x onerror=alert(1)>"}'))
    page = open_page(address("json"))
    dialog = preview(page, "data.json")
    expect(dialog.locator("pre")).to_have_text('{\n  "big": 9007199254740993,\n  "list": [],\n  "html": "<img src=x onerror=alert(1)>"\n}')
    expect(dialog.locator("[data-facts]")).to_contain_text("JSON, laid out")
    assert dialog.locator("img").count() == 0


def test_property_lists(open_page, server):
    values = {"name": "Ada", "raw": bytes(range(40)), "list": [1, -2, 2.5, True], "large": 2**63 + 5}
    server.attach(CONTAINER, "Files", "xml", ("Info.plist", plistlib.dumps(values)))
    server.attach(CONTAINER, "Files", "binary", ("Info.bin", plistlib.dumps(values, fmt=plistlib.FMT_BINARY)))
    server.attach(CONTAINER, "Files", "archive", ("note.archive", archive()))
    server.attach(CONTAINER, "Files", "bomb", ("bomb.plist", bomb()))
    page = open_page(address("xml"))
    dialog = preview(page, "Info.plist")
    expect(dialog.locator("[data-facts]")).to_contain_text("property list in XML")
    expect(dialog.locator("pre")).to_contain_text("<key>name</key>")
    page.goto(address("binary"))
    dialog = preview(page, "Info.bin")
    expect(dialog.locator("[data-facts]")).to_contain_text("binary property list")
    expect(dialog.locator("pre")).to_contain_text('"large" => 9223372036854775813')
    expect(dialog.locator("pre")).to_contain_text("{length = 40, bytes = 00 01 02")
    page.goto(address("archive"))
    dialog = preview(page, "note.archive")
    expect(dialog.locator("[data-facts]")).to_contain_text("NSKeyedArchiver")
    for part in ['"class" => App.Note', '1 => "<b>milk</b>"', '"owner" => ↩ object 1, which contains this one', "00000000-0000-0000-0000-000000000005"]:
        expect(dialog.locator("pre")).to_contain_text(part)
    page.goto(address("bomb"))
    dialog = preview(page, "bomb.plist")
    expect(dialog.locator(".bad")).to_have_text("The property list has more than 50000 values")


def test_sound_is_played(open_page, server):
    server.attach(CONTAINER, "Files", "sound", ("sound.wav", wave()))
    page = open_page(address("sound"))
    dialog = preview(page, "sound.wav")
    assert dialog.locator("audio").evaluate("it => it.duration") == 0.5
    assert dialog.locator("audio").evaluate("async it => { it.muted = true; await it.play(); return !it.paused }")
    assert not problems(page)
    page.get_by_role("button", name="Close").click()
    expect(page.locator("audio")).to_have_count(0)


def test_other_files_show_their_first_bytes(open_page, server):
    server.attach(CONTAINER, "Files", "other", ("other.bin", bytes([0, 1, 2, 255]) * 200))
    server.attach(CONTAINER, "Files", "nothing", ("nothing.bin", b""))
    page = open_page(address("other"))
    dialog = preview(page, "other.bin")
    expect(dialog.locator("pre")).to_contain_text("0000  00 01 02 ff")
    expect(dialog.locator("[data-facts]")).to_contain_text("no preview")
    page.goto(address("nothing"))
    expect(preview(page, "nothing.bin")).to_contain_text("The file is empty.")


HOSTILE = {
    "page.html": b"<!doctype html><title>x</title><script>document.title = 'run'; alert(1); fetch('/c/run')</script><img src=x onerror=alert(2)>",
    "picture.svg": b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'><script>alert(2)</script><rect width='9' height='9'/></svg>",
    "page.xhtml": b"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><script>alert(1)</script></html>",
    "code.js": b"alert(1)",
    "mixed.png": b"\x89PNG\r\n\x1a\n<script>alert(1)</script>",
    "file.pdf": b"%PDF-1.4\n1 0 obj<</Type/Catalog/OpenAction<</S/JavaScript/JS(app.alert\\(1\\))>>>>endobj",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_do_nothing(open_page, server, name):
    server.attach(CONTAINER, "Files", f"hostile {name}", (name, HOSTILE[name]))
    page = open_page(address(f"hostile {name}"))
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    link = page.locator(".file .filename a")
    url = link.get_attribute("href")
    page.get_by_role("button", name=f"Preview {name}").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator("[data-content]")).not_to_contain_text("Looking…")
    assert dialog.locator("script, iframe, object, embed, svg").count() == 0
    page.keyboard.press("Escape")
    # Opened directly, it is a download instead of a page.
    with page.expect_download() as download:
        page.evaluate("url => { location.href = url }", url)
    with open(download.value.path(), "rb") as saved:
        assert saved.read() == HOSTILE[name]
    frame = page.evaluate(
        "async url => { const answer = await fetch(url); return [...answer.headers].filter(([name]) => /content-|x-content/.test(name)) }", url
    )
    headers = dict(frame)
    assert headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in headers["content-security-policy"] and "default-src 'none'" in headers["content-security-policy"]
    assert headers["content-disposition"].startswith("attachment")
    assert not headers["content-type"].startswith(("text/html", "application/xhtml", "text/xml", "application/xml", "text/javascript"))
    assert page.title() != "run" and not any("/c/run" in url for url in asked)


NAMES = ['"><script>alert(1)</script>.txt', "a\r\nb.txt", "photo\u202egpj.exe", "../../etc/passwd", "'\"\u0301 onfocus=alert(1) x='.txt", "%2e%2e%2f", "CON", "🙂" * 90]


@pytest.mark.parametrize("name", NAMES)
def test_hostile_names_are_only_names(open_page, server, name):
    record = f"named {NAMES.index(name)}"
    assets = server.attach(CONTAINER, "Files", record, (name, b"content"))
    page = open_page(address(record))
    assert page.locator("main script, main [onfocus]").count() == 0
    shown = page.locator(".file .filename").text_content()
    assert not set(shown) & set('/\\\r\n\u202e<>"'), shown
    with page.expect_download() as download:
        page.locator(".file .filename a").click()
    saved = download.value.suggested_filename
    assert saved and not set(saved) & set('/\\\r\n\u202e<>"'), saved
    assert len(shown.encode()) <= 255
    page.locator(".file").get_by_role("button", name="Preview").click()
    expect(page.get_by_role("dialog").locator("pre")).to_have_text("content")
    page.goto(f"{THERE}/fetch?zone=Files&assets=with&names={urllib.parse.quote(record)}")
    expect(page.locator("tr[data-file]")).to_have_attribute("data-state", "done")
    with page.expect_download() as download:
        page.locator("tr[data-file]").get_by_role("button", name="Save to disk").click()
    assert not set(download.value.suggested_filename) & set('/\\\r\n\u202e<>"')
    assert assets[0]["size"] == 7
