import Records
import RecordStore

extension OpenStore {
    /// The database to read and change the schema of a container's environment. Creates the environment if it is missing.
    func schemaDatabase(_ environment: Environment, in place: SchemaPlace) async throws -> any RecordDatabase {
        let address = DatabaseAddress(container: place.container, environment: environment, scope: .public)
        return try await database(address, as: place.user)
    }

    /// The schema of a container's environment, or the initial schema if it does not exist.
    func schema(of environment: Environment, in place: SchemaPlace) async throws -> Schema {
        guard try await engine.has(place.container, environment) else { return .initial }
        return try await schemaDatabase(environment, in: place).schema()
    }

    /// The schema of an existing container's environment.
    /// - Throws: `CommandFailure` if the container does not exist.
    func existingSchema(of environment: Environment, in place: SchemaPlace) async throws -> Schema {
        try await checkExists(place.container)
        return try await schema(of: environment, in: place)
    }

    /// The incomplete indexes after a change that did not wait for them.
    func indexesUnderWay(_ editing: any RecordDatabase) async throws -> IndexesUnderWay? {
        let builds = try await editing.indexBuilds().filter { $0.work == .building }
        return builds.isEmpty ? nil : IndexesUnderWay(builds, hasServer: hasServer)
    }

    /// Changes a schema, with a progress bar for the index builds.
    func change(
        _ editing: any RecordDatabase, showingProgress isShown: Bool, _ change: @escaping @Sendable (any RecordDatabase) async throws -> Schema
    ) async throws -> Schema {
        let bar = ProgressBar()
        defer { bar.finish() }
        return try await withThrowingTaskGroup(of: Schema?.self) { group in
            group.addTask { try await change(editing) }
            if isShown, Output.isWatched {
                group.addTask {
                    var total = 0
                    while !Task.isCancelled {
                        // Cancellation ends the sleep. Errors of the progress request are ignored.
                        try? await Task.sleep(for: .milliseconds(250))
                        guard let builds = try? await editing.indexBuilds() else { continue }
                        total = max(total, builds.map(\.total).saturatedSum)
                        bar.show(builds, of: total)
                    }
                    return nil
                }
            }
            defer { group.cancelAll() }
            while let schema = try await group.next() {
                if let schema { return schema }
            }
            throw CancellationError()
        }
    }
}

/// The container with the schemas, and the acting user.
struct SchemaPlace {
    var container: ContainerID
    var user = "developer"
}

/// Indexes that are declared but incomplete.
struct IndexesUnderWay {
    let count: Int
    /// True if a server continues to build them. Otherwise the build pauses when the command ends.
    private let hasServer: Bool

    init(_ builds: [IndexBuildProgress], hasServer: Bool) {
        count = builds.reduce(0) { count, build in
            if case .field(_, let indexes) = build.subject { count + indexes.names.count } else { count + 1 }
        }
        self.hasServer = hasServer
    }

    /// Prints a note on standard error.
    func say() {
        let indexes = count == 1 ? "1 index is" : "\(Output.grouped(count)) indexes are"
        Output.note(
            "\(indexes) not complete yet; queries that need \(count == 1 ? "it" : "one") get TRY_AGAIN_LATER. "
                + (hasServer ? "The server continues the work." : "The work continues when the data folder is opened again, by skylight serve or any command."))
    }
}
