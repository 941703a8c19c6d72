internal import HTTPServing
internal import JSON
internal import RecordStore
internal import Records

/// `keyvalues/changes`: the user's key-value store, or the keys that changed since a token, for which it can wait.
struct KeyValuesChanges: Endpoint {
    static let allowsGET = true
    static let purpose = EndpointPurpose.changing
    /// Maximum number of seconds that a request waits, as at the web courier.
    static let patience = 55
    /// Other commits to the environment may come by the hundreds. They are looked at together.
    private static let pause = Duration.milliseconds(50)

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let database = try await call.database()
        let token = try call.body.string("syncToken").map { ChangeToken(text: $0) }
        let patience = min(try call.body.wholeNumber("wait", from: 0) ?? 0, Self.patience)
        // Listens before the first look, so that nothing is missed in between.
        let commits = patience > 0 && token != nil ? try database.commits() : nil
        var found = try await database.keyValues(since: token)
        if let commits, found.changes.isEmpty {
            let later = try await call.context.whileConnected { try await Self.next(in: database, since: token, commits, within: patience) }
            if let news = later ?? nil { found = news }
        }
        try call.makeRoom(for: found.changes.reduce(0) { $0 + ($1.value?.size ?? 0) })
        writer.object { writer in
            writer.name("changes")
            writer.array { writer in for change in found.changes { writer.value(change) } }
            writer.member("syncToken", found.syncToken.text)
            writer.members(of: found.usage)
        }
    }

    /// The first changes after a token; `nil` if there are none in time.
    private static func next(
        in database: any RecordDatabase, since token: ChangeToken?, _ commits: AsyncStream<Void>, within patience: Int
    ) async throws -> KeyValueChanges? {
        try await withThrowingTaskGroup(of: KeyValueChanges?.self) { group in
            group.addTask {
                for await _ in commits {
                    try await Task.sleep(for: pause)
                    let found = try await database.keyValues(since: token)
                    if !found.changes.isEmpty { return found }
                }
                return nil
            }
            group.addTask {
                try await Task.sleep(for: .seconds(patience))
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }
}

/// `keyvalues/modify`: sets and removes keys of the user, all of them or none.
struct KeyValuesModify: Endpoint {
    static let purpose = EndpointPurpose.changing

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let operations = try call.body.required("operations", "an array", call.body.objects("operations")).map { try KeyValueOperation($0) }
        let usage = try await call.database().modifyKeyValues(operations)
        writer.object { $0.members(of: usage) }
    }
}
