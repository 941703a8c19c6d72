public import CloudKitClient
public import Foundation
public import Records

// CloudKit's names of shares, users, subscriptions and notifications.

#if !canImport(CloudKit)
    /// ``Record``. A share is a record with participants.
    public typealias CKShare = Record
    /// `ReceivedUser` of CloudKitClient.
    public typealias CKUserIdentity = ReceivedUser
    /// `Subscription` of Records. The kinds differ in their `subject`.
    public typealias CKSubscription = Subscription
    /// `Subscription` of Records, to records that match a query.
    public typealias CKQuerySubscription = Subscription
    /// `Subscription` of Records, to a zone.
    public typealias CKRecordZoneSubscription = Subscription
    /// `Subscription` of Records, to a database.
    public typealias CKDatabaseSubscription = Subscription
    /// ``RemoteNotification``. The kinds differ in their `subject`.
    public typealias CKNotification = RemoteNotification
#endif

// MARK: - Shares

extension Record {
    /// CKShare.Participant.
    public typealias Participant = ShareParticipant
    /// CKShare.Metadata.
    public typealias Metadata = ShareMetadata
    /// CKShare.ParticipantPermission.
    public typealias ParticipantPermission = SharePermission
    /// CKShare.ParticipantRole.
    public typealias ParticipantRole = ShareParticipant.Role
    /// CKShare.ParticipantAcceptanceStatus.
    public typealias ParticipantAcceptanceStatus = ShareParticipant.Status

    /// Creates a share of a record and all records below it, as `init(sharing:)` does.
    public init(rootRecord: Record) { self.init(sharing: rootRecord) }

    /// Creates a share of a record and all records below it, with an ID of the app's choice.
    /// - Parameters:
    ///   - rootRecord: a record in a custom zone of the private database.
    ///   - shareID: the ID of the share. Its zone is always that of the record.
    public init(rootRecord: Record, shareID: RecordID) {
        self.init(
            recordType: Share.recordType,
            recordID: RecordID(recordName: shareID.recordName, zoneID: rootRecord.recordID.zoneID))
        sharing = Share(
            rootName: rootRecord.recordID.recordName, shortGUID: rootRecord.shortGUID ?? "", participants: [])
    }

    /// Creates a share of a whole custom zone of the private database.
    public init(recordZoneID: ZoneID) { self.init(sharing: recordZoneID) }

    /// The permission of everybody with the link of a share. Setting it has no effect on other records, for which it is
    /// `none`.
    public var publicPermission: SharePermission {
        get { sharing?.publicPermission ?? .none }
        set { sharing?.publicPermission = newValue }
    }

    /// The participants of a share, the owner first; none for other records.
    public var participants: [ShareParticipant] { sharing?.participants ?? [] }
    /// The owner of a share; `nil` for other records, and for a share that was never saved.
    public var owner: ShareParticipant? { sharing?.owner }

    /// Invites a user to a share. A user who is already a participant gets the new permission. It has no effect on
    /// other records.
    public mutating func addParticipant(_ participant: ShareParticipant) { sharing?.addParticipant(participant) }
    /// Removes a participant of a share. The owner cannot be removed.
    public mutating func removeParticipant(_ participant: ShareParticipant) { sharing?.removeParticipant(participant) }
}

extension ShareParticipant {
    /// CKShare.Participant.acceptanceStatus.
    public var acceptanceStatus: Status { status }
}

extension ShareParticipant.Status {
    /// ``invited``.
    public static let pending = invited
}

extension ShareParticipant.Role {
    /// ``user``.
    public static let privateUser = user
}

extension ShareMetadata {
    /// The ID of the root record; `nil` if the share is of a whole zone.
    public var hierarchicalRootRecordID: RecordID? { rootRecordID }
}

extension Container {
    /// Fetches the metadata of the share that an address opens.
    /// - Throws: as ``shareMetadata(for:fetchesRootRecord:)``.
    public func shareMetadata(for url: URL) async throws(OperationError) -> ShareMetadata {
        try await shareMetadata(for: ShareLink(any: url))
    }

    /// Accepts a share for the user. Afterwards its records are in the shared database.
    /// - Returns: the share.
    @discardableResult
    public func accept(_ metadata: ShareMetadata) async throws(OperationError) -> Record {
        try await accept(ShareLink(shortGUID: metadata.shortGUID)).share
    }
}

// MARK: - Users

extension ReceivedUser {
    /// CKUserIdentity.LookupInfo.
    public typealias LookupInfo = Records.LookupInfo

    /// The ID of the user's record; `nil` if the server does not report it.
    public var userRecordID: RecordID? { userRecordName.map { RecordID(recordName: $0) } }
    /// The address by which the user was found; `nil` if the server reports none.
    public var lookupInfo: LookupInfo? {
        emailAddress == nil && phoneNumber == nil
            ? nil : LookupInfo(emailAddress: emailAddress, phoneNumber: phoneNumber, userRecordName: userRecordName)
    }
    /// The given name and the family name; `nil` if the server reports neither.
    public var nameComponents: PersonNameComponents? {
        if givenName == nil, familyName == nil { return nil }
        var components = PersonNameComponents()
        (components.givenName, components.familyName) = (givenName, familyName)
        return components
    }
}

