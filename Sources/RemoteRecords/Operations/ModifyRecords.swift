public import Records

/// Saves and deletes records (CKModifyRecordsOperation).
///
/// Records of several zones go in a request per zone. More than 200 are sent in batches, and a batch that the server refuses as a whole, because it is
/// too large or because of one of its records, in halves, unless it is atomic. Another error of a request, such as one of the network, ends the
/// operation before the zones and batches that are left. If an answer is lost, the records are looked up to find out which were saved: no change is
/// made twice.
public struct ModifyRecords: DatabaseOperation {
    /// The fields that a save sends, and the condition for it.
    public enum SavePolicy: String, Sendable, Hashable, CaseIterable {
        /// Send the changed keys, if nobody else saved the record since.
        case ifServerRecordUnchanged
        /// Send the changed keys, whatever others saved.
        case changedKeys
        /// Send all keys, whatever others saved. Keys that only the server has stay.
        case allKeys
    }

    /// A step of the operation.
    public enum Event: Sendable {
        /// The part of the record's files that was uploaded, from 0 to 1. At least one with 1 comes for each record that is sent. It may fall
        /// when an upload begins anew.
        case progress(RecordID, Double)
        /// The record with its new change tag, or its error.
        case saved(RecordID, Result<Record, OperationError>)
        /// The ID of a record that was deleted, or its error. Deleting one that does not exist succeeds.
        case deleted(RecordID, Result<Void, OperationError>)
    }

    /// The records to create or change. Each record is in the operation once.
    public var recordsToSave: [Record]
    /// The records to delete.
    public var recordIDsToDelete: [RecordID]
    /// The condition for saves, and their fields.
    public var savePolicy: SavePolicy
    /// True for all or nothing in each zone. The public database and default zones have no such batches, and ignore it.
    public var isAtomic: Bool
    /// Records that an earlier operation sent without an answer.
    var unanswered: Set<RecordID> = []

    /// Changes of records in any zones.
    public init(
        saving recordsToSave: [Record] = [], deleting recordIDsToDelete: [RecordID] = [], savePolicy: SavePolicy = .ifServerRecordUnchanged,
        isAtomic: Bool = true
    ) {
        self.recordsToSave = recordsToSave
        self.recordIDsToDelete = recordIDsToDelete
        self.savePolicy = savePolicy
        self.isAtomic = isAtomic
    }

    public func run(
        in context: OperationContext, _ deliver: @escaping @Sendable (Event) async -> Void
    ) async throws(OperationError) {
        var seen: Set<RecordID> = []
        for recordID in recordsToSave.map(\.recordID) + recordIDsToDelete where !seen.insert(recordID).inserted {
            throw OperationError(.invalidArguments, "The record '\(recordID.recordName)' is in the operation twice")
        }
        var errors: [OperationError.Item: OperationError] = [:]
        for (zoneID, changes) in zones {
            let isAtomic = isAtomic && context.scope != .public && !zoneID.isDefault
            let sender = ChangeSender(
                zoneID: zoneID, savePolicy: savePolicy, isAtomic: isAtomic, unanswered: unanswered, context: context, deliver: deliver)
            errors.merge(try await sender.send(changes)) { first, _ in first }
        }
        if !errors.isEmpty { throw .partialFailure(errors) }
    }

    /// The changes of each zone, zones and changes in the order of the operation.
    private var zones: [(ZoneID, [ChangeSender.Change])] {
        var zones: [(ZoneID, [ChangeSender.Change])] = []
        var places: [ZoneID: Int] = [:]
        for change in recordsToSave.map(ChangeSender.Change.save) + recordIDsToDelete.map(ChangeSender.Change.delete) {
            let zoneID = change.recordID.zoneID
            if let place = places[zoneID] {
                zones[place].1.append(change)
            } else {
                places[zoneID] = zones.count
                zones.append((zoneID, [change]))
            }
        }
        return zones
    }
}
