internal import Accounts
internal import AssetStore
public import CloudKitClient
internal import Foundation
internal import HTTPServing
internal import Logging
internal import LoopbackServing
public import RecordStore
public import Records
public import RemoteRecords
internal import SQLRecordStore
internal import Synchronization
internal import WebServices

/// A Skylight for a test: on a free port of this machine, with a temporary folder, and gone with the test.
///
/// It runs in the process of the test, with the storage and the services of `skylight serve --protocol-only --auth
/// required`, and with key-value stores if a test asks for them. A test may run several.
public final class SkylightServer: Sendable {
    /// A user of the server, who can sign in on any number of devices.
    public struct User: Sendable, Hashable {
        /// The name of the user's record in every container.
        public let userRecordName: Name
        /// The name for people.
        public let displayName: String
        /// By which others can find and invite the user.
        public let emailAddress: String?
    }

    /// The address of the server, for a client in another process.
    public var address: String { address(port: port) }
    /// The port on 127.0.0.1.
    public let port: Int
    /// The container that was made with the server.
    public let container: ContainerID

    private let engine: SQLRecordEngine
    private let accounts: Accounts
    private let faults: FaultInjection
    private let tls: TLSFiles?
    /// The connections to close at the end.
    private let clients = Mutex<[ContainerClient]>([])
    private let apiTokens = Mutex<[ContainerID: String]>([:])
    /// Ends a server that was started.
    private let running = Mutex<(end: AsyncStream<Void>.Continuation, task: Task<Void, any Error>)?>(nil)

    private init(
        port: Int, container: ContainerID, _ engine: SQLRecordEngine, _ accounts: Accounts, _ faults: FaultInjection,
        _ tls: TLSFiles?
    ) {
        (self.port, self.container, self.engine, self.accounts, self.faults, self.tls) = (
            port, container, engine, accounts, faults, tls
        )
    }

    private func address(port: Int) -> String { "\(tls == nil ? "http" : "https")://127.0.0.1:\(port)" }

    /// Runs a server while the body runs, and deletes its data afterwards.
    /// - Parameters:
    ///   - container: the identifier of the container to make, such as `iCloud.com.example.App`.
    ///   - schema: the text of a .ckdb file; `nil` for a container whose types and indexes come with the first saves,
    ///     as in development.
    ///   - keyValueStores: true for users with key-value stores, which iCloud does not serve over the web. The server
    ///     has all of Skylight's own then.
    ///   - isolation: the actor of the test, which the body runs on.
    ///   - body: the test. It gets the server.
    /// - Throws: the errors of the body; `RecordError` or `SchemaTextError` for a container or schema that can't be
    ///   made.
    public static func run<Value: Sendable>(
        container: String = "iCloud.com.example.Test", schema: String? = nil, keyValueStores: Bool = false,
        isolation: isolated (any Actor)? = #isolation, _ body: (SkylightServer) async throws -> Value
    ) async throws -> Value {
        try await run(container: container, schema: schema, keyValueStores: keyValueStores, tls: nil, body)
    }

