"""What a server takes numbers at: services, pages and forms, found in its description, its pages and its sources."""

import copy
import html.parser
import re
import urllib.parse

from server_binary import PACKAGE

PLACE = "/c/iCloud.com.example.Chat/development/private"
SERVICES = {"{container}": "iCloud.com.example.Chat", "{environment}": "development", "{database}": "private"}
SOURCES = [PACKAGE / "Sources" / name for name in ("Console", "RecordPages", "TrafficPages", "AdminPages")]
TABLE = PACKAGE / "Sources/ConsolePages/Routes.swift"
# Pages that only differ in their subject (record, token) are one kind. This many of each kind, with other parameters, are kept.
EACH = 3
# What a form sends that has no value yet, and a body whose description has no example. The rest is made up.
KNOWN = {
    "zone": "Chats", "zoneName": "Chats", "type": "Message", "recordType": "Message", "name": "Room/general", "recordName": "Room/general", "field": "text",
    "fieldName": "text", "desiredKeys": "text", "names": "Room/general", "user": "developer", "environment": "development",
    "database": "private", "operationType": "forceUpdate", "comparator": "EQUALS", "latitude": 1.5, "longitude": -2.5, "role": "Writers", "key": "draft",
    "fileChecksum": "0" * 64, "emailAddress": "anna@example.com", "allowedOrigins": "http://localhost:3000",
    # A container that becomes connected is no longer answered by the server itself.
    "container": "iCloud.com.example.Connected",
}
# In a body, the type is that of a value, and these have no examples.
KNOWN_IN_BODIES = {
    "type": "INT64", "value": 3, "fields": {"text": {"value": "3"}, "size": {"value": 3, "type": "INT64"}, "sentAt": {"value": 3}}, "start": "throttled",
    "subscription": {
        "subscriptionID": "Sizes", "subscriptionType": "query", "firesOn": ["create"], "zoneID": {"zoneName": "Chats"},
        "query": {"recordType": "Message", "filterBy": [{"fieldName": "size", "comparator": "EQUALS", "fieldValue": {"value": 3, "type": "INT64"}}]},
    },
}
KINDS = {str: "string", int: "integer", float: "number", dict: "object"}
# Members that most services understand only together with others.
PARTICULAR = {"continuationMarker", "syncToken", "owner", "ownerRecordName", "schema", "after", "parent", "participants"}
# Parameters that say what is asked where. Tests give the addresses, because iCloud would be asked without them.
FIXED = {"container", "server", "address"}


class Route:
    """A page, a form or a service, with values for its parameters.
    - address: the names of those parameters of a form that its address has."""

    def __init__(self, method, path, fields=(), body=None, address=(), is_multipart=False, is_endless=False):
        self.method, self.path, self.fields, self.body, self.address = method, path, list(fields), body, set(address)
        self.is_multipart, self.is_endless = is_multipart, is_endless

    @property
    def key(self):
        """Equal for pages that only differ in their subject."""
        path = re.sub(r"^/c/[^/]+/[^/]+/[^/]+", "/c", self.path)
        return self.method, re.sub(r"^/(share|requests)/[^/]+", r"/\1/…", path)

    @property
    def names(self):
        return tuple(sorted({name for name, _ in self.fields}))

    def __str__(self):
        return f"{self.method} {self.path}"


class Routes:
    """All routes, each once for each set of parameters."""

    def __init__(self):
        self.by_key = {}

    def add(self, route):
        known = self.by_key.setdefault(route.key, [])
        if len(known) < EACH and all((route.names, route.body) != (other.names, other.body) for other in known):
            known.append(route)

    def __iter__(self):
        return iter(self.by_key.values())

    def __len__(self):
        return len(self.by_key)


# Pages


