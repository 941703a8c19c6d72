public import JSON
internal import Records

extension JSONWriter {
    /// Writes a schema history entry (docs/services.md).
    public mutating func value(_ entry: SchemaHistoryEntry) {
        object { writer in
            writer.member("number", entry.number)
            writer.member("timestamp", entry.timestamp.milliseconds)
            writer.member("userRecordName", entry.userRecordName)
            writer.member("reason", entry.reason.rawValue)
            writer.name("changes")
            writer.array { writer in
                for change in entry.changes { writer.value(change) }
            }
        }
    }
}