    /// Starts a server that runs until ``stop()``, for tests with a method of its own for the beginning and the end.
    /// - Parameters: as for ``run(container:schema:keyValueStores:isolation:_:)``.
    /// - Throws: `RecordError` or `SchemaTextError` for a container or schema that can't be made.
    public static func start(
        container: String = "iCloud.com.example.Test", schema: String? = nil, keyValueStores: Bool = false
    ) async throws -> SkylightServer {
        let (servers, started) = AsyncStream.makeStream(of: SkylightServer.self)
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            defer { started.finish() }
            try await run(container: container, schema: schema, keyValueStores: keyValueStores) { server in
                started.yield(server)
                for await _ in ends {}
            }
        }
        // The server does not depend on the cancellation of the task that starts it: `stop` ends it.
        guard let server = await Task(operation: { await servers.first { _ in true } }).value else {
            try await task.value
            throw RecordError(.tryAgainLater, "The server did not begin")
        }
        server.running.withLock { $0 = (end, task) }
        return server
    }

    /// Ends a server that was started, and deletes its data. It has no effect on a server that has ended, or whose test
    /// is the body of `run`.
    public func stop() async throws {
        guard
            let (end, task) = running.withLock({ running in
                defer { running = nil }
                return running
            })
        else { return }
        end.finish()
        try await task.value
    }

    /// A certificate in PEM, which devices of the server trust, and its key.
    package struct TLSFiles: Sendable {
        let certificate: URL
        let key: URL

        package init(certificate: URL, key: URL) {
            (self.certificate, self.key) = (certificate, key)
        }
    }

    /// The same for a server over TLS.
    package static func run<Value: Sendable>(
        container: String, schema: String? = nil, keyValueStores: Bool = false, tls: TLSFiles?,
        isolation: isolated (any Actor)? = #isolation, _ body: (SkylightServer) async throws -> Value
    ) async throws -> Value {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "skylight-\(UUID().uuidString)", directoryHint: .isDirectory)
        // If the removal fails, the system eventually cleans up its temporary folder.
        defer { try? FileManager.default.removeItem(at: folder) }
        let engine = try SQLRecordEngine(
            folder: folder, logger: Logger(label: "skylight.store") { _ in SwiftLogNoOpLogHandler() })
        let assets = AssetStores(folder: folder, engine: engine)
        let result: Result<Value, any Error>
        do {
            result = .success(
                try await serve(
                    engine, assets, containerID(container), schema, protocolOnly: !keyValueStores, tls, body))
        } catch {
            result = .failure(error)
        }
        await assets.close()
        await engine.close()
        return try result.get()
    }

    private static func serve<Value: Sendable>(
        _ engine: SQLRecordEngine, _ assets: AssetStores, _ container: ContainerID, _ schema: String?,
        protocolOnly: Bool, _ tls: TLSFiles?, isolation: isolated (any Actor)? = #isolation,
        _ body: (SkylightServer) async throws -> Value
    ) async throws -> Value {
        let accounts = try Accounts(file: nil)
        let faults = FaultInjection()
        let certificate = try tls.map { files in
            try ServerCertificate(
                certificateFile: files.certificate.path(percentEncoded: false),
                keyFile: files.key.path(percentEncoded: false))
        }
        let routes = Routes()
        routes.addGuards(trusting: .loopback, tokensOf: accounts, isSecure: tls != nil, protocolOnly: protocolOnly)
        WebServices(
            engine: engine, accounts: accounts, assets: assets, faults: faults,
            access: AccessControl(.required, accounts: accounts)
        )
        .addRoutes(to: routes)
        var value: Value?
        try await LoopbackServer.run(
            routes, server: .guardedHTTP1(uploadLimit: assets.sizeLimit).encrypted(with: certificate)
        ) { port in
            let server = SkylightServer(port: port, container: container, engine, accounts, faults, tls)
            if let schema { try await server.importSchema(schema, into: container) }
            do {
                value = try await body(server)
            } catch {
                await server.closeClients()
                throw error
            }
            await server.closeClients()
        }
        guard let value else { throw RecordError(.tryAgainLater, "The server did not begin") }
        return value
    }

    private static func containerID(_ identifier: String) throws -> ContainerID {
        guard let container = ContainerID(identifier) else {
            throw RecordError(
                .badRequest, "'\(identifier)' is no identifier of a container; an example is iCloud.com.example.App")
        }
        return container
    }

    private func closeClients() async {
        for client in clients.withLock({ $0 }) { await client.close() }
    }

    // MARK: Containers and users

    /// Makes another container.
    /// - Parameters: as for ``run(container:schema:keyValueStores:isolation:_:)``.
    public func makeContainer(_ identifier: String, schema: String? = nil) async throws -> ContainerID {
        let container = try Self.containerID(identifier)
        if let schema { try await importSchema(schema, into: container) }
        return container
    }

    private func importSchema(_ text: String, into container: ContainerID) async throws {
        let address = DatabaseAddress(container: container, environment: .development, scope: .public)
        let database = try await engine.database(address, as: accounts.caller(named: "developer", deviceID: nil))
        let isThere = try await engine.environments(of: container).contains(.development)
        let current = isThere ? try await database.require(.showSchema).schema() : .initial
        let plan = try SchemaImportPlan(importing: Schema(text: text), into: current, merging: true, production: nil)
        if !plan.isEmpty { _ = try await database.require(.editSchema).edit(plan.edits, because: .schemaImport) }
    }

    /// Makes a user, who has an iCloud account then.
    /// - Throws: `RecordError` EXISTS if another user has the address.
    public func makeUser(_ displayName: String, emailAddress: String? = nil) async throws -> User {
        let user = try await accounts.makeUser(displayName: displayName, emailAddress: emailAddress)
        return User(userRecordName: user.userRecordName, displayName: displayName, emailAddress: emailAddress)
    }

    /// A device on which a user has signed in: a container with connections and a web auth token of its own. It is
    /// closed with the server.
    /// - Parameters:
    ///   - user: the user of the device.
    ///   - container: `nil` for the one that was made with the server.
    ///   - waits: true if pauses take their time, such as those between two syncs. By default each is over at once, and
    ///     the clock of the device is moved on by it.
    public func device(of user: User, in container: ContainerID? = nil, waits: Bool = false) async throws -> Container {
        Container(try await client(of: user, in: container, waits: waits))
    }

    /// The connection of a new device, such as for a container with long-lived operations. It is closed with the
    /// server.
    /// - Parameters: as for ``device(of:in:waits:)``.
    public func client(of user: User, in container: ContainerID? = nil, waits: Bool = false) async throws
        -> ContainerClient
    {
        let client = try await connection(
            of: user, in: container ?? self.container, pacing: waits ? Pacing() : VirtualClock().pacing)
        clients.withLock { $0.append(client) }
        return client
    }

    /// A connection that the caller closes.
    /// - Parameter port: that of a proxy; `nil` for the server's own.
    package func connection(of user: User, in container: ContainerID, through port: Int? = nil, pacing: Pacing)
        async throws -> ContainerClient
    {
        var configuration = ClientConfiguration(address: address(port: port ?? self.port))
        configuration.trustedCertificates = try tls.map { Array(try Data(contentsOf: $0.certificate)) }
        return try ContainerClient(
            container: container, environment: .development,
            credentials: try await credentials(of: user, in: container), configuration: configuration,
            logger: Logger(label: "skylight.testing") { _ in SwiftLogNoOpLogHandler() }, pacing: pacing)
    }

    private func credentials(of user: User, in container: ContainerID) async throws -> ContainerCredentials {
        guard let token = WebAuthToken(try await webAuthToken(of: user, in: container)) else {
            throw RecordError(.internalError, "The token of the sign-in can't be read")
        }
        return .webAuth(apiToken: try await apiToken(of: container), user: WebAuthCredential(token) { _ in })
    }

    /// Signs a user in, for a client in another process.
    /// - Parameters:
    ///   - user: the user to sign in.
    ///   - container: `nil` for the one that was made with the server.
    /// - Returns: a new web auth token.
    public func webAuthToken(of user: User, in container: ContainerID? = nil) async throws -> String {
        let request = SignInRequest(container: container ?? self.container, environment: .development)
        return try await accounts.signIn(user.userRecordName, with: request, keepSignedIn: false, now: Date()).token
    }

    /// The API token of a container, for a client in another process.
    /// - Parameter container: `nil` for the one that was made with the server.
    public func apiToken(of container: ContainerID? = nil) async throws -> String {
        let container = container ?? self.container
        if let token = apiTokens.withLock({ $0[container] }) { return token }
        let made = try await accounts.makeAPIToken(
            named: "test", container: container, environment: .development, allowedOrigins: [], callback: nil)
        return apiTokens.withLock { tokens in
            let token = tokens[container] ?? made.secret
            tokens[container] = token
            return token
        }
    }

    // MARK: Faults

    /// Makes requests fail, or answers unusual, as it happens with iCloud.
    /// - Parameters:
    ///   - fault: the kind of failure.
    ///   - count: the number of requests that fail; `nil` for one. Faults of answers have none, and last until
    ///     ``stopFaults()``.
    ///   - zoneID: `nil` for all zones. `assetGone` takes none.
    /// - Throws: `RecordError` BAD_REQUEST for a fault that is a one-time event.
    public func inject(_ fault: InjectedFault, count: Int? = nil, in zoneID: ZoneID? = nil) throws {
        try faults.start(FaultSetting(fault, count: count), in: FaultArea(zoneID: zoneID))
    }

    /// Makes some items of a batch fail, while the others are saved. In an atomic batch none is.
    /// - Parameters:
    ///   - every: 3 for every third item of a batch.
    ///   - code: the `serverErrorCode` of these items.
    ///   - count: the number of batches; `nil` for one. A batch with fewer items than `every` does not count.
    ///   - zoneID: `nil` for all zones.
    /// - Throws: `RecordError` BAD_REQUEST for an `every` that is not from 1 to 200.
    public func injectPartialFailure(every: Int, code: FailingItems.Code, count: Int? = nil, in zoneID: ZoneID? = nil)
        throws
    {
        try faults.start(
            FaultSetting(.partialFailure, count: count, every: every, code: code.rawValue),
            in: FaultArea(zoneID: zoneID))
    }

    /// Ends the faults that are on.
    public func stopFaults() {
        faults.stop()
    }

    /// Lets a one-time event happen in the private database of a user: tokens expire, or a zone is purged or reset.
    /// - Parameters:
    ///   - event: such as `expireTokens`.
    ///   - user: the owner of the database.
    ///   - zoneID: the zone, for events that need one.
    /// - Throws: `RecordError` BAD_REQUEST for another fault, or if the zone is missing.
    public func trigger(_ event: InjectedFault, for user: User, in zoneID: ZoneID? = nil) async throws {
        try await event.perform(in: stored(user), zoneID: zoneID)
    }

    /// The number of versions of a record that a user ever saved, at most the last hundred.
    package func versions(of recordID: RecordID, for user: User) async throws -> Int {
        try await stored(user).require(.keepJournal).journal(RecordJournalRequest(recordID)).entries.count
    }

    /// The private database of a user, past the protocol.
    private func stored(_ user: User) async throws -> any RecordDatabase {
        let address = DatabaseAddress(container: container, environment: .development, scope: .private)
        return try await engine.database(address, as: Caller(userRecordName: user.userRecordName))
    }
}

