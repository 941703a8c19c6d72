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
// docs/remote-records.md lists what such code must avoid. `CloudKitNames+Operations.swift` has the operations and the
// sync engine, `CloudKitNames+Sharing.swift` shares, users, subscriptions and notifications.

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
    /// `SyncToken` of CloudKitClient.
    public typealias CKServerChangeToken = SyncToken
    /// ``Container/AccountStatus``.
    public typealias CKAccountStatus = Container.AccountStatus
    /// ``OperationError``.
    public typealias CKError = OperationError
    /// Any ``RecordValue``: `3 as CKRecordValue`.
    public typealias CKRecordValue = any RecordValue
    /// ``RecordValue``, the protocol.
    public typealias CKRecordValueProtocol = RecordValue

    /// The owner name that stands for the signed-in user, in the IDs of the user's own zones.
    public let CKCurrentUserDefaultName = "__defaultOwner__"
    /// The record name of a share of a whole zone.
    public let CKRecordNameZoneWideShare = "cloudkit.zoneshare"

    /// The domain of an ``OperationError`` as an `NSError`.
    public let CKErrorDomain = OperationError.errorDomain
    /// The key of ``OperationError/partialErrorsByItemID`` in ``OperationError/userInfo``.
    public let CKPartialErrorsByItemIDKey = OperationError.UserInfoKey.partialErrors
    /// The key of the seconds to wait in ``OperationError/userInfo``, a `Double`.
    public let CKErrorRetryAfterKey = OperationError.UserInfoKey.retryAfter
    /// The key of the server's version in ``OperationError/userInfo``, a ``Record``.
    public let CKRecordChangedErrorServerRecordKey = OperationError.UserInfoKey.serverRecord
    /// The key of the version that was sent in ``OperationError/userInfo``, a ``Record``.
    public let CKRecordChangedErrorClientRecordKey = OperationError.UserInfoKey.clientRecord
    /// The key of the version before the changes in ``OperationError/userInfo``, a ``Record``.
    public let CKRecordChangedErrorAncestorRecordKey = OperationError.UserInfoKey.ancestorRecord
#endif

extension Record {
    /// CKRecord.ID.
    public typealias ID = RecordID
    /// CKRecord.Reference.
    public typealias Reference = Records.Reference
    /// CKRecord.ReferenceAction.
    public typealias ReferenceAction = Records.Reference.Action
    /// CKRecord.FieldKey: an app's `extension CKRecord.FieldKey { static let title = "title" }` is one of `String`.
    public typealias FieldKey = String
    /// CKRecord.RecordType: an app's `extension CKRecord.RecordType { static let item = "Item" }` is one of `String`.
    public typealias RecordType = String

    /// The record types that every container has.
    public enum SystemType {
        /// The type of the records of users.
        public static let userRecord = Schema.usersType.string
        /// The type of shares.
        public static let share = Share.recordType.string
    }

    /// The keys of system fields in filters and sorts, and the keys of a share's fields.
    public enum SystemFieldKey {
        /// The name of the record.
        public static let recordID = SystemField.recordID.schemaName.string
        /// The time of the first save.
        public static let creationDate = SystemField.createTime.schemaName.string
        /// The user who first saved the record.
        public static let creatorUserRecordID = SystemField.createdBy.schemaName.string
        /// The time of the latest save.
        public static let modificationDate = SystemField.modTime.schemaName.string
        /// The user who last saved the record.
        public static let lastModifiedUserRecordID = SystemField.modifiedBy.schemaName.string
        /// The parent of the record.
        public static let parent = SystemField.parent.schemaName.string
        /// The share of the record.
        public static let share = SystemField.share.schemaName.string
        /// The title of a share, a `String`.
        public static let title = Share.titleField.string
        /// The uniform type identifier of a share, a `String`.
        public static let shareType = Share.typeField.string
        /// The image of a share, as `Data`.
        public static let thumbnailImageData = Share.thumbnailField.string
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
    @_disfavoredOverload public func allKeys() -> [Name] { fields.keys.sorted() }
    /// The keys that have values, as strings and sorted.
    public func allKeys() -> [String] { fields.keys.sorted().map(\.string) }

