public import JSON

// The JSON form of a record in answers (Apple's reference page "Types and Dictionaries").

extension JSONWriter {
    /// A record. Its fields are copied as they were written when it was saved, unless numbers are wanted as strings; only into assets is
    /// something put.
    /// - Parameter downloadURL: where assets can be fetched, if that is to be said.
    /// - Throws: `RecordError` INTERNAL_ERROR when the stored fields are damaged.
    public mutating func value(_ record: StoredRecord, numbersAsStrings: Bool = false, downloadURL: AssetAddress? = nil) throws {
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
            writer.member("recordChangeTag", record.recordChangeTag)
            writer.name("created")
            writer.value(record.created)
            writer.name("modified")
            writer.value(record.modified)
            writer.member("deleted", false)
            writer.name("zoneID")
            writer.value(record.recordID.zoneID)
            guard let parent = record.parent else { return }
            writer.name("parent")
            writer.object { $0.member("recordName", parent) }
        }
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

    /// Who did something, when, and on which device.
    public mutating func value(_ signature: Signature) {
        object { writer in
            writer.member("timestamp", signature.timestamp.milliseconds)
            writer.member("userRecordName", signature.userRecordName)
            writer.member("deviceID", signature.deviceID)
        }
    }
}