extension LookupInfo {
    /// Identifies a user by the ID of the user's record.
    public init(userRecordID: RecordID) { self.init(userRecordName: userRecordID.recordName) }
}

extension Container {
    /// Fetches the user with an e-mail address as a participant to add to a share.
    public func shareParticipant(forEmailAddress emailAddress: String) async throws(OperationError) -> ShareParticipant
    {
        try await shareParticipant(for: LookupInfo(emailAddress: emailAddress))
    }

    /// Fetches the user with a phone number as a participant to add to a share.
    public func shareParticipant(forPhoneNumber phoneNumber: String) async throws(OperationError) -> ShareParticipant {
        try await shareParticipant(for: LookupInfo(phoneNumber: phoneNumber))
    }

    /// Fetches the user with a user record as a participant to add to a share.
    public func shareParticipant(forUserRecordID userRecordID: RecordID) async throws(OperationError)
        -> ShareParticipant
    {
        try await shareParticipant(for: LookupInfo(userRecordID: userRecordID))
    }

    /// Finds a user of the app by an e-mail address; `nil` if the user does not exist or is not discoverable.
    public func userIdentity(forEmailAddress emailAddress: String) async throws(OperationError) -> ReceivedUser? {
        try await userIdentityIfAny(LookupInfo(emailAddress: emailAddress))
    }

    /// Finds a user of the app by a phone number; `nil` if the user does not exist or is not discoverable.
    public func userIdentity(forPhoneNumber phoneNumber: String) async throws(OperationError) -> ReceivedUser? {
        try await userIdentityIfAny(LookupInfo(phoneNumber: phoneNumber))
    }

    /// Finds a user of the app by the user's record; `nil` if the user does not exist or is not discoverable.
    public func userIdentity(forUserRecordID userRecordID: RecordID) async throws(OperationError) -> ReceivedUser? {
        try await userIdentityIfAny(LookupInfo(userRecordID: userRecordID))
    }

    private func userIdentityIfAny(_ lookupInfo: LookupInfo) async throws(OperationError) -> ReceivedUser? {
        do throws(OperationError) {
            return try await userIdentity(for: lookupInfo)
        } catch {
            if error.code == .unknownItem { return nil }
            throw error
        }
    }
}

// MARK: - Subscriptions

extension NotificationInfo {
    /// CKSubscription.NotificationInfo.desiredKeys: ``additionalFields``. Only for query subscriptions.
    public var desiredKeys: [Record.FieldKey]? {
        get { additionalFields.isEmpty ? nil : additionalFields.map(\.string) }
        set { additionalFields = newValue?.map { Name($0) } ?? [] }
    }
}

extension Subscription {
    /// CKSubscription.ID.
    public typealias ID = String
    /// CKSubscription.NotificationInfo.
    public typealias NotificationInfo = Records.NotificationInfo

    /// CKQuerySubscription.Options.
    public struct Options: OptionSet, Sendable, Hashable {
        public let rawValue: UInt

        public init(rawValue: UInt) {
            self.rawValue = rawValue
        }

        /// New records that match.
        public static let firesOnRecordCreation = Options(rawValue: 1)
        /// Changed records that match afterwards.
        public static let firesOnRecordUpdate = Options(rawValue: 2)
        /// Deleted records that matched.
        public static let firesOnRecordDeletion = Options(rawValue: 4)
        /// End the subscription with its first notification.
        public static let firesOnce = Options(rawValue: 8)
    }

    /// Creates a subscription with a new UUID as its ID.
    public init(to subject: Subject, notificationInfo: NotificationInfo? = nil) {
        self.init(Name(UUID().uuidString), to: subject, notificationInfo: notificationInfo)
    }

    /// Creates a subscription to the changes in all custom zones of a database.
    public init(subscriptionID: String) {
        self.init(Name(subscriptionID), to: .database(recordType: nil))
    }

    /// Creates a subscription to the changes in a custom zone. By default its ID is a new UUID.
    public init(zoneID: ZoneID, subscriptionID: String = UUID().uuidString) {
        self.init(Name(subscriptionID), to: .zone(zoneID, recordType: nil))
    }

    /// Creates a subscription to the records of a type that match all filters.
    /// - Parameters:
    ///   - recordType: the type of the records.
    ///   - filters: the conditions, instead of CloudKit's predicate; by default none.
    ///   - subscriptionID: the ID; by default a new UUID.
    ///   - options: the changes that fire the subscription, at least one kind.
    ///   - zoneID: the zone, which is a property in CloudKit; `nil` for all zones.
    public init(
        recordType: String, filters: [Query.Filter] = [], subscriptionID: String = UUID().uuidString, options: Options,
        zoneID: ZoneID? = nil
    ) {
        let events: [(Options, Event)] = [
            (.firesOnRecordCreation, .create), (.firesOnRecordUpdate, .update), (.firesOnRecordDeletion, .delete),
        ]
        let subject = RecordSubject(
            Query(recordType: Name(recordType), filters: filters),
            firesOn: Set(events.filter { options.contains($0.0) }.map(\.1)), firesOnce: options.contains(.firesOnce),
            zoneID: zoneID)
        self.init(Name(subscriptionID), to: .query(subject))
    }
}
