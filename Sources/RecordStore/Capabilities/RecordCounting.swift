public import JSON
public import Records

/// A database that keeps counts, so that none has to be counted.
public protocol RecordCounting: RecordDatabase {
    func counts(in zoneID: ZoneID) async throws -> ZoneCounts
}

/// How much is in a zone.
public struct ZoneCounts: Sendable, Hashable {
    /// Records by type.
    public var records: [Name: Int]
    /// Names whose latest change is a deletion.
    public var deletions: Int

    public init(records: [Name: Int], deletions: Int) {
        self.records = records
        self.deletions = deletions
    }

    public var total: Int { records.values.reduce(0) { $0.addingSaturated($1) } }
}