    /// The value of a key, to cast to its type, as the subscript has it.
    public func object(forKey key: String) -> (any RecordValue)? { self[Name(key)] }
    /// Sets or removes the value of a key, as the subscript does.
    public mutating func setObject(_ object: (any RecordValue)?, forKey key: String) { self[Name(key)] = object }

    /// The value of a key, to cast to its type, as the subscript has it.
    public func value(forKey key: String) -> (any RecordValue)? { self[Name(key)] }
    /// Sets or removes the value of a key, as the subscript does.
    public mutating func setValue(_ value: (any RecordValue)?, forKey key: String) { self[Name(key)] = value }

    /// Sets the parent, a record in the same zone: a save with another one is refused. A share of the parent also shares
    /// this record and the records below it. `nil` removes the parent.
    public mutating func setParent(_ parent: Record?) { setParent(parent?.recordID) }

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

// MARK: - Names as strings

// CloudKit's names and keys are of the type `String`, here they are a `Name`. Where a `String` is needed, the following
// declarations have or take one. They are disfavored, so that literals and all other code mean a `Name`.

/// A type with names that can also be read as a `String`, where a `String` is needed:
///
///     let title = titles[recordID.recordName]   // a dictionary with keys of the type String
public protocol NamedInStrings {}
extension RecordID: NamedInStrings {}
extension ZoneID: NamedInStrings {}
extension Record: NamedInStrings {}
extension Subscription: NamedInStrings {}
extension Query: NamedInStrings {}

extension NamedInStrings where Self == RecordID {
    /// The record name as a `String`.
    @_disfavoredOverload public var recordName: String { (recordName as Name).string }
}

extension NamedInStrings where Self == ZoneID {
    /// The zone name as a `String`.
    @_disfavoredOverload public var zoneName: String { (zoneName as Name).string }
}

extension NamedInStrings where Self == Query {
    /// The record type as a `String`.
    @_disfavoredOverload public var recordType: String { (recordType as Name).string }
}

extension NamedInStrings where Self == Record {
    /// The record type as a `String`.
    @_disfavoredOverload public var recordType: String { (recordType as Name).string }

    /// The parent as a reference, where a reference is needed.
    @_disfavoredOverload public var parent: Reference? {
        get { self.parentID.map { Reference(recordID: $0, action: .none) } }
        set {
            let zoneID = self.recordID.zoneID
            self.setParent(newValue.map { RecordID(recordName: $0.recordName, zoneID: $0.zoneID ?? zoneID) })
        }
    }

    /// The keys that were set since the record was fetched or saved, as strings and sorted.
    @_disfavoredOverload public func changedKeys() -> [String] { (changedKeys as Set<Name>).sorted().map(\.string) }
}

extension NamedInStrings where Self == Subscription {
    /// The ID as a `String`.
    @_disfavoredOverload public var subscriptionID: String { (subscriptionID as Name).string }
}

extension Name {
    /// Returns whether a name consists of the bytes of a string.
    @_disfavoredOverload public static func == (left: Name, right: String) -> Bool { left == Name(right) }
    /// Returns whether a name differs from a string.
    @_disfavoredOverload public static func != (left: Name, right: String) -> Bool { left != Name(right) }
    /// Matches a name with a string, in a `case` of a `switch`.
    @_disfavoredOverload public static func ~= (pattern: String, name: Name) -> Bool { name == Name(pattern) }
}

// Such as the type of a deleted record.
extension Optional where Wrapped == Name {
    /// Returns whether there is a name that consists of the bytes of a string.
    @_disfavoredOverload public static func == (left: Self, right: String) -> Bool { left == Name(right) }
    /// Returns whether there is no name, or one that differs from a string.
    @_disfavoredOverload public static func != (left: Self, right: String) -> Bool { left != Name(right) }
    /// Matches a name with a string, in a `case` of a `switch`.
    @_disfavoredOverload public static func ~= (pattern: String, name: Self) -> Bool { name == Name(pattern) }
}

// Not disfavored, so that `titles[recordID.recordName]` means this one, and a literal the key of the type `String`.
extension Dictionary where Key == String {
    /// The value of a name, such as `recordID.recordName`.
    public subscript(name: Name) -> Value? {
        get { self[name.string] }
        set { self[name.string] = newValue }
    }
}

extension Set where Element == Name {
    /// Creates a set of keys from strings, such as `desiredKeys`.
    @_disfavoredOverload public init(_ keys: some Sequence<String>) { self.init(keys.map { Name($0) }) }
}

extension Record {
    /// Creates a record that was never saved. The type is in a string.
    @_disfavoredOverload public init(recordType: String, recordID: RecordID) {
        self.init(recordType: Name(recordType), recordID: recordID)
    }

