internal import Accounts
internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// The members of custom roles, according to the users' records in the public database.
struct RoleMembers: Sendable {
    /// The maximum number of users' records that a page reads.
    private static let limit = 500
    /// The lower bound of the listing. All names of users' records begin with this prefix.
    private static let start: Name = "_"

    private let numbers: [Name: Set<Int64>]
    /// True if there are more users' records than were read.
    let isCut: Bool

    /// Reads the existing records. A page view does not create any.
    static func load(_ visit: Visit) async throws -> RoleMembers {
        let database = try await publicDatabase(of: visit)
        guard database.can(.listRecords) else { return RoleMembers(numbers: [:], isCut: false) }
        let request = RecordListRequest(.default, after: start, recordTypes: [Schema.usersType], limit: PageLimit(records: limit))
        let page = try await visit.measure { try await database.list(request) }
        let numbers = try page.records.map { ($0.recordID.recordName, try UserRecords.roleNumbers(in: $0)) }
        return RoleMembers(
            numbers: Dictionary(numbers, uniquingKeysWith: { first, _ in first }), isCut: page.last?.isUserRecordName ?? false)
    }

    private init(numbers: [Name: Set<Int64>], isCut: Bool) {
        self.numbers = numbers
        self.isCut = isCut
    }

    /// The user record names of the members of a role.
    func names(in role: Name) -> [Name] {
        let number = CustomRole.number(of: role)
        return numbers.filter { $0.value.contains(number) }.keys.sorted()
    }

    // MARK: Adding and removing members

    static func give(_ visit: Visit) async throws -> String {
        try await change(visit) { $0.contains($1) ? $0 : $0 + [$1] }
        return visit.place.link("roles", [Notice.roleGiven.parameter])
    }

    static func take(_ visit: Visit) async throws -> String {
        try await change(visit) { numbers, number in numbers.filter { $0 != number } }
        return visit.place.link("roles", [Notice.roleTaken.parameter])
    }

    /// Saves a user's record with changed roles. Keeps role numbers that are unknown here.
    private static func change(_ visit: Visit, _ change: ([Int64], Int64) -> [Int64]) async throws {
        let role = Name(visit.fields["role"] ?? "")
        guard visit.schema?.roles.contains(role) == true else { throw RecordError(.notFound, "Did not find role: \(role)") }
        let text = visit.fields["user"] ?? ""
        let name = visit.people.user(named: text)?.userRecordName ?? Name(text)
        guard name.isUserRecordName else { throw RecordError(.badRequest, "Choose a user for the role") }
        let database = try await publicDatabase(of: visit)
        // The first access creates the record of a known user. The form names this user explicitly, so it counts as an access.
        if visit.people.user(name) != nil { _ = try await visit.engine.database(database.address, as: Caller(userRecordName: name)) }
        let recordID = RecordID(recordName: name)
        guard let record = try await visit.measure({ try await database.fetch([recordID], desiredKeys: nil) }).first?.get() else {
            throw RecordError.recordNotFound
        }
        guard record.recordType == Schema.usersType else { throw RecordError(.badRequest, "The record '\(name)' is not a user's record") }
        var numbers: [Int64] = []
        if case .list(let elements, _)? = try record.fields.values(of: [UserRecords.rolesField])[UserRecords.rolesField] {
            numbers = elements.compactMap { if case .int64(let number) = $0 { number } else { nil } }
        }
        let changed = change(numbers, CustomRole.number(of: role)).map { FieldValue.int64($0) }
        let operation = RecordOperation(
            .update, recordName: name, recordType: Schema.usersType, recordChangeTag: record.recordChangeTag,
            fields: [UserRecords.rolesField: FieldInput(.list(changed, of: .int64))])
        for outcome in try await visit.measure({ try await database.modify(ModifyRequest([operation])) }) { _ = try outcome.get() }
    }

    private static func publicDatabase(of visit: Visit) async throws -> any RecordDatabase {
        var address = visit.place.address
        if address.scope == .public { return visit.database }
        address.scope = .public
        let caller = visit.database.caller
        return try await visit.measure { [address] in try await visit.engine.database(address, as: caller) }
    }
}
