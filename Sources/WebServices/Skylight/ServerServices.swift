internal import Accounts
internal import HTTPTypes
internal import JSON
internal import RecordStore
internal import Records

/// `health`: tells if the server answers and if its stores are readable and writable. Status 200 if all
/// are, 503 otherwise. If credentials are required, only the administrator sees the list of stores.
enum HealthService: ServerService {
    static func answer(_ call: ServerCall, into writer: inout JSONWriter) async throws -> HTTPResponse.Status {
        let stores = call.engine.can(.reportHealth) ? try await call.engine.health() : []
        let states = Set(stores.map(\.status))
        let status: StoreHealth.Status = states.contains(.unreadable) ? .unreadable : states.contains(.readOnly) ? .readOnly : .ok
        let mayKnow = try await call.isOfAdministrator
        writer.object { writer in
            writer.member("status", status.rawValue)
            writer.member("version", SkylightVersion.current)
            if let instance = call.instance { writer.member("instance", instance) }
            guard mayKnow else { return }
            writer.name("stores")
            writer.array { writer in
                for store in stores { writer.value(store) }
            }
        }
        return status == .ok ? .ok : .serviceUnavailable
    }
}

/// `containers`: lists the containers, with their environments if the engine knows them.
enum ContainersService: ServerService {
    static func answer(_ call: ServerCall, into writer: inout JSONWriter) async throws -> HTTPResponse.Status {
        let containers = try await call.engine.containers()
        let environments = try await environments(of: containers, call.engine)
        writer.object { writer in
            writer.name("containers")
            writer.array { writer in
                for container in containers { writer.value(container.description) }
            }
            guard let environments else { return }
            writer.name("environments")
            writer.object { writer in
                for (container, environments) in zip(containers, environments) {
                    writer.name(Name(container.description))
                    writer.array { writer in
                        for environment in environments { writer.value(environment.rawValue) }
                    }
                }
            }
        }
        return .ok
    }
}

extension ContainersService {
    private static func environments(of containers: [ContainerID], _ engine: any RecordEngine) async throws -> [[Environment]]? {
        guard engine.can(.listEnvironments) else { return nil }
        var environments: [[Environment]] = []
        for container in containers { environments.append(try await engine.environments(of: container)) }
        return environments
    }
}

/// `users`: lists all known users, the developer first.
enum UsersService: ServerService {
    static func answer(_ call: ServerCall, into writer: inout JSONWriter) async throws -> HTTPResponse.Status {
        let accounts = call.callers.accounts
        let users = accounts.users()
        writer.object { writer in
            writer.name("users")
            writer.array { writer in
                for user in users { writer.value(user, lastSeen: accounts.lastSeen(user.userRecordName)) }
            }
        }
        return .ok
    }
}

/// `users/caller`: returns the user that the request acts for. Like every request, it creates a user for a new handle.
enum UsersCallerService: ServerService {
    static func answer(_ call: ServerCall, into writer: inout JSONWriter) async throws -> HTTPResponse.Status {
        let caller = try call.callers.caller(of: call.request)
        writer.object { writer in
            writer.member("userRecordName", caller.userRecordName)
            writer.member("deviceID", caller.deviceID)
        }
        return .ok
    }
}

extension JSONWriter {
    fileprivate mutating func value(_ health: StoreHealth) {
        object { writer in
            writer.member("container", health.container.description)
            writer.member("environment", health.environment.rawValue)
            writer.member("status", health.status.rawValue)
            if let since = health.since { writer.member("since", since.milliseconds) }
            if let database = health.database { writer.member("database", database) }
            if let error = health.reason { writer.members(of: error) }
        }
    }
}
