public import CloudKitClient
public import JSON
public import Records

extension SyncEngine {
    /// A step of an engine. Steps come one at a time, in order, and the engine waits for each.
    public enum Event: Sendable {
        case stateUpdate(StateUpdate)
        case accountChange(AccountChange)

        case willFetchChanges
        case fetchedDatabaseChanges(FetchedDatabaseChanges)
        case willFetchRecordZoneChanges(WillFetchRecordZoneChanges)
        case fetchedRecordZoneChanges(FetchedRecordZoneChanges)
        case didFetchRecordZoneChanges(DidFetchRecordZoneChanges)
        case didFetchChanges

        case willSendChanges
        case sentDatabaseChanges(SentDatabaseChanges)
        case sentRecordZoneChanges(SentRecordZoneChanges)
        case didSendChanges
    }
}

extension SyncEngine.Event {
    /// Store it together with what the events before it brought. An engine that is made with it goes on from here.
    public struct StateUpdate: Sendable {
        public let stateSerialization: SyncEngine.State.Serialization
    }

    /// Tokens and pending changes are dropped, except after the first sign-in. Drop what belongs to the previous account.
    public struct AccountChange: Sendable, Hashable {
        public enum ChangeType: Sendable, Hashable {
            case signIn(currentUser: RecordID)
            case signOut(previousUser: RecordID)
            case switchAccounts(previousUser: RecordID, currentUser: RecordID)
        }

        public let changeType: ChangeType
    }

    /// The web protocol does not tell why a zone was deleted.
    public struct FetchedDatabaseChanges: Sendable, Hashable {
        public struct Modification: Sendable, Hashable { public let zoneID: ZoneID }
        public struct Deletion: Sendable, Hashable { public let zoneID: ZoneID }

        public let modifications: [Modification]
        public let deletions: [Deletion]

        init(_ modifications: [ZoneID], _ deletions: [ZoneID]) {
            self.modifications = modifications.map { Modification(zoneID: $0) }
            self.deletions = deletions.map { Deletion(zoneID: $0) }
        }
    }

    public struct WillFetchRecordZoneChanges: Sendable, Hashable {
        public let zoneID: ZoneID
        /// True if the zone's token has expired, and everything comes again.
        public let fromTheBeginning: Bool
    }

    /// A page of a zone.
    public struct FetchedRecordZoneChanges: Sendable {
        public struct Modification: Sendable, Hashable { public let record: Record }

        public struct Deletion: Sendable, Hashable {
            public let recordID: RecordID
            /// `nil` if the server does not tell it.
            public let recordType: Name?
        }

        public let zoneID: ZoneID
        public let modifications: [Modification]
        public let deletions: [Deletion]

        init(_ zoneID: ZoneID, _ records: [Record], _ deletions: [(recordID: RecordID, recordType: Name?)]) {
            self.zoneID = zoneID
            modifications = records.map { Modification(record: $0) }
            self.deletions = deletions.map { Deletion(recordID: $0.recordID, recordType: $0.recordType) }
        }
    }

    /// After `changeTokenExpired`, mark what is known of the zone, in the store: everything comes again, perhaps in several runs of the program.
    /// Records that the server had and that are still marked when a fetch of the zone ends without an error are gone.
    public struct DidFetchRecordZoneChanges: Sendable {
        public let zoneID: ZoneID
        public let error: OperationError?
    }

    public struct SentDatabaseChanges: Sendable {
        public struct FailedZoneSave: Sendable {
            public let zone: ReceivedZone
            public let error: OperationError
        }

        public internal(set) var savedZones: [ReceivedZone] = []
        public internal(set) var failedZoneSaves: [FailedZoneSave] = []
        public internal(set) var deletedZoneIDs: [ZoneID] = []
        public internal(set) var failedZoneDeletes: [ZoneID: OperationError] = [:]
    }

    /// Changes that failed and that the engine does not send again by itself are no longer pending: settle them, and add them anew.
    public struct SentRecordZoneChanges: Sendable {
        public struct FailedRecordSave: Sendable {
            public let record: Record
            public let error: OperationError
        }

        public internal(set) var savedRecords: [Record] = []
        public internal(set) var failedRecordSaves: [FailedRecordSave] = []
        public internal(set) var deletedRecordIDs: [RecordID] = []
        public internal(set) var failedRecordDeletes: [RecordID: OperationError] = [:]
    }
}
