internal import JSON
internal import RecordStore
internal import Records

/// `assets/rereference`: returns asset values of existing records, so that other records can be
/// saved with them without a second upload (Apple's reference page "Referencing Existing Assets").
struct AssetsRereference: Endpoint {
    static let purpose = EndpointPurpose.changing

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let body = call.body
        let zoneID = try body.zoneID() ?? .default
        let targetZoneID = try body.zoneID("targetZoneID") ?? zoneID
        let sources = try body.items("assets").map { asset in
            AssetSource(
                recordName: try asset.required("recordName", "a string", asset.name("recordName")),
                fieldName: try asset.required("fieldName", "a string", asset.name("fieldName")), index: try asset.wholeNumber("index", from: 0))
        }
        let database = try await call.database()
        let assets = try await database.rereference(sources, from: zoneID, to: targetZoneID)
        call.note?.about([zoneID, targetZoneID])
        try assets.checkAccess()
        call.note?.items(assets, areRecords: false) { sources[$0].recordName }
        writer.object { writer in
            writer.name("assets")
            writer.array { writer in
                for (source, asset) in zip(sources, assets) {
                    writer.object { writer in
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
    }
}