// MARK: - Settling

/// Devices that still had something to send after many rounds of syncs.
public struct NeverSettled: Error, Sendable, CustomStringConvertible {
    /// The number of rounds that were not enough.
    public let rounds: Int
    /// The changes of records that all devices still have to send.
    public let pending: [PendingRecordZoneChange]
    /// The latest error of a sync, such as a refusal that comes again and again; `nil` if there was none.
    public let lastError: OperationError?

    public var description: String {
        let names = pending.prefix(3).map { " '\($0.recordID.recordName)'" }.joined(separator: ",")
        let error = lastError.map { "; the last error is \($0)" } ?? ""
        return "The devices have not settled (rounds: \(rounds); records to send: \(pending.count),\(names))\(error)"
    }
}

extension SkylightServer {
    /// Syncs devices in turn until each has everything and nobody has anything to send.
    ///
    /// Temporary errors, such as those of ``inject(_:count:in:)``, and conflicts only cost a round, and so do refused
    /// changes that the app adds again.
    /// - Parameters:
    ///   - engines: those of the devices; `RecordCache` has one as `engine`.
    ///   - rounds: the number of rounds after which it is an error. Devices that answer each other's changes never
    ///     settle.
    /// - Throws: ``NeverSettled``; `partialFailure` with the changes that were refused for good, once everything else
    ///   is on all devices; other errors of syncs.
    public func settle(_ engines: [SyncEngine], within rounds: Int = 50) async throws {
        var lastError: OperationError?
        // The changes of each device that were refused and not added again.
        var refused = [[OperationError.Item: OperationError]](repeating: [:], count: engines.count)
        for _ in 0..<rounds {
            var isQuiet = true
            for (index, engine) in engines.enumerated() {
                do {
                    try await engine.fetchChanges()
                    // Once a whole round has nothing to send, each device has fetched after the last change.
                    if engine.state.isEmpty { continue }
                    isQuiet = false
                    refused[index] = refused[index].filter { !engine.state.hasPendingChange(of: $0.key) }
                    try await engine.sendChanges()
                } catch {
                    guard error.isTemporary || error.code == .serverResponseLost || error.code == .partialFailure else {
                        throw error
                    }
                    refused[index].merge(error.partialErrors.filter { !$0.value.isMeeting(at: $0.key) }) { $1 }
                    lastError = error
                    isQuiet = false
                }
            }
            if !isQuiet { continue }
            let lost: [OperationError.Item: OperationError] = refused.reduce(into: [:]) { $0.merge($1) { $1 } }
            if !lost.isEmpty { throw OperationError.partialFailure(lost) }
            return
        }
        let pending = engines.flatMap(\.state.pendingRecordZoneChanges)
        throw NeverSettled(rounds: rounds, pending: pending, lastError: lastError)
    }
}

