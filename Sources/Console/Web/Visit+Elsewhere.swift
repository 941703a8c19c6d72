internal import Accounts
internal import RecordStore
package import Records

extension Visit {
    /// The same visit at another place of the container: another environment, database, user or zone.
    /// - Returns: `nil` if the environment does not exist. Does not create it.
    /// - Throws: ``MissingPage`` if no user has the place's handle.
    package func elsewhere(_ other: Place) async throws -> Visit? {
        var there = self
        (there.place, there.people) = (other, try People(accounts, actingAs: other.user))
        if other.address == place.address, there.people.actor == people.actor { return there }
        if other.address.environment != place.address.environment, try await !exists(other.address.environment) { return nil }
        (there.database, there.zones, there.schema) = try await Self.open(other, as: there.people.actor, engine, stopwatch)
        return there
    }

    /// Opens the database of a place, and reads its zones and its schema.
    static func open(
        _ place: Place, as actor: User, _ engine: any RecordEngine, _ stopwatch: Stopwatch
    ) async throws -> (database: any RecordDatabase, zones: [Zone], schema: Schema?) {
        try await stopwatch.measure {
            let database = try await engine.database(place.address, as: Caller(userRecordName: actor.userRecordName))
            return (database, try await database.zones(), database.can(.showSchema) ? try await database.schema() : nil)
        }
    }

    /// The same visit with other fields.
    package func with(fields: FormFields) -> Visit {
        var visit = self
        visit.fields = fields
        return visit
    }

    /// True if the environment of the container exists.
    package func exists(_ environment: Environment) async throws -> Bool {
        if environment == place.address.environment { return true }
        return try await measure { try await engine.has(place.address.container, environment) }
    }
}
