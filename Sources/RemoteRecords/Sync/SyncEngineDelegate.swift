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

    /// Records that are no longer there to be saved.
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
        /// True to get records after those that they refer to, by `parent` or by a reference in the same zone. Pages of
        /// a zone are told together then, up to 10,000 records.
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
    /// Takes an event. Do not call `fetchChanges` or `sendChanges` of any engine in it, nor in a task that inherits
    /// from it: they throw.
    func handleEvent(_ event: SyncEngine.Event, syncEngine: SyncEngine) async

    /// Makes the next batch to send, of the pending changes that are in the scope of the context. As in `handleEvent`,
    /// do not fetch or send in it.
    /// - Returns: `nil` if there is nothing more to send now.
    func nextRecordZoneChangeBatch(_ context: SyncEngine.SendChangesContext, syncEngine: SyncEngine) async
        -> RecordZoneChangeBatch?
}

// MARK: - Events

extension SyncEngine {
    /// A step of an engine. Steps come one at a time, in order, and the engine waits for each.
    public enum Event: Sendable {
        /// The engine's state has changed: store it.
        case stateUpdate(StateUpdate)
        /// Somebody signed in or out, or the user is another one.
        case accountChange(AccountChange)

        /// A fetch begins.
        case willFetchChanges
        /// Zones were made, changed or deleted.
        case fetchedDatabaseChanges(FetchedDatabaseChanges)
        /// The fetch of a zone begins.
        case willFetchRecordZoneChanges(WillFetchRecordZoneChanges)
        /// A page of a zone.
        case fetchedRecordZoneChanges(FetchedRecordZoneChanges)
        /// The fetch of a zone is over, perhaps with an error.
        case didFetchRecordZoneChanges(DidFetchRecordZoneChanges)
        /// The fetch is over, also after an error.
        case didFetchChanges

        /// A sending begins.
        case willSendChanges
        /// The outcomes of changes of zones.
        case sentDatabaseChanges(SentDatabaseChanges)
        /// The outcomes of a batch.
        case sentRecordZoneChanges(SentRecordZoneChanges)
        /// The sending is over, also after an error.
        case didSendChanges
    }
}

extension SyncEngine.Event {
    /// Store it together with what the events before it brought. An engine that is made with it goes on from here.
    public struct StateUpdate: Sendable {
        let state: SyncEngine.State

        /// The state to store, with all changes that are pending when it is asked for. Ask for it where you store it,
        /// while the event is handled: an earlier one would overwrite a state that was stored since with a change of
        /// the app's own.
        public var stateSerialization: SyncEngine.State.Serialization { state.serialization }
    }

    /// Tokens and pending changes are dropped, except after the first sign-in. Drop what belongs to the previous
    /// account.
    public struct AccountChange: Sendable, Hashable {
        /// The way in which the account has changed.
        public enum ChangeType: Sendable, Hashable {
            /// The first sign-in. Pending changes stay.
            case signIn(currentUser: RecordID)
            /// Nobody is signed in any more.
            case signOut(previousUser: RecordID)
            /// Another user is signed in.
            case switchAccounts(previousUser: RecordID, currentUser: RecordID)
        }

        /// The way, with the users.
        public let changeType: ChangeType
    }

    /// The web protocol does not tell why a zone was deleted.
    public struct FetchedDatabaseChanges: Sendable, Hashable {
        /// A zone that was made, or has changes.
        public struct Modification: Sendable, Hashable {
            /// The zone.
            public let zoneID: ZoneID
        }

        /// A zone that was deleted with its records.
        public struct Deletion: Sendable, Hashable {
            /// The zone.
            public let zoneID: ZoneID
        }

        /// Zones that were made, or have changes.
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
        /// True if the zone's token has expired, and everything comes again.
        public let fromTheBeginning: Bool
    }

    /// A page of a zone.
    public struct FetchedRecordZoneChanges: Sendable {
        /// A record in the version of the server.
        public struct Modification: Sendable, Hashable {
            /// The record.
            public let record: Record
        }

        /// A record that was deleted.
        public struct Deletion: Sendable, Hashable {
            /// The record that was deleted.
            public let recordID: RecordID
            /// `nil` if the server does not tell it.
            public let recordType: Name?
        }

        /// The zone of the page.
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

    /// After `changeTokenExpired`, mark what is known of the zone, in the store: everything comes again, perhaps in
    /// several runs of the program. Records that the server had and that are still marked when a fetch of the zone ends
    /// without an error are gone.
    public struct DidFetchRecordZoneChanges: Sendable {
        /// The zone that was fetched.
        public let zoneID: ZoneID
        /// `nil` if all of its changes are here.
        public let error: OperationError?
    }

    /// Changes of zones that fail for good are no longer pending. After errors that time mends they are sent again.
    public struct SentDatabaseChanges: Sendable {
        /// A zone that was not created.
        public struct FailedZoneSave: Sendable {
            /// The zone, with nothing but its ID.
            public let zone: ReceivedZone
            /// The reason.
            public let error: OperationError
        }

        /// Zones that are there now.
        public internal(set) var savedZones: [ReceivedZone] = []
        /// Zones that were not created.
        public internal(set) var failedZoneSaves: [FailedZoneSave] = []
        /// Zones that were deleted.
        public internal(set) var deletedZoneIDs: [ZoneID] = []
        /// Zones that were not deleted, with the reasons.
        public internal(set) var failedZoneDeletes: [ZoneID: OperationError] = [:]
    }

    /// Changes that failed and that the engine does not send again by itself are no longer pending: settle them, and
    /// add them anew.
    public struct SentRecordZoneChanges: Sendable {
        /// A record that was not saved.
        public struct FailedRecordSave: Sendable {
            /// The record as it was to be sent.
            public let record: Record
            /// The reason. A conflict has three versions.
            public let error: OperationError
        }

        /// Records with their new change tags.
        public internal(set) var savedRecords: [Record] = []
        /// Records that were not saved.
        public internal(set) var failedRecordSaves: [FailedRecordSave] = []
        /// Records that were deleted.
        public internal(set) var deletedRecordIDs: [RecordID] = []
        /// Records that were not deleted, with the reasons.
        public internal(set) var failedRecordDeletes: [RecordID: OperationError] = [:]
    }
}
