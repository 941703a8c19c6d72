"""Requests made from docs/openapi.json: of each operation one without a body or parameters, one with the required ones, and some with all."""

import hashlib
import http.client
import json
import re
import urllib.parse

#: Operations that take away what others show, or whose answers are of a length that depends on chance. They come last, in this order.
LAST = (
    "assets/verify", "records/revert", "records/modify", "records/restore", "schema/edit", "schema/import", "schema/deploy",
    "zones/unshare", "remove", "revoke", "tokens/expire", "zones/purge", "zones/modify", "schema/reset", "assets/sweep", "administrator/password", "rehearsals")
#: Operations that ask iCloud. Only requests without a body are sent.
OUTSIDE = ("connections/make",)
#: Names that the server makes up. A request has the one of the latest answer, of the same family of services if there is one.
LEARNED = {"syncToken", "metaSyncToken", "continuationMarker", "recordChangeTag", "id", "keyID", "shortGUID", "fileChecksum", "apnsToken", "position"}
ALSO = {"since": "syncToken", "token": "syncToken", "apiTokenID": "id", "shortGUIDs.value": "shortGUID"}
KINDS = {"string": str, "array": list, "object": dict, "integer": int}


class Asker:
    """Asks a server for one place: a container's database as a user sees it."""

    def __init__(self, document, server, place, known):
        self.document, self.server, self.known = document, server, known
        self.place = dict(zip(("container", "environment", "database"), place))
        self.headers = {"X-Skylight-User": place[-1], "X-Skylight-Device": "Recorder"}
        self.learned, self.given = {}, {}
        #: Addresses that answers give. Others can't be made up.
        self.templates = {each: re.compile(re.sub(r"\{\w+\}", "[^/?]+", each) + r"(\?.*)?") for each in document["paths"] if "{ticket}" in each}

    def operations(self):
        """All operations: a template of a path, a method, and the description."""
        found = [(path, method, operation) for path, item in self.document["paths"].items() for method, operation in item.items() if method != "parameters"]
        rank = lambda path: next((number for number, end in enumerate(LAST, 1) if path.endswith(end)), 0)
        return sorted(found, key=lambda each: rank(each[0]))

    # MARK: Examples

    def resolved(self, schema):
        return self.resolved(self.document["components"][schema["$ref"].split("/")[2]][schema["$ref"].split("/")[3]]) if "$ref" in schema else schema

    def examples(self, schema, name, path, within=None, depth=0):
        """Values that fit a schema; none if it goes too deep."""
        schema = self.resolved(schema)
        kind = schema.get("type")
        known = [self.known[name]] if isinstance(self.known.get(name), KINDS.get(kind, ())) else []
        if depth > 9:
            return []
        if known and kind != "object":
            return known
        if "anyOf" in schema:
            return [value for each in schema["anyOf"] for value in self.examples(each, name, path, within, depth + 1)]
        if "examples" in schema:
            return known + schema["examples"]
        if "enum" in schema:
            return schema["enum"]
        if kind == "object":
            return known + self.objects(schema, name, path, depth)
        if kind == "array":
            items = self.examples(schema["items"], name, path, within, depth + 1)
            return [[item] for item in items] + ([items] if len(items) > 1 else [])
        if kind in ("string", "integer"):
            return [self.learnt(ALSO.get(f"{within}.{name}") or ALSO.get(name, name), path, schema.get("minimum", 1) if kind == "integer" else "x")]
        return {"boolean": [True, False], "number": [0.5], "null": [None]}.get(kind, [{"a": 1}])

    def objects(self, schema, name, path, depth):
        """Objects with the required members, with one more member each, and with all members."""
        members = {each: self.examples(part, each, path, name, depth + 1) for each, part in schema.get("properties", {}).items()}
        if "additionalProperties" in schema and not members:
            members = {"made": self.examples(schema["additionalProperties"], None, path, name, depth + 1)}
        members = {each: values for each, values in members.items() if values}
        required = {each: values[0] for each, values in members.items() if each in schema.get("required", ())}
        rows = [required, *(required | {each: value} for each, values in members.items() for value in values)]
        return distinct([*rows, {each: values[-1] for each, values in members.items()}])

    # MARK: What answers taught

    def learnt(self, name, path, otherwise="x"):
        while path and (path, name) not in self.learned:
            path = path.rpartition("/")[0]
        return self.learned.get((path, name), otherwise)

    def learn(self, path, answer):
        found = {}
        def walk(value):
            if isinstance(value, dict):
                for name, part in value.items():
                    if name in LEARNED and isinstance(part, str | int):
                        found.setdefault(name, part)
                    walk(part)
            elif isinstance(value, list):
                for part in value:
                    walk(part)
            elif isinstance(value, str) and value.startswith(self.server.address):
                for template, pattern in self.templates.items():
                    if pattern.fullmatch(value.removeprefix(self.server.address)):
                        self.given[template] = value.removeprefix(self.server.address)
        walk(answer)
        while True:
            self.learned |= {(path, name): value for name, value in found.items()}
            if not path:
                break
            path = path.rpartition("/")[0]

    # MARK: Requests

    def requests(self, template, method, operation):
        """The targets and bodies of an operation's requests."""
        parameters = [self.resolved(each) for each in self.document["paths"][template].get("parameters", []) + operation.get("parameters", [])]
        target = self.given.get(template) or re.sub(
            r"\{(\w+)\}", lambda match: urllib.parse.quote(self.place.get(match[1]) or self.learnt(match[1], template.rpartition("/")[0])), template)
        content = operation.get("requestBody", {}).get("content", {})
        if "application/json" in content:
            made = [] if template.endswith(OUTSIDE) else self.examples(content["application/json"]["schema"], None, template)
            bodies = distinct([{}, *made])
            return [(target, b""), *((target, json.dumps(body, separators=(",", ":")).encode()) for body in bodies)]
        query = {"type": "object", "properties": {each["name"]: each["schema"] for each in parameters if each["in"] == "query"},
                 "required": [each["name"] for each in parameters if each["in"] == "query" and each.get("required")]}
        rows = distinct([{}, *self.examples(query, None, template)])
        encoded = [urllib.parse.urlencode({name: value if isinstance(value, str) else json.dumps(value) for name, value in row.items()}) for row in rows]
        body = b"The bytes of a file" if content else None
        return [(f"{target}?{each}" if each else target, body) for each in encoded]

    def ask(self, template, method, operation):
        """Sends an operation's requests, and describes them and their answers."""
        ending = "text/event-stream" not in operation["responses"].get("200", {}).get("content", {})
        for target, body in self.requests(template, method, operation):
            sent = f"{method.upper()} {target}\n" + (f"{folded(body.decode())}\n" if body else "")
            try:
                status, headers, answer = send(self.server, method.upper(), target, body, self.headers, ending)
            except (ConnectionError, OSError) as error:
                yield f"{sent}\n{type(error).__name__}\n"
                continue
            if status == 200 and headers.get("Content-Type", "").startswith("application/json"):
                self.learn(template, json.loads(answer))
            yield f"{sent}\n{described(status, headers, answer)}\n"


def distinct(values):
    return [value for number, value in enumerate(values) if value not in values[:number]]


def send(server, method, target, body=None, headers=None, ending=True):
    """The status, headers and bytes of an answer; of an endless one only its head."""
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(server.address).netloc, timeout=100)
    try:
        connection.request(method, target, body, headers or {})
        response = connection.getresponse()
        return response.status, response.headers, response.read() if ending or response.status != 200 else b""
    finally:
        connection.close()


def described(status, headers, body):
    """An answer as text. A length that is right is not shown: those of durations differ."""
    shown = [f"{name}: {value}\n" for name, value in headers.items() if (name, value) != ("Content-Length", str(len(body)))]
    return f"{status}\n{''.join(shown)}\n{readable(body)}"


def readable(body):
    """Text with a line for each value, or the length and checksum of what is no text."""
    try:
        return folded(body.decode())
    except UnicodeDecodeError:
        return f"{len(body)} bytes, SHA-256 {hashlib.sha256(body).hexdigest()}\n"


def folded(text):
    """JSON with its members on lines of their own, and nothing else changed."""
    return re.sub(r'(,)(?=["{\[])', r"\1\n", text) if text[:1] in "{[" else text
