public import CloudKitClient
public import Records

/// A change of a zone that waits to be sent.
public enum PendingDatabaseChange: Sendable, Hashable {
    /// Create the zone. One that exists stays as it is.
    case saveZone(ZoneID)
    /// Delete the zone with its records.
    case deleteZone(ZoneID)

    /// Create a zone, as CKSyncEngine takes it.
    public static func saveZone(_ zone: ReceivedZone) -> PendingDatabaseChange { .saveZone(zone.zoneID) }

    /// The zone that changes.
    public var zoneID: ZoneID {
        switch self {
        case .saveZone(let zoneID), .deleteZone(let zoneID): zoneID
        }
    }
}

/// A change of a record that waits to be sent. The record itself is asked for when it is.
public enum PendingRecordZoneChange: Sendable, Hashable {
    /// Create or change the record.
    case saveRecord(RecordID)
    /// Delete the record.
    case deleteRecord(RecordID)

    /// The record that changes.
    public var recordID: RecordID {
        switch self {
        case .saveRecord(let recordID), .deleteRecord(let recordID): recordID
        }
    }
}

/// The records that are sent in one operation.
public struct RecordZoneChangeBatch: Sendable {
    /// The records to create or change.
    public var recordsToSave: [Record]
    /// The records to delete.
    public var recordIDsToDelete: [RecordID]
    /// True for all or nothing in each zone.
    public var atomicByZone: Bool

    /// A batch of records that the app has chosen.
    public init(recordsToSave: [Record] = [], recordIDsToDelete: [RecordID] = [], atomicByZone: Bool = false) {
        self.recordsToSave = recordsToSave
        self.recordIDsToDelete = recordIDsToDelete
        self.atomicByZone = atomicByZone
    }

    /// As many pending changes as one request takes.
    /// - Parameters:
    ///   - pendingChanges: the changes to choose from, first ones first.
    ///   - recordProvider: makes the record to save. Without one, the change is no longer pending.
    /// - Returns: `nil` if there is nothing to send.
    public init?(pendingChanges: [PendingRecordZoneChange], recordProvider: (RecordID) async -> Record?) async {
        self.init()
        for change in pendingChanges.prefix(DatabaseClient.itemLimit) {
            switch change {
            case .saveRecord(let recordID):
                if let record = await recordProvider(recordID) { recordsToSave.append(record) } else { missing.append(recordID) }
            case .deleteRecord(let recordID): recordIDsToDelete.append(recordID)
            }
        }
        if recordsToSave.isEmpty, recordIDsToDelete.isEmpty, missing.isEmpty { return nil }
    }

    /// Records that are no longer there to be saved.
    private(set) var missing: [RecordID] = []

    var changes: [PendingRecordZoneChange] { recordsToSave.map { .saveRecord($0.recordID) } + recordIDsToDelete.map { .deleteRecord($0) } }
}

extension SyncEngine {
    /// CKSyncEngine.PendingDatabaseChange.
    public typealias PendingDatabaseChange = RemoteRecords.PendingDatabaseChange
    /// CKSyncEngine.PendingRecordZoneChange.
    public typealias PendingRecordZoneChange = RemoteRecords.PendingRecordZoneChange
    /// CKSyncEngine.RecordZoneChangeBatch.
    public typealias RecordZoneChangeBatch = RemoteRecords.RecordZoneChangeBatch

    /// The pending changes that a call sends.
    public struct SendChangesOptions: Sendable, Hashable {
        /// The zones or records whose changes are sent.
        public enum Scope: Sendable, Hashable {
            /// All changes.
            case all
            /// The changes of zones and of their records.
            case zoneIDs([ZoneID])
            /// The changes of records, and of their zones.
            case recordIDs([RecordID])

            /// True if a change of a record is in the scope.
            public func contains(_ change: PendingRecordZoneChange) -> Bool {
                switch self {
                case .all: true
                case .zoneIDs(let zoneIDs): zoneIDs.contains(change.recordID.zoneID)
                case .recordIDs(let recordIDs): recordIDs.contains(change.recordID)
                }
            }

            /// Zones are sent before their records.
            public func contains(_ change: PendingDatabaseChange) -> Bool {
                switch self {
                case .all: true
                case .zoneIDs(let zoneIDs): zoneIDs.contains(change.zoneID)
                case .recordIDs(let recordIDs): recordIDs.contains { $0.zoneID == change.zoneID }
                }
            }
        }

        /// The changes to send.
        public var scope: Scope

        /// Options for a call; all changes without a scope.
        public init(scope: Scope = .all) {
            self.scope = scope
        }
    }

    /// The call that a batch is made for.
    public struct SendChangesContext: Sendable, Hashable {
        /// The options of the call.
        public let options: SendChangesOptions
    }

    /// The parameters of a new engine.
    public struct Configuration: Sendable {
        /// The database to keep the same: private or shared.
        public var database: Database
        /// The state to go on from; `nil` for a new app.
        public var stateSerialization: State.Serialization?
        /// Takes events and makes batches. The engine keeps it.
        public var delegate: any SyncEngineDelegate
        /// True to get records after those that they refer to, by `parent` or by a reference in the same zone. Pages of a zone are told together then,
        /// up to 10,000 records.
        public var parentsFirst = false

        /// - Parameters:
        ///   - database: private or shared.
        ///   - stateSerialization: of the last `stateUpdate` that was stored; `nil` for a new app.
        ///   - delegate: takes events and makes batches. The engine keeps it.
        public init(database: Database, stateSerialization: State.Serialization?, delegate: any SyncEngineDelegate) {
            self.database = database
            self.stateSerialization = stateSerialization
            self.delegate = delegate
        }
    }
}

/// The app's part of a sync.
public protocol SyncEngineDelegate: Sendable {
    /// Takes an event. Do not call `fetchChanges` or `sendChanges` of any engine in it, nor in a task that inherits from it: they throw.
    func handleEvent(_ event: SyncEngine.Event, syncEngine: SyncEngine) async

    /// Makes the next batch to send, of the pending changes that are in the scope of the context. As in `handleEvent`, do not fetch or send in it.
    /// - Returns: `nil` if there is nothing more to send now.
    func nextRecordZoneChangeBatch(_ context: SyncEngine.SendChangesContext, syncEngine: SyncEngine) async -> RecordZoneChangeBatch?
}
