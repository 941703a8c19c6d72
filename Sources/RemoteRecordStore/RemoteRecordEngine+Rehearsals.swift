internal import JSON
internal import NIOHTTP1
public import RecordStore
public import Records

extension RemoteRecordEngine {
    private static var rehearsalsPath: String { "/skylight/1/rehearsals" }

    /// The active faults on the server, the oldest first. Omits faults that this version does not know.
    public func rehearsals() async throws -> [RunningRehearsal] {
        try Self.running(try await server.get(Self.rehearsalsPath))
    }

    /// Starts a fault injection on the server, or performs a one-time action.
    /// - Parameters:
    ///   - area: the scope. For a one-time action, the container and, if it affects one, the zone.
    ///   - caller: the owner of the zone that a one-time action affects.
    /// - Returns: the active faults after the change.
    /// - Throws: `RecordError` BAD_REQUEST if the action does not support the scope.
    @discardableResult
    public func startRehearsal(_ cue: RehearsalCue, in area: RehearsalArea, as caller: Caller) async throws -> [RunningRehearsal] {
        try await post(area, as: caller) { $0.member("start", cue.description) }
    }

    /// Stops fault injections on the server.
    /// - Parameters:
    ///   - rehearsal: the fault to stop; `nil` for all.
    ///   - area: exactly this scope; `everywhere` stops the fault in every scope.
    /// - Returns: the active faults after the change.
    @discardableResult
    public func stopRehearsals(_ rehearsal: Rehearsal?, in area: RehearsalArea = .everywhere) async throws -> [RunningRehearsal] {
        try await post(area, as: nil) { $0.member("stop", rehearsal?.rawValue ?? "all") }
    }

    private func post(_ area: RehearsalArea, as caller: Caller?, _ verb: (inout JSONWriter) -> Void) async throws -> [RunningRehearsal] {
        var writer = JSONWriter()
        writer.object { writer in
            verb(&writer)
            if let container = area.container { writer.member("container", container.description) }
            if let environment = area.environment { writer.member("environment", environment.rawValue) }
            if let scope = area.scope { writer.member("database", scope.rawValue) }
            if let zoneID = area.zoneID {
                writer.member("zone", zoneID.zoneName)
                if let owner = zoneID.ownerRecordName { writer.member("owner", owner) }
            }
        }
        let headers: HTTPHeaders = caller.map { ["X-Skylight-User": $0.userRecordName.string] } ?? [:]
        return try Self.running(try await server.post(Self.rehearsalsPath, writer.bytes, headers: headers, .saves))
    }

    private static func running(_ answer: Answer) throws -> [RunningRehearsal] {
        try answer.array("on").compactMap { item in
            guard let rehearsal = Rehearsal(rawValue: try item.string("rehearsal")) else { return nil }
            let zoneName = try item.optionalString("zone")
            let owner = try item.optionalString("owner")
            return RunningRehearsal(
                rehearsal: rehearsal,
                area: RehearsalArea(
                    container: try item.optionalString("container").flatMap { ContainerID($0) },
                    environment: try item.optionalString("environment").flatMap { Environment(rawValue: $0) },
                    scope: try item.optionalString("database").flatMap { DatabaseScope(rawValue: $0) },
                    zoneID: zoneName.map { ZoneID(zoneName: Name($0), ownerRecordName: owner.map { Name($0) }) }),
                remaining: item.has("count") ? Int(try item.integer("count")) : nil,
                since: try item.timestamp("since"))
        }
    }
}
