internal import JSON
internal import RecordStore
internal import Records

/// `records/lookup`: records by their names, one item for each name, in the order of the request
/// (Apple's reference page "Fetching Records by Record Name").
struct RecordsLookup: Endpoint {
    private struct Item {
        let recordID: RecordID
        let desiredKeys: Set<Name>?
    }

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let body = call.body
        let zoneID = try body.zoneID() ?? .default
        let desiredKeys = try body.desiredKeys()
        let numbersAsStrings = try body.numbersAsStrings() ?? false
        let items = try body.items("records").map { item in
            Item(
                recordID: RecordID(
                    recordName: try item.required("recordName", "a string", item.name("recordName")), zoneID: try item.zoneID() ?? zoneID),
                desiredKeys: try item.desiredKeys())
        }
        call.note?.about(items.map(\.recordID.zoneID))
        let database = try await call.database()
        // Where items want fields of their own, all fields are fetched and each item keeps its part.
        let isUniform = items.allSatisfy { $0.desiredKeys == nil }
        let token = try await call.syncToken(of: zoneID, in: database)
        let records = try await database.fetch(items.map(\.recordID), desiredKeys: isUniform ? desiredKeys : nil)
        call.note?.items(records) { items[$0].recordID.recordName }
        let downloadURL = try await call.assets.addresses(in: records.lazy.compactMap { try? $0.get() })
        try writer.object { writer in
            writer.name("records")
            try writer.array { writer in
                for (item, result) in zip(items, records) {
                    switch result {
                    case .success(let record):
                        try writer.value(
                            record.keeping(item.desiredKeys ?? desiredKeys), numbersAsStrings: numbersAsStrings, downloadURL: downloadURL)
                    case .failure(let error): writer.value(error, recordName: item.recordID.recordName)
                    }
                }
            }
            if let token { writer.member("syncToken", token.text) }
        }
    }
}
