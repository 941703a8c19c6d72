internal import Console
internal import JSON
internal import RecordStore
internal import Records

extension Visit {
    /// The schema of one of the container's environments. Does not create an unused environment.
    func schema(of environment: Environment) async throws -> Schema {
        if environment == place.address.environment, let schema { return schema }
        if let listing = engine as? any EnvironmentListing {
            let existing = try await measure { try await listing.environments(of: place.address.container) }
            guard existing.contains(environment) else { return .initial }
        }
        let editing = try await schemaEditing(in: environment)
        return try await measure { try await editing.schema() }
    }

    /// - Throws: `RecordError` BAD_REQUEST if the engine does not support schema edits.
    func schemaEditing(in environment: Environment) async throws -> any SchemaEditing {
        var address = place.address
        address.environment = environment
        let database = try await measure { [address] in
            address == self.database.address ? self.database : try await engine.database(address, as: self.database.caller)
        }
        guard let editing = database as? any SchemaEditing else { throw RecordError(.badRequest, "This engine's schema can't be edited") }
        return editing
    }

    /// The index jobs of an environment.
    func indexWorks(in environment: Environment) async throws -> IndexWorks {
        if let listing = engine as? any EnvironmentListing {
            let existing = try await measure { try await listing.environments(of: place.address.container) }
            guard existing.contains(environment) else { return IndexWorks(builds: []) }
        }
        let editing = try await schemaEditing(in: environment)
        return IndexWorks(builds: try await measure { try await editing.indexBuilds() })
    }
}
