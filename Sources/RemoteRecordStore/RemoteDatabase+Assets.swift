internal import JSON
internal import RecordStore
internal import Records

// Both requests are safe to repeat, because an additional upload grant does no harm.

extension RemoteDatabase {
    func grantUploads(_ slots: [AssetSlot], in zoneID: ZoneID?) async throws -> [Result<UploadGrant, RecordError>] {
        try await inPartsOfFiles(slots) { part in
            let answer = try await line.post("assets/upload", of: .database, .reads) { writer in
                if let zoneID { writer.member(zoneID: zoneID) }
                writer.name("tokens")
                writer.array { writer in
                    for slot in part {
                        writer.object { writer in
                            writer.member("recordType", slot.recordType)
                            writer.member("fieldName", slot.fieldName)
                            if let recordName = slot.recordName { writer.member("recordName", recordName) }
                        }
                    }
                }
            }
            return try answer.results("tokens") { try $0.uploadGrant() }
        }
    }

    func rereference(_ sources: [AssetSource], from zoneID: ZoneID, to targetZoneID: ZoneID) async throws -> [Result<Asset, RecordError>] {
        try await inPartsOfFiles(sources) { part in
            let answer = try await line.post("assets/rereference", of: .database, .reads) { writer in
                writer.member(zoneID: zoneID)
                writer.name("targetZoneID")
                writer.value(targetZoneID)
                writer.name("assets")
                writer.array { writer in
                    for source in part {
                        writer.object { writer in
                            writer.member("recordName", source.recordName)
                            writer.member("fieldName", source.fieldName)
                            if let index = source.index { writer.member("index", Int64(index)) }
                        }
                    }
                }
            }
            return try answer.results("assets") { try $0.asset() }
        }
    }

    /// Sends items as `inParts`. These services deny access to all items as one.
    private func inPartsOfFiles<Item, Value>(
        _ items: [Item], _ send: (ArraySlice<Item>) async throws -> [Result<Value, RecordError>]
    ) async throws -> [Result<Value, RecordError>] {
        try await inParts(items) { part in
            do {
                return try await send(part)
            } catch let denial as RecordError where denial.code == .accessDenied {
                return part.map { _ in .failure(denial) }
            }
        }
    }

    func uses(of checksum: FileChecksum, limit: Int) async throws -> AssetUses {
        let answer = try await line.post("assets/uses", of: .skylight, .reads) { writer in
            writer.member("fileChecksum", checksum.description)
            writer.member("resultsLimit", Int64(max(1, limit)))
        }
        let visible = try answer.array("visible").prefix(max(0, limit)).map { try $0.assetUse() }
        return AssetUses(visible: visible, total: Int(try answer.integer("total")))
    }
}
