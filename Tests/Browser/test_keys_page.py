"""The page Keys, and what the page of a request says of a signature that was refused."""

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

from looks import check_looks
from pages import CHAT

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


@pytest.mark.parametrize("way", ["chosen", "dropped"])
def test_a_key_is_chosen_or_dropped(open_page, tmp_path, way):
    key = Key(tmp_path)
    page = open_page(CHAT + "/keys")
    making = page.locator("details.making").last
    making.locator("summary").click()
    making.get_by_label("Name", exact=True).fill(f"Key that was {way}")
    if way == "chosen":
        making.get_by_label("or choose or drop its file").set_input_files(key.public)
    else:
        page.evaluate(
            """text => { const data = new DataTransfer(); data.items.add(new File([text], 'eckey.pub.pem'));
            document.querySelector('#pem').dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true })) }""",
            key.public.read_text())
        expect(making.get_by_label("Public key")).to_have_value(key.public.read_text())
    making.get_by_role("button", name="Register the key").click()
    expect(page.get_by_role("heading", name=f"The key ‘Key that was {way}’ is registered")).to_be_visible()


def test_how_what_was_made_looks(open_page, tmp_path):
    page = open_page(CHAT + "/keys")
    long = "A name that is about as long as names of tokens and keys become when somebody means it well"

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
    check_looks(page, picture="token made")
    page.goto(CHAT + "/keys")
    making = page.locator("details.making").last
    open_form(making)
    making.get_by_label("Name", exact=True).fill(long)
    making.get_by_label("Public key").fill(Key(tmp_path).public.read_text())
    making.get_by_role("button", name="Register the key").click()
    expect(page.get_by_label("The key ID")).to_be_visible()
    check_looks(page, picture="key registered")
    page.goto(CHAT + "/keys")
    check_looks(page, picture="keys full")
    page.get_by_role("link", name=f"Revoke the API token {long}").first.click()
    expect(page.get_by_role("button", name="Revoke")).to_be_visible()
    check_looks(page, picture="token revocation")


def test_the_commands_that_are_shown_sign_a_request(server, tmp_path):
    fields = urllib.parse.urlencode({"name": "Shown", "pem": Key(tmp_path).public.read_text()}).encode()
    page = urllib.request.urlopen(server.address + CHAT + "/keys/key", fields, timeout=60).read().decode()
    shown = page.split('aria-label="Commands that sign a request">')[1].split("</pre>")[0]
    command = html.unescape(re.sub(r"<[^>]*>", "", shown))
    answer = subprocess.run(
        ["bash", "-c", command.replace("curl ", "curl -s -w '%{http_code}' ")], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert answer.endswith("200"), answer


def test_how_a_refused_signature_looks(open_page, server, key):
    assert send(server, key.headers())[0] == 200
    # A signature over the path without its query.
    status, bare = send(server, key.headers(target=TARGET.split("?")[0]))
    assert status == 401
    page = open_page(CHAT + f"/requests?id={bare}")
    differing = page.get_by_label("Why it was refused").locator(".part.differs")
    assert [text.strip() for text in differing.locator("code").all_text_contents()] == [TARGET, TARGET.split("?")[0]]
    check_looks(page, picture="refused signature")
