public import JSON
public import Records

/// The result of restoring an export.
public struct RestoreReport: Sendable, Hashable {
    /// The number of records saved, by type.
    public var records: [Name: Int]
    /// The zones that were created.
    public var madeZones: [ZoneID]
    /// The types that were created or extended by fields or indexes.
    public var changedTypes: [Name]
    /// Saved records whose VALIDATE references keep the action NONE, with the reason, in line order. Limited to ``Importer/problemLimit``.
    public var unvalidated: [RowProblem] = []
    public var unvalidatedCount = 0
    /// Shares that the database refused, with the reason, in line order. Their records are saved. Limited to ``Importer/problemLimit``.
    public var unshared: [RowProblem] = []
    public var unsharedCount = 0
    /// Saved shares with a new link, because theirs leads to another share. Limited to ``Importer/problemLimit``.
    public var relinked: [RowProblem] = []
    public var relinkedCount = 0
    /// The number of shares that were left out, because the target can't have shares.
    public var sharesLeftOut = 0
    /// The number of records with encrypted fields, in the public database, where CloudKit refuses them.
    public var encryptedInPublic = 0
    /// The ids of the subscriptions saved.
    public var subscriptions: [Name] = []
    /// Subscriptions that the database refused, with the reason.
    public var refusedSubscriptions: [RowProblem] = []
    /// The number of keys set in the user's key-value store.
    public var keyValues = 0
    /// The reason if the target has no room for the keys, or no key-value store. None is set then.
    public var refusedKeyValues: RowProblem?

    public var saved: Int { records.values.reduce(0, +) }
}
