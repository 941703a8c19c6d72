internal import RecordStore
internal import Records

extension CommitWriter.State {
    /// The position of the next change.
    /// - Throws: `RecordError` INTERNAL_ERROR if the position is outside the range that a row id can hold, as in a
    ///   damaged file.
    mutating func nextPosition() throws -> Int64 {
        guard 0..<StoredRow.lastPosition ~= position else {
            throw RecordError(
                .internalError,
                "The store is at position \(position), the last possible one (of \(StoredRow.lastPosition)): its file is damaged. "
                    + "Restore a backup of the container's folder, or export the readable records with `skylight export`")
        }
        position += 1
        return position
    }
}
