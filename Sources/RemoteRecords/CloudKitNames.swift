public import CloudKitClient
public import Foundation
public import Records

// CloudKit's own names, for code that also compiles on Apple's platforms, where it uses CloudKit itself:
//
//     #if canImport(CloudKit)
//     import CloudKit
//     #else
//     import RemoteRecords
//     #endif
//
// docs/remote-records.md lists what such code must avoid.

#if !canImport(CloudKit)
    /// ``Container``.
    public typealias CKContainer = Container
    /// ``Database``.
    public typealias CKDatabase = Database
    /// ``Record``. Unlike `CKRecord`, it is a struct.
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

    /// The owner name that stands for the signed-in user, in the IDs of the user's own zones.
    public let CKCurrentUserDefaultName = "__defaultOwner__"
    /// The record name of a share of a whole zone.
    public let CKRecordNameZoneWideShare = "cloudkit.zoneshare"

    /// The namespace for the types that are nested in CloudKit's `CKOperation`.
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

    /// The record types that every container has.
    public enum SystemType {
        /// The type of the records of users.
        public static let userRecord: Name = Schema.usersType
        /// The type of shares.
        public static let share: Name = Share.recordType
    }

    /// The time of the first save; `nil` before it.
    public var creationDate: Date? {
        created?.timestamp.map { Date(timeIntervalSince1970: Double($0.milliseconds) / 1000) }
    }
    /// The time of the latest save; `nil` before the first save.
    public var modificationDate: Date? {
        modified?.timestamp.map { Date(timeIntervalSince1970: Double($0.milliseconds) / 1000) }
    }
    /// The user who first saved the record; `nil` before the first save.
    public var creatorUserRecordID: RecordID? { created?.userRecordName.map { RecordID(recordName: $0) } }
    /// The user who last saved the record; `nil` before the first save.
    public var lastModifiedUserRecordID: RecordID? { modified?.userRecordName.map { RecordID(recordName: $0) } }

    /// The keys that have values, sorted.
    public func allKeys() -> [Name] { fields.keys.sorted() }

    /// Sets the parent, a record in the same zone. A share of the parent also shares this record and the records below
    /// it. `nil` removes the parent.
    public mutating func setParent(_ parent: Record?) { setParent(parent?.recordID) }
    /// Sets the parent by its ID, as ``setParent(_:)`` with a record does; `nil` removes the parent.
    public mutating func setParent(_ parentID: RecordID?) { parent = parentID?.recordName }

    /// The keys that the server encrypts. Read and set them as the keys of the record.
    public var encryptedValues: EncryptedValues {
        get { EncryptedValues(record: self) }
        set { self = newValue.record }
    }

    /// A view of a record's encrypted keys.
    public struct EncryptedValues: Sendable {
        fileprivate var record: Record

        /// The value of an encrypted key; `nil` if the key is missing, is not encrypted, or has a value of another
        /// type.
        public subscript<Value: RecordValue>(key: Name) -> Value? {
            get { record.fields[key]?.isEncrypted == true ? record[key] : nil }
            set { record[encrypted: key] = newValue }
        }

        /// The value of an encrypted key, in the Swift type of that value; `nil` if the key is missing or is not
        /// encrypted.
        public subscript(key: Name) -> (any RecordValue)? {
            get { record.fields[key]?.isEncrypted == true ? record[key] : nil }
            set { record[content: key] = newValue?.fieldContent.encrypted }
        }
    }
}

extension RecordID {
    /// Creates an ID from a record name in a string.
    public init(recordName: String, zoneID: ZoneID = .default) {
        self.init(recordName: Name(recordName), zoneID: zoneID)
    }
}

extension ZoneID {
    /// - Parameter ownerName: the user record name of the zone's owner; by default `CKCurrentUserDefaultName`, the
    ///   signed-in user.
    public init(zoneName: String, ownerName: String = "__defaultOwner__") {
        self.init(
            zoneName: Name(zoneName),
            ownerRecordName: Self.currentOwnerNames.contains(Name(ownerName)) ? nil : Name(ownerName))
    }
}

extension Reference {
    /// Creates a reference to a record in any zone of the same database.
    public init(recordID: RecordID, action: Action) {
        self.init(recordName: recordID.recordName, zoneID: recordID.zoneID, action: action)
    }

    /// Creates a reference to a record.
    public init(record: Record, action: Action) {
        self.init(recordID: record.recordID, action: action)
    }
}

extension Reference {
    /// The ID of the referenced record. A reference without a zone means the zone of the record that contains it.
    /// CloudKit's answers always state the zone.
    public var recordID: RecordID { RecordID(recordName: recordName, zoneID: zoneID ?? .default) }
}

extension ReceivedZone {
    /// CKRecordZone.ID.
    public typealias ID = ZoneID

    /// The default zone, which every database has.
    public static func `default`() -> ReceivedZone { ReceivedZone(zoneID: .default) }

    /// Creates a zone value, to save it in a database.
    public init(zoneName: String) {
        self.init(zoneID: ZoneID(zoneName: zoneName))
    }
}

extension QueryRecords {
    /// A results limit that leaves the number to the server.
    public static let maximumResults = 0
}

extension ModifyRecords {
    /// CKModifyRecordsOperation.RecordSavePolicy.
    public typealias RecordSavePolicy = SavePolicy
}

extension Subscription {
    /// Creates a subscription with a new UUID as its ID.
    public init(to subject: Subject, notificationInfo: NotificationInfo? = nil) {
        self.init(Name(UUID().uuidString), to: subject, notificationInfo: notificationInfo)
    }
}

extension Database {
    /// CKDatabase.Scope.
    public typealias Scope = DatabaseScope

    /// Creates a zone. A zone that already exists does not change.
    @discardableResult
    public func save(_ zone: ReceivedZone) async throws(OperationError) -> ReceivedZone { try await save(zone.zoneID) }
}

extension OperationError {
    /// The record on the server, if the code is `serverRecordChanged`.
    public var serverRecord: Record? { conflict?.serverRecord }
    /// The record that the client tried to save, if the code is `serverRecordChanged`.
    public var clientRecord: Record? { conflict?.clientRecord }
    /// The record before the client's changes; `nil` if the code is not `serverRecordChanged`, or if there was none.
    public var ancestorRecord: Record? { conflict?.ancestorRecord }

    /// ``retryAfter`` in seconds.
    public var retryAfterSeconds: Double? {
        retryAfter.map { Double($0.components.seconds) + Double($0.components.attoseconds) / 1e18 }
    }

    /// ``partialErrors`` by the IDs of records, zones and subscriptions; `nil` if the code is not `partialFailure`.
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
