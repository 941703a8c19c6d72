internal import CloudKitClient
public import Foundation
internal import NIOHTTP1
public import RecordStore
public import Records

/// The containers of another Skylight server. Every call is a request to its web services.
///
/// Calls throw the errors of the server's engine. They also throw TRY_AGAIN_LATER if the server is not reachable or a
/// read was interrupted, and INTERNAL_ERROR if a save was interrupted and its outcome is unknown. After a broken
/// connection, reads are repeated once, saves never. The time limit is two minutes for a read and ten for a change. The
/// size limit is 32 MiB for a request and 512 MiB for an answer. Assets are streamed without these limits, and only
/// inactivity ends them.
public final class RemoteRecordEngine: RecordEngine, ContainerListing, HealthReporting {
    let server: ServerClient

    /// - Parameters:
    ///   - url: the address of the server: `http://127.0.0.1:8080`, with a path if it is behind a reverse proxy.
    ///   - credentials: the credentials from the server's administrator.
    /// - Throws: `RecordError` BAD_REQUEST if the URL is not a valid server address.
    public init(url: URL, credentials: ServerCredentials = .none) throws {
        server = try ServerClient(url: url, credentials: credentials)
    }

    /// A handle to one database. Sends nothing: an invalid address causes an error at the first call.
    /// - Throws: `RecordError` BAD_REQUEST if the caller's name is not a valid user record name;
    ///   ``RemoteAccounts/caller(named:deviceID:)`` creates valid callers.
    public func database(_ address: DatabaseAddress, as caller: Caller) async throws -> any RecordDatabase {
        RemoteDatabase(address: address, caller: caller, line: try ServerLine(server, to: address, as: caller))
    }

    public func containers() async throws -> [ContainerID] {
        try await server.ask(ServerServices.containers).0
    }

    public func close() async {
        await server.close()
    }

    public func environments(of container: ContainerID) async throws -> [Environment] {
        try await server.ask(ServerServices.containers).1?[Name(container.description)] ?? []
    }

    /// The open stores on the server; none where credentials are required and are not the administrator's.
    /// - Throws: `RecordError` TRY_AGAIN_LATER if there is no answer, INTERNAL_ERROR if the answer is not from a
    ///   Skylight server.
    public func health() async throws -> [StoreHealth] {
        let (_, _, _, stores) = try await healthAnswer()
        return stores ?? []
    }

    /// The id of the server instance; `nil` if it has none.
    /// - Throws: the errors of ``health()``.
    public func instance() async throws -> String? {
        let (_, _, instance, _) = try await healthAnswer()
        return instance
    }

    private func healthAnswer() async throws -> (StoreHealth.Status, String, String?, [StoreHealth]?) {
        try await server.ask(ServerServices.health, (), accepting: [503])
    }
}

// MARK: - Faults

extension RemoteRecordEngine {
    private static var faultsPath: String { "/skylight/1/rehearsals" }

    /// The active faults on the server, the oldest first. Omits faults that this version does not know.
    public func faults() async throws -> [ActiveFault] {
        try Self.active(try await server.get(Self.faultsPath))
    }

    /// Starts a fault injection on the server, or performs a one-time action.
    /// - Parameters:
    ///   - area: the scope. For a one-time action, the container and, if it affects one, the zone.
    ///   - caller: the owner of the zone that a one-time action affects.
    ///   - minutes: how long it lasts at most; `nil` until it is stopped.
    /// - Returns: the active faults after the change.
    /// - Throws: `RecordError` BAD_REQUEST if the action does not support the scope.
    @discardableResult
    public func startFault(
        _ setting: FaultSetting, in area: FaultArea, as caller: Caller, minutes: Int? = nil
    ) async throws -> [ActiveFault] {
        try await post(area, as: caller) { writer in
            writer.member("start", setting.description)
            if let minutes { writer.member("minutes", Int64(minutes)) }
        }
    }

    /// Stops fault injections on the server.
    /// - Parameters:
    ///   - fault: the fault to stop; `nil` for all.
    ///   - area: exactly this scope; `everywhere` stops the fault in every scope.
    /// - Returns: the active faults after the change.
    @discardableResult
    public func stopFaults(_ fault: InjectedFault?, in area: FaultArea = .everywhere) async throws -> [ActiveFault] {
        try await post(area, as: nil) { $0.member("stop", fault?.rawValue ?? "all") }
    }

    private func post(_ area: FaultArea, as caller: Caller?, _ verb: (inout JSONWriter) -> Void) async throws
        -> [ActiveFault]
    {
        var writer = JSONWriter()
        writer.object { writer in
            verb(&writer)
            FaultArea.form.write(area, &writer)
        }
        let headers: HTTPHeaders = caller.map { ["X-Skylight-User": $0.userRecordName.string] } ?? [:]
        return try Self.active(try await server.post(Self.faultsPath, writer.bytes, headers: headers, .saves))
    }

    private static func active(_ answer: Answer) throws -> [ActiveFault] {
        try answer.read { answer in
            try [RequestObject].member("on", of: answer).compactMap { item in
                InjectedFault(rawValue: try .member("rehearsal", of: item)) == nil
                    ? nil : try ActiveFault.form.read(item)
            }
        }
    }
}
