internal import Console
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import JSON
internal import NIOCore
internal import Records
internal import Traffic

/// Replays a request of the log.
struct RequestReplay {
    /// The possible effect of a replay.
    enum Kind: Sendable {
        case read, write

        /// Operations that use POST and change nothing.
        private static let reading: Set<String> = [
            "records/query", "records/lookup", "records/changes", "changes/database", "changes/zone", "zones/list", "zones/lookup", "zones/changes",
            "users/caller", "users/current",
            "skylight/assets/uses", "skylight/changes/page", "skylight/changes/zones", "skylight/keyvalues/changes", "skylight/query/statistics",
            "skylight/records/counts", "skylight/records/explain", "skylight/records/journal", "skylight/records/list", "skylight/records/query", "skylight/records/referrers",
            "skylight/schema", "skylight/schema/builds", "skylight/schema/counts", "skylight/schema/diff", "skylight/schema/history",
            "skylight/schema/usage", "skylight/schema/validate", "skylight/zones/participants",
        ]

        /// - Returns: `nil` if the request can't be replayed: it is truncated, its answer is a stream or concerns
        ///   a file, or its credentials were refused. A replay is always authorized, so its answer would differ.
        init?(_ request: ServedRequest, body: RequestBodies.Body?) {
            guard !request.isStream, !request.hasUnreadBody, !request.operation.hasPrefix("assets/"), request.method == "GET" || request.method == "POST",
                (body?.bytes.count ?? 0) == request.bytesIn, ![401, 421].contains(request.status)
            else { return nil }
            let isSkylightRead = request.operation.hasPrefix("skylight/") && request.method == "GET"
            // Requests without a matching service are refused again, so they change nothing.
            let isUnknown = request.operation.hasPrefix("/")
            self = Self.reading.contains(request.operation) || isSkylightRead || isUnknown ? .read : .write
        }
    }

    /// A replay tells what the answer is now, and does not wait for another one.
    private static let waitParameter: Name = "wait"

    let served: ServedRequest
    let body: [UInt8]
    let kind: Kind

    /// - Throws: `RecordError` NOT_FOUND if the log does not have the request, BAD_REQUEST if it can't be replayed.
    init(_ id: String?, in log: RequestLog) throws {
        guard let id, let request = log.request(id) else {
            throw RecordError(.notFound, "The log no longer has this request")
        }
        let body = log.bodies(of: request.id)?.request
        guard let kind = Kind(request, body: body) else {
            throw RecordError(
                .badRequest, "This request can't be replayed: its body is not fully kept, its response is a stream or a file, or it was not authenticated")
        }
        served = request
        self.body = request.hasWaited ? Self.withoutWait(body?.bytes ?? []) : body?.bytes ?? []
        self.kind = kind
    }

    private static func withoutWait(_ body: [UInt8]) -> [UInt8] {
        guard case .object(let object)? = try? JSONReader.value(of: body) else { return body }
        return JSONWriter.bytes(of: .object(JSONObject(object.filter { $0.name != waitParameter })))
    }

    /// The target of the replay.
    private var target: String {
        let parts = served.target.split(separator: "?", maxSplits: 1)
        guard served.hasWaited, let path = parts.first, parts.count == 2 else { return served.target }
        let query = parts[1].split(separator: "&").filter { !$0.hasPrefix("\(Self.waitParameter)=") }.joined(separator: "&")
        return query.isEmpty ? String(path) : "\(path)?\(query)"
    }

    /// The confirmation page for a replay that changes data.
    func confirmation(_ visit: Visit) -> ConfirmationView {
        let user = served.userRecordName.map(visit.people.name) ?? "nobody"
        let place = served.address.map { " in \($0.container), \($0.words)" } ?? ""
        var lines = ["\(served.operation) as \(user)\(place), first sent \(served.started.utcText.prefix(19)) UTC, changes stored data again."]
        if served.address?.environment == .production { lines.append("This is production.") }
        return ConfirmationView(
            on: .requests, title: "Replay \(served.operation)?", lines: lines, action: visit.place.link("requests/replay"),
            fields: [Frame.Hidden(name: "id", value: served.id)], button: "Replay", cancel: visit.place.link("requests", [("id", served.id)]))
    }

    /// Sends the request to the web services in this process.
    /// - Parameters:
    ///   - original: the console request that starts the replay. It supplies the host.
    /// - Returns: the id of the new request in the log.
    func send(
        to services: any HTTPResponder<ServingRequestContext>, from original: Request, _ context: ServingRequestContext
    ) async throws -> String {
        var headers = HTTPFields()
        headers[.userAgent] = SkylightVersion.userAgent
        if !body.isEmpty { headers[.contentType] = "application/json" }
        let named: [(String, String?)] = [
            ("X-Skylight-Client", ClientIdentity.replayName), ("X-Skylight-User", served.userRecordName?.string), ("X-Skylight-Device", served.client.deviceID),
            ("X-Skylight-Access", served.accessOfReplay),
        ]
        for (name, value) in named {
            if let value, let field = HTTPField.Name(name) { headers[field] = value }
        }
        let head = HTTPRequest(
            method: served.method == "GET" ? .get : .post, scheme: original.head.scheme, authority: original.head.authority, path: target, headerFields: headers)
        let fresh = ServingRequestContext(source: ApplicationRequestContextSource(channel: context.channel, logger: context.logger))
        do {
            _ = try await services.respond(to: Request(head: head, body: RequestBody(buffer: ByteBuffer(bytes: body))), context: fresh)
        } catch is any HTTPResponseError {
            // The log records refusals too.
        }
        return fresh.requestID
    }
}

extension ServedRequest {
    /// The access rights of the replay, if they are not those of a user.
    fileprivate var accessOfReplay: String? {
        if authentication?.way == .owner { return "owner" }
        return authentication != nil && userRecordName == nil ? "anonymous" : nil
    }
}
