internal import Crypto
public import Records

/// Permissions of a caller in the public database according to the roles of record types (docs/roles.md).
///
/// Callers with unrestricted access need no permission. Nor do other databases: in a private database the owner may
/// do everything, and in the shared database the share's permission applies. The result for a type is computed once
/// per request.
public struct GrantRules {
    /// The records of a type that a permission covers.
    public enum Coverage: Sendable, Hashable {
        case all
        /// Records that the caller created.
        case own
        case none
    }

    private let caller: Caller
    /// True if roles are checked.
    let areAsked: Bool
    private let memory: Memory

    /// - Parameter roleNumbers: returns the numbers in the field `roles` of the caller's user record. Called at most
    ///   once, and only if a custom role decides about a permission.
    public init(_ address: DatabaseAddress, _ caller: Caller, roleNumbers: @escaping () throws -> Set<Int64>) {
        self.caller = caller
        areAsked = Self.areAsked(of: caller, in: address)
        memory = Memory(roleNumbers)
    }

    /// True if roles are checked for this caller and database.
    public static func areAsked(of caller: Caller, in address: DatabaseAddress) -> Bool {
        address.scope == .public && caller.access != .unrestricted
    }

    /// Results cached during a request.
    private final class Memory {
        let readRoleNumbers: () throws -> Set<Int64>
        private var roleNumbers: Set<Int64>?
        /// The latest result, because records of one type mostly come in sequence.
        var last: (type: Name, permission: Grant.Permission, coverage: Coverage)?

        init(_ readRoleNumbers: @escaping () throws -> Set<Int64>) {
            self.readRoleNumbers = readRoleNumbers
        }

        func holds(_ role: Name) throws -> Bool {
            if roleNumbers == nil { roleNumbers = try readRoleNumbers() }
            return roleNumbers?.contains(CustomRole.number(of: role)) ?? false
        }
    }

    // MARK: Types

    /// The records of a type that a permission covers.
    public func coverage(of permission: Grant.Permission, in typeName: Name, _ schema: Schema) throws -> Coverage {
        if !areAsked { return .all }
        if let last = memory.last, last.permission == permission, last.type == typeName { return last.coverage }
        // A type created by the save itself has CloudKit's default grants.
        let coverage = try coverage(of: permission, by: schema.types[typeName]?.grants ?? Grant.defaults)
        memory.last = (typeName, permission, coverage)
        return coverage
    }

    private func coverage(of permission: Grant.Permission, by grants: [Grant]) throws -> Coverage {
        let roles = grants.filter { $0.permissions.contains(permission) }.map(\.role)
        if roles.contains(Self.world) { return .all }
        guard caller.access == .signedIn else { return .none }
        if roles.contains(Self.signedIn) { return .all }
        // Checked last, because it may need a lookup.
        if try roles.contains(where: { try !Grant.systemRoles.contains($0) && memory.holds($0) }) { return .all }
        return roles.contains(Self.creator) ? .own : .none
    }

    private static let world: Name = "_world"
    private static let signedIn: Name = "_icloud"
    private static let creator: Name = "_creator"

    // MARK: Records

    /// True if the caller may read the record. Users may always read their own user record.
    public func canRead(_ record: StoredRecord, _ schema: Schema) throws -> Bool {
        if !areAsked { return true }
        let isOwnUser = record.recordType == Schema.usersType && record.recordID.recordName == caller.userRecordName
        return try isOwnUser && caller.access == .signedIn || allows(.read, on: record, schema)
    }

    /// - Throws: `RecordError` ACCESS_DENIED if the caller may not read the record.
    public func checkReading(_ record: StoredRecord, _ schema: Schema) throws {
        if try !canRead(record, schema) { throw Self.refusal(of: .read) }
    }

