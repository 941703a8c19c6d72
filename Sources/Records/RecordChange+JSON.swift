public import JSON

extension JSONWriter {
    /// Writes a change with details that the protocol omits: its kind and position, and for a deletion the deleted
    /// record's type, the user and the time. Details that are not known are left out.
    /// - Parameter downloadURL: returns the download URL of an asset; `nil` omits it.
    /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields are damaged.
    public mutating func value(_ change: RecordChange, downloadURL: AssetAddress? = nil) throws {
        try object { writer in
            if let kind = change.kind { writer.member("change", kind.rawValue) }
            if let position = change.position { writer.member("position", position) }
            writer.name("record")
            if change.kind != .deleted, let record = change.record {
                try writer.value(record, downloadURL: downloadURL)
            } else {
                writer.deletion(change)
            }
        }
    }

    private mutating func deletion(_ change: RecordChange) {
        object { writer in
            writer.member("recordName", change.recordID.recordName)
            if let record = change.record {
                writer.member("recordType", record.recordType)
                writer.version(of: record, isDeleted: true)
            } else {
                writer.member("deleted", true)
                writer.name("zoneID")
                writer.value(change.recordID.zoneID)
            }
        }
    }
}
