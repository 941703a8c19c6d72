public import CloudKitClient
public import JSON
public import Records

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

        /// The state to store, with all changes that are pending when it is asked for. Ask for it where you store it, while the event is handled: an
        /// earlier one would overwrite a state that was stored since with a change of the app's own.
        public var stateSerialization: SyncEngine.State.Serialization { state.serialization }
    }

    /// Tokens and pending changes are dropped, except after the first sign-in. Drop what belongs to the previous account.
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

    /// After `changeTokenExpired`, mark what is known of the zone, in the store: everything comes again, perhaps in several runs of the program.
    /// Records that the server had and that are still marked when a fetch of the zone ends without an error are gone.
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

    /// Changes that failed and that the engine does not send again by itself are no longer pending: settle them, and add them anew.
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