    /// - Throws: `RecordError` ACCESS_DENIED if the caller may not change the record. A user record can be changed
    ///   only by that user.
    func checkWriting(_ record: StoredRecord, _ schema: Schema) throws {
        let isSomebodyElse =
            record.recordType == Schema.usersType && record.recordID.recordName != caller.userRecordName
        if try areAsked && isSomebodyElse || !allows(.write, on: record, schema) { throw Self.refusal(of: .write) }
    }

    /// - Throws: `RecordError` ACCESS_DENIED if the caller may not delete the record. Only the server deletes records
    ///   of type Users.
    func checkDeleting(_ record: StoredRecord, _ schema: Schema) throws {
        if record.recordType == Schema.usersType { throw Self.refusal(of: .write) }
        try checkWriting(record, schema)
    }

    /// - Throws: `RecordError` ACCESS_DENIED if the caller may not create records of the type. Only the server
    ///   creates records of type Users. CREATE granted only to `_creator` has no effect, because a new record has no
    ///   creator yet.
    func checkCreating(_ typeName: Name, _ schema: Schema) throws {
        if try typeName == Schema.usersType || coverage(of: .create, in: typeName, schema) != .all {
            throw Self.refusal(of: .create)
        }
    }

    private func allows(_ permission: Grant.Permission, on record: StoredRecord, _ schema: Schema) throws -> Bool {
        switch try coverage(of: permission, in: record.recordType, schema) {
        case .all: true
        case .own: record.created.userRecordName == caller.userRecordName
        case .none: false
        }
    }

    /// CloudKit's error for a record. The text for READ is inferred; the other two were observed.
    public static func refusal(of permission: Grant.Permission) -> RecordError {
        RecordError(known: .notPermitted, permission.rawValue)
    }

    // MARK: Fields

    /// Fields of a type that the caller can't set, whatever the grants are.
    func closedFields(of typeName: Name) -> [Name] {
        areAsked && typeName == Schema.usersType ? [UserRecords.rolesField] : []
    }

    static func closed(_ field: Name, of typeName: Name) -> RecordError {
        RecordError(
            .accessDenied,
            "WRITE operation not permitted. Field '\(field)' of type '\(typeName)' has the roles of a user: only the container's owner sets it, in the console "
                + "or on the command line")
    }

    // MARK: Callers

    /// The creator name that makes a record the caller's own.
    var creatorName: Name { caller.userRecordName }

    /// - Throws: `RecordError` AUTHENTICATION_REQUIRED if an anonymous caller tries to change something.
    func checkSignedIn() throws {
        if caller.access == .anonymous { throw Self.signInNeeded }
    }

    /// - Throws: `RecordError` AUTHENTICATION_REQUIRED if an anonymous caller opens a database other than the public
    ///   one.
    public static func checkDatabase(_ address: DatabaseAddress, of caller: Caller) throws {
        if caller.access == .anonymous, address.scope != .public { throw signInNeeded }
    }

    static let signInNeeded = RecordError(known: .signInRequired)
}

// MARK: - Queries

extension GrantRules {
    /// The records that the query may return: all, or only the caller's own.
    /// - Throws: `RecordError` ACCESS_DENIED if the caller may read none.
    public func coverage(of query: Query, _ schema: Schema) throws -> Coverage {
        // A missing type is reported by the query itself.
        guard schema.types[query.recordType] != nil else { return .all }
        let coverage = try coverage(of: .read, in: query.recordType, schema)
        if coverage == .none { throw Self.refusal(of: .read) }
        return coverage
    }

