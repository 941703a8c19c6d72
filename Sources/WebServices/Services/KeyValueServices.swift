internal import HTTPServing
internal import RecordStore
internal import Records
internal import RequestLog

/// `keyvalues/changes`: returns the user's key-value store, or the keys that changed since a token. The service can
/// wait for a change.
struct KeyValuesChanges: Endpoint {
    static let allowsGET = true
    static let purpose = EndpointPurpose.changing
    /// The maximum time in seconds for which a request waits, as for the web courier.
    static let patience = 55
    /// The pause between two checks. There may be hundreds of other commits to the environment, which are then checked
    /// together.
    private static let pause = Duration.milliseconds(50)

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let database = try await call.database()
        let token = try call.body.string("syncToken").map { ChangeToken(text: $0) }
        let patience = min(try call.body.wholeNumber("wait", from: 0) ?? 0, Self.patience)
        // Listens before the first check, so that no change is missed in between.
        let commits =
            patience > 0 ? try token.map { (token: $0, signals: try database.require(.signalCommits).commits()) } : nil
        var found = try await database.require(.keepKeyValues).keyValues(since: token)
        if let commits, found.changes.isEmpty {
            RequestRecorder.current?.update { $0.hasWaited = true }
            let hasChanged = try await call.context.whileConnected {
                try await Self.waits(for: database, since: commits.token, commits.signals, within: patience)
            }
            if hasChanged == true { found = try await database.require(.keepKeyValues).keyValues(since: token) }
        }
        try call.makeRoom(for: found.changes.reduce(0) { $0 + ($1.value?.textLimit ?? 0) })
        writer.object { writer in
            writer.name("changes")
            writer.array { writer in for change in found.changes { writer.value(change) } }
            writer.member("syncToken", found.syncToken.text)
            writer.members(of: found.usage)
        }
    }

    /// Waits for the first change after a token.
    /// - Returns: false if there was none within the time.
    private static func waits(
        for database: any RecordDatabase, since token: ChangeToken, _ commits: AsyncStream<Void>, within patience: Int
    ) async throws -> Bool {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                for await _ in commits {
                    try await Task.sleep(for: pause)
                    if try await database.require(.keepKeyValues).hasKeyValues(since: token) { return true }
                }
                return false
            }
            group.addTask {
                try await Task.sleep(for: .seconds(patience))
                return false
            }
            defer { group.cancelAll() }
            return try await group.next() ?? false
        }
    }
}

/// `keyvalues/modify`: sets and removes keys of the user's store: all of them, or none.
struct KeyValuesModify: Endpoint {
    static let purpose = EndpointPurpose.changing

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let operations = try call.body.required("operations", "an array", call.body.objects("operations")).map {
            try KeyValueOperation($0)
        }
        let usage = try await call.database().require(.keepKeyValues).modifyKeyValues(operations)
        writer.object { $0.members(of: usage) }
    }
}
