// Programs import this module alone, as apps import CloudKit.
@_exported public import CloudKitClient
public import Foundation
@_exported public import Records

// CloudKit's own names, for code that is an app's on Apple's platforms and is compiled elsewhere too:
//
//     #if canImport(CloudKit)
//     import CloudKit
//     #else
//     import RemoteRecords
//     #endif
//
// docs/remote-records.md tells what such code must not do.

#if !canImport(CloudKit)
    /// ``Container``.
    public typealias CKContainer = Container
    /// ``Database``.
    public typealias CKDatabase = Database
    /// ``Record``. It is a value here.
    public typealias CKRecord = Record
    /// `ReceivedZone` of CloudKitClient.
    public typealias CKRecordZone = ReceivedZone
    /// ``AssetFile``.
    public typealias CKAsset = AssetFile
    /// `Query` of Records.
    public typealias CKQuery = Query
    /// `Subscription` of Records.
    public typealias CKSubscription = Subscription
    /// `SyncToken` of CloudKitClient.
    public typealias CKServerChangeToken = SyncToken
    /// ``QueryRecords``, whose cursor is `CKQueryOperation.Cursor`.
    public typealias CKQueryOperation = QueryRecords
    /// ``ModifyRecords``, whose policy is `CKModifyRecordsOperation.RecordSavePolicy`.
    public typealias CKModifyRecordsOperation = ModifyRecords
    /// ``OperationGroup``.
    public typealias CKOperationGroup = OperationGroup
    /// ``OperationError``.
    public typealias CKError = OperationError
    /// ``SyncEngine``.
    public typealias CKSyncEngine = SyncEngine
    /// ``SyncEngineDelegate``.
    public typealias CKSyncEngineDelegate = SyncEngineDelegate

    /// The owner of the user's own zones.
    public let CKCurrentUserDefaultName = "__defaultOwner__"
    /// The name of the share of a whole zone.
    public let CKRecordNameZoneWideShare = "cloudkit.zoneshare"

    /// The names within CKOperation.
    public enum CKOperation {
        /// ``OperationConfiguration``.
        public typealias Configuration = OperationConfiguration
    }
#endif

extension Record {
    /// CKRecord.ID.
    public typealias ID = RecordID
    /// CKRecord.Reference.
    public typealias Reference = Records.Reference
    /// CKRecord.FieldKey.
    public typealias FieldKey = Name

    /// The types that every container has.
    public enum SystemType {
        /// The type of the records of users.
        public static let userRecord: Name = Schema.usersType
        /// The type of shares.
        public static let share: Name = Share.recordType
    }

    /// The moment of the first save; `nil` before it.
    public var creationDate: Date? {
        created?.timestamp.map { Date(timeIntervalSince1970: Double($0.milliseconds) / 1000) }
    }
    /// The moment of the latest save; `nil` before the first one.
    public var modificationDate: Date? {
        modified?.timestamp.map { Date(timeIntervalSince1970: Double($0.milliseconds) / 1000) }
    }
    /// The user who saved the record first; `nil` before that.
    public var creatorUserRecordID: RecordID? { created?.userRecordName.map { RecordID(recordName: $0) } }
    /// The user who saved the record last; `nil` before the first save.
    public var lastModifiedUserRecordID: RecordID? { modified?.userRecordName.map { RecordID(recordName: $0) } }

    /// The keys that have values, in their order.
    public func allKeys() -> [Name] { fields.keys.sorted() }

    /// Shares the record with another one of its zone, and all that is below that; `nil` to end this.
    public mutating func setParent(_ parent: Record?) { setParent(parent?.recordID) }
    /// The same for the ID of a record in the same zone.
    public mutating func setParent(_ parentID: RecordID?) { parent = parentID?.recordName }

    /// The keys that the server encrypts, which are read and set as those of the record.
    public var encryptedValues: EncryptedValues {
        get { EncryptedValues(record: self) }
        set { self = newValue.record }
    }

    /// A view of a record's encrypted keys.
    public struct EncryptedValues: Sendable {
        fileprivate var record: Record