    /// Restricts a resolved query and its request to what the caller may read. If READ is granted only to `_creator`,
    /// a filter for the caller's own records is added.
    ///
    /// The filter requires no index. If `createdUserRecordName` is QUERYABLE, that index is used; otherwise other
    /// users' records are read and dropped.
    public func narrowed(
        _ query: ResolvedQuery, _ request: QueryRequest, to coverage: Coverage, _ schema: Schema
    ) -> (query: ResolvedQuery, request: QueryRequest) {
        guard coverage == .own else { return (query, request) }
        let creator = FieldValue.reference(Reference(recordName: creatorName))
        let alias = SystemField.createdBy.alias
        let isTaken = schema.types[query.recordType]?.fields[alias] != nil
        var request = request
        request.query.filters.append(
            Query.Filter(isTaken ? SystemField.createdBy.schemaName : alias, .equals, FieldInput(creator)))
        return (
            query.adding(ResolvedQuery.Filter(key: .system(.createdBy), comparator: .equals, operand: .value(creator))),
            request
        )
    }
}

// MARK: - User records

/// User records: records of type Users in the default zone of the public database, named after the user.
///
/// Their first version is not saved by clients. An engine creates it when the record of a known user is requested by
/// name. So only requested user records exist.
public enum UserRecords {
    /// The field with the numbers of the user's roles (``CustomRole``).
    public static let rolesField: Name = "roles"

    /// True if only a user record can have this name.
    public static func isReserved(_ name: Name, in zoneID: ZoneID, of scope: DatabaseScope) -> Bool {
        scope == .public && zoneID.isDefault && name.isUserRecordName
    }

    /// Names that were not found and may be user records.
    public static func missing(
        _ recordIDs: [RecordID], _ found: [Result<StoredRecord, RecordError>], of scope: DatabaseScope
    ) -> [Name] {
        guard scope == .public else { return [] }
        return zip(recordIDs, found).compactMap { recordID, result in
            guard isReserved(recordID.recordName, in: recordID.zoneID, of: scope),
                case .failure(.recordNotFound) = result
            else { return nil }
            return recordID.recordName
        }
    }

    /// The role numbers in a user record; none for other records.
    public static func roleNumbers(in record: StoredRecord?) throws -> Set<Int64> {
        guard let record, record.recordType == Schema.usersType,
            case .list(let elements, _)? = try record.fields.values(of: [rolesField])[rolesField]
        else { return [] }
        return Set(elements.compactMap { if case .int64(let number) = $0 { number } else { nil } })
    }
}

extension RecordTransaction {
    /// The record with a name. The record of a user known to the store is created if necessary.
    /// - Parameters:
    /// - zone: the zone to search.
    /// - scope: the database through which the zone was opened.
    public func record(orUser name: Name, in zone: TransactionZone, of scope: DatabaseScope, at now: Timestamp) throws
        -> StoredRecord?
    {
        if let record = try record(named: name, in: zone.key) { return record }
        guard UserRecords.isReserved(name, in: zone.zoneID, of: scope), schema.types[Schema.usersType] != nil,
            try knowsUser(name)
        else { return nil }
        let signature = Signature(timestamp: now, userRecordName: name, deviceID: Caller(userRecordName: name).deviceID)
        let draft = RecordDraft(
            recordID: RecordID(recordName: name, zoneID: zone.zoneID), recordType: Schema.usersType, created: signature,
            modified: signature,
            parent: nil, fields: [:], text: .empty, previousFields: [:])
        return try save(draft, replacing: nil, in: zone.key)
    }

    /// The role numbers of a user, from the public database.
    public func roleNumbers(of user: Name) throws -> Set<Int64> {
        try UserRecords.roleNumbers(in: record(named: user, in: zone(.default).key))
    }
}

/// The numbers of custom roles in user records.
///
/// CloudKit stores numbers in the field `roles` of type Users and does not document their origin. Skylight derives a
/// role's number from its name, so that it is the same in each environment and after a reset.
public enum CustomRole {
    /// Number of digest bytes used. The result is positive and exact in JavaScript.
    private static let length = 5

    /// The number of a role: the first five bytes of the SHA-256 of its name, big-endian.
    public static func number(of role: Name) -> Int64 {
        SHA256.hash(data: Array(role.utf8)).prefix(length).reduce(0) { $0 << 8 | Int64($1) }
    }
}
