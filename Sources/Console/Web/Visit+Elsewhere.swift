internal import Accounts
internal import RecordStore
package import Records

extension Visit {
    /// The same visit at another place of the container: another environment, database, user or zone.
    /// - Returns: `nil` if the environment does not exist. Does not create it.
    /// - Throws: ``MissingPage`` if no user has the place's handle.
    package func elsewhere(_ other: Place) async throws -> Visit? {
        var there = self
        (there.place, there.people) = (
            other, try People(accounts, actingAs: connection == nil ? other.user : nil, signedIn: (connection ?? origin)?.userRecordName)
        )
        if other.address == place.address, there.people.actor == people.actor { return there }
        if other.address.environment != place.address.environment, try await !exists(other.address.environment) { return nil }
        (there.database, there.zones, there.schema) = try await Self.open(other, as: there.people.actor, engine, isHere: connection == nil, stopwatch)
        if connection != nil { there.zones = try await measure { [there] in try await there.database.zones() } }
        return there
    }

    /// Opens the database of a place, and reads its zones and its schema.
    /// - Parameter isHere: false for a container in iCloud, which is not asked.
    static func open(
        _ place: Place, as actor: User, _ engine: any RecordEngine, isHere: Bool, _ stopwatch: Stopwatch
    ) async throws -> (database: any RecordDatabase, zones: [Zone], schema: Schema?) {
        try await stopwatch.measure {
            let database = try await engine.database(place.address, as: Caller(userRecordName: actor.userRecordName))
            return (database, isHere ? try await database.zones() : [], database.can(.showSchema) ? try await database.schema() : nil)
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