class Reader(html.parser.HTMLParser):
    """The links of a page, the addresses in its data, and its forms."""

    def __init__(self, path):
        super().__init__()
        self.path, self.links, self.forms, self.by_id = path, [], [], {}
        self.form = self.select = self.text = None

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.links += [attributes["href"]] if tag == "a" and attributes.get("href") else []
        self.links += [value for name, value in attributes.items() if name.startswith("data-") and (value or "").startswith("/")]
        if tag == "form":
            self.form = {"method": (attributes.get("method") or "get").upper(), "action": attributes.get("action") or self.path, "fields": [],
                         "is_multipart": attributes.get("enctype") == "multipart/form-data", "buttons": []}
            self.forms.append(self.form)
            self.by_id[attributes.get("id")] = self.form
        form = self.by_id.get(attributes.get("form"), self.form) if "form" in attributes else self.form
        name, value = attributes.get("name"), attributes.get("value") or ""
        if form is None or tag not in ("input", "select", "textarea", "button"):
            if tag == "option" and self.select and (self.select[1] is None or "selected" in attributes):
                self.select[1] = value
            return
        if tag == "button":
            form["buttons"].append((name, value, attributes.get("formaction")))
        elif tag == "input" and name:
            form["fields"].append((name, value or str(KNOWN.get(name, ""))))
        elif name:
            # Until its end, the value of a choice is that of its first option, and that of a text is what it holds.
            entry = [name, None if tag == "select" else ""]
            form["fields"].append(entry)
            self.select, self.text = (entry, self.text) if tag == "select" else (self.select, entry)

    def handle_data(self, data):
        if self.text:
            self.text[1] += data

    def handle_endtag(self, tag):
        if tag == "form":
            self.form = None
        if tag == "select":
            self.select = None
        if tag == "textarea":
            self.text = None

    @property
    def routes(self):
        for form in self.forms:
            filled = [(name, value or str(KNOWN.get(name, ""))) for name, value in form["fields"]]
            for name, value, action in form["buttons"] or [(None, "", None)]:
                path, own = split(urllib.parse.urljoin(self.path, action or form["action"]))
                fields = [field for field in own if field not in form["fields"]] + filled + ([(name, value)] if name else [])
                yield Route(form["method"], path, fields, address=[name for name, _ in own], is_multipart=form["is_multipart"])


def split(url):
    """The path and the parameters of an address."""
    parts = urllib.parse.urlsplit(url)
    return parts.path, urllib.parse.parse_qsl(parts.query, keep_blank_values=True)


def pages(get):
    """The pages that links lead to, and their forms. Nothing is sent but GET.
    - get: the type and the text of a page."""
    routes, waiting, seen = Routes(), ["/"], {"/"}
    counts = {}
    while waiting:
        url = waiting.pop(0)
        path, fields = split(url)
        route = Route("GET", path, fields)
        kind = (route.key, route.names)
        counts[kind] = counts.get(kind, 0) + 1
        if counts[kind] > 1 or path.startswith(("/assets/", "/static/", "/skylight/", "/database/")):
            continue
        routes.add(route)
        content_type, text = get(url)
        if not content_type.startswith("text/html"):
            continue
        reader = Reader(url)
        reader.feed(text)
        for form in reader.routes:
            routes.add(form)
        for link in reader.links:
            link = urllib.parse.urldefrag(urllib.parse.urljoin(url, link)).url
            if link.startswith("/") and link not in seen:
                seen.add(link)
                waiting.append(link)
    return routes


def texts():
    return [path.read_text() for folder in SOURCES for path in sorted(folder.rglob("*.swift"))]


def declared():
    """The routes in the console's table: also those that no link of the demo data leads to. A test in Swift checks that each row is a line like these."""
    names = ("zone", "type", "name", "field")
    fields = [(name, KNOWN[name]) for name in names]
    for kind, path in re.findall(r'^ +\.(\w+)\("([^"{]*)", .*\),$', TABLE.read_text(), re.MULTILINE):
        method = "GET" if kind in ("page", "answer", "file", "get") else "POST"
        yield Route(method, path if path.startswith("/") else f"{PLACE}/{path}", fields, address=names)


