internal import HTTPServing
internal import RecordStore
internal import Records
internal import RequestLog

/// The services of key-value stores.
enum KeyValueServices {
    private typealias Rows = DatabaseServices

    static let rows: [DatabaseService] = [
        Rows.keyValues.serve(for: .ofUser) { call, request in
            let found = try await changes(since: request.0, within: Int(request.1 ?? 0), call)
            try call.makeRoom(for: found.changes.reduce(0) { $0 + ($1.value?.textLimit ?? 0) })
            return found
        },
        Rows.modifyKeyValues.serve(for: .ofUser) { call, operations in
            try await call.database().require(.keepKeyValues).modifyKeyValues(operations)
        },
    ]

    /// The maximum time in seconds for which a request waits, as for the web courier.
    private static let longestWait = 55
    /// The pause between two checks. There may be hundreds of other commits to the environment, which are then checked
    /// together.
    private static let pause = Duration.milliseconds(50)

    private static func changes(since token: ChangeToken?, within patience: Int, _ call: EndpointCall) async throws
        -> KeyValueChanges
    {
        let database = try await call.database()
        let patience = min(patience, longestWait)
        // Listens before the first check, so that no change is missed in between.
        let commits =
            patience > 0 ? try token.map { (token: $0, signals: try database.require(.signalCommits).commits()) } : nil
        let found = try await database.require(.keepKeyValues).keyValues(since: token)
        guard let commits, found.changes.isEmpty else { return found }
        RequestRecorder.current?.update { $0.hasWaited = true }
        let hasChanged = try await call.context.whileConnected {
            try await waits(for: database, since: commits.token, commits.signals, within: patience)
        }
        return hasChanged == true ? try await database.require(.keepKeyValues).keyValues(since: token) : found
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
