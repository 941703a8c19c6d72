internal import AssetStore
internal import JSON
internal import RecordStore
internal import Records

/// `assets/upload`: returns an upload address for each asset field. An address is valid for 15 minutes (Apple's reference page "Uploading Assets").
struct AssetsUpload: Endpoint {
    static let purpose = EndpointPurpose.changing

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let body = call.body
        let zoneID = try body.zoneID()
        let slots = try body.items("tokens").map { token in
            AssetSlot(
                recordType: try token.required("recordType", "a string", token.name("recordType")),
                fieldName: try token.required("fieldName", "a string", token.name("fieldName")), recordName: try token.name("recordName"))
        }
        let database = try await call.database()
        let grants = try await database.grantUploads(slots, in: zoneID)
        call.note?.about([zoneID ?? .default])
        try grants.checkAccess()
        call.note?.items(grants, areRecords: false) { slots[$0].recordName }
        let links = try await call.assets.links()
        writer.object { writer in
            writer.name("tokens")
            writer.array { writer in
                for (slot, grant) in zip(slots, grants) {
                    writer.object { writer in
                        switch grant {
                        case .success(let grant):
                            writer.member("recordName", grant.recordName)
                            writer.member("fieldName", grant.fieldName)
                            writer.member("url", links.uploadURL(grant))
                        case .failure(let error):
                            if let recordName = slot.recordName { writer.member("recordName", recordName) }
                            writer.member("fieldName", slot.fieldName)
                            writer.members(of: error)
                        }
                    }
                }
            }
        }
    }
}

extension Array {
    /// Fails a request as a whole if access is denied to all of its items.
    ///
    /// For services with items that CloudKit JS does not look through for errors: `assets/upload` and `assets/rereference`. Records, zones,
    /// subscriptions and shares carry theirs each, as in iCloud.
    /// - Throws: `RecordError` ACCESS_DENIED, the first item's.
    func checkAccess<Value>() throws where Element == Result<Value, RecordError> {
        let denials = compactMap { item in if case .failure(let error) = item, error.code == .accessDenied { error } else { nil } }
        if denials.count == count, let denial = denials.first { throw denial }
    }
}
