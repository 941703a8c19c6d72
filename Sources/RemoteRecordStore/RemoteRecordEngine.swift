public import Foundation
public import JSON
internal import NIOHTTP1
public import RecordStore
public import Records

/// Containers that another Skylight serves: every call is a request to its web services.
///
/// What a call throws is what the server's engine threw. What goes wrong on the way is told as well: TRY_AGAIN_LATER when no server can be
/// reached or a read broke off, INTERNAL_ERROR when a save broke off and nobody knows whether it was made. Reads are sent a second time
/// when the connection broke, saves never. A read may take two minutes and a change ten; a request has at most 32 MiB and an answer 512 MiB.
/// The bytes of assets are streamed, and only silence ends them.
///
/// The changes of a zone as a sequence of pages are `playback` and `follow` of the databases it hands out.
public final class RemoteRecordEngine: RecordEngine {
    let server: Server

    /// - Parameters:
    ///   - url: where the server is: `http://127.0.0.1:8080`, with a path when it stands behind another server under one.
    ///   - credentials: what it is told by its administrator.
    /// - Throws: `RecordError` BAD_REQUEST when it is not the URL of a server.
    public init(url: URL, credentials: ServerCredentials = .none) throws {
        server = try Server(url: url, credentials: credentials)
    }

    /// A handle to one database. Nothing is sent: what is wrong with the address shows at the first call.
    /// - Throws: `RecordError` BAD_REQUEST when the caller's name is not a user record name as this server knows them; ``caller(named:deviceID:)``
    ///   makes callers that are right.
    public func database(_ address: DatabaseAddress, as caller: Caller) async throws -> any RecordDatabase {
        RemoteDatabase(address: address, caller: caller, line: try ServerLine(server, to: address, as: caller))
    }

    /// Who a handle stands for on the server, which remembers a user it did not know.
    /// - Parameters:
    ///   - handle: the user's handle or user record name; `nil` for the developer.
    ///   - deviceID: the device that records saved by this caller will name; `nil` when it is not known.
    public func caller(named handle: String?, deviceID: String?) async throws -> Caller {
        let answer = try await server.get("/skylight/1/users/caller", parameters: handle.map { ["skylightUser": $0] } ?? [:])
        let name = try answer.name("userRecordName")
        return deviceID.map { Caller(userRecordName: name, deviceID: $0) } ?? Caller(userRecordName: name)
    }

    /// Everybody who was on the server, the developer first.
    public func users() async throws -> [(handle: String, userRecordName: Name)] {
        try await server.get("/skylight/1/users").array("users").map { (try $0.string("handle"), try $0.name("userRecordName")) }
    }

    public func containers() async throws -> [ContainerID] {
        try await server.get("/skylight/1/containers").strings("containers").compactMap { ContainerID($0) }
    }

    public func close() async {
        await server.close()
    }
}

extension RemoteRecordEngine: EnvironmentListing {
    public func environments(of container: ContainerID) async throws -> [Environment] {
        let answer = try await server.get("/skylight/1/containers")
        guard answer.has("environments") else { return [] }
        let environments = try answer.object("environments")
        guard environments.has(Name(container.description)) else { return [] }
        return try environments.strings(Name(container.description)).compactMap { Environment(rawValue: $0) }
    }
}

extension RemoteRecordEngine: StoreHealthReporting {
    /// The stores that are open on the server; none when it can't be asked.
    public func health() async -> [StoreHealth] {
        // Why it can't be asked is told by `checkHealth`, to those who ask for it.
        (try? await checkHealth()) ?? []
    }

    /// Asks the server whether it is there, for those who need to know why it is not.
    /// - Throws: `RecordError` TRY_AGAIN_LATER when nobody answers, INTERNAL_ERROR when somebody else than a Skylight does.
    public func checkHealth() async throws -> [StoreHealth] {
        let answer = try await healthAnswer()
        // Who is not the administrator is told of none where credentials are required.
        if try !answer.has("stores") && answer.optionalString("status") != nil { return [] }
        return try answer.array("stores").map { try StoreHealth($0) }
    }

    /// What the server that answers is told apart from others by; `nil` when it was given nothing of the kind.
    /// - Throws: as ``checkHealth()`` does.
    public func instance() async throws -> String? {
        try await healthAnswer().optionalString("instance")
    }

    private func healthAnswer() async throws -> Answer {
        try await server.get("/skylight/1/health", accepting: [.ok, .serviceUnavailable])
    }
}

extension StoreHealth {
    fileprivate init(_ answer: Answer) throws {
        guard let container = ContainerID(try answer.string("container")), let environment = Environment(rawValue: try answer.string("environment"))
        else { throw answer.unexpected("a container and an environment") }
        self.init(container: container, environment: environment)
        switch Status(rawValue: try answer.string("status")) {
        case .ok: break
        case .unreadable:
            unreadableBecause = answer.error
            since = try answer.has("since") ? Timestamp(milliseconds: answer.integer("since")) : nil
        case .readOnly, nil: readOnlyBecause = answer.error
        }
    }
}
