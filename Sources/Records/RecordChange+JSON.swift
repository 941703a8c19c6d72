public import JSON

extension JSONWriter {
    /// Writes a change with details that the protocol omits: its kind and position, and for a deletion the deleted
    /// record's type, the user and the time.
    /// - Parameter downloadURL: returns the download URL of an asset; `nil` omits it.
    /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields are damaged.
    public mutating func value(_ change: RecordChange, downloadURL: AssetAddress? = nil) throws {
        try object { writer in
            writer.member("change", change.kind.rawValue)
            writer.member("position", change.position)
            writer.name("record")
            if change.kind == .deleted {
                writer.deletion(of: change.record)
            } else {
                try writer.value(change.record, downloadURL: downloadURL)
            }
        }
    }

    private mutating func deletion(of record: StoredRecord) {
        object { writer in
            writer.member("recordName", record.recordID.recordName)
            writer.member("recordType", record.recordType)
            writer.version(of: record, isDeleted: true)
        }
    }
}
