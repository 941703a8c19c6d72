"""Signs requests with openssl on the command line, independently of Skylight's code."""

import base64
import datetime
import subprocess

import requests

# The names of the headers.
KEY_ID, DATE, SIGNATURE = (f"X-Apple-CloudKit-Request-{name}" for name in ("KeyID", "ISO8601Date", "SignatureV1"))


def openssl(*arguments, input=None):
    return subprocess.run(["openssl", *arguments], input=input, check=True, capture_output=True).stdout


class Signer:
    """A key pair that signs requests."""

    def __init__(self, folder, name="eckey"):
        self.private = folder / f"{name}.pem"
        self.public = folder / f"{name}.pub.pem"
        self.private.write_bytes(openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout"))
        self.public.write_bytes(openssl("ec", "-in", str(self.private), "-pubout"))
        self.key_id = None

    @staticmethod
    def now():
        return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    @staticmethod
    def body_hash(body):
        return base64.b64encode(openssl("dgst", "-sha256", "-binary", input=body)).decode()

    def sign(self, message):
        return base64.b64encode(openssl("dgst", "-sha256", "-sign", str(self.private), input=message.encode())).decode()

    def headers(self, target, body=b"", date=None, body_hash=None):
        date = date or self.now()
        body_hash = self.body_hash(body) if body_hash is None else body_hash
        return {KEY_ID: self.key_id, DATE: date, SIGNATURE: self.sign(f"{date}:{body_hash}:{target}")}


def send(address, method, target, body=b"", headers=None):
    """Sends exactly this target and body."""
    request = requests.Request(method, address, data=body or None, headers=headers).prepare()
    request.url = address + target
    with requests.Session() as session:
        return session.send(request, timeout=60)
