"""HTTP requests in a file, as the client in C reads them."""

import json
import struct

HOST = "127.0.0.1"


def get(path):
    return f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\nAccept: */*\r\n\r\n".encode()


def post(path, body, headers=None):
    body = body.encode() if isinstance(body, str) else json.dumps(body, separators=(",", ":")).encode()
    more = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
    head = f"POST {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    return head.encode() + body


def write(file, requests):
    """Writes whole requests, each after its length. Returns the file."""
    with open(file, "wb") as output:
        for request in requests:
            output.write(struct.pack("<I", len(request)) + request)
    return file
