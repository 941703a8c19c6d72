package import Records

/// The services of the server, below `/skylight/1/` (docs/services.md).
package enum ServerServices {
    /// The environments are there if the engine knows them.
    package static let containers = SkylightService(
        "containers", .get,
        answers: JSONMember<[ContainerID]>("containers"), JSONMember<[Name: [Environment]]?>("environments"))
    /// Where credentials are required, only the administrator gets the list of stores.
    package static let health = SkylightService(
        "health", .get,
        answers: JSONMember<StoreHealth.Status>("status"), JSONMember<String>("version"),
        JSONMember<String?>("instance"),
        JSONMember<[StoreHealth]?>("stores"))
    /// The user that the request acts for.
    package static let caller = SkylightService(
        "users/caller", .get, answers: JSONMember<Name>("userRecordName"), JSONMember<String>("deviceID"))
}

extension StoreHealth.Status: JSONWord {}

extension StoreHealth: JSONObjectCoded {
    package static let form = JSONForm<StoreHealth>(
        { container, environment, status, since, database, error in
            var health = StoreHealth(container: container, environment: environment, since: since, database: database)
            switch status {
            case .ok: break
            case .readOnly: health.readOnlyBecause = error
            case .unreadable: health.unreadableBecause = error
            }
            return health
        },
        JSONPart("container", \.container), JSONPart("environment", \.environment), JSONPart("status", \.status),
        JSONPart("since", \.since), JSONPart("database", \.database), JSONPart(joined: .error, \.reason))
}
