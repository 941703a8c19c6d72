public import Records

extension BatchModifier {
    /// Saves a record as in one of its journal entries, within the engine's open transaction. Fields added since are
    /// cleared.
    /// - Throws: `RecordError` if the save is refused; nothing is applied then.
    public mutating func revert(to entry: RecordJournalEntry, for reversion: RecordReversion) throws -> StoredRecord {
        let recordID = reversion.recordID
        if entry.act == .deleted {
            throw RecordError(
                .badRequest, "The change at position \(entry.position) deleted the record '\(recordID.recordName)'; restore an earlier version")
        }
        let fields = try entry.fields.decoded()
        formerFields = Dictionary(fields.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        defer { formerFields = [:] }
        let operation = RecordOperation(
            reversion.recordChangeTag == nil ? .create : .replace, recordName: recordID.recordName, recordType: entry.recordType,
            recordChangeTag: reversion.recordChangeTag,
            fields: formerFields.mapValues { FieldInput($0.value, isEncrypted: $0.isEncrypted) },
            parent: entry.parent.map { .record($0) } ?? .cleared)
        let outcomes = try apply(ModifyRequest([operation], zoneID: recordID.zoneID))
        guard case .saved(let record)? = try outcomes.first?.get() else { throw RecordError(.internalError, "The save was not run") }
        return record
    }
}

extension RecordReversion {
    /// The error for a version that is no longer kept.
    /// - Parameter limits: the store's limits.
    public func notKept(_ limits: JournalLimits) -> RecordError {
        let what = limits.isOff ? "this server keeps no earlier versions" : "earlier versions are kept for \(limits.days) days, up to \(limits.versions) per record"
        return RecordError(.notFound, "No change of the record '\(recordID.recordName)' at position \(position) is kept; \(what)")
    }
}
