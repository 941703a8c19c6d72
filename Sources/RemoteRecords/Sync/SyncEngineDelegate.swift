public import CloudKitClient
public import Records

/// A pending creation or deletion of a zone.
public enum PendingDatabaseChange: Sendable, Hashable {
    /// Create the zone. A zone that already exists does not change.
    case saveZone(ZoneID)
    /// Delete the zone with all its records.
    case deleteZone(ZoneID)

    /// Creates a pending change from a zone, as in CKSyncEngine.
    public static func saveZone(_ zone: ReceivedZone) -> PendingDatabaseChange { .saveZone(zone.zoneID) }

    /// The zone to create or delete.
    public var zoneID: ZoneID {
        switch self {
        case .saveZone(let zoneID), .deleteZone(let zoneID): zoneID
        }
    }
}

/// A pending change of a record. It only has the ID. The engine requests the record itself when it sends the change.
public enum PendingRecordZoneChange: Sendable, Hashable {
    /// Create or change the record.
    case saveRecord(RecordID)
    /// Delete the record.
    case deleteRecord(RecordID)

    /// The record to save or delete.
    public var recordID: RecordID {
        switch self {
        case .saveRecord(let recordID), .deleteRecord(let recordID): recordID
        }
    }
}

/// The records to send in one operation.
public struct RecordZoneChangeBatch: Sendable {
    /// The records to create or change.
    public var recordsToSave: [Record]
    /// The records to delete.
    public var recordIDsToDelete: [RecordID]
    /// True to save and delete all records of a zone or none.
    public var atomicByZone: Bool

    /// Creates a batch of records that the app has chosen.
    public init(recordsToSave: [Record] = [], recordIDsToDelete: [RecordID] = [], atomicByZone: Bool = false) {
        self.recordsToSave = recordsToSave
        self.recordIDsToDelete = recordIDsToDelete
        self.atomicByZone = atomicByZone
    }

    /// Creates a batch of pending changes, as many as one request can contain.
    /// - Parameters:
    ///   - pendingChanges: the changes to choose from, in order.
    ///   - recordProvider: returns the record to save. If it returns `nil`, the change is removed from the pending
    ///     ones.
    /// - Returns: `nil` if there are no pending changes.
    public init?(pendingChanges: [PendingRecordZoneChange], recordProvider: (RecordID) async -> Record?) async {
        self.init()
        for change in pendingChanges.prefix(DatabaseClient.itemLimit) {
            switch change {
            case .saveRecord(let recordID):
                if let record = await recordProvider(recordID) {
                    recordsToSave.append(record)
                } else {
                    missing.append(recordID)
                }
            case .deleteRecord(let recordID): recordIDsToDelete.append(recordID)
            }
        }
        if recordsToSave.isEmpty, recordIDsToDelete.isEmpty, missing.isEmpty { return nil }
    }

    /// The IDs of records to save for which there was no record.
    private(set) var missing: [RecordID] = []

    var changes: [PendingRecordZoneChange] {
        recordsToSave.map { .saveRecord($0.recordID) } + recordIDsToDelete.map { .deleteRecord($0) }
    }
}

extension SyncEngine {
    /// CKSyncEngine.PendingDatabaseChange.
    public typealias PendingDatabaseChange = RemoteRecords.PendingDatabaseChange
    /// CKSyncEngine.PendingRecordZoneChange.
    public typealias PendingRecordZoneChange = RemoteRecords.PendingRecordZoneChange
    /// CKSyncEngine.RecordZoneChangeBatch.
    public typealias RecordZoneChangeBatch = RemoteRecords.RecordZoneChangeBatch

    /// Options that determine which pending changes a call sends.
    public struct SendChangesOptions: Sendable, Hashable {
        /// The zones or records whose changes are sent.
        public enum Scope: Sendable, Hashable {
            /// All pending changes.
            case all
            /// The changes of these zones and of their records.
            case zoneIDs([ZoneID])
            /// The changes of these records and of their zones.
            case recordIDs([RecordID])

            /// Returns whether a change of a record is in the scope.
            public func contains(_ change: PendingRecordZoneChange) -> Bool {
                switch self {
                case .all: true
                case .zoneIDs(let zoneIDs): zoneIDs.contains(change.recordID.zoneID)
                case .recordIDs(let recordIDs): recordIDs.contains(change.recordID)
                }
            }

            /// Returns whether a change of a zone is in the scope. The zones of records in the scope are included,
            /// because zones are sent before their records.
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

        /// Creates options; all changes without a scope.
        public init(scope: Scope = .all) {
            self.scope = scope
        }
    }

    /// Options that determine which zones a call fetches.
    public struct FetchChangesOptions: Sendable, Hashable {
        /// The zones whose changes are fetched.
        public enum Scope: Sendable, Hashable {
            /// All zones.
            case all
            /// These zones only.
            case zoneIDs([ZoneID])
            /// All zones but these.
            case allExcluding([ZoneID])

