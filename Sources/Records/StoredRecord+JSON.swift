public import JSON

// JSON form of a record in responses (Apple's reference page "Types and Dictionaries").

extension JSONWriter {
    /// Writes a record. Its stored fields are copied, except for added download URLs of assets and for numbers
    /// requested as strings.
    /// - Parameters:
    ///   - downloadURL: returns the download URL of an asset; `nil` omits it.
    ///   - viewer: the user who reads the record, whose own part in a share stands out; `nil` for nobody in particular.
    /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields are damaged.
    public mutating func value(
        _ record: StoredRecord, numbersAsStrings: Bool = false, downloadURL: AssetAddress? = nil, for viewer: Name? = nil
    ) throws {
        try object { writer in
            writer.member("recordName", record.recordID.recordName)
            writer.member("recordType", record.recordType)
            writer.name("fields")
            if numbersAsStrings {
                try writer.numbersAsStrings(record.fields, downloadURL)
            } else {
                let fields = try record.fields.spelledAsAnswered()
                if let downloadURL, fields.mayHoldAssets {
                    try writer.text(fields.withDownloadURLs(downloadURL).bytes)
                } else {
                    writer.text(fields.bytes)
                }
            }
            writer.name("pluginFields")
            writer.object { _ in }
            writer.version(of: record, isDeleted: false)
            if let sharing = record.sharing { writer.members(of: sharing, in: record.recordID.zoneID, for: viewer) }
        }
    }

    /// Writes the members that a record and its deletion have in common: the tag, the signatures, the zone and the parent.
    mutating func version(of record: StoredRecord, isDeleted: Bool) {
        member("recordChangeTag", record.recordChangeTag)
        name("created")
        value(record.created)
        name("modified")
        value(record.modified)
        member("deleted", isDeleted)
        name("zoneID")
        value(record.recordID.zoneID)
        guard let parent = record.parent else { return }
        name("parent")
        object { $0.member("recordName", parent) }
    }

    private mutating func numbersAsStrings(_ fields: FieldsText, _ downloadURL: AssetAddress?) throws {
        let decoded = try fields.decoded()
        object { writer in
            for field in decoded {
                writer.name(field.name)
                writer.value(field, numbersAsStrings: true, downloadURL: downloadURL)
            }
        }
    }

    /// Writes the user, time and device of a change.
    public mutating func value(_ signature: Signature) {
        object { writer in
            writer.member("timestamp", signature.timestamp.milliseconds)
            writer.member("userRecordName", signature.userRecordName)
            writer.member("deviceID", signature.deviceID)
        }
    }
}
