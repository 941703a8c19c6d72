public import CloudKitClient
public import Foundation
public import Records

// CloudKit's names of operations and of the sync engine. An operation is a value here, with events instead of blocks.

#if !canImport(CloudKit)
    /// ``QueryRecords``, whose cursor is `CKQueryOperation.Cursor`.
    public typealias CKQueryOperation = QueryRecords
    /// ``FetchRecords``.
    public typealias CKFetchRecordsOperation = FetchRecords
    /// ``ModifyRecords``, whose policy is `CKModifyRecordsOperation.RecordSavePolicy`.
    public typealias CKModifyRecordsOperation = ModifyRecords
    /// ``FetchRecordZones``.
    public typealias CKFetchRecordZonesOperation = FetchRecordZones
    /// ``ModifyRecordZones``.
    public typealias CKModifyRecordZonesOperation = ModifyRecordZones
    /// ``FetchDatabaseChanges``.
    public typealias CKFetchDatabaseChangesOperation = FetchDatabaseChanges
    /// ``FetchRecordZoneChanges``.
    public typealias CKFetchRecordZoneChangesOperation = FetchRecordZoneChanges
    /// ``FetchSubscriptions``.
    public typealias CKFetchSubscriptionsOperation = FetchSubscriptions
    /// ``ModifySubscriptions``.
    public typealias CKModifySubscriptionsOperation = ModifySubscriptions
    /// ``FetchShareMetadata``.
    public typealias CKFetchShareMetadataOperation = FetchShareMetadata
    /// ``AcceptShares``.
    public typealias CKAcceptSharesOperation = AcceptShares
    /// ``FetchShareParticipants``.
    public typealias CKFetchShareParticipantsOperation = FetchShareParticipants
    /// ``DiscoverUserIdentities``.
    public typealias CKDiscoverUserIdentitiesOperation = DiscoverUserIdentities
    /// ``DiscoverUserIdentities`` without lookup values.
    public typealias CKDiscoverAllUserIdentitiesOperation = DiscoverUserIdentities
    /// ``OperationGroup``.
    public typealias CKOperationGroup = OperationGroup
    /// ``SyncEngine``.
    public typealias CKSyncEngine = SyncEngine
    /// ``SyncEngineDelegate``.
    public typealias CKSyncEngineDelegate = SyncEngineDelegate

    /// The namespace for the types that are nested in CloudKit's `CKOperation`.
    public enum CKOperation {
        /// ``OperationConfiguration``.
        public typealias Configuration = OperationConfiguration
    }
#endif

// MARK: - Records

extension QueryRecords {
    /// A results limit that leaves the number to the server.
    public static let maximumResults = 0

    /// Creates the operation for the first page of a query, in all zones.
    public init(query: Query) { self.init(query) }

    /// Creates the operation for the page that follows a cursor.
    public init(cursor: Cursor) { self.init(continuing: cursor) }
}

extension FetchRecords {
    /// Creates the operation for all keys of the records.
    public init(recordIDs: [RecordID]) { self.init(recordIDs) }
}

extension ModifyRecords {
    /// CKModifyRecordsOperation.RecordSavePolicy.
    public typealias RecordSavePolicy = SavePolicy

    /// Creates an atomic operation that saves records that nobody else changed.
    public init(recordsToSave: [Record]?, recordIDsToDelete: [RecordID]? = nil) {
        self.init(saving: recordsToSave ?? [], deleting: recordIDsToDelete ?? [])
    }
}

// MARK: - Zones

extension FetchRecordZones {
    /// Creates the operation for zones.
    public init(recordZoneIDs: [ZoneID]) { self.init(recordZoneIDs) }

    /// Creates the operation for all zones of the database.
    public static func fetchAllRecordZonesOperation() -> FetchRecordZones { FetchRecordZones() }
}

