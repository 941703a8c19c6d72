internal import Accounts
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import RecordStore
internal import Records

/// `/skylight/1/rehearsals`: lists, starts and stops fault injection (docs/rehearsals.md).
struct FaultServices: Sendable {
    static let path = "/skylight/1/rehearsals"

    /// Returns whether a request is for these services, with or without a slash at the end of the path.
    static func isMeant(by request: Request) -> Bool {
        request.path.hasPrefix(path) && ["", "/"].contains(request.path.dropFirst(path.utf8.count))
    }

    /// The engine without fault injection. One-time actions change real data through it.
    let engine: any RecordEngine
    let faults: FaultInjection
    let callers: CallerResolver

    var middleware: FaultMiddleware { FaultMiddleware(services: self) }

    /// Answers GET and POST.
    /// - Throws: `RecordError` for the protocol's errors.
    func answer(to request: Request, context: ServingRequestContext) async throws -> Response {
        try Self.checkPeer(of: request, context)
        var writer = JSONWriter()
        if request.method == .get {
            writer.list(faults)
            return .json(writer.bytes)
        }
        let body = try await RequestObject.reading(try await request.receivedBytes())
        switch (try body.string("start"), try body.string("stop")) {
        case (let name?, nil): try await start(name, body, request, into: &writer)
        case (nil, let name?): try stop(name, body, into: &writer)
        default: throw RecordError.unexpectedInput("Expected either 'start' or 'stop' to be the name of a rehearsal")
        }
        return .json(writer.bytes)
    }

    /// - Throws: `RecordError` ACCESS_DENIED for clients on other machines, because fault injection affects all
    ///   clients.
    static func checkPeer(of request: Request, _ context: ServingRequestContext) throws {
        guard context.isFromThisMachine(request) else {
            throw RecordError(
                .accessDenied,
                "Rehearsals are allowed only for clients on the server's own machine, without a proxy; use an SSH tunnel"
            )
        }
    }

    private func start(_ name: String, _ body: RequestObject, _ request: Request, into writer: inout JSONWriter)
        async throws
    {
        var setting = try FaultSetting(name)
        let (count, every, code) = (
            try Int?.member("count", of: body), try Int?.member("every", of: body), try body.string("code")
        )
        if count != nil || every != nil || code != nil {
            setting = try FaultSetting(
                setting.fault, count: count ?? setting.count, every: every ?? setting.items?.every,
                code: code ?? setting.items?.code.rawValue)
        }
        let area = try Self.area(in: body)
        if setting.fault.kind == .act {
            try await perform(setting.fault, in: area, as: try callers.caller(of: request))
            writer.object { writer in
                writer.member("done", setting.fault.rawValue)
                writer.active(faults)
            }
        } else {
            try faults.start(setting, in: area, minutes: try Int?.member("minutes", of: body))
            writer.object { writer in
                writer.member("started", setting.description)
                writer.active(faults)
            }
        }
    }

    private func stop(_ name: String, _ body: RequestObject, into writer: inout JSONWriter) throws {
        let area = try Self.area(in: body)
        let count = faults.stop(
            name == "all" ? nil : try FaultSetting(name).fault, in: area == .everywhere ? nil : area)
        writer.object { writer in
            writer.member("stopped", Int64(count))
            writer.active(faults)
        }
    }

    private func perform(_ act: InjectedFault, in area: FaultArea, as caller: Caller) async throws {
        try area.check(for: act)
        guard let container = area.container else {
            throw RecordError.unexpectedInput(
                "'\(act.rawValue)' needs one container: expected 'container' to be a string")
        }
        // Opening a database of an unknown container would create the container.
        guard try await engine.has(container) else {
            throw RecordError(.notFound, "There is no container \(container)")
        }
        let address = DatabaseAddress(
            container: container, environment: area.environment ?? .development, scope: area.scope ?? .private)
        try await act.perform(in: try await engine.database(address, as: caller), zoneID: area.zoneID)
    }

    /// The area that a body names. Omitted parts are unrestricted.
    private static func area(in body: RequestObject) throws -> FaultArea {
        var area = try FaultArea.form.read(body)
        area.user = area.user.map { User.recordName(ofHandle: $0.string) }
        return area
    }
}

// MARK: - Area of a fault

extension FaultArea.RequestedZones {
    /// The zones of a request, from its query string and body. Errors in the body are ignored here; the service reports
    /// them.
    init(of request: Request, action: String, body: [UInt8]) {
        if let zone = request.queryParameter("zone") {
            self = .zones([
                ZoneID(zoneName: Name(zone), ownerRecordName: request.queryParameter("owner").map { Name($0) })
            ])
            return
        }
        // An unreadable body, or an unreadable part, names no zone. The service reports the error.
        guard let object = try? RequestObject(body) else {
            self = .database
            return
        }
        var zoneIDs: [ZoneID] = []
        let whole = (try? object.zoneID()) ?? nil
        for item in ((try? object.objects("zones")) ?? nil) ?? [] {
            zoneIDs += [try? item.zoneIdentity()].compactMap(\.self)
        }
        for name in ["operations", "records"] as [Name] {
            for item in ((try? object.objects(name)) ?? nil) ?? [] {
                zoneIDs += [Self.zoneID(of: item) ?? whole].compactMap(\.self)
            }
        }
        if zoneIDs.isEmpty, let whole { zoneIDs = [whole] }
        if zoneIDs.isEmpty, action.hasPrefix("records/") {
            if (try? object.bool("zoneWide")) == true {
                self = .allZones
                return
            }
            zoneIDs = [.default]
        }
        self = zoneIDs.isEmpty ? .database : .zones(zoneIDs)
    }

    /// The zone of an item: its own, its record's, or the item itself as a zone ID.
    private static func zoneID(of item: RequestObject) -> ZoneID? {
        if let zoneID = try? item.namedZone() { return zoneID }
        for name in ["zone", "record"] as [Name] {
            if let part = (try? item.object(name)) ?? nil, let zoneID = try? part.namedZone() { return zoneID }
        }
        return nil
    }
}

// MARK: - JSON

extension JSONWriter {
    /// All faults that can be injected, and the active ones.
    mutating func list(_ faults: FaultInjection) {
        object { writer in
            writer.member("rehearsals", objects: InjectedFault.allCases) { writer, fault in
                writer.member("name", fault.rawValue)
                writer.member("kind", fault.kind.rawValue)
                writer.member("title", fault.title)
                writer.member("effect", fault.effect)
                writer.member("advice", fault.advice)
            }
            writer.active(faults)
        }
    }

    /// The member that lists the active faults.
    mutating func active(_ faults: FaultInjection) {
        name("on")
        value(faults.active)
    }
}
