internal import Accounts
internal import RecordStore
internal import Records

extension Visit {
    /// The same visit at another place of the container: another environment, database, user or zone.
    /// - Returns: `nil` if the environment does not exist. Does not create it.
    /// - Throws: ``MissingPage`` if no user has the place's handle.
    package func elsewhere(_ other: Place) async throws -> Visit? {
        let people = try People(accounts, actingAs: other.user)
        if other.address == place.address, people.actor == self.people.actor {
            return Visit(
                place: other, fields: fields, database: database, engine: engine, accounts: accounts, assets: assets, log: log, stopwatch: stopwatch,
                people: people, containers: containers, zones: zones, schema: schema)
        }
        if other.address.environment != place.address.environment, try await !exists(other.address.environment) { return nil }
        let caller = Caller(userRecordName: people.actor.userRecordName)
        let database = try await measure { try await engine.database(other.address, as: caller) }
        let zones = try await measure { try await database.zones() }
        var schema: Schema?
        if let editing = database as? any SchemaEditing { schema = try await measure { try await editing.schema() } }
        return Visit(
            place: other, fields: fields, database: database, engine: engine, accounts: accounts, assets: assets, log: log, stopwatch: stopwatch,
            people: people, containers: containers, zones: zones, schema: schema)
    }

    /// The same visit with other fields.
    package func with(fields: FormFields) -> Visit {
        Visit(
            place: place, fields: fields, database: database, engine: engine, accounts: accounts, assets: assets, log: log, stopwatch: stopwatch,
            people: people, containers: containers, zones: zones, schema: schema)
    }

    /// True if the environment of the container exists.
    func exists(_ environment: Environment) async throws -> Bool {
        if environment == place.address.environment { return true }
        guard let listing = engine as? any EnvironmentListing else { return true }
        return try await measure { try await listing.environments(of: place.address.container) }.contains(environment)
    }
}
