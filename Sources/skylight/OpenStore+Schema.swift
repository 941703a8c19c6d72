import Records
import RecordStore

extension OpenStore {
    /// A container's environment, to look at its schema or to change it. It is made if it is not there.
    /// - Throws: `CommandFailure` when the store can't do such things.
    func schemaEditing(_ environment: Environment, in place: SchemaPlace) async throws -> any SchemaEditing {
        let address = DatabaseAddress(container: place.container, environment: environment, scope: .public)
        guard let editing = try await database(address, as: place.user) as? any SchemaEditing else {
            throw CommandFailure(.failed, "This store shows no schema")
        }
        return editing
    }

    /// Whether a container's environment is there. Nothing is made.
    func has(_ environment: Environment, of container: ContainerID) async throws -> Bool {
        guard try await engine.containers().contains(container) else { return false }
        guard let listing = engine as? any EnvironmentListing else { return true }
        return try await listing.environments(of: container).contains(environment)
    }

    /// The schema of a container's environment; of one that is not there, the schema that it would begin with.
    func schema(of environment: Environment, in place: SchemaPlace) async throws -> Schema {
        guard try await has(environment, of: place.container) else { return .initial }
        return try await schemaEditing(environment, in: place).schema()
    }

    /// The schema of an environment of a container that is there.
    /// - Throws: `CommandFailure` when there is no such container.
    func existingSchema(of environment: Environment, in place: SchemaPlace) async throws -> Schema {
        try await checkExists(place.container)
        return try await schema(of: environment, in: place)
    }

    /// The indexes that are not complete after a change that did not wait for them.
    func indexesUnderWay(_ editing: any SchemaEditing) async throws -> IndexesUnderWay? {
        let builds = try await editing.indexBuilds().filter { $0.work == .building }
        return builds.isEmpty ? nil : IndexesUnderWay(builds, hasServer: isRemote)
    }

    /// Changes a schema, and shows how far the indexes are that are built for it.
    func change(
        _ editing: any SchemaEditing, showingProgress isShown: Bool, _ change: @escaping @Sendable (any SchemaEditing) async throws -> Schema
    ) async throws -> Schema {
        let bar = ProgressBar()
        defer { bar.finish() }
        return try await withThrowingTaskGroup(of: Schema?.self) { group in
            group.addTask { try await change(editing) }
            if isShown, Output.isWatched {
                group.addTask {
                    var total = 0
                    while !Task.isCancelled {
                        // Sleeping ends with the task, and a moment without progress is no failure.
                        try? await Task.sleep(for: .milliseconds(250))
                        guard let builds = try? await editing.indexBuilds() else { continue }
                        total = max(total, builds.reduce(0) { $0 + $1.total })
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
