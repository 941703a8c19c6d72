public import Accounts
public import CloudKitClient
internal import JSON
public import Logging
public import RecordStore
public import Records
internal import Synchronization

/// An engine over one environment of a container in iCloud. It speaks CloudKit's protocol alone.
///
/// The credential of its connection says who asks, whoever the caller is. Nothing is kept on disk here.
public final class CloudKitRecordEngine: RecordEngine {
    /// The connection when the engine was made. Its web auth token is replaced later.
    public let connection: ContainerConnection
    let tokens: TokenReceipts
    /// The client of the connection. It is closed with the engine.
    public let client: ContainerClient
    let clock: @Sendable () -> Timestamp
    private let indexes = Mutex(LearnedIndexes())

    /// - Parameters:
    ///   - configuration: limits of the client; its address and origin are replaced by those of the connection.
    ///   - keep: stores a web auth token that replaces the one before.
    /// - Throws: `RecordError` BAD_REQUEST for credentials or an address that can't be used.
    public init(
        _ connection: ContainerConnection, configuration: ClientConfiguration = ClientConfiguration(), logger: Logger,
        clock: @escaping @Sendable () -> Timestamp = Timestamp.now, keep: @escaping @Sendable (WebAuthToken) async -> Void
    ) throws {
        self.connection = connection
        self.clock = clock
        tokens = TokenReceipts(clock: clock)
        var configuration = configuration
        configuration.address = connection.address ?? ClientConfiguration.cloudKit
        configuration.origin = connection.origin
        do {
            client = try ContainerClient(
                container: connection.container, environment: connection.environment, credentials: ContainerCredentials(connection, keep: keep),
                configuration: configuration, logger: logger)
        } catch {
            throw RecordError(error, at: connection)
        }
    }

    /// CloudKit does not list containers, measure them, or tell anything about them as a whole.
    public var capabilities: Set<Capability> { [] }

    public func unable(_ capability: Capability) -> RecordError { .notInCloudKit(capability) }

    public func database(_ address: DatabaseAddress, as caller: Caller) async throws -> any RecordDatabase {
        try database(address)
    }

    /// - Throws: `RecordError` NOT_FOUND for another container or environment; ACCESS_DENIED for a database that the credential does not reach.
    public func database(_ address: DatabaseAddress) throws -> CloudKitDatabase {
        guard address.container == connection.container, address.environment == connection.environment else {
            throw RecordError.notConnected(address.container, address.environment)
        }
        guard connection.reach.contains(address.scope) else {
            throw RecordError(
                .accessDenied,
                "A server-to-server key reaches the public database only; connect \(address.container) with an API token and a sign-in for the others")
        }
        return CloudKitDatabase(engine: self, address: address)
    }

    public func close() async {
        await client.close()
    }

    // MARK: Indexes

    /// The indexes that refusals and an imported schema file told.
    public var learnedIndexes: LearnedIndexes { indexes.withLock { $0 } }

    /// Learns the indexes of a schema file (`.ckdb`), which replaces what was known before.
    public func learnIndexes(from schema: Schema) {
        indexes.withLock { $0.learn(from: schema, at: clock()) }
    }

    func learn(from refusal: RecordError, of query: Query) {
        indexes.withLock { $0.learn(from: refusal, of: query, at: clock()) }
    }

    func learn(from record: StoredRecord) throws {
        try indexes.withLock { try $0.learn(from: record) }
    }

    func learn(fromAnswerTo query: Query) {
        indexes.withLock { $0.learn(fromAnswerTo: query) }
    }
}

extension ContainerCredentials {
    /// - Throws: `RecordError` BAD_REQUEST for a key or a token that is none.
    fileprivate init(_ connection: ContainerConnection, keep: @escaping @Sendable (WebAuthToken) async -> Void) throws {
        switch connection.credentials {
        case .serverKey(let keyID, let pem):
            do {
                self = .serverToServer(try ServerToServerKey(keyID: keyID, pem: pem))
            } catch {
                throw RecordError(.badRequest, "The server-to-server key can't be used: \(error.description)")
            }
        case .webAuth(let apiToken, let webAuthToken):
            guard let token = WebAuthToken(webAuthToken) else { throw RecordError(.badRequest, "The web auth token is empty, or is none") }
            self = .webAuth(apiToken: apiToken, user: WebAuthCredential(token, keep: keep))
        }
    }
}
