internal import Console
internal import JSON
internal import RecordStore
internal import Records

extension Visit {
    /// The schema of one of the container's environments. Does not create an unused environment.
    func schema(of environment: Environment) async throws -> Schema {
        if environment == place.address.environment, let schema { return schema }
        guard try await exists(environment) else { return .initial }
        let database = try await database(in: environment)
        return try await measure { try await database.schema() }
    }

    /// The same database in another environment.
    func database(in environment: Environment) async throws -> any RecordDatabase {
        var address = place.address
        address.environment = environment
        return try await measure { [address] in
            address == self.database.address ? self.database : try await engine.database(address, as: self.database.caller)
        }
    }

    /// The index jobs of an environment.
    func indexWorks(in environment: Environment) async throws -> IndexWorks {
        guard try await exists(environment) else { return IndexWorks(builds: []) }
        let database = try await database(in: environment)
        return IndexWorks(builds: try await measure { try await database.indexBuilds() })
    }
}