def numbers():
    """The names that the console reads as numbers."""
    names = set()
    for text in texts():
        names |= set(re.findall(r'static let \w*Field = "(\w+)"', text))
        for line in text.splitlines():
            if re.search(r"\bInt(64)?\b|\.number\(", line):
                names |= set(re.findall(r'(?:fields|sent)(?:\.\w+)?[\[(]"([A-Za-z]+)"', line))
                names |= {f"{name}1" for name in re.findall(r'(?:fields|sent)(?:\.\w+)?[\[(]"([A-Za-z]+)\\\(', line)}
    return sorted(names)


# Services


def services(document, known):
    """The services of an OpenAPI description, with a body or parameters that make sense.
    - known: values by the names of members and parameters."""
    known = {**KNOWN, **KNOWN_IN_BODIES, **known}

    def resolved(part):
        while "$ref" in part:
            target = document
            for name in part["$ref"].removeprefix("#/").split("/"):
                target = target[name]
            part = target
        return part

    def example(schema, name=None, depth=0):
        schema = resolved(schema)
        if name in known and known[name] in schema.get("enum", [known[name]]) and schema.get("type") in (KINDS[type(known[name])], None):
            return copy.deepcopy(known[name])
        if "const" in schema:
            return schema["const"]
        if schema.get("examples"):
            return copy.deepcopy(schema["examples"][0])
        if schema.get("enum"):
            return schema["enum"][0]
        for way in ("anyOf", "oneOf"):
            if way in schema:
                parts = [part for part in schema[way] if resolved(part).get("type") != "null"]
                return example(parts[depth % len(parts)], name, depth + 1)
        kind = schema.get("type")
        kind = kind[0] if isinstance(kind, list) else kind
        if kind == "object" or "properties" in schema:
            made = {key: example(part, key, depth + 1) for key, part in schema.get("properties", {}).items() if depth < 8}
            more = schema.get("additionalProperties")
            if isinstance(more, dict) and depth < 8:
                made.setdefault("text", example(more, "text", depth + 1))
            return made
        if kind == "array":
            return [example(schema.get("items", {}), name, depth + 1)] if depth < 8 else []
        return {"integer": 1, "number": 1.5, "boolean": False}.get(kind, known.get(name, "a"))

    for pattern, item in document["paths"].items():
        path = re.sub(r"\{\w+\}", lambda part: SERVICES.get(part[0], "x"), pattern)
        for method, operation in item.items():
            if method == "parameters":
                continue
            asked = [resolved(part) for part in item.get("parameters", []) + operation.get("parameters", [])]
            fields = [(part["name"], str(example(part.get("schema", {}), part["name"]))) for part in asked if part["in"] == "query"]
            content = operation.get("requestBody", {}).get("content", {})
            body = example(content["application/json"]["schema"]) if "application/json" in content else None
            if method != "get" and body is None and content:
                body = "bytes"
            is_endless = "text/event-stream" in operation["responses"].get("200", {}).get("content", {})
            yield Route(method.upper(), path, fields, body, is_endless=is_endless)
            # The same without the members that ask for a certain state.
            yield Route(method.upper(), path, [field for field in fields if field[0] not in PARTICULAR], general(body), is_endless=is_endless)


def general(body):
    if isinstance(body, dict):
        return {name: general(value) for name, value in body.items() if name not in PARTICULAR}
    return [general(value) for value in body] if isinstance(body, list) else body


def headers():
    """The headers of Skylight and CloudKit, and those of HTTP that have numbers."""
    text = (PACKAGE / "Sources/HTTPServing/Response.swift").read_text()
    own = [name for name in re.findall(r'constant\("([^"]+)"\)', text) if name != "Host"]
    return [(name, "{}") for name in own] + [
        ("Range", "bytes={}-"), ("Range", "bytes=-{}"), ("Range", "bytes=0-{}"), ("If-Modified-Since", "{}"), ("If-None-Match", "{}"),
        ("Accept-Encoding", "gzip;q={}"), ("Content-Type", "multipart/form-data; boundary={}"), ("Retry-After", "{}"), ("Keep-Alive", "timeout={}"),
    ]
