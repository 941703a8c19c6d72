public import JSON
public import Records

/// What restoring an export did.
public struct RestoreReport: Sendable, Hashable {
    /// Records saved, by type.
    public var records: [Name: Int]
    /// The zones that were missing.
    public var madeZones: [ZoneID]
    /// The types that were missing, or lacked fields or indexes.
    public var changedTypes: [Name]
    /// Saved records whose VALIDATE references keep the action NONE, with the reason, in the order of their lines; at most
    /// ``Importer/problemLimit``.
    public var unvalidated: [RowProblem] = []
    public var unvalidatedCount = 0

    public var saved: Int { records.values.reduce(0, +) }
}
