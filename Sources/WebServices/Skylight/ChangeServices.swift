internal import JSON
internal import RecordStore
internal import Records

/// `changes/page`: returns a page of a zone's changes with details beyond the protocol: kinds, positions, and the user and time of deletions.
struct ChangesPage: Endpoint {
    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let body = call.body
        let request = ZoneChangesRequest(
            try body.namedZone(), since: try body.token(), limit: try body.widePageLimit(), desiredKeys: try body.desiredKeys(),
            desiredRecordTypes: try body.desiredRecordTypes(), reverse: try body.bool("reverse") ?? false)
        let page = try await call.database().zoneChanges(request, noting: call.note)
        try call.makeRoom(for: page.changes.lazy.compactMap(\.record))
        let downloadURL = try await call.assets.addresses(in: page.changes.lazy.compactMap(\.record))
        try writer.object { writer in
            writer.name("zoneID")
            writer.value(page.zoneID)
            writer.name("changes")
            try writer.array { writer in
                for change in page.changes { try writer.value(change, downloadURL: downloadURL) }
            }
            writer.member("syncToken", page.syncToken.text)
            writer.member("moreComing", page.moreComing)
        }
    }
}

/// `changes/zones`: returns a page of a database's changes with details beyond the protocol: purges, and the time of each zone's last change.
struct ChangedZones: Endpoint {
    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let body = call.body
        let request = DatabaseChangesRequest(
            since: try body.token(), includesGoneZones: try body.bool("includesGoneZones") ?? false, limit: try body.widePageLimit().records)
        let page = try await call.database().databaseChanges(request, noting: call.note)
        writer.object { writer in
            writer.name("zones")
            writer.array { writer in
                for change in page.changes {
                    writer.object { writer in
                        writer.name("zoneID")
                        writer.value(change.zoneID)
                        writer.member("change", change.kind.rawValue)
                        if let timestamp = change.timestamp { writer.member("timestamp", timestamp.milliseconds) }
                        if let token = change.syncToken { writer.member("syncToken", token.text) }
                    }
                }
            }
            writer.member("syncToken", page.syncToken.text)
            writer.member("moreComing", page.moreComing)
        }
    }
}

/// `tokens/expire`: invalidates every token of the container's environment, so that all clients start over.
struct TokensExpire: Endpoint {
    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let database = try await call.database()
        try await database.expireTokens()
        writer.object { $0.member("expired", true) }
    }
}