            /// Returns whether a zone is in the scope.
            public func contains(_ zoneID: ZoneID) -> Bool {
                switch self {
                case .all: true
                case .zoneIDs(let zoneIDs): zoneIDs.contains(zoneID)
                case .allExcluding(let zoneIDs): !zoneIDs.contains(zoneID)
                }
            }
        }

        /// The zones to fetch.
        public var scope: Scope

        /// Creates options; all zones without a scope.
        public init(scope: Scope = .all) {
            self.scope = scope
        }
    }

    /// The context in which the engine requests a batch.
    public struct SendChangesContext: Sendable, Hashable {
        /// The options of the call that sends changes.
        public let options: SendChangesOptions
    }

    /// The parameters of a new engine.
    public struct Configuration: Sendable {
        /// The private or shared database to synchronize with.
        public var database: Database
        /// The state to continue from; `nil` for an app without a stored state.
        public var stateSerialization: State.Serialization?
        /// The delegate, which handles events and returns batches.
        public var delegate: any SyncEngineDelegate
        /// False for an engine that does not keep its delegate alive, like CKSyncEngine: an app that is the delegate,
        /// and keeps the engine, is freed with it then. Once the delegate is gone, the engine throws
        /// `operationCancelled`. A delegate that is no object is always kept.
        public var keepsDelegate = true
        /// CKSyncEngine.Configuration.automaticallySync. True is refused by the engine: nothing wakes a program on
        /// Linux. Call ``SyncEngine/run(every:listening:)`` in a task instead.
        public var automaticallySync = false
        /// True to deliver records after those that they refer to, by `parent` or by a reference within the zone. Then
        /// up to 10,000 records of a zone are collected and delivered together.
        public var parentsFirst = false

        /// - Parameters:
        ///   - database: the private or shared database to synchronize with.
        ///   - stateSerialization: the state of the last stored `stateUpdate`; `nil` for an app without a stored state.
        ///   - delegate: handles events and returns batches. The engine keeps it, unless ``keepsDelegate`` is false.
        public init(database: Database, stateSerialization: State.Serialization?, delegate: any SyncEngineDelegate) {
            self.database = database
            self.stateSerialization = stateSerialization
            self.delegate = delegate
        }
    }
}

/// The part of the sync that the app implements.
public protocol SyncEngineDelegate: Sendable {
    /// Handles an event. Do not call `fetchChanges` or `sendChanges` of any engine in it, nor in a task that inherits
    /// its task-local values: these calls throw.
    func handleEvent(_ event: SyncEngine.Event, syncEngine: SyncEngine) async

    /// Returns the next batch to send, from the pending changes that are in the scope of the context. As in
    /// `handleEvent`, do not fetch or send in it.
    /// - Returns: `nil` if there is nothing more to send now.
    func nextRecordZoneChangeBatch(_ context: SyncEngine.SendChangesContext, syncEngine: SyncEngine) async
        -> RecordZoneChangeBatch?
}

// MARK: - Events

extension SyncEngine {
    /// An event of the engine. Events are delivered one at a time, in order, and the engine waits until each is
    /// handled.
    public enum Event: Sendable {
        /// The engine's state changed. Store it.
        case stateUpdate(StateUpdate)
        /// A user signed in or out, or another user signed in.
        case accountChange(AccountChange)

        /// A fetch begins.
        case willFetchChanges
        /// Zones were created, changed or deleted.
        case fetchedDatabaseChanges(FetchedDatabaseChanges)
        /// The fetch of a zone begins.
        case willFetchRecordZoneChanges(WillFetchRecordZoneChanges)
        /// Records of a zone were saved or deleted.
        case fetchedRecordZoneChanges(FetchedRecordZoneChanges)
        /// The fetch of a zone ended, perhaps with an error.
        case didFetchRecordZoneChanges(DidFetchRecordZoneChanges)
        /// The fetch ended, perhaps with an error.
        case didFetchChanges

        /// The engine begins to send changes.
        case willSendChanges
        /// The outcomes of sent changes of zones.
        case sentDatabaseChanges(SentDatabaseChanges)
        /// The outcomes of sent changes of records.
        case sentRecordZoneChanges(SentRecordZoneChanges)
        /// The engine finished sending, perhaps with an error.
        case didSendChanges
    }
}

extension SyncEngine.Event {
    /// A new state. Store it together with the data of the events before it. A new engine with this state continues
    /// from here.
    public struct StateUpdate: Sendable {
        let state: SyncEngine.State

        /// The state to store. It includes all changes that are pending when the property is read. Read it where you
        /// store it, while the event is handled: a state that was read earlier could overwrite a state that the app
        /// stored since with a change of its own.
        public var stateSerialization: SyncEngine.State.Serialization { state.serialization }
    }

