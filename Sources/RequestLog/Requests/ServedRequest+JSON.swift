public import Records

// The JSON of requests in `/skylight/1/requests` (docs/requests.md).

extension JSONWriter {
    /// Writes a request without its bodies.
    public mutating func value(_ request: ServedRequest) {
        object { $0.members(of: request) }
    }

    /// Writes a request with the kept parts of its bodies as text. Omits bodies that are no longer kept.
    public mutating func value(_ request: ServedRequest, bodies: RequestBodies?) {
        object { writer in
            writer.members(of: request)
            writer.member("requestBody", bodies?.request)
            writer.member("responseBody", bodies?.response)
        }
    }

    private mutating func members(of request: ServedRequest) {
        member("id", request.id)
        member("started", request.started.milliseconds)
        name("milliseconds")
        value((request.milliseconds * 100).rounded() / 100)
        member("method", request.method)
        member("target", request.target)
        member("operation", request.operation)
        optional("container", request.container?.description)
        optional("environment", request.environment?.rawValue)
        optional("database", request.scope?.rawValue)
        optional("userRecordName", request.userRecordName?.string)
        if let authentication = request.authentication {
            name("authentication")
            value(authentication)
        }
        name("client")
        value(request.client)
        array("zoneIDs", request.zoneIDs) { $0.value($1) }
        member("status", Int64(request.status))
        if let error = request.error {
            name("error")
            value(error)
        }
        array("itemErrors", request.itemErrors) { $0.value($1) }
        member("records", Int64(request.records))
        member("bytesIn", Int64(request.bytesIn))
        member("bytesOut", Int64(request.bytesOut))
        array("pulls", request.pulls) { $0.value($1) }
        optional("recordType", request.recordType?.string)
        optional("index", request.plan?.index)
        optional("plan", request.plan?.sentence)
        if request.isStream { member("stream", true) }
        if request.hasWaited { member("waited", true) }
        if request.isBrokenOff { member("brokenOff", true) }
        if request.isPassedOn { member("passedOn", true) }
        optional("rehearsals", request.rehearsals)
        array("warnings", request.warnings) { writer, warning in writer.value(warning.rawValue) }
        if request.mistakes.isEmpty { return }
        name("mistakes")
        object { writer in
            for (warning, names) in request.mistakes.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
                writer.member(Name(warning.rawValue), names)
            }
        }
    }

    mutating func value(_ client: ClientIdentity) {
        object { writer in
            writer.member("id", client.id)
            writer.optional("name", client.name)
            writer.optional("deviceID", client.deviceID)
            writer.optional("userAgent", client.userAgent)
        }
    }

    mutating func value(_ error: ServedRequest.ItemError) {
        object { writer in
            writer.optional("name", error.name?.string)
            writer.member("serverErrorCode", error.code.rawValue)
            writer.member("reason", error.reason)
        }
    }

    mutating func value(_ pull: ServedRequest.Pull) {
        object { writer in
            if let zoneID = pull.zoneID {
                writer.name("zoneID")
                writer.value(zoneID)
            }
            writer.optional("sent", pull.sent?.text)
            writer.optional("given", pull.given?.text)
            writer.member("moreComing", pull.moreComing)
            writer.member("changes", Int64(pull.changes))
            if let types = pull.recordTypes { writer.array("desiredRecordTypes", types.sorted()) { $0.value($1) } }
            if let keys = pull.keys { writer.array("desiredKeys", keys.sorted()) { $0.value($1) } }
            if pull.reverse { writer.member("reverse", true) }
            if let error = pull.error {
                writer.name("error")
                writer.value(error)
            }
        }
    }

    private mutating func member(_ name: Name, _ body: RequestBodies.Body?) {
        guard let body else { return }
        self.name(name)
        object { writer in
            writer.member("bytes", Int64(body.total))
            writer.member("cut", body.isCut)
            // Replaces invalid UTF-8, including a character at the end of a truncated body.
            writer.member("text", String(decoding: body.bytes, as: UTF8.self))
        }
    }

    mutating func optional(_ name: Name, _ text: String?) {
        if let text { member(name, text) }
    }

    /// Writes an array member, or nothing if the array is empty.
    mutating func array<Element>(_ name: Name, _ elements: [Element], _ write: (inout JSONWriter, Element) -> Void) {
        if elements.isEmpty { return }
        self.name(name)
        array { writer in
            for element in elements { write(&writer, element) }
        }
    }
}

// MARK: - Authentication

extension JSONWriter {
    mutating func value(_ authentication: Authentication) {
        object { writer in
            writer.member("way", authentication.way.rawValue)
            writer.optional("credential", authentication.credential)
            writer.optional("session", authentication.session)
            if let problem = authentication.problem {
                writer.name("problem")
                writer.value(problem)
            }
        }
    }

    private mutating func value(_ problem: Authentication.Problem) {
        object { writer in
            writer.member("problem", problem.kind)
            writer.member("sentence", problem.sentence)
            writer.optional("remedy", problem.remedy)
            writer.optional("expected", problem.expected)
            writer.optional("received", problem.received)
            writer.member("certain", problem.isCertain)
            writer.array("parts", problem.parts) { writer, part in
                writer.object { writer in
                    writer.member("part", part.name)
                    writer.member("expected", part.expected)
                    writer.optional("received", part.received)
                    writer.member("state", part.state.rawValue)
                }
            }
        }
    }
}
