public import JSON
public import Records

/// What the roles of record types let a caller do in the public database (protocol.md, section 2).
///
/// Nothing is asked of a caller whose access is unrestricted, nor anywhere else: in a private database the owner may do everything, and in
/// the shared one the permission of the share holds. The answer for a type is worked out once for each request.
public struct GrantRules {
    /// Which records of a type a permission is given for.
    public enum Reach: Sendable, Hashable {
        case all
        /// Those that the caller created.
        case own
        case none
    }

    private let caller: Caller
    /// Whether a role is asked for anything.
    let areAsked: Bool
    private let memory: Memory

    /// - Parameter roleNumbers: the numbers in the `roles` of the caller's user record. Asked for once at the most, and only where a type
    ///   grants something to a role of the developer's own that nothing else grants to the caller.
    public init(_ address: DatabaseAddress, _ caller: Caller, roleNumbers: @escaping () throws -> Set<Int64>) {
        self.caller = caller
        areAsked = Self.areAsked(of: caller, in: address)
        memory = Memory(roleNumbers)
    }

    /// Whether any role is asked for what a caller does in a database.
    public static func areAsked(of caller: Caller, in address: DatabaseAddress) -> Bool {
        address.scope == .public && caller.access != .unrestricted
    }

    /// What is worked out by and by during a request.
    private final class Memory {
        let readRoleNumbers: () throws -> Set<Int64>
        private var roleNumbers: Set<Int64>?
        /// The last answer: records of one type mostly come in a row.
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

    /// Which records of a type a permission is given for.
    public func reach(of permission: Grant.Permission, in typeName: Name, _ schema: Schema) throws -> Reach {
        if !areAsked { return .all }
        if let last = memory.last, last.permission == permission, last.type == typeName { return last.reach }
        // A type that comes to be by the save itself has what CloudKit grants on a new type.
        let reach = try reach(of: permission, by: schema.types[typeName]?.grants ?? Grant.defaults)
        memory.last = (typeName, permission, reach)
        return reach
    }

    private func reach(of permission: Grant.Permission, by grants: [Grant]) throws -> Reach {
        let roles = grants.filter { $0.permissions.contains(permission) }.map(\.role)
        if roles.contains(Self.world) { return .all }
        guard caller.access == .signedIn else { return .none }
        if roles.contains(Self.signedIn) { return .all }
        // Last, for it may have to be looked up.
        if try roles.contains(where: { try !Grant.systemRoles.contains($0) && memory.holds($0) }) { return .all }
        return roles.contains(Self.creator) ? .own : .none
    }

    private static let world: Name = "_world"
    private static let signedIn: Name = "_icloud"
    private static let creator: Name = "_creator"

    // MARK: Records

    /// Whether a record may be read. Users read their own record whatever is granted.
    public func canRead(_ record: StoredRecord, _ schema: Schema) throws -> Bool {
        if !areAsked { return true }
        let isOwnUser = record.recordType == Schema.usersType && record.recordID.recordName == caller.userRecordName
        return try isOwnUser && caller.access == .signedIn || allows(.read, on: record, schema)
    }

    /// - Throws: `RecordError` ACCESS_DENIED when a record may not be read.
    public func checkReading(_ record: StoredRecord, _ schema: Schema) throws {
        if try !canRead(record, schema) { throw Self.refusal(of: .read) }
    }

    /// - Throws: `RecordError` ACCESS_DENIED when a record may not be changed. A user's record is that user's alone to change.
    func checkWriting(_ record: StoredRecord, _ schema: Schema) throws {
        let isSomebodyElse = record.recordType == Schema.usersType && record.recordID.recordName != caller.userRecordName
        if try areAsked && isSomebodyElse || !allows(.write, on: record, schema) { throw Self.refusal(of: .write) }
    }

    /// - Throws: `RecordError` ACCESS_DENIED when a record may not be deleted. Records of the type Users are the server's to delete.
    func checkDeleting(_ record: StoredRecord, _ schema: Schema) throws {
        if record.recordType == Schema.usersType { throw Self.refusal(of: .write) }
        try checkWriting(record, schema)
    }

    /// - Throws: `RecordError` ACCESS_DENIED when no record of a type may be created. Records of the type Users are the server's to create.
    ///   CREATE for `_creator` alone allows nothing: a record that is not there has no creator.
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

    /// What CloudKit answers for a record (`READ …` by analogy: only the other two were seen).
    public static func refusal(of permission: Grant.Permission) -> RecordError {
        RecordError(.accessDenied, "\(permission.rawValue) operation not permitted")
    }

    // MARK: Fields

    /// The fields of a type that the caller can't set, whoever may write the record.
    func closedFields(of typeName: Name) -> [Name] {
        areAsked && typeName == Schema.usersType ? [UserRecords.rolesField] : []
    }

    static func closed(_ field: Name, of typeName: Name) -> RecordError {
        RecordError(
            .accessDenied,
            "WRITE operation not permitted. Field '\(field)' of type '\(typeName)' says which roles a user has: the owner of the container sets it, in the console "
                + "or on the command line")
    }

    // MARK: Callers

    /// Whose records are the caller's own.
    var creatorName: Name { caller.userRecordName }

    /// - Throws: `RecordError` AUTHENTICATION_REQUIRED when an anonymous caller wants to change something.
    func checkSignedIn() throws {
        if caller.access == .anonymous { throw Self.signInNeeded }
    }

    /// - Throws: `RecordError` AUTHENTICATION_REQUIRED when an anonymous caller asks for another database than the public one.
    public static func checkDatabase(_ address: DatabaseAddress, of caller: Caller) throws {
        if caller.access == .anonymous, address.scope != .public { throw signInNeeded }
    }

    private static let signInNeeded = RecordError(.authenticationRequired, "request needs authorization")
}