    /// Creates a record that was never saved, with a new UUID as its name. The type is in a string.
    @_disfavoredOverload public init(recordType: String, zoneID: ZoneID = .default) {
        self.init(recordType: Name(recordType), in: zoneID)
    }

    /// The value of a key in a string, as the subscript with a `Name` has it.
    @_disfavoredOverload public subscript<Value: RecordValue>(key: String) -> Value? {
        get { self[Name(key)] }
        set { self[Name(key)] = newValue }
    }

    /// The value of a key in a string, to cast to its type, as the subscript with a `Name` has it.
    @_disfavoredOverload public subscript(key: String) -> (any RecordValue)? {
        get { self[Name(key)] }
        set { self[Name(key)] = newValue }
    }
}

extension Record.EncryptedValues {
    /// The value of an encrypted key in a string, as the subscript with a `Name` has it.
    @_disfavoredOverload public subscript<Value: RecordValue>(key: String) -> Value? {
        get { self[Name(key)] }
        set { self[Name(key)] = newValue }
    }

    /// The value of an encrypted key in a string, to cast to its type, as the subscript with a `Name` has it.
    @_disfavoredOverload public subscript(key: String) -> (any RecordValue)? {
        get { self[Name(key)] }
        set { self[Name(key)] = newValue }
    }
}

extension RecordCache {
    /// All records of a type in a zone, sorted by name. The type is in a string.
    @_disfavoredOverload public func records(ofType recordType: String, in zoneID: ZoneID) async throws -> [Record] {
        try await records(ofType: Name(recordType), in: zoneID)
    }

    /// The number of records of a type in a zone. The type is in a string.
    @_disfavoredOverload public func count(ofType recordType: String, in zoneID: ZoneID) async throws -> Int {
        try await count(ofType: Name(recordType), in: zoneID)
    }

    /// A stream of all records of a type in a zone, as `updates(ofType:in:)` with a `Name` has it.
    @_disfavoredOverload public func updates(ofType recordType: String, in zoneID: ZoneID) -> AsyncThrowingStream<
        [Record], any Error
    > {
        updates(ofType: Name(recordType), in: zoneID)
    }
}

// MARK: - IDs and references

extension RecordID {
    /// Creates an ID from a record name in a string.
    public init(recordName: String, zoneID: ZoneID = .default) {
        self.init(recordName: Name(recordName), zoneID: zoneID)
    }

