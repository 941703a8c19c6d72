import Accounts
import Foundation
import HTTPServing
import RecordStore
import Records
import Testing

/// Access by roles over HTTP: access mode × credentials × grants × operations. The expected results are computed here,
/// after docs/roles.md.
@Suite("What roles let whom do")
struct RoleMatrixTests {
    /// The callers, with their credentials.
    enum Requester: String, CaseIterable, Sendable {
        case nobody, apiToken, namedCreator, creator, other, editor, key, mixed, owner
    }

    enum Operation: String, CaseIterable, Sendable {
        case query, lookup, rereference, uploadAbsent, uploadThere
        case create, forceUpdateAbsent, forceReplaceAbsent, update, forceUpdate, replace, forceReplace, delete,
            forceDelete, forceDeleteAbsent

        var permission: Grant.Permission? {
            switch self {
            case .query, .lookup, .rereference: .read
            case .uploadAbsent, .create, .forceUpdateAbsent, .forceReplaceAbsent: .create
            case .uploadThere, .update, .forceUpdate, .replace, .forceReplace, .delete, .forceDelete: .write
            case .forceDeleteAbsent: nil
            }
        }

        var isRead: Bool { self == .query || self == .lookup }

        /// The `operationType` in the request; `nil` for services other than `records/modify`.
        var operationType: String? {
            switch self {
            case .query, .lookup, .rereference, .uploadAbsent, .uploadThere: nil
            case .forceUpdateAbsent: "forceUpdate"
            case .forceReplaceAbsent: "forceReplace"
            case .forceDeleteAbsent: "forceDelete"
            default: rawValue
            }
        }

        /// True if the operation uses an existing record.
        var isOnRecord: Bool { permission != .create && self != .forceDeleteAbsent && self != .query }
    }

    /// The result of an operation.
    enum Outcome: Equatable, Sendable {
        case done
        case found(Set<Name>)
        case denied(String)
        /// An error of the whole request.
        case refused(Int, String)
    }

    struct Granted: Sendable {
        let type: Name
        let grants: [Grant]

        static let all: [Granted] = (nothing + single + [Grant.defaults] + combined).enumerated().map {
            Granted(type: "T\($0.offset)", grants: $0.element)
        }

        // A type must have a grant.
        private static let nothing = [[Grant(role: "Readers", permissions: [.read, .create, .write])]]
        private static let single = (["_world", "_icloud", "_creator", "Editors"] as [Name]).flatMap { role in
            Grant.Permission.allCases.map { [Grant(role: role, permissions: [$0])] }
        }
        private static let combined = [
            [Grant(role: "_world", permissions: [.read, .create, .write])],
            [Grant(role: "_icloud", permissions: [.create]), Grant(role: "_creator", permissions: [.read, .write])],
        ]

        func has(_ permission: Grant.Permission, for roles: Set<Name>) -> Bool {
            grants.contains { $0.permissions.contains(permission) && roles.contains($0.role) }
        }
    }

    // MARK: Expected results

    /// The roles of a caller on every record; `nil` for callers without role checks.
    private static func roles(_ requester: Requester, _ mode: AccessControl.Mode) -> Set<Name>? {
        switch requester {
        case .owner: nil
        case .editor: ["_world", "_icloud", "Editors"]
        case .apiToken where mode == .required: ["_world"]
        // On an open server, a request without a user acts for the developer, or for the user that its header names.
        default: ["_world", "_icloud"]
        }
    }

    private static func expected(
        _ operation: Operation, _ requester: Requester, _ mode: AccessControl.Mode, _ granted: Granted
    )
        -> Outcome
    {
        if requester == .mixed { return .refused(400, "BAD_REQUEST") }
        if mode == .required {
            if requester == .nobody || requester == .namedCreator { return .refused(401, "AUTHENTICATION_FAILED") }
            if requester == .apiToken, !operation.isRead { return .refused(421, "AUTHENTICATION_REQUIRED") }
        }
        let (own, others) = (names(granted), otherNames(granted))
        guard let roles = roles(requester, mode) else { return operation == .query ? .found(own.union(others)) : .done }
        guard let permission = operation.permission, !granted.has(permission, for: roles) else {
            return operation == .query ? .found(own.union(others)) : .done
        }
        let isSignedIn = roles.contains("_icloud")
        let isForCreator = permission != .create && isSignedIn && granted.has(permission, for: ["_creator"])
        let isCreator = requester == .creator || requester == .namedCreator
        if operation == .query {
            guard isForCreator else { return .refused(403, "ACCESS_DENIED") }
            return .found(isCreator ? own : requester == .other ? others : [])
        }
        return isForCreator && isCreator ? .done : .denied("\(permission.rawValue) operation not permitted")
    }