        /// The value of an encrypted key; `nil` for none, for a value of another type, and for a key that is not
        /// encrypted.
        public subscript<Value: RecordValue>(key: Name) -> Value? {
            get { record.fields[key]?.isEncrypted == true ? record[key] : nil }
            set { record[encrypted: key] = newValue }
        }

        /// The value of an encrypted key in its own type; `nil` for none, and for a key that is not encrypted.
        public subscript(key: Name) -> (any RecordValue)? {
            get { record.fields[key]?.isEncrypted == true ? record[key] : nil }
            set { record[content: key] = newValue?.fieldContent.encrypted }
        }
    }
}

extension RecordID {
    /// An ID with a name as a text.
    public init(recordName: String, zoneID: ZoneID = .default) {
        self.init(recordName: Name(recordName), zoneID: zoneID)
    }
}

extension ZoneID {
    /// - Parameter ownerName: the user who owns the zone; `CKCurrentUserDefaultName` or nothing for the user's own
    ///   zones.
    public init(zoneName: String, ownerName: String = "__defaultOwner__") {
        self.init(
            zoneName: Name(zoneName),
            ownerRecordName: Self.currentOwnerNames.contains(Name(ownerName)) ? nil : Name(ownerName))
    }
}

extension Reference {
    /// A reference to a record of any zone of the same database.
    public init(recordID: RecordID, action: Action) {
        self.init(recordName: recordID.recordName, zoneID: recordID.zoneID, action: action)
    }

    /// A reference to a record.
    public init(record: Record, action: Action) {
        self.init(recordID: record.recordID, action: action)
    }
}

extension Reference {
    /// The record that it leads to. Without a zone of its own, a reference leads into the zone of its record, which
    /// CloudKit's answers always state.
    public var recordID: RecordID { RecordID(recordName: recordName, zoneID: zoneID ?? .default) }
}

extension ReceivedZone {
    /// CKRecordZone.ID.
    public typealias ID = ZoneID

    /// The zone that every database has.
    public static func `default`() -> ReceivedZone { ReceivedZone(zoneID: .default) }

    /// A zone to create.
    public init(zoneName: String) {
        self.init(zoneID: ZoneID(zoneName: zoneName))
    }
}

extension QueryRecords {
    /// A limit of results that leaves the number to the server.
    public static let maximumResults = 0
}

extension ModifyRecords {
    /// CKModifyRecordsOperation.RecordSavePolicy.
    public typealias RecordSavePolicy = SavePolicy
}

extension Subscription {
    /// A subscription with a new UUID as its ID.
    public init(to subject: Subject, notificationInfo: NotificationInfo? = nil) {
        self.init(Name(UUID().uuidString), to: subject, notificationInfo: notificationInfo)
    }
}

extension Database {
    /// CKDatabase.Scope.
    public typealias Scope = DatabaseScope

    /// Creates a zone. One that exists stays as it is.
    @discardableResult
    public func save(_ zone: ReceivedZone) async throws(OperationError) -> ReceivedZone { try await save(zone.zoneID) }
}

extension OperationError {
    /// The version on the server, if the code is `serverRecordChanged`.
    public var serverRecord: Record? { conflict?.serverRecord }
    /// The version that was to be saved, if the code is `serverRecordChanged`.
    public var clientRecord: Record? { conflict?.clientRecord }
    /// The version before the changes, if the code is `serverRecordChanged` and there was one.
    public var ancestorRecord: Record? { conflict?.ancestorRecord }

    /// ``retryAfter`` in seconds.
    public var retryAfterSeconds: Double? {
        retryAfter.map { Double($0.components.seconds) + Double($0.components.attoseconds) / 1e18 }
    }

    /// ``partialErrors`` by the ids of records, zones and subscriptions; `nil` for another code.
    public var partialErrorsByItemID: [AnyHashable: any Error]? {
        guard code == .partialFailure else { return nil }
        return Dictionary(
            partialErrors.map { item, error -> (AnyHashable, any Error) in
                switch item {
                case .record(let recordID): (recordID, error)
                case .zone(let zoneID): (zoneID, error)
                case .link(let shortGUID): (shortGUID, error)
                case .user(let lookupInfo): (lookupInfo, error)
                case .subscription(let subscriptionID): (subscriptionID, error)
                }
            }
        ) { first, _ in first }
    }
}
