internal import JSON
internal import RecordStore
internal import Records
internal import Traffic

/// `changes/database`: returns the zones that changed since a token (Apple's reference page "Fetching Database Changes").
struct DatabaseChanges: Endpoint {
    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let request = DatabaseChangesRequest(since: try call.body.token(), limit: try call.body.resultsLimit() ?? RequestObject.pageLimit)
        let page = try await call.database().databaseChanges(request, noting: call.note)
        writer.object { $0.members(of: page, tokenName: "syncToken") }
    }
}

/// `zones/changes`: an older name of `changes/database`. Its tokens are called `metaSyncToken`, and it ignores a
/// `syncToken`. Without a token it lists deleted zones as well (Apple's reference page "Fetching Zone Changes").
struct ZonesChanges: Endpoint {
    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let request = DatabaseChangesRequest(
            since: try call.body.token("metaSyncToken"), includesGoneZones: true,
            limit: try call.body.resultsLimit() ?? RequestObject.pageLimit)
        if call.body.value("syncToken") != nil { call.note?.update { $0.ignoredSyncToken = true } }
        let page = try await call.database().databaseChanges(request, noting: call.note)
        writer.object { $0.members(of: page, tokenName: "metaSyncToken") }
    }
}

extension JSONWriter {
    fileprivate mutating func members(of page: DatabaseChangesPage, tokenName: Name) {
        name("zones")
        array { writer in
            for change in page.changes { writer.value(change) }
        }
        member(tokenName, page.syncToken.text)
        member("moreComing", page.moreComing)
    }

    private mutating func value(_ change: ZoneChange) {
        object { writer in
            writer.name("zoneID")
            writer.value(change.zoneID)
            // Clients see a purge as a deletion.
            if change.kind != .changed { writer.member("deleted", true) }
            if let token = change.syncToken { writer.member("syncToken", token.text) }
        }
    }
}
