internal import CloudKitClient
internal import JSON
internal import Records

/// A record that a mirror can't store.
struct UnusableRecord: Error {
    let reason: String
}

extension ReceivedRecord {
    /// The record as a mirror stores it.
    /// - Parameters:
    ///   - zoneID: the zone in the mirror.
    ///   - leftOut: gets the fields whose values are not known here.
    func mirrored(in zoneID: ZoneID, leftOut: inout [Name: Set<Name>]) throws(UnusableRecord) -> StoredRecord {
        guard let recordType else { throw UnusableRecord(reason: "the answer lacks its type") }
        guard let recordChangeTag else { throw UnusableRecord(reason: "the answer lacks its change tag") }
        guard let signature = modified ?? created else { throw UnusableRecord(reason: "the answer lacks its modification") }
        var values: [Field] = []
        for (name, field) in fields {
            if let value = field.value {
                values.append(Field(name: name, value: value.ofOrigin, isEncrypted: field.isEncrypted))
            } else if let value = field.json["value"], value != .null {
                leftOut[recordType, default: []].insert(name)
            }
        }
        return StoredRecord(
            recordID: RecordID(recordName: recordID.recordName, zoneID: zoneID), recordType: recordType, recordChangeTag: recordChangeTag,
            created: (created ?? signature).mirrored, modified: signature.mirrored, parent: parent, fields: FieldsText(values), sharing: sharing)
    }
}

extension ReceivedSignature {
    /// Members that CloudKit did not tell are empty.
    fileprivate var mirrored: Signature {
        Signature(
            timestamp: timestamp ?? Timestamp(milliseconds: 0), userRecordName: userRecordName ?? "", deviceID: deviceID ?? "")
    }
}

extension FieldValue {
    fileprivate var ofOrigin: FieldValue {
        mappingAssets { Asset(fileChecksum: $0.fileChecksum, size: $0.size, originChecksum: $0.fileChecksum) }
    }

    func mappingAssets(_ change: (Asset) throws -> Asset) rethrows -> FieldValue {
        switch self {
        case .asset(let asset): .asset(try change(asset))
        case .list(let elements, .asset?): .list(try elements.map { try $0.mappingAssets(change) }, of: .asset)
        default: self
        }
    }
}

// An asset in a mirror has the origin's checksum too. It tells that the origin has the file, and stays when the file gets a checksum of the mirror.
extension Asset {
    private static let mark = "origin:"

    /// The origin's `fileChecksum`; `nil` for a file that was uploaded here.
    var originChecksum: String? {
        referenceChecksum.flatMap { $0.hasPrefix(Self.mark) ? String($0.dropFirst(Self.mark.count)) : nil }
    }

    init(fileChecksum: String, size: Int64, originChecksum: String) {
        self.init(fileChecksum: fileChecksum, size: size, referenceChecksum: Self.mark + originChecksum)
    }
}