    /// Creates an ID with a new UUID as its name.
    public init(zoneID: ZoneID = .default) {
        self.init(recordName: UUID().uuidString, zoneID: zoneID)
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

    /// The user record name of the owner; `CKCurrentUserDefaultName` for a zone of the signed-in user.
    public var ownerName: String { ownerRecordName?.string ?? "__defaultOwner__" }
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

extension Query {
    /// Creates a query for the records of a type in a string.
    @_disfavoredOverload public init(recordType: String, filters: [Filter] = [], sorts: [Sort] = []) {
        self.init(recordType: Name(recordType), filters: filters, sorts: sorts)
    }
}

extension Query.Filter {
    /// Creates a filter with a value. The field is in a string, such as a `CKRecord.FieldKey`.
    @_disfavoredOverload public init(
        _ fieldName: String, _ comparator: Comparator, _ value: some RecordValue, distance: Double? = nil
    ) {
        self.init(Name(fieldName), comparator, value, distance: distance)
    }
}

extension Query.Sort {
    /// Creates a sort. The field is in a string, such as a `CKRecord.FieldKey`.
    @_disfavoredOverload public init(_ fieldName: String, ascending: Bool = true, relativeLocation: Location? = nil) {
        self.init(Name(fieldName), ascending: ascending, relativeLocation: relativeLocation)
    }
}

// MARK: - Calls

extension Container {
    /// The identifier, as CKContainer has it. It is never `nil`.
    public var containerIdentifier: String? { containerID.description }
}

extension Database {
    /// CKDatabase.Scope.
    public typealias Scope = DatabaseScope

    /// The ``scope``.
    public var databaseScope: DatabaseScope { scope }

    /// Calls a function with the same database in another configuration, which ``configured(_:group:)`` returns.
    /// - Parameters:
    ///   - configuration: the configuration of the operations of `body`.
    ///   - group: the group of these operations.
    ///   - isolation: the actor on which `body` runs, by default that of the caller.
    ///   - body: makes the calls.
    public func configuredWith<Value, Failure: Error>(
        configuration: OperationConfiguration? = nil, group: OperationGroup? = nil,
        isolation: isolated (any Actor)? = #isolation, body: (Database) async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        try await body(configured(configuration ?? OperationConfiguration(), group: group))
    }

    /// Fetches a subscription by its ID in a string, as `subscription(for:)` with a `Name` does.
    @_disfavoredOverload public func subscription(for subscriptionID: String) async throws(OperationError)
        -> Subscription
    {
        try await subscription(for: Name(subscriptionID))
    }

    /// Deletes a subscription by its ID in a string, as `deleteSubscription(withID:)` with a `Name` does.
    @discardableResult
    @_disfavoredOverload public func deleteSubscription(withID subscriptionID: String) async throws(OperationError)
        -> String
    {
        try await deleteSubscription(withID: Name(subscriptionID))
        return subscriptionID
    }
}

extension DatabaseCalls {
    /// Creates a zone. A zone that already exists does not change.
    @discardableResult
    public func save(_ zone: ReceivedZone) async throws(OperationError) -> ReceivedZone { try await save(zone.zoneID) }

    /// Creates and deletes zones. Each has its own result.
    @_disfavoredOverload public func modifyRecordZones(
        saving zones: [ReceivedZone], deleting zoneIDsToDelete: [ZoneID] = []
    ) async throws(OperationError) -> Database.ModifyZoneResults {
        try await modifyRecordZones(saving: zones.map(\.zoneID), deleting: zoneIDsToDelete)
    }

    /// Fetches a record with some of its keys.
    @_disfavoredOverload public func record(for recordID: RecordID, desiredKeys: [String]?) async throws(OperationError)
        -> Record
    {
        try await record(for: recordID, desiredKeys: desiredKeys.map { Set($0) })
    }

    /// Fetches records with some of their keys. Each ID has its own result.
    @_disfavoredOverload public func records(
        for recordIDs: [RecordID], desiredKeys: [String]?
    ) async throws(OperationError) -> Database.FetchResults {
        try await records(for: recordIDs, desiredKeys: desiredKeys.map { Set($0) })
    }

    /// Fetches the first page of a query, with some keys of the records.
    @_disfavoredOverload public func records(
        matching query: Query, inZoneWith zoneID: ZoneID? = nil, desiredKeys: [String]?, resultsLimit: Int? = nil
    ) async throws(OperationError) -> Database.QueryResults {
        try await records(
            matching: query, inZoneWith: zoneID, desiredKeys: desiredKeys.map { Set($0) }, resultsLimit: resultsLimit)
    }

    /// Fetches the page that follows a cursor, with some keys of the records.
    @_disfavoredOverload public func records(
        continuingMatchFrom cursor: QueryRecords.Cursor, desiredKeys: [String]?, resultsLimit: Int? = nil
    ) async throws(OperationError) -> Database.QueryResults {
        try await records(
            continuingMatchFrom: cursor, desiredKeys: desiredKeys.map { Set($0) }, resultsLimit: resultsLimit)
    }

    /// Fetches one page of the changes in a zone, with some keys of the records.
    @_disfavoredOverload public func recordZoneChanges(
        inZoneWith zoneID: ZoneID, since token: SyncToken? = nil, desiredKeys: [String]?, resultsLimit: Int? = nil
    ) async throws(OperationError) -> Database.RecordZoneChanges {
        try await recordZoneChanges(
            inZoneWith: zoneID, since: token, desiredKeys: desiredKeys.map { Set($0) }, resultsLimit: resultsLimit)
    }
}

// MARK: - Errors

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

    /// The keys of ``userInfo``.
    enum UserInfoKey {
        static let partialErrors = "CKPartialErrors"
        static let retryAfter = "CKRetryAfter"
        static let serverRecord = "ServerRecord"
        static let clientRecord = "ClientRecord"
        static let ancestorRecord = "AncestorRecord"
    }

    /// Creates an error as CKError does, for a delegate or a test of an app.
    /// - Parameters:
    ///   - code: the kind of error.
    ///   - userInfo: values by the keys of CloudKit: `NSLocalizedDescriptionKey`, `CKErrorRetryAfterKey`,
    ///     `CKPartialErrorsByItemIDKey` and the three `CKRecordChangedError…RecordKey`, of which the versions of the
    ///     server and of the client must be there. Other values, and values of other types, are ignored.
    public init(_ code: Code, userInfo: [String: Any] = [:]) {
        self.init(code, userInfo[NSLocalizedDescriptionKey] as? String ?? "\(code)")
        let seconds = (userInfo[UserInfoKey.retryAfter] as? any RecordValue).flatMap { Double.read($0.fieldContent) }
        // A longer wait does not fit into a duration.
        retryAfter = seconds.flatMap { $0.magnitude < 1e18 ? .seconds($0) : nil }
        if let server = userInfo[UserInfoKey.serverRecord] as? Record,
            let client = userInfo[UserInfoKey.clientRecord] as? Record
        {
            let ancestor = userInfo[UserInfoKey.ancestorRecord] as? Record
            conflict = Conflict(serverRecord: server, clientRecord: client, ancestorRecord: ancestor)
        }
        for (itemID, error) in userInfo[UserInfoKey.partialErrors] as? [AnyHashable: any Error] ?? [:] {
            let item: Item? =
                switch itemID.base {
                case let recordID as RecordID: .record(recordID)
                case let zoneID as ZoneID: .zone(zoneID)
                case let subscriptionID as Name: .subscription(subscriptionID)
                case let subscriptionID as String: .subscription(Name(subscriptionID))
                default: nil
                }
            if let item { partialErrors[item] = OperationError(any: error) }
        }
    }

    /// The properties of the error by the keys of CloudKit.
    public var userInfo: [String: Any] {
        var userInfo: [String: Any] = [NSLocalizedDescriptionKey: reason]
        userInfo[UserInfoKey.retryAfter] = retryAfterSeconds
        userInfo[UserInfoKey.partialErrors] = partialErrorsByItemID
        userInfo[UserInfoKey.serverRecord] = serverRecord
        userInfo[UserInfoKey.clientRecord] = clientRecord
        userInfo[UserInfoKey.ancestorRecord] = ancestorRecord
        return userInfo
    }
}

// The codes as CKError has them, for `catch CKError.zoneNotFound`.
extension OperationError {
    /// ``Code/internalError``.
    public static var internalError: Code { .internalError }
    /// ``Code/partialFailure``.
    public static var partialFailure: Code { .partialFailure }
    /// ``Code/networkUnavailable``.
    public static var networkUnavailable: Code { .networkUnavailable }
    /// ``Code/networkFailure``.
    public static var networkFailure: Code { .networkFailure }
    /// ``Code/badContainer``.
    public static var badContainer: Code { .badContainer }
    /// ``Code/serviceUnavailable``.
    public static var serviceUnavailable: Code { .serviceUnavailable }
    /// ``Code/requestRateLimited``.
    public static var requestRateLimited: Code { .requestRateLimited }
    /// ``Code/missingEntitlement``.
    public static var missingEntitlement: Code { .missingEntitlement }
    /// ``Code/notAuthenticated``.
    public static var notAuthenticated: Code { .notAuthenticated }
    /// ``Code/permissionFailure``.
    public static var permissionFailure: Code { .permissionFailure }
    /// ``Code/unknownItem``.
    public static var unknownItem: Code { .unknownItem }
    /// ``Code/invalidArguments``.
    public static var invalidArguments: Code { .invalidArguments }
    /// ``Code/resultsTruncated``.
    public static var resultsTruncated: Code { .resultsTruncated }
    /// ``Code/serverRecordChanged``.
    public static var serverRecordChanged: Code { .serverRecordChanged }
    /// ``Code/serverRejectedRequest``.
    public static var serverRejectedRequest: Code { .serverRejectedRequest }
    /// ``Code/assetFileNotFound``.
    public static var assetFileNotFound: Code { .assetFileNotFound }
    /// ``Code/assetFileModified``.
    public static var assetFileModified: Code { .assetFileModified }
    /// ``Code/incompatibleVersion``.
    public static var incompatibleVersion: Code { .incompatibleVersion }
    /// ``Code/constraintViolation``.
    public static var constraintViolation: Code { .constraintViolation }
    /// ``Code/operationCancelled``.
    public static var operationCancelled: Code { .operationCancelled }
    /// ``Code/changeTokenExpired``.
    public static var changeTokenExpired: Code { .changeTokenExpired }
    /// ``Code/batchRequestFailed``.
    public static var batchRequestFailed: Code { .batchRequestFailed }
    /// ``Code/zoneBusy``.
    public static var zoneBusy: Code { .zoneBusy }
    /// ``Code/badDatabase``.
    public static var badDatabase: Code { .badDatabase }
    /// ``Code/quotaExceeded``.
    public static var quotaExceeded: Code { .quotaExceeded }
    /// ``Code/zoneNotFound``.
    public static var zoneNotFound: Code { .zoneNotFound }
    /// ``Code/limitExceeded``.
    public static var limitExceeded: Code { .limitExceeded }
    /// ``Code/userDeletedZone``.
    public static var userDeletedZone: Code { .userDeletedZone }
    /// ``Code/tooManyParticipants``.
    public static var tooManyParticipants: Code { .tooManyParticipants }
    /// ``Code/alreadyShared``.
    public static var alreadyShared: Code { .alreadyShared }
    /// ``Code/referenceViolation``.
    public static var referenceViolation: Code { .referenceViolation }
    /// ``Code/managedAccountRestricted``.
    public static var managedAccountRestricted: Code { .managedAccountRestricted }
    /// ``Code/participantMayNeedVerification``.
    public static var participantMayNeedVerification: Code { .participantMayNeedVerification }
    /// ``Code/serverResponseLost``.
    public static var serverResponseLost: Code { .serverResponseLost }
    /// ``Code/assetNotAvailable``.
    public static var assetNotAvailable: Code { .assetNotAvailable }
    /// ``Code/accountTemporarilyUnavailable``.
    public static var accountTemporarilyUnavailable: Code { .accountTemporarilyUnavailable }
}

extension OperationError.Code {
    /// Returns whether an error is an ``OperationError`` with the code, in a `catch` or a `case`.
    public static func ~= (code: Self, error: any Error) -> Bool { (error as? OperationError)?.code == code }
}

extension OperationError: CustomNSError {
    public static var errorDomain: String { "CKErrorDomain" }
    public var errorCode: Int { code.rawValue }
    public var errorUserInfo: [String: Any] { userInfo }
}
