internal import JSON
internal import Records

// A record may refer only to files that are stored and that its caller was allowed to use.

extension BatchModifier {
    /// Replaces the assets in saved values by their stored form: assets that the field had before, and assets with a
    /// valid receipt, which is then used up.
    /// - Throws: `RecordError` BAD_REQUEST with the field and the remedy.
    func admittingAssets(
        _ values: [Name: Field], replacing before: [Name: Field], in zone: TransactionZone, type: Name, name: Name
    ) throws -> [Name: Field] {
        if values.values.allSatisfy(\.value.assets.isEmpty) { return values }
        return try values.mapValues { field in
            switch field.value {
            case .asset(let asset):
                let admitted = try admit(asset, to: field.name, replacing: before, in: zone, type: type, name: name)
                return Field(name: field.name, value: .asset(admitted), isEncrypted: field.isEncrypted)
            case .list(let elements, .asset?):
                let admitted = try elements.map { element in
                    guard case .asset(let asset) = element else { return element }
                    return .asset(try admit(asset, to: field.name, replacing: before, in: zone, type: type, name: name))
                }
                return Field(name: field.name, value: .list(admitted, of: .asset), isEncrypted: field.isEncrypted)
            default: return field
            }
        }
    }

    private func admit(
        _ asset: Asset, to field: Name, replacing before: [Name: Field], in zone: TransactionZone, type: Name, name: Name
    ) throws -> Asset {
        let fileName = asset.fileName.flatMap { $0.isEmpty ? nil : AssetFileName.safe($0) }
        // Checked first, so that a save that is repeated after a lost response succeeds although its receipt is used
        // up.
        let held = [before[field], formerFields[field]].flatMap { $0?.value.assets ?? [] }
        if var kept = held.first(where: { Name($0.fileChecksum) == Name(asset.fileChecksum) }) {
            // A file that is missing from the ledger must be uploaded again.
            if try FileChecksum(kept.fileChecksum).map(transaction.hasAsset) ?? false {
                if let fileName { kept.fileName = fileName }
                return kept
            }
            if asset.receipt == nil { throw Self.isGone(field) }
        }
        guard let text = asset.receipt else {
            throw RecordError(
                .badRequest,
                "The asset in field '\(field)' has no receipt: upload the file with assets/upload, or reuse another record's file with "
                    + "assets/rereference, and save the returned value")
        }
        guard let receipt = transaction.assetTickets.openReceipt(text) else {
            throw RecordError(
                .badRequest, "The receipt of the asset in field '\(field)' is not from this database, or was changed; upload the file again")
        }
        let user = caller.userRecordName
        let fitting = [
            SlotMark(zone: zone.key, recordType: type, recordName: name, fieldName: field, user: user),
            SlotMark(anyZoneOf: database, recordType: type, recordName: name, fieldName: field, user: user),
            SlotMark(zone: zone.key, user: user),
        ]
        guard fitting.contains(receipt.slot) else {
            throw RecordError(
                .badRequest,
                "The receipt of the asset in field '\(field)' belongs to another field, record, type, zone or user; upload the file for this field, "
                    + "or use assets/rereference")
        }
        if receipt.expires < now {
            throw RecordError(.badRequest, "The receipt of the asset in field '\(field)' has expired; upload the file again")
        }
        guard Name(receipt.checksum.description) == Name(asset.fileChecksum), receipt.size == asset.size else {
            throw RecordError(
                .badRequest, "'fileChecksum' and 'size' of the asset in field '\(field)' do not match the upload; save the value that the upload returned")
        }
        guard try transaction.spend(receipt) else {
            throw RecordError(
                .badRequest,
                "The receipt of the asset in field '\(field)' was already used, and is valid for one save; upload the file again, or use assets/rereference")
        }
        guard try transaction.hasAsset(receipt.checksum) else {
            throw Self.isGone(field)
        }
        let isPrivate = database != .public
        return Asset(
            fileChecksum: receipt.checksum.description, size: receipt.size, referenceChecksum: isPrivate ? asset.referenceChecksum : nil,
            wrappingKey: isPrivate ? asset.wrappingKey : nil, fileName: fileName)
    }

    private static func isGone(_ field: Name) -> RecordError {
        RecordError(.badRequest, "The file of the asset in field '\(field)' is no longer on the server; upload it again")
    }
}
