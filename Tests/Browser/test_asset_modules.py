"""The scripts that compute: their results are compared with Python's."""

import base64
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
def test_checksums_piece_by_piece(look, sizes):
    page = look("/")
    pieces = [random.Random(size).randbytes(size) for size in sizes]
    assert page.evaluate(HASH, [list(piece) for piece in pieces]) == hashlib.sha256(b"".join(pieces)).hexdigest()


def test_damaged_property_lists_are_errors_and_end(look):
    page = look("/")
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
def test_json_laid_out_means_the_same(look, text):
    page = look("/")
    laid_out = page.evaluate("async text => (await import('/static/json.js')).laidOut(text)", text)
    assert json.loads(laid_out, parse_float=str) == json.loads(text, parse_float=str)


def test_what_is_no_json_is_left(look):
    page = look("/")
    assert page.evaluate("async () => (await import('/static/json.js')).laidOut('{nope')") is None


def test_sizes_are_written_as_on_the_server(look):
    page = look("/")
    write = "async counts => { const { bytes } = await import('/static/sizes.js'); return counts.map(bytes) }"
    counts = [0, 1, 999, 1000, 8_800_000, 412_000, 999_999, 52_428_800, 10**12]
    assert page.evaluate(write, counts) == ["0 bytes", "1 byte", "999 bytes", "1,000 bytes", "8.4 MB", "402 KB", "977 KB", "50 MB", "931 GB"]


@pytest.mark.parametrize("text", ["[" * 100_000 + "]" * 100_000, "[" * 201 + "]" * 201, "[" * 199 + "1," * 20_000 + "1" + "]" * 199])
def test_json_that_would_grow_is_left(look, text):
    page = look("/")
    assert page.evaluate("async text => (await import('/static/json.js')).laidOut(text)", text) is None
    assert page.evaluate("async text => (await import('/static/json.js')).laidOut(text)", "[" * 200 + "]" * 200) is not None


def property_list(objects: list[bytes]) -> bytes:
    """A binary property list of encoded objects; the first one is the root."""
    body, offsets = b"bplist00", []
    for item in objects:
        offsets.append(len(body))
        body += item
    return body + b"".join(offset.to_bytes(3, "big") for offset in offsets) + bytes(6) + trailer(len(objects), len(body))


def trailer(count: int, table: int) -> bytes:
    return bytes([3, 2]) + count.to_bytes(8, "big") + bytes(8) + table.to_bytes(8, "big")


def sized(kind: int, length: int) -> bytes:
    return bytes([kind << 4 | 15, 0x12]) + length.to_bytes(4, "big")


# The displayed text or the error, and the time taken.
TIMED = """async base64 => {
  const { propertyListText } = await import('/static/plist.js')
  const bytes = Uint8Array.from(atob(base64), letter => letter.charCodeAt(0))
  const start = performance.now()
  let said
  try { said = propertyListText(bytes).text.slice(0, 200) } catch (error) { said = error.message }
  return [said, performance.now() - start]
}"""


def timed(page, list_: bytes) -> str:
    said, milliseconds = page.evaluate(TIMED, base64.b64encode(list_).decode())
    assert milliseconds < 60_000
    return said


def test_a_text_that_is_referred_to_often_is_read_once(look):
    page = look("/")
    text = sized(5, 1_900_000) + b"x" * 1_900_000
    often = sized(10, 20_000) + (1).to_bytes(2, "big") * 20_000
    assert timed(page, property_list([often, text])) == "Laid out, the property list is longer than 1000000 letters"
    # Many objects at the same position.
    body = b"bplist00" + sized(10, 20_000) + b"".join(number.to_bytes(2, "big") for number in range(1, 20_001))
    offsets = [8] + [len(body)] * 20_000
    body += text
    same = body + b"".join(offset.to_bytes(3, "big") for offset in offsets) + bytes(6) + trailer(len(offsets), len(body))
    assert timed(page, same) == "Laid out, the property list is longer than 1000000 letters"
    # Many texts that overlap.
    inner = b"".join(sized(5, 1_800_000 - 6 * number) for number in range(100)) + b"x" * 1_800_000
    body = b"bplist00" + sized(10, 100) + b"".join(number.to_bytes(2, "big") for number in range(1, 101))
    offsets = [8] + [len(body) + 6 * number for number in range(100)]
    body += inner
    nested = body + b"".join(offset.to_bytes(3, "big") for offset in offsets) + bytes(6) + trailer(len(offsets), len(body))
    assert timed(page, nested) == "The property list has more than 4000000 bytes of text"


def archived(objects: list) -> bytes:
    content = {"$version": 100000, "$archiver": "NSKeyedArchiver", "$top": {"root": plistlib.UID(1)}, "$objects": objects}
    return plistlib.dumps(content, fmt=plistlib.FMT_BINARY)


def test_an_archive_that_would_grow_is_left(look):
    page = look("/")
    reference = plistlib.UID
    array = {"$class": reference(2)}
    objects = ["$null", array | {"NS.objects": [reference(3)] * 9_000}, {"$classname": "NSArray"}, array | {"NS.objects": [True] * 20_000}]
    assert timed(page, archived(objects)) == "Written out, the archive has more than 50000 elements"
    # Each address refers to the previous one twice.
    urls = [{"$class": reference(2), "NS.base": reference(number + 1), "NS.relative": reference(number + 1)} for number in range(3, 15)]
    objects = ["$null", {"$class": reference(2), "NS.base": reference(3), "NS.relative": reference(3)}, {"$classname": "NSURL"}, *urls, "x" * 100_000]
    assert timed(page, archived(objects)) == "Written out, the archive's addresses have more than 1000000 letters"


def test_names_that_no_header_can_hold(look):
    page = look("/")
    encoded = "async names => { const { encodedName } = await import('/static/upload.js'); return names.map(encodedName) }"
    assert page.evaluate(encoded, ["größe 1.txt", "🙂"]) == ["gr%C3%B6%C3%9Fe%201.txt", "%F0%9F%99%82"]
    half = "async () => (await import('/static/upload.js')).encodedName('a\\ud800b')"
    assert page.evaluate(half) == "a%EF%BF%BDb"
    page.evaluate("() => { delete String.prototype.toWellFormed }")
    assert page.evaluate(half) is None
