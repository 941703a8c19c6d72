"""The scripts that compute: what they make of bytes is compared with what Python makes of them."""

import hashlib
import json
import plistlib
import random

import pytest

HASH = """async pieces => {
  const { SHA256 } = await import('/static/sha256.js')
  let hash = new SHA256()
  for (const piece of pieces) {
    hash.update(Uint8Array.from(piece))
    hash = new SHA256(structuredClone(hash.snapshot()))
  }
  return hash.digest()
}"""

READ = """async lists => {
  const { propertyListText } = await import('/static/plist.js')
  return lists.map(list => {
    try { return propertyListText(Uint8Array.from(list)).text } catch (error) { return error.constructor === Error ? null : String(error) }
  })
}"""


@pytest.mark.parametrize("sizes", [[], [0], [3], [55], [56], [63, 1], [64], [65, 63, 1], [119], [120], [1000, 7, 64, 1], [200_000, 1]])
def test_checksums_piece_by_piece(open_page, sizes):
    page = open_page("/")
    pieces = [random.Random(size).randbytes(size) for size in sizes]
    assert page.evaluate(HASH, [list(piece) for piece in pieces]) == hashlib.sha256(b"".join(pieces)).hexdigest()


def test_damaged_property_lists_are_errors_and_end(open_page):
    page = open_page("/")
    values = {"a": [1, 2.5, True, b"\1\2", "ü" * 20], "b": {"c": {"d": list(range(30))}}}
    whole = plistlib.dumps(values, fmt=plistlib.FMT_BINARY)
    source = random.Random(3)
    damaged = [whole[:length] for length in range(0, len(whole), 7)]
    for _ in range(600):
        bytes_ = bytearray(whole)
        for _ in range(source.randint(1, 5)):
            bytes_[source.randrange(len(bytes_))] = source.randrange(256)
        damaged.append(bytes(bytes_))
    results = page.evaluate(READ, [list(list_) for list_ in damaged])
    assert len(results) == len(damaged)
    unexpected = [result for result in results if result is not None and not result.lstrip().startswith(("{", "[", '"', "}")) and "Error" in result]
    assert unexpected == []


@pytest.mark.parametrize(
    "text",
    ['{"a":9007199254740993,"b":[],"c":{ },"d":[1,{"x":"a,}\\"b"},[]],"e":1.0}', "[]", '"alone"', "[[[[]]]]", '{"":{"":""}}', " [ 1 , 2 ] ", "null"],
)
def test_json_laid_out_means_the_same(open_page, text):
    page = open_page("/")
    laid_out = page.evaluate("async text => (await import('/static/json.js')).laidOut(text)", text)
    assert json.loads(laid_out, parse_float=str) == json.loads(text, parse_float=str)


def test_what_is_no_json_is_left(open_page):
    page = open_page("/")
    assert page.evaluate("async () => (await import('/static/json.js')).laidOut('{nope')") is None


def test_sizes_are_written_as_on_the_server(open_page):
    page = open_page("/")
    write = "async counts => { const { bytes } = await import('/static/sizes.js'); return counts.map(bytes) }"
    counts = [0, 1, 999, 1000, 8_800_000, 412_000, 999_999, 52_428_800, 10**12]
    assert page.evaluate(write, counts) == ["0 bytes", "1 byte", "999 bytes", "1.0 kB", "8.8 MB", "412 kB", "1.0 MB", "52.4 MB", "1.0 TB"]
