public import JSON
internal import Records

/// Number of records and deletions in a zone.
public struct ZoneCounts: Sendable, Hashable {
    /// Records by type.
    public var records: [Name: Int]
    /// Record names whose latest change is a deletion.
    public var deletions: Int

    public init(records: [Name: Int], deletions: Int) {
        self.records = records
        self.deletions = deletions
    }

    public var total: Int { records.values.saturatedSum }
}
