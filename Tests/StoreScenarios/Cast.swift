public import RecordStore
public import Records

// The users and zones of the scenarios.

/// User record names have the format that servers require: `_` and 32 hexadecimal digits.
public let ada = Caller(userRecordName: "_ada00000000000000000000000000000", deviceID: "iPhone")
public let grace = Caller(userRecordName: "_9ace0000000000000000000000000000", deviceID: "Mac")
public let mary = Caller(userRecordName: "_3a470000000000000000000000000000")

public let notes = ZoneID(zoneName: "Notes")

public func address(_ scope: DatabaseScope, _ environment: Environment = .development) throws -> DatabaseAddress {
    guard let container = ContainerID("iCloud.com.example.Test") else { throw RecordError(.badRequest, "container") }
    return DatabaseAddress(container: container, environment: environment, scope: scope)
}

extension RecordEngine {
    public func full(_ scope: DatabaseScope, as caller: Caller = ada, _ environment: Environment = .development)
        async throws -> any RecordDatabase
    {
        try await database(address(scope, environment), as: caller)
    }

    /// Ada's private database with an empty zone.
    public func withZone() async throws -> any RecordDatabase {
        let database = try await full(.private)
        for result in try await database.modifyZones([.create(notes)]) { _ = try result.get() }
        return database
    }
}