extension ModifyRecordZones {
    /// Creates the operation for zones.
    public init(recordZonesToSave: [ReceivedZone]?, recordZoneIDsToDelete: [ZoneID]? = nil) {
        self.init(saving: recordZonesToSave?.map(\.zoneID) ?? [], deleting: recordZoneIDsToDelete ?? [])
    }
}

extension FetchDatabaseChanges {
    /// Creates the operation for the zones that changed since a token; `nil` for all zones.
    public init(previousServerChangeToken: SyncToken?) { self.init(since: previousServerChangeToken) }
}

extension FetchRecordZoneChanges {
    /// CKFetchRecordZoneChangesOperation.ZoneConfiguration.
    public struct ZoneConfiguration: Sendable, Hashable {
        /// The token of the last fetch; `nil` for all records that exist now, without deletions.
        public var previousServerChangeToken: SyncToken?
        /// The maximum number of changes of a page, at most 200; `nil` for the server's choice.
        public var resultsLimit: Int?
        /// The keys to fetch; `nil` for all keys, empty for none.
        public var desiredKeys: [Record.FieldKey]?

        /// Creates a configuration, by default for all keys of all records.
        public init(
            previousServerChangeToken: SyncToken? = nil, resultsLimit: Int? = nil,
            desiredKeys: [Record.FieldKey]? = nil
        ) {
            self.previousServerChangeToken = previousServerChangeToken
            self.resultsLimit = resultsLimit
            self.desiredKeys = desiredKeys
        }
    }

    /// Creates the operation for zones, and all pages of each.
    /// - Parameters:
    ///   - recordZoneIDs: the zones to fetch, in this order.
    ///   - configurationsByRecordZoneID: the token, limit and keys of each zone. A zone without one is fetched from the
    ///     beginning.
    public init(recordZoneIDs: [ZoneID], configurationsByRecordZoneID: [ZoneID: ZoneConfiguration]? = nil) {
        self.init(
            recordZoneIDs.map { zoneID in
                let configuration = configurationsByRecordZoneID?[zoneID]
                return ZonePull(
                    zoneID, since: configuration?.previousServerChangeToken, limit: configuration?.resultsLimit,
                    desiredKeys: configuration?.desiredKeys.map { Set($0) })
            })
    }
}

// MARK: - Subscriptions, shares and users

extension FetchSubscriptions {
    /// Creates the operation for subscriptions.
    public init(subscriptionIDs: [Subscription.ID]) { self.init(subscriptionIDs.map { Name($0) }) }

    /// Creates the operation for all subscriptions of the user in the database.
    public static func fetchAllSubscriptionsOperation() -> FetchSubscriptions { FetchSubscriptions() }
}

extension ModifySubscriptions {
    /// Creates the operation for subscriptions.
    public init(subscriptionsToSave: [Subscription]?, subscriptionIDsToDelete: [Subscription.ID]? = nil) {
        self.init(saving: subscriptionsToSave ?? [], deleting: subscriptionIDsToDelete?.map { Name($0) } ?? [])
    }
}

extension ShareLink {
    /// An address without a path has no identifier. No share has this link then.
    init(any url: URL) { self = ShareLink(url) ?? ShareLink(shortGUID: url.absoluteString) }
}

extension FetchShareMetadata {
    /// Creates the operation for the links of shares.
    public init(shareURLs: [URL]) { self.init(shareURLs.map { ShareLink(any: $0) }) }
}

extension AcceptShares {
    /// Creates the operation for shares.
    public init(shareMetadatas: [ShareMetadata]) {
        self.init(shareMetadatas.map { ShareLink(shortGUID: $0.shortGUID) })
    }
}

extension FetchShareParticipants {
    /// Creates the operation for users.
    public init(userIdentityLookupInfos: [LookupInfo]) { self.init(userIdentityLookupInfos) }
}

extension DiscoverUserIdentities {
    /// Creates the operation for users.
    public init(userIdentityLookupInfos: [LookupInfo]) { self.init(userIdentityLookupInfos) }
}
