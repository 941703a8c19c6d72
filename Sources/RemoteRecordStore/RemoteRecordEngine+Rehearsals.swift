internal import JSON
internal import NIOHTTP1
public import RecordStore
public import Records

extension RemoteRecordEngine {
    private static var rehearsalsPath: String { "/skylight/1/rehearsals" }

    /// What the server rehearses now, the oldest first. What it calls by names that this version doesn't know is left out.
    public func rehearsals() async throws -> [RunningRehearsal] {
        try Self.running(try await server.get(Self.rehearsalsPath))
    }

    /// Starts a rehearsal on the server, or does what happens once.
    /// - Parameters:
    ///   - area: of an act: the container and, where it is about one, the zone.
    ///   - caller: whose zone it is, where the act is about one.
    /// - Returns: what is rehearsed then.
    /// - Throws: `RecordError` BAD_REQUEST when the act is not about such a place.
    @discardableResult
    public func startRehearsal(_ cue: RehearsalCue, in area: RehearsalArea, as caller: Caller) async throws -> [RunningRehearsal] {
        try await post(area, as: caller) { $0.member("start", cue.description) }
    }

    /// Stops rehearsals on the server.
    /// - Parameters:
    ///   - rehearsal: `nil` for all.
    ///   - area: exactly this area; everywhere means each of them.
    /// - Returns: what is rehearsed then.
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
                since: Timestamp(milliseconds: try item.integer("since")))
        }
    }
}
