internal import RecordStore
internal import Records

extension CommitWriter.State {
    /// The position of the next change.
    /// - Throws: `RecordError` INTERNAL_ERROR after the last that a row has room for. A damaged file may stand at any number.
    mutating func nextPosition() throws -> Int64 {
        guard 0..<StoredRow.lastPosition ~= position else {
            throw RecordError(
                .internalError,
                "The store stands at position \(position), after which none follows (they go from 0 to \(StoredRow.lastPosition)): its file is damaged. "
                    + "Restore a copy of the container's folder, or take out what can be read with `skylight export`")
        }
        position += 1
        return position
    }
}