    private static func name(of operation: Operation, _ granted: Granted) -> Name {
        "\(granted.type)-\(operation.rawValue)"
    }
    private static func names(_ granted: Granted) -> Set<Name> {
        Set(Operation.allCases.filter(\.isOnRecord).map { name(of: $0, granted) })
    }
    private static func otherNames(_ granted: Granted) -> Set<Name> { ["\(granted.type)-others"] }

    // MARK: The matrix

    @Test("Every cell", arguments: AccessControl.Mode.allCases, Requester.allCases)
    func everyCell(mode: AccessControl.Mode, requester: Requester) async throws {
        try await TestServer.run(requiring: mode) { server in
            let stage = try await Stage(server, mode)
            let found = try await stage.outcomes(of: requester)
            var cells = 0
            for granted in Granted.all {
                for operation in Operation.allCases {
                    let expected = Self.expected(operation, requester, mode, granted)
                    #expect(
                        found[granted.type]?[operation] == expected,
                        "\(mode.rawValue): \(requester.rawValue) does \(operation.rawValue), \(granted.grants.map { "\($0.role) \($0.permissions)" })"
                    )
                    cells += 1
                }
            }
            #expect(cells == 16 * 15)
        }
    }

    /// In a database with an owner, grants have no effect, with any credentials of the owner.
    @Test("A private database", arguments: [Requester.creator, .owner])
    func privateDatabase(requester: Requester) async throws {
        try await TestServer.run(requiring: .required) { server in
            let stage = try await Stage(server, .required)
            for granted in Granted.all {
                let operation =
                    #"{"operationType":"forceUpdate","record":{"recordType":"\#(granted.type)","recordName":"mine"}}"#
                let answer = try await stage.send(
                    requester, "records/modify", #"{"operations":[\#(operation)]}"#, scope: "private")
                #expect(
                    try answer.status == 200
                        && Subset.differences(
                            ["records": [["recordName": "mine", "recordChangeTag": "<any>"]]], try answer.json()) == []
                )
                let gone = #"{"operationType":"forceDelete","record":{"recordName":"mine"}}"#
                #expect(
                    try await stage.send(requester, "records/modify", #"{"operations":[\#(gone)]}"#, scope: "private")
                        .status == 200)
            }
        }
    }

    // MARK: The stage

    /// A server with a type for each set of grants, and Anna's records of these types.
    struct Stage {
        private static let root = "/database/1/\(CredentialStage.container)/development"
        private let credentials: CredentialStage
        private let server: TestServer
        /// The change tags of Anna's records.
        private var tags: [Name: String] = [:]
        private var tokens: [Requester: String] = [:]

        init(_ server: TestServer, _ mode: AccessControl.Mode) async throws {
            self.server = server
            credentials = try await CredentialStage(server)
            let address = DatabaseAddress(
                container: ScenarioRunner.address.container, environment: .development, scope: .public)
            let owner = try await server.engine.database(address, as: ScenarioRunner.developer)
            _ = try await owner.require(.editSchema).edit(
                [.addRole("Editors"), .addRole("Readers")]
                    + Granted.all.map { granted in
                        let fields: [Name: FieldDefinition] = [
                            "n": FieldDefinition(type: FieldType(.int64)),
                            "file": FieldDefinition(type: FieldType(.asset)),
                        ]
                        return .addType(
                            RecordType(
                                name: granted.type, fields: fields, systemIndexes: [.recordID: .queryable],
                                grants: granted.grants))
                    })
            for requester in [Requester.other, .editor] {
                let user = try await server.accounts.makeUser(displayName: requester.rawValue, emailAddress: nil)
                let request = SignInRequest(container: address.container, environment: .development, apiTokenID: nil)
                tokens[requester] = try await server.accounts.signIn(
                    user.userRecordName, with: request, keepSignedIn: false, now: Date()
                ).token
                let theirs = try await server.engine.database(address, as: Caller(userRecordName: user.userRecordName))
                if requester == .editor {
                    let roles = FieldInput(.list([.int64(CustomRole.number(of: "Editors"))], of: .int64))
                    try await save(
                        [
                            RecordOperation(
                                .forceUpdate, recordName: user.userRecordName, recordType: "Users",
                                fields: ["roles": roles])
                        ], in: theirs)
                } else {
                    try await save(
                        Granted.all.map {
                            RecordOperation(.create, recordName: "\($0.type)-others", recordType: $0.type)
                        }, in: theirs)
                }
            }
            let anna = try await server.engine.database(
                address, as: Caller(userRecordName: credentials.anna.userRecordName))
            for granted in Granted.all {
                var operations: [RecordOperation] = []
                for name in names(granted).sorted() {
                    let hasFile = name == RoleMatrixTests.name(of: .rereference, granted)
                    let fields: [Name: FieldInput] =
                        hasFile ? ["file": try await file(for: name, granted, in: anna)] : [:]
                    operations.append(
                        RecordOperation(.create, recordName: name, recordType: granted.type, fields: fields))
                }
                for record in try await save(operations, in: anna) {
                    tags[record.recordID.recordName] = record.recordChangeTag
                }
            }
        }

        @discardableResult
        private func save(_ operations: [RecordOperation], in database: any RecordDatabase) async throws
            -> [StoredRecord]
        {
            try await database.modify(ModifyRequest(operations)).compactMap { outcome in
                if case .saved(let record) = try outcome.get() { record } else { nil }
            }
        }

        /// An asset as an upload would return it, without bytes.
        private func file(for name: Name, _ granted: Granted, in database: any RecordDatabase) async throws
            -> FieldInput
        {
            let ledger = try await server.engine.require(.keepAssets).assetLedger(
                database.address.container, .development)
            let request = UploadRequest(recordType: granted.type, fieldName: "file", recordName: name)
            let grant = try await database.require(.uploadAssets).grantUploads([request], in: .default)[0].get()
            let ticket = try #require(ledger.tickets.openUpload(grant.ticket))
            let checksum = try #require(FileChecksum(bytes: Array(repeating: 7, count: FileChecksum.length)))
            try await ledger.enter(checksum, size: 3, inUseUntil: ticket.expires)
            let receipt = ledger.tickets.seal(AssetReceipt(for: ticket, of: checksum, size: 3, expires: ticket.expires))
            return FieldInput(.asset(Asset(fileChecksum: checksum.description, size: 3, receipt: receipt)))
        }

        func send(_ requester: Requester, _ service: String, _ body: String, scope: String = "public") async throws
            -> RawResponse
        {
            let path = "\(Self.root)/\(scope)/\(service)"
            let sent: CredentialStage.Sent =
                switch requester {
                case .nobody: try credentials.sent(.nothing, path, body: body)
                case .apiToken: try credentials.sent(.apiToken, path, body: body)
                case .namedCreator:
                    CredentialStage.Sent(target: path, headers: ["X-Skylight-User: \(credentials.anna.handle)"])
                case .creator: try credentials.sent(.sessionWithToken, path, body: body)
                case .other, .editor:
                    CredentialStage.Sent(
                        target: "\(path)?ckWebAuthToken=\(PercentEncoding.encoded(tokens[requester] ?? ""))",
                        headers: [])
                case .key: try credentials.sent(.serverKey, path, body: body)
                case .mixed: try credentials.sent(.mixed, path, body: body)
                case .owner: try credentials.sent(.ownerWithInstanceSecret, path, body: body)
                }
            return try await credentials.send("POST", sent, body)
        }

        /// Runs every operation on every type, reads first.
        func outcomes(of requester: Requester) async throws -> [Name: [Operation: Outcome]] {
            var outcomes: [Name: [Operation: Outcome]] = [:]
            for granted in Granted.all {
                let answer = try await send(requester, "records/query", #"{"query":{"recordType":"\#(granted.type)"}}"#)
                outcomes[granted.type] = [
                    .query: try whole(answer)
                        ?? .found(Set(items("records", of: answer).compactMap { $0.name("recordName") }))
                ]
            }
            let changes = Operation.allCases.filter { $0.operationType != nil }
            try await ask(requester, [.lookup], "records/lookup", "records", "records", &outcomes) {
                #"{"recordName":"\#($0)"}"#
            }
            try await ask(requester, [.rereference], "assets/rereference", "assets", "assets", &outcomes) {
                #"{"recordName":"\#($0)","fieldName":"file"}"#
            }
            try await ask(requester, [.uploadAbsent, .uploadThere], "assets/upload", "tokens", "tokens", &outcomes) {
                name, _, granted in
                #"{"recordType":"\#(granted.type)","fieldName":"file","recordName":"\#(name)"}"#
            }
            try await ask(requester, changes, "records/modify", "operations", "records", &outcomes) {
                name, operation, granted in
                let tag = tags[name].map { #","recordChangeTag":"\#($0)""# } ?? ""
                let record =
                    #"{"recordType":"\#(granted.type)","recordName":"\#(name)","fields":{"n":{"value":1}}\#(tag)}"#
                return #"{"operationType":"\#(operation.operationType ?? "")","record":\#(record)}"#
            }
            return outcomes
        }

        private func ask(
            _ requester: Requester, _ operations: [Operation], _ service: String, _ list: String, _ answered: Name,
            _ outcomes: inout [Name: [Operation: Outcome]],
            item: (Name, Operation, Granted) -> String
        ) async throws {
            let cells = Granted.all.flatMap { granted in operations.map { (granted, $0) } }
            let items = cells.map { item(RoleMatrixTests.name(of: $0.1, $0.0), $0.1, $0.0) }
            let answer = try await send(requester, service, #"{"\#(list)":[\#(items.joined(separator: ","))]}"#)
            if let refused = try whole(answer) {
                for (granted, operation) in cells { outcomes[granted.type]?[operation] = refused }
                return
            }
            let results = try self.items(answered, of: answer)
            #expect(results.count == cells.count)
            for ((granted, operation), result) in zip(cells, results) {
                let isDenied = result.text("serverErrorCode") == "ACCESS_DENIED"
                let other = result.text("serverErrorCode").map { "\($0): \(result.text("reason") ?? "")" }
                outcomes[granted.type]?[operation] =
                    isDenied ? .denied(result.text("reason") ?? "") : other.map { .denied($0) } ?? .done
            }
        }

        private func ask(
            _ requester: Requester, _ operations: [Operation], _ service: String, _ list: String, _ answered: Name,
            _ outcomes: inout [Name: [Operation: Outcome]],
            item: (Name) -> String
        ) async throws {
            try await ask(requester, operations, service, list, answered, &outcomes) { name, _, _ in item(name) }
        }

        private func whole(_ answer: RawResponse) throws -> Outcome? {
            if answer.status == 200 { return nil }
            guard case .object(let object) = try answer.json() else { return .refused(answer.status, "") }
            return .refused(answer.status, object.text("serverErrorCode") ?? "")
        }

        private func items(_ list: Name, of answer: RawResponse) throws -> [JSONObject] {
            guard case .object(let object) = try answer.json(), case .array(let items)? = object[list] else {
                return []
            }
            return items.compactMap { if case .object(let item) = $0 { item } else { nil } }
        }

        private func names(_ granted: Granted) -> Set<Name> { RoleMatrixTests.names(granted) }
    }
}

extension JSONObject {
    fileprivate func text(_ name: Name) -> String? {
        if case .string(let text)? = self[name] { text } else { nil }
    }

    fileprivate func name(_ name: Name) -> Name? { text(name).map { Name($0) } }
}
