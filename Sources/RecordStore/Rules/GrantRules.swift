public import JSON
public import Records

/// Permissions of a caller in the public database according to the roles of record types (docs/roles.md).
///
/// Callers with unrestricted access need no permission. Nor do other databases: in a private database the owner may
/// do everything, and in the shared database the share's permission applies. The result for a type is computed once
/// per request.
public struct GrantRules {
    /// The records of a type that a permission covers.
    public enum Reach: Sendable, Hashable {
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
        var last: (type: Name, permission: Grant.Permission, reach: Reach)?

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
    public func reach(of permission: Grant.Permission, in typeName: Name, _ schema: Schema) throws -> Reach {
        if !areAsked { return .all }
        if let last = memory.last, last.permission == permission, last.type == typeName { return last.reach }
        // A type created by the save itself has CloudKit's default grants.
        let reach = try reach(of: permission, by: schema.types[typeName]?.grants ?? Grant.defaults)
        memory.last = (typeName, permission, reach)
        return reach
    }

    private func reach(of permission: Grant.Permission, by grants: [Grant]) throws -> Reach {
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
        let isSomebodyElse = record.recordType == Schema.usersType && record.recordID.recordName != caller.userRecordName
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
        if try typeName == Schema.usersType || reach(of: .create, in: typeName, schema) != .all { throw Self.refusal(of: .create) }
    }

    private func allows(_ permission: Grant.Permission, on record: StoredRecord, _ schema: Schema) throws -> Bool {
        switch try reach(of: permission, in: record.recordType, schema) {
        case .all: true
        case .own: record.created.userRecordName == caller.userRecordName
        case .none: false
        }
    }

    /// CloudKit's error for a record. `READ …` is inferred; only the other two were observed.
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
