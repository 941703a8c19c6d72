"""The page Keys, the one that checks signatures, and what the page of a request says of a signature that was refused."""

import base64
import datetime
import hashlib
import html
import json
import re
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import pytest
from playwright.sync_api import expect

from axe import problems
from pages import CHAT
from pictures import keep

TARGET = "/database/1/iCloud.com.example.Chat/development/public/records/query?clientId=one"
BODY = b'{"query":{"recordType":"Message"}}'
HEADER = "X-Apple-CloudKit-Request-"


class Key:
    """A pair of keys that openssl made, and signs with."""

    def __init__(self, folder):
        self.private, self.public = folder / "eckey.pem", folder / "eckey.pub.pem"
        run = lambda *words: subprocess.run(["openssl", *words], check=True, capture_output=True)
        run("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", self.private)
        run("ec", "-in", self.private, "-pubout", "-out", self.public)
        self.id = ""

    def headers(self, target=TARGET, body=BODY):
        date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        message = f"{date}:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:{target}"
        signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.private], input=message.encode(), capture_output=True, check=True).stdout
        return {HEADER + "KeyID": self.id, HEADER + "ISO8601Date": date, HEADER + "SignatureV1": base64.b64encode(signature).decode()}


def send(server, headers, target=TARGET, body=BODY):
    """The status of a request, and its identifier in the log."""
    request = urllib.request.Request(server.address + target, body, headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers["X-Skylight-Request"]
    except urllib.error.HTTPError as error:
        assert json.load(error)["serverErrorCode"] == "AUTHENTICATION_FAILED"
        return error.code, error.headers["X-Skylight-Request"]


@pytest.fixture(scope="module")
def key(tmp_path_factory, server):
    key = Key(tmp_path_factory.mktemp("keys"))
    fields = urllib.parse.urlencode({"name": "From openssl", "pem": key.public.read_text()}).encode()
    page = urllib.request.urlopen(server.address + CHAT + "/keys/key", fields, timeout=60).read().decode()
    key.id = page.split('aria-label="The key ID"><code data-copy-source>')[1][:64]
    return key


def test_a_token_is_made_shown_once_and_revoked(open_page):
    page = open_page(CHAT + "/keys")
    name = "A token"
    making = page.locator("details.making").first
    if making.get_attribute("open") is None:
        making.locator("summary").click()
    making.get_by_label("Name", exact=True).fill(name)
    making.get_by_label("Allowed origins").fill("https://app.example.com\nhttp://localhost:3000")
    making.get_by_label("Sign-in callback").fill("com.example.app:/signed-in")
    making.get_by_role("button", name="Create the token").click()
    secret = page.get_by_label("The API token", exact=True).text_content().strip()
    assert len(secret) == 64 and secret not in page.url
    expect(page.get_by_role("button", name=f"Copy {secret[:24]}…")).to_be_visible()
    page.get_by_role("link", name="I have copied it").click()
    row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name=name))
    expect(row).to_contain_text("http://localhost:3000")
    assert secret not in page.content()
    row.get_by_role("link", name="Revoke").click()
    page.get_by_role("link", name="Cancel").click()
    row.get_by_role("link", name="Revoke").click()
    page.get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("status")).to_contain_text("The API token is revoked")
    expect(row).to_contain_text("revoked")


def test_a_key_is_pasted_chosen_or_dropped(open_page, tmp_path):
    page = open_page(CHAT + "/keys")
    for way in ["pasted", "chosen", "dropped"]:
        key = Key(tmp_path)
        page.goto(CHAT + "/keys")
        making = page.locator("details.making").last
        making.locator("summary").click()
        making.get_by_label("Name", exact=True).fill(f"Key that was {way}")
        if way == "pasted":
            making.get_by_label("Public key").fill(key.public.read_text())
        elif way == "chosen":
            making.get_by_label("or choose or drop its file").set_input_files(key.public)
        else:
            page.evaluate(
                """text => { const data = new DataTransfer(); data.items.add(new File([text], 'eckey.pub.pem'));
                document.querySelector('#pem').dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true })) }""",
                key.public.read_text())
            expect(making.get_by_label("Public key")).to_have_value(key.public.read_text())
        making.get_by_role("button", name="Register the key").click()
        expect(page.get_by_role("heading", name=f"The key ‘Key that was {way}’ is registered")).to_be_visible()


