public import JSON

extension JSONWriter {
    /// A change with what the protocol leaves out: what kind it is, its position, and of a deletion what was deleted, by whom and when.
    /// - Parameter downloadURL: where assets can be fetched, if that is to be said.
    /// - Throws: `RecordError` INTERNAL_ERROR when the stored fields are damaged.
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
            writer.member("recordChangeTag", record.recordChangeTag)
            writer.name("created")
            writer.value(record.created)
            writer.name("modified")
            writer.value(record.modified)
            writer.member("deleted", true)
            writer.name("zoneID")
            writer.value(record.recordID.zoneID)
            guard let parent = record.parent else { return }
            writer.name("parent")
            writer.object { $0.member("recordName", parent) }
        }
    }
}
