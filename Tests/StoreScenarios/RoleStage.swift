internal import RecordStore
internal import Records

/// Records to try every operation on.
struct RoleStage {
    let engine: any RecordEngine
    let clock: TestClock

    /// Adds the roles, and makes Mary an editor.
    init(_ engine: any RecordEngine, _ clock: TestClock) async throws {
        self.engine = engine
        self.clock = clock
        let database = try await engine.full(.public, as: mary)
        try await database.edit(.addRole("Editors"), .addRole("Readers"))
        _ = try await database.fetch([RecordID(recordName: mary.userRecordName)], desiredKeys: nil)
        let roles = FieldValue.list([.int64(CustomRole.number(of: "Editors"))], of: .int64)
        try await database.save(mary.userRecordName, type: "Users", ["roles": roles])
    }

    /// Adds a type with grants, and its records in the public database.
    /// - Returns: the records that a query finds, with their creators.
    func prepare(_ type: Name, _ grants: RoleGrants, prefix: String) async throws -> [Name: RoleCaller] {
        try await engine.full(.public).edit(
            .addType(RecordType(name: type, systemIndexes: [.recordID: .queryable], grants: grants.grants)))
        var creators = Dictionary(
            uniqueKeysWithValues: try await fill(type, prefix: prefix, .public, .default).map {
                ($0, RoleCaller.creator)
            })
        let stranger = RoleCaller.other
        try await engine.full(.public, as: Caller(userRecordName: stranger.caller.userRecordName)).save(
            "\(prefix)-others", type: type)
        creators["\(prefix)-others"] = stranger
        return creators
    }

    /// Saves Ada's records, one for each operation that needs a record.
    /// - Returns: their names.
    func fill(_ type: Name, prefix: String, _ scope: DatabaseScope, _ zone: ZoneID) async throws -> Set<Name> {
        let database = try await engine.full(scope)
        let names = Self.names(prefix)
        let fields: [Name: FieldInput] = ["n": FieldInput(.int64(1))]
        let operations = names.map { RecordOperation(.create, recordName: $0, recordType: type, fields: fields) }
        for outcome in try await database.modify(ModifyRequest(operations, zoneID: zone)) { _ = try outcome.get() }
        let file = try await engine.upload(1, for: "\(prefix)-file", type: type, in: zone, scope, at: clock.now())
        try await database.save("\(prefix)-file", type: type, in: zone, ["file": .asset(file)])
        return Set(names + ["\(prefix)-file"])
    }

    /// Deletes these records, and those that the operations created.
    func empty(_ type: Name, prefix: String, _ scope: DatabaseScope, _ zone: ZoneID) async throws {
        let database = try await engine.full(scope)
        let names = RoleOperation.allCases.map { Self.name(of: $0, prefix) } + Self.names(prefix) + ["\(prefix)-file"]
        let operations = Set(names).map { RecordOperation(.forceDelete, recordName: $0) }
        for outcome in try await database.modify(ModifyRequest(operations, zoneID: zone)) { _ = try outcome.get() }
    }

    private static func names(_ prefix: String) -> [Name] {
        RoleOperation.allCases.filter(\.isOnRecord).map { name(of: $0, prefix) } + [
            "\(prefix)-there", "\(prefix)-kept",
        ]
    }

    private static func name(of operation: RoleOperation, _ prefix: String) -> Name {
        operation == .rereference ? "\(prefix)-file" : "\(prefix)-\(operation.rawValue)"
    }

    // MARK: Operations

    /// The result of an operation. Also checks that a success changed the data, and that a refusal did not.
    func outcome(
        of operation: RoleOperation, as caller: Caller, type: Name, prefix: String, _ scope: DatabaseScope = .public,
        _ zone: ZoneID = .default
    ) async throws -> RoleOutcome {
        let database = try await engine.database(address(scope), as: caller)
        let name = Self.name(of: operation, prefix)
        let home = scope == .shared ? ZoneID(zoneName: zone.zoneName) : zone
        let before = try await image(of: name, scope, home)
        let outcome: RoleOutcome
        do {
            outcome = try await perform(operation, on: name, tag: before?.recordChangeTag, type: type, database, zone)
        } catch let error as RecordError {
            outcome = .refused(error.code, error.reason)
        }
        let after = try await image(of: name, scope, home)
        let isChange = operation.changesRecord && outcome == .done && operation != .forceDeleteAbsent
        if (before?.recordChangeTag != after?.recordChangeTag) != isChange {
            throw RecordError(.internalError, "\(operation.rawValue) of \(name) left \(String(describing: after))")
        }
        return outcome
    }

    private func image(of name: Name, _ scope: DatabaseScope, _ zone: ZoneID) async throws -> StoredRecord? {
        try? await engine.full(scope == .shared ? .private : scope).fetch(
            [RecordID(recordName: name, zoneID: zone)], desiredKeys: nil
        ).first?.get()
    }

    private func perform(
        _ operation: RoleOperation, on name: Name, tag: String?, type: Name, _ database: any RecordDatabase,
        _ zone: ZoneID
    ) async throws -> RoleOutcome {
        switch operation {
        case .query:
            return .found(
                Set(
                    try await database.all(Query(recordType: type), in: .zone(zone), pageSize: 4).map(
                        \.recordID.recordName)))
        case .lookup:
            return try await database.fetch([RecordID(recordName: name, zoneID: zone)], desiredKeys: nil).map(
                \.roleOutcome)[0]
        case .uploadAbsent, .uploadThere:
            let request = UploadRequest(recordType: type, fieldName: "file", recordName: name)
            return try await database.require(.uploadAssets).grantUploads([request], in: zone).map(\.roleOutcome)[0]
        case .rereference:
            let source = AssetSource(recordName: name, fieldName: "file")
            return try await database.require(.uploadAssets).rereference([source], from: zone, to: zone).map(
                \.roleOutcome)[0]
        default:
            guard let kind = operation.kind else { throw RecordError(.internalError, "no save") }
            let change = RecordOperation(
                kind, recordName: name, recordType: type, recordChangeTag: kind.checksTag ? tag : nil,
                fields: kind.isDeletion ? [:] : ["n": FieldInput(.int64(2))])
            return try await database.modify(ModifyRequest([change], zoneID: zone)).map(\.roleOutcome)[0]
        }
    }
}

extension RoleOperation {
    fileprivate var isOnRecord: Bool {
        switch self {
        case .lookup, .createTaken, .update, .forceUpdateThere, .replace, .forceReplaceThere, .delete,
            .forceDeleteThere, .uploadThere:
            true
        case .query, .create, .forceUpdateAbsent, .forceReplaceAbsent, .forceDeleteAbsent, .uploadAbsent, .rereference:
            false
        }
    }

    fileprivate var changesRecord: Bool { kind != nil }

    fileprivate var kind: RecordOperation.Kind? {
        switch self {
        case .create, .createTaken: .create
        case .update: .update
        case .forceUpdateAbsent, .forceUpdateThere: .forceUpdate
        case .replace: .replace
        case .forceReplaceAbsent, .forceReplaceThere: .forceReplace
        case .delete: .delete
        case .forceDeleteAbsent, .forceDeleteThere: .forceDelete
        case .query, .lookup, .uploadAbsent, .uploadThere, .rereference: nil
        }
    }
}

extension Result where Failure == RecordError {
    var roleOutcome: RoleOutcome {
        switch self {
        case .success: .done
        case .failure(let error): .denied(error.reason)
        }
    }
}