extension SyncEngine.State {
    fileprivate func hasPendingChange(of item: OperationError.Item) -> Bool {
        switch item {
        case .record(let recordID): pendingChange(of: recordID) != nil
        case .zone(let zoneID): pendingDatabaseChanges.contains { $0.zoneID == zoneID }
        case .link, .user, .subscription: false
        }
    }
}

extension OperationError {
    /// True for a change that met one of another device. The app decides which of the two stays, and nothing is lost
    /// that it does not give up.
    fileprivate func isMeeting(at item: Item) -> Bool {
        switch (code, item) {
        case (.serverRecordChanged, _), (.unknownItem, _), (.zoneNotFound, .zone): true
        default: false
        }
    }
}

// MARK: - What a device has seen

extension SkylightServer {
    /// The records of a zone that a device has seen: the fields of each, by record name, as they were on the server at
    /// the device's change token.
    ///
    ///     let seen = try await skylight.seen(by: tablet.engine, in: lists, of: anna)
    ///     #expect(seen["milk"]?["amount"] == .int64(1))
    ///
    /// What the device has changed itself since its last fetch is not among them.
    /// - Parameters:
    ///   - engine: that of the device; `RecordCache` has one as `engine`.
    ///   - zoneID: a zone of the engine's database.
    ///   - user: the user of the device.
    /// - Returns: nothing for a zone that the device has not fetched.
    /// - Throws: `RecordError` BAD_REQUEST if the token has expired, or is from a fetch that has not ended; NOT_FOUND if
    ///   a version is no longer kept, as of records that guests see of a zone.
    public func seen(by engine: SyncEngine, in zoneID: ZoneID, of user: User) async throws -> [Name: [Name: FieldValue]]
    {
        guard let token = engine.changeToken(of: zoneID) else { return [:] }
        let address = DatabaseAddress(
            container: engine.database.container.containerID, environment: .development, scope: engine.database.scope)
        let database = try await self.engine.database(address, as: Caller(userRecordName: user.userRecordName))
        let then = try await database.require(.readEarlierStates).database(
            asOf: .token(ChangeToken(text: token.text)))
        var seen: [Name: [Name: FieldValue]] = [:]
        var last: Name?
        repeat {
            let page = try await then.list(RecordListRequest(zoneID, after: last))
            if let lost = page.notKnown.records.first {
                throw RecordError(
                    .notFound, "What the device has seen of the record '\(lost.recordName)' is no longer kept")
            }
            for record in page.records {
                seen[record.recordID.recordName] = Dictionary(
                    try record.fields.decoded().map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
            }
            last = page.last
        } while last != nil
        return seen
    }
}

// MARK: - Clock

/// A clock that only pauses move. They take no time.
package final class VirtualClock: Sendable {
    private let start = ContinuousClock.now
    private let made = Mutex<(pauses: [Duration], time: Duration)>(([], .zero))

    package init() {}

    /// The pauses that were made, oldest first.
    package var pauses: [Duration] { made.withLock { $0.pauses } }

    package var pacing: Pacing {
        Pacing(
            now: { [self] in start + made.withLock { $0.time } },
            pause: { [self] pause in
                try Task.checkCancellation()
                made.withLock { made in
                    made.pauses.append(pause)
                    made.time += pause
                }
            },
            chance: { 0 })
    }
}