    /// A change of the account. Except after the first sign-in, the engine drops its tokens and pending changes. Delete
    /// the data of the previous account.
    public struct AccountChange: Sendable, Hashable {
        /// The kind of account change.
        public enum ChangeType: Sendable, Hashable {
            /// The first sign-in. Pending changes stay.
            case signIn(currentUser: RecordID)
            /// The user signed out.
            case signOut(previousUser: RecordID)
            /// Another user is signed in.
            case switchAccounts(previousUser: RecordID, currentUser: RecordID)
        }

        /// The kind of the change, with the users.
        public let changeType: ChangeType
    }

    /// The zones that were created, changed or deleted. The web protocol does not report why a zone was deleted.
    public struct FetchedDatabaseChanges: Sendable, Hashable {
        /// A zone that was created, or has changes.
        public struct Modification: Sendable, Hashable {
            /// The zone that was created or changed.
            public let zoneID: ZoneID
        }

        /// A zone that was deleted with its records.
        public struct Deletion: Sendable, Hashable {
            /// The zone that was deleted.
            public let zoneID: ZoneID
        }

        /// Zones that were created, or have changes.
        public let modifications: [Modification]
        /// Zones that were deleted.
        public let deletions: [Deletion]

        init(_ modifications: [ZoneID], _ deletions: [ZoneID]) {
            self.modifications = modifications.map { Modification(zoneID: $0) }
            self.deletions = deletions.map { Deletion(zoneID: $0) }
        }
    }

    /// The fetch of a zone begins.
    public struct WillFetchRecordZoneChanges: Sendable, Hashable {
        /// The zone to fetch.
        public let zoneID: ZoneID
        /// True if the zone's token has expired, so that all its records are fetched again.
        public let fromTheBeginning: Bool
    }

    /// Changes of a zone, fetched together.
    public struct FetchedRecordZoneChanges: Sendable {
        /// A record that was saved, in the server's version.
        public struct Modification: Sendable, Hashable {
            /// The record.
            public let record: Record
        }

        /// A record that was deleted.
        public struct Deletion: Sendable, Hashable {
            /// The record that was deleted.
            public let recordID: RecordID
            /// The record's type; `nil` if the server does not report it.
            public let recordType: Name?
        }

        /// The zone of the records.
        public let zoneID: ZoneID
        /// Records that were saved, each in its latest version.
        public let modifications: [Modification]
        /// Records that were deleted.
        public let deletions: [Deletion]

        init(_ zoneID: ZoneID, _ records: [Record], _ deletions: [(recordID: RecordID, recordType: Name?)]) {
            self.zoneID = zoneID
            modifications = records.map { Modification(record: $0) }
            self.deletions = deletions.map { Deletion(recordID: $0.recordID, recordType: $0.recordType) }
        }
    }

    /// The end of a zone's fetch. After `changeTokenExpired`, mark all stored records of the zone: they are fetched
    /// again, perhaps over several runs of the program. When a fetch of the zone ends without an error, delete the
    /// records that the server had and that are still marked.
    public struct DidFetchRecordZoneChanges: Sendable {
        /// The zone that was fetched.
        public let zoneID: ZoneID
        /// The error of the fetch; `nil` if all changes of the zone were fetched.
        public let error: OperationError?
    }

    /// The outcomes of sent changes of zones. After a permanent error, a change is no longer pending. After a temporary
    /// error, the engine sends it again.
    public struct SentDatabaseChanges: Sendable {
        /// A zone that was not created.
        public struct FailedZoneSave: Sendable {
            /// The zone, with only its ID.
            public let zone: ReceivedZone
            /// The reason why the zone was not created.
            public let error: OperationError
        }

        /// Zones that were created or already existed.
        public internal(set) var savedZones: [ReceivedZone] = []
        /// Zones that were not created.
        public internal(set) var failedZoneSaves: [FailedZoneSave] = []
        /// Zones that were deleted.
        public internal(set) var deletedZoneIDs: [ZoneID] = []
        /// Zones that were not deleted, with the reasons.
        public internal(set) var failedZoneDeletes: [ZoneID: OperationError] = [:]
    }

    /// The outcomes of sent changes of records. A failed change that the engine does not send again by itself is no
    /// longer pending: resolve the error and add the change again.
    public struct SentRecordZoneChanges: Sendable {
        /// A record that was not saved.
        public struct FailedRecordSave: Sendable {
            /// The record as it was sent.
            public let record: Record
            /// The reason why the record was not saved. A conflict contains three versions of the record.
            public let error: OperationError
        }

        /// The saved records with their new change tags.
        public internal(set) var savedRecords: [Record] = []
        /// Records that were not saved.
        public internal(set) var failedRecordSaves: [FailedRecordSave] = []
        /// Records that were deleted.
        public internal(set) var deletedRecordIDs: [RecordID] = []
        /// Records that were not deleted, with the reasons.
        public internal(set) var failedRecordDeletes: [RecordID: OperationError] = [:]
    }
}