def test_what_was_made_is_accessible_and_fits(open_page, tmp_path):
    page = open_page(CHAT + "/keys", reduced_motion="reduce")
    long = "A name that is about as long as names of tokens and keys become when somebody means it well"

    def look(name):
        for scheme, width in [("light", 1440), ("dark", 380)]:
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 860})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{name} {width}"
            found = problems(page)
            assert not found, f"{name} {scheme}\n{found}"
            keep(page, f"{name} {scheme} {width}")

    def open_form(making):
        if making.get_attribute("open") is None:
            making.locator("summary").click()

    making = page.locator("details.making").first
    open_form(making)
    making.get_by_label("Name", exact=True).fill(long)
    making.get_by_label("Allowed origins").fill("https://app.example.com\nhttps://a-rather-long-name-of-a-host.staging.example.com:8443")
    making.get_by_label("Sign-in callback").fill("https://a-rather-long-name-of-a-host.staging.example.com:8443/signed-in")
    making.get_by_role("button", name="Create the token").click()
    expect(page.get_by_label("The API token", exact=True)).to_be_visible()
    look("token made")
    page.goto(CHAT + "/keys")
    making = page.locator("details.making").last
    open_form(making)
    making.get_by_label("Name", exact=True).fill(long)
    making.get_by_label("Public key").fill(Key(tmp_path).public.read_text())
    making.get_by_role("button", name="Register the key").click()
    expect(page.get_by_label("The key ID")).to_be_visible()
    look("key registered")
    page.goto(CHAT + "/keys")
    look("keys full")
    page.get_by_role("link", name=f"Revoke the API token {long}").first.click()
    expect(page.get_by_role("button", name="Revoke")).to_be_visible()
    look("token revocation")


def test_the_commands_that_are_shown_sign_a_request(server, tmp_path):
    fields = urllib.parse.urlencode({"name": "Shown", "pem": Key(tmp_path).public.read_text()}).encode()
    page = urllib.request.urlopen(server.address + CHAT + "/keys/key", fields, timeout=60).read().decode()
    shown = page.split('aria-label="Commands that sign a request">')[1].split("</pre>")[0]
    command = html.unescape(re.sub(r"<[^>]*>", "", shown)).replace("http://127.0.0.1:8080", server.address)
    answer = subprocess.run(
        ["bash", "-c", command.replace("curl ", "curl -s -w '%{http_code}' ")], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert answer.endswith("200"), answer


def test_a_refused_signature_is_explained_part_by_part(open_page, server, key):
    headers = key.headers()
    assert send(server, headers)[0] == 200
    # The same signature with a changed byte in the body, and one over the path without its query.
    status, changed = send(server, headers, body=BODY.replace(b"Message", b"Massage"))
    assert status == 401
    status, bare = send(server, key.headers(target=TARGET.split("?")[0]))
    assert status == 401
    page = open_page(CHAT + f"/requests?id={changed}")
    why = page.get_by_label("Why it was refused")
    expect(why).to_contain_text("body")
    part = why.locator(".part", has=page.get_by_text("body hash", exact=False)).first
    expect(part).to_contain_text("differs")
    hashes = [base64.b64encode(hashlib.sha256(body).digest()).decode() for body in (BODY.replace(b"Message", b"Massage"), BODY)]
    assert [text.strip() for text in part.locator("code").all_text_contents()] == hashes
    expect(why.locator(".part.differs")).to_have_count(1)
    expect(why.locator(".part.same")).to_have_count(2)
    page.goto(CHAT + f"/requests?id={bare}")
    differing = why.locator(".part.differs")
    expect(differing).to_have_count(1)
    assert [text.strip() for text in differing.locator("code").all_text_contents()] == [TARGET, TARGET.split("?")[0]]
    assert differing.locator("mark").first.text_content() == "?clientId=one"
    page.goto(CHAT + "/requests")
    row = page.get_by_role("row").filter(has=page.locator(f"a[href*='{bare}']"))
    expect(row).to_contain_text("signature: target")
    page.goto(CHAT + f"/requests?id={bare}")
    for scheme, width in [("light", 1440), ("dark", 380)]:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.set_viewport_size({"width": width, "height": 860})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert not problems(page)
        keep(page, f"refused signature {scheme} {width}")


def test_a_pasted_request_is_checked(open_page, server, key):
    page = open_page(CHAT + "/keys")
    page.get_by_role("link", name="Signatures").click()
    for target, verdict in [(TARGET, "The signature is correct"), (TARGET.replace("public", "private"), "differs")]:
        said = " ".join(f"-H '{name}: {value}'" for name, value in key.headers(target=target).items())
        page.get_by_label("As a curl command").fill(f"curl -X POST '{server.address}{TARGET}' {said} --data-raw '{BODY.decode()}'")
        page.get_by_role("button", name="Check").click()
        expect(page.get_by_label("Verdict")).to_contain_text(verdict)
        assert "signature=" not in page.url
    assert not problems(page)
