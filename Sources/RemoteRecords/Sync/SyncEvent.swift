internal import CloudKitClient
public import JSON
public import Records

/// A change of a zone that waits to be sent.
public enum PendingDatabaseChange: Sendable, Hashable {
    case saveZone(ZoneID)
    case deleteZone(ZoneID)

    public var zoneID: ZoneID {
        switch self {
        case .saveZone(let zoneID), .deleteZone(let zoneID): zoneID
        }
    }
}

/// A change of a record that waits to be sent. The record itself is asked for when it is.
public enum PendingRecordZoneChange: Sendable, Hashable {
    case saveRecord(RecordID)
    case deleteRecord(RecordID)

    public var recordID: RecordID {
        switch self {
        case .saveRecord(let recordID), .deleteRecord(let recordID): recordID
        }
    }
}

/// A step of a ``SyncEngine``. Steps come one at a time, in order, and the engine waits for each.
public enum SyncEvent: Sendable {
    public enum AccountChange: Sendable, Hashable {
        case signIn(current: Name)
        case signOut(previous: Name)
        case switchAccounts(previous: Name, current: Name)
    }

    /// Store it together with what the events before it brought. An engine that is made with its bytes goes on from here.
    case stateUpdate(SyncEngine.State.Serialization)
    /// Tokens and pending changes are dropped, except after the first sign-in. Drop what belongs to the previous account.
    case accountChange(AccountChange)

    case willFetchChanges
    /// The web protocol does not tell why a zone was deleted.
    case fetchedDatabaseChanges(modifications: [ZoneID], deletions: [ZoneID])
    /// - Parameter fromTheBeginning: the zone's token has expired, and everything comes again.
    case willFetchRecordZoneChanges(ZoneID, fromTheBeginning: Bool)
    /// A page of a zone. The type of a deleted record is `nil` if the server does not tell it.
    case fetchedRecordZoneChanges(ZoneID, modifications: [Record], deletions: [(recordID: RecordID, recordType: Name?)])
    /// After `changeTokenExpired`, mark what is known of the zone, in the store: everything comes again, perhaps in several runs of the program.
    /// Records that are still marked when a fetch of the zone ends without an error are gone.
    case didFetchRecordZoneChanges(ZoneID, OperationError?)
    case didFetchChanges

    case willSendChanges
    case sentDatabaseChanges(saved: [ZoneID], deleted: [ZoneID], failed: [(change: PendingDatabaseChange, error: OperationError)])
    /// Changes that failed and that the engine does not send again by itself are no longer pending: settle them, and add them anew.
    case sentRecordZoneChanges(
        saved: [Record], deleted: [RecordID], failedSaves: [(record: Record, error: OperationError)],
        failedDeletes: [(recordID: RecordID, error: OperationError)])
    case didSendChanges
}

/// The records that are sent in one operation.
public struct RecordZoneChangeBatch: Sendable {
    public var recordsToSave: [Record]
    public var recordIDsToDelete: [RecordID]
    /// True for all or nothing in each zone.
    public var atomicByZone: Bool

    public init(recordsToSave: [Record] = [], recordIDsToDelete: [RecordID] = [], atomicByZone: Bool = false) {
        self.recordsToSave = recordsToSave
        self.recordIDsToDelete = recordIDsToDelete
        self.atomicByZone = atomicByZone
    }

    /// As many pending changes as one request takes.
    /// - Parameter record: makes the record to save. Without one, the change is no longer pending.
    /// - Returns: `nil` if there is nothing to send.
    public init?(pendingChanges: [PendingRecordZoneChange], record: (RecordID) async -> Record?) async {
        self.init()
        for change in pendingChanges.prefix(DatabaseClient.itemLimit) {
            switch change {
            case .saveRecord(let recordID):
                if let record = await record(recordID) { recordsToSave.append(record) } else { missing.append(recordID) }
            case .deleteRecord(let recordID): recordIDsToDelete.append(recordID)
            }
        }
        if recordsToSave.isEmpty, recordIDsToDelete.isEmpty, missing.isEmpty { return nil }
    }

    /// Records that are no longer there to be saved.
    private(set) var missing: [RecordID] = []

    var changes: [PendingRecordZoneChange] { recordsToSave.map { .saveRecord($0.recordID) } + recordIDsToDelete.map { .deleteRecord($0) } }
}

/// The app's part of a sync.
public protocol SyncEngineDelegate: Sendable {
    /// Takes an event. Do not call `fetchChanges` or `sendChanges` in it, nor in a task that inherits from it: they throw.
    func handleEvent(_ event: SyncEvent, of engine: SyncEngine) async

    /// Makes the next batch to send, usually of ``SyncEngine/State/nextRecordZoneChanges(_:)``. As in `handleEvent`, do not fetch or send in it.
    /// - Returns: `nil` if there is nothing more to send now.
    func nextRecordZoneChangeBatch(of engine: SyncEngine) async -> RecordZoneChangeBatch?
}
