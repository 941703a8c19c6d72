internal import CloudKitClient
internal import JSON
internal import RecordStore
internal import Records

extension CloudKitDatabase {
    /// A record as the storage interface has it. Download addresses are left out, because they expire.
    /// - Throws: `RecordError` INTERNAL_ERROR if CloudKit's answer lacks what every record has, or has a field that can't be read.
    func stored(_ received: ReceivedRecord) throws -> StoredRecord {
        func lacking(_ member: String) -> RecordError {
            RecordError(.internalError, "CloudKit's answer does not tell the \(member) of the record '\(received.recordID.recordName)'")
        }
        guard let recordType = received.recordType else { throw lacking("type") }
        guard let recordChangeTag = received.recordChangeTag else { throw lacking("change tag") }
        guard let created = received.created.flatMap({ Signature($0) }) else { throw lacking("creation") }
        guard let modified = received.modified.flatMap({ Signature($0) }) else { throw lacking("latest change") }
        let record = StoredRecord(
            recordID: received.recordID, recordType: recordType,
            recordChangeTag: recordChangeTag, created: created, modified: modified, parent: received.parent,
            fields: FieldsText(try received.fields.compactMap { try field($0.key, $0.value, of: received.recordID.recordName) }), sharing: received.sharing)
        try engine.learn(from: record)
        return record
    }

    /// - Returns: `nil` for a field without a value.
    private func field(_ name: Name, _ received: ReceivedField, of recordName: Name) throws -> Field? {
        if let value = received.value { return Field(name: name, value: value, isEncrypted: received.isEncrypted) }
        guard let json = received.json["value"], json != .null else { return nil }
        throw RecordError(
            .internalError,
            "CloudKit sent the field '\(name)' of the record '\(recordName)' as \(received.typeName ?? "a value without a type"), which Skylight can't read; "
                + "leave it out with desiredKeys")
    }
}

extension Signature {
    /// The user and the device are empty where CloudKit does not tell them.
    fileprivate init?(_ received: ReceivedSignature) {
        guard let timestamp = received.timestamp else { return nil }
        self.init(timestamp: timestamp, userRecordName: received.userRecordName ?? "", deviceID: received.deviceID ?? "")
    }
}
