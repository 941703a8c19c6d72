internal import JSON
internal import RecordStore
internal import Records

/// `records/changes`: returns the changes to the records of one custom zone since a token. It is
/// older than `changes/zone`, and still in use (Apple's reference page "Fetching Record Changes").
struct RecordsChanges: Endpoint {
    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let body = call.body
        let request = ZoneChangesRequest(
            try body.zoneID() ?? .default, since: try body.token(),
            limit: PageLimit(records: try body.resultsLimit() ?? RequestObject.pageLimit), desiredKeys: try body.desiredKeys(),
            desiredRecordTypes: try body.desiredRecordTypes(), reverse: try body.bool("reverse") ?? false)
        let numbersAsStrings = try body.numbersAsStrings() ?? false
        let page = try await call.database().zoneChanges(request, noting: call.note)
        try call.makeRoom(for: page.changes.lazy.compactMap(\.record))
        let downloadURL = try await call.assets.addresses(in: page.changes.lazy.compactMap(\.record))
        try writer.object { try $0.members(of: page, numbersAsStrings: numbersAsStrings, downloadURL: downloadURL, for: call.caller.userRecordName) }
    }
}
