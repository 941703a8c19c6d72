internal import AssetStore
internal import RecordStore
internal import Records

/// `assets/upload`: returns an upload address for each asset field. An address is valid for 15 minutes (Apple's
/// reference page "Uploading Assets").
struct AssetsUpload: Endpoint {
    let purpose = EndpointPurpose.ofUser

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let body = call.body
        let zoneID = try body.zoneID()
        let requests = try body.items("tokens").map { token in
            UploadRequest(
                recordType: try token.required("recordType", "a string", token.name("recordType")),
                fieldName: try token.required("fieldName", "a string", token.name("fieldName")),
                recordName: try token.name("recordName"))
        }
        let database = try await call.database()
        let grants = try await database.require(.uploadAssets).grantUploads(requests, in: zoneID)
        call.note?.about([zoneID ?? .default])
        try grants.checkAccess()
        call.note?.items(grants, areRecords: false) { requests[$0].recordName }
        let links = try await call.assets.links()
        writer.object { writer in
            writer.member("tokens", objects: zip(requests, grants)) { writer, item in
                let (request, grant) = item
                switch grant {
                case .success(let grant):
                    writer.member("recordName", grant.recordName)
                    writer.member("fieldName", grant.fieldName)
                    writer.member("url", links.uploadURL(grant))
                case .failure(let error):
                    if let recordName = request.recordName { writer.member("recordName", recordName) }
                    writer.member("fieldName", request.fieldName)
                    writer.members(of: error)
                }
            }
        }
    }
}

extension Array {
    /// Fails a request as a whole if access is denied to all of its items.
    ///
    /// Used by the services whose items CloudKit JS does not check for errors: `assets/upload` and
    /// `assets/rereference`. Elsewhere each record, zone, subscription or share has its own error, as in iCloud.
    /// - Throws: the `RecordError` ACCESS_DENIED of the first item.
    func checkAccess<Value>() throws where Element == Result<Value, RecordError> {
        let denials = compactMap { item in
            if case .failure(let error) = item, error.code == .accessDenied { error } else { nil }
        }
        if denials.count == count, let denial = denials.first { throw denial }
    }
}

// MARK: - Existing assets

/// `assets/rereference`: returns asset values of existing records, so that other records can be
/// saved with them without a second upload (Apple's reference page "Referencing Existing Assets").
struct AssetsRereference: Endpoint {
    let purpose = EndpointPurpose.ofUser

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let body = call.body
        let zoneID = try body.zoneID() ?? .default
        let targetZoneID = try body.zoneID("targetZoneID") ?? zoneID
        let sources = try body.items("assets").map { asset in
            AssetSource(
                recordName: try asset.required("recordName", "a string", asset.name("recordName")),
                fieldName: try asset.required("fieldName", "a string", asset.name("fieldName")),
                index: try asset.wholeNumber("index", from: 0))
        }
        let database = try await call.database()
        let assets = try await database.require(.uploadAssets).rereference(sources, from: zoneID, to: targetZoneID)
        call.note?.about([zoneID, targetZoneID])
        try assets.checkAccess()
        call.note?.items(assets, areRecords: false) { sources[$0].recordName }
        writer.object { writer in
            writer.member("assets", objects: zip(sources, assets)) { writer, item in
                let (source, asset) = item
                switch asset {
                case .success(let asset): writer.members(ofUploaded: asset)
                case .failure(let error):
                    writer.member("recordName", source.recordName)
                    writer.member("fieldName", source.fieldName)
                    writer.members(of: error)
                }
            }
        }
    }
}

// MARK: - JSON

extension JSONWriter {
    /// The members of an uploaded asset, with the receipt that a save requires. Assets in records have no receipt.
    mutating func members(ofUploaded asset: Asset) {
        member("fileChecksum", asset.fileChecksum)
        member("size", asset.size)
        if let checksum = asset.referenceChecksum { member("referenceChecksum", checksum) }
        if let key = asset.wrappingKey { member("wrappingKey", key) }
        if let receipt = asset.receipt { member("receipt", receipt) }
        if let fileName = asset.fileName, Asset.showsFileName { member("fileName", fileName) }
    }
}
