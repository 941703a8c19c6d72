public import Accounts
public import CloudKitClient
public import Logging
public import RecordStore
public import Records
internal import Synchronization

/// An engine over one environment of a container in iCloud. It only uses CloudKit's protocol.
///
/// All requests use the credential of the connection, whatever the caller is. Nothing is stored on disk.
public final class CloudKitRecordEngine: RecordEngine {
    /// The connection at the time when the engine was created. Its web auth token may have been replaced since.
    public let connection: ContainerConnection
    let tokens: TokenReceipts
    /// The client of the connection. Closing the engine closes it.
    public let client: ContainerClient
    let clock: @Sendable () -> Timestamp
    private let indexes = Mutex(LearnedIndexes())

    /// - Parameters:
    ///   - configuration: the limits of the client. Its address and origin are replaced by those of the connection.
    ///   - keep: stores a new web auth token, which replaces the previous one.
    /// - Throws: `RecordError` BAD_REQUEST for invalid credentials or an invalid address.
    public init(
        _ connection: ContainerConnection, configuration: ClientConfiguration = ClientConfiguration(), logger: Logger,
        clock: @escaping @Sendable () -> Timestamp = Timestamp.now,
        keep: @escaping @Sendable (WebAuthToken) async -> Void
    ) throws {
        self.connection = connection
        self.clock = clock
        tokens = TokenReceipts(clock: clock)
        var configuration = configuration
        configuration.address = connection.address ?? ClientConfiguration.cloudKit
        configuration.origin = connection.origin
        do {
            client = try ContainerClient(
                container: connection.container, environment: connection.environment,
                credentials: ContainerCredentials(connection, keep: keep),
                configuration: configuration, logger: logger)
        } catch {
            throw RecordError(error, at: connection)
        }
    }

    /// CloudKit cannot list or measure containers, and reports nothing about a container as a whole.
    public func unable(to task: String) -> RecordError { .notInCloudKit(task) }

    public func database(_ address: DatabaseAddress, as caller: Caller) async throws -> any RecordDatabase {
        try database(address)
    }

    /// - Throws: `RecordError` NOT_FOUND for another container or environment; ACCESS_DENIED for a database to which
    ///   the credential gives no access; `BriefWork.TooLong` in brief work.
    public func database(_ address: DatabaseAddress) throws -> CloudKitDatabase {
        guard address.container == connection.container, address.environment == connection.environment else {
            throw RecordError.notConnected(address.container, address.environment)
        }
        guard connection.reach.contains(address.scope) else {
            throw RecordError(
                .accessDenied,
                "A server-to-server key reaches the public database only; connect \(address.container) with an API token and a sign-in for the others"
            )
        }
        // Answers of iCloud may be large, and are parsed by the task that gets them.
        try BriefWork.endBeforeLongWork()
        return CloudKitDatabase(engine: self, address: address)
    }

    public func close() async {
        await client.close()
    }

    // MARK: Indexes

    /// The indexes that are known from refused queries and from an imported schema file.
    public var learnedIndexes: LearnedIndexes { indexes.withLock { $0 } }

    /// Learns the indexes of a schema file (`.ckdb`). They replace all earlier knowledge.
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
    /// - Throws: `RecordError` BAD_REQUEST for an invalid key or token.
    fileprivate init(_ connection: ContainerConnection, keep: @escaping @Sendable (WebAuthToken) async -> Void) throws {
        switch connection.credentials {
        case .serverKey(let keyID, let pem):
            do {
                self = .serverToServer(try ServerToServerKey(keyID: keyID, pem: pem))
            } catch {
                throw RecordError(.badRequest, "The server-to-server key can't be used: \(error.description)")
            }
        case .webAuth(let apiToken, let webAuthToken):
            guard let token = WebAuthToken(webAuthToken) else {
                throw RecordError(.badRequest, "The web auth token is empty, or is none")
            }
            self = .webAuth(apiToken: apiToken, user: WebAuthCredential(token, keep: keep))
        }
    }
}

// MARK: - Time

/// Measures the time that a task spends with CloudKit, and may limit it.
///
///     let meter = CloudKitMeter(within: CloudKitMeter.pageTime)
///     let page = try await CloudKitMeter.$current.withValue(meter) { try await database.query(request) }
public final class CloudKitMeter: Sendable {
    /// The meter of the current task; `nil` to measure nothing.
    @TaskLocal public static var current: CloudKitMeter?

    public struct Reading: Sendable, Hashable {
        /// The number of answered requests, including repetitions.
        public var requests = 0
        /// The time from sending each request to the last byte of its answer, spent by CloudKit and the network.
        public var answering: Duration = .zero
        /// The time of the pauses before repetitions.
        public var waiting: Duration = .zero
    }

    /// The time limit for all requests of a page, because a user waits for it.
    public static let pageTime: Duration = .seconds(30)

    /// The deadline for all answers; `nil` for a limit of each request only.
    let deadline: ContinuousClock.Instant?
    private let state = Mutex(Reading())

    /// - Parameter time: the time limit for all requests together, from now on.
    public init(within time: Duration? = nil) {
        deadline = time.map { .now + $0 }
    }

    /// The totals so far.
    public var reading: Reading { state.withLock { $0 } }

    func note(_ event: RequestEvent) {
        state.withLock { reading in
            switch event {
            case .sending: break
            case .answered(_, _, _, let duration, _):
                reading.requests += 1
                reading.answering += duration
            case .waiting(_, let pause, _): reading.waiting += pause.length
            }
        }
    }
}

// MARK: - Errors

extension RecordError {
    /// Creates the error from CloudKit's error, with its text. An undocumented code is kept in the text.
    init(_ error: ServerError) {
        let retryAfter = error.retryAfter.map { Int(clamping: $0.components.seconds) }
        if let code = error.code {
            self.init(code, error.reason, retryAfter: retryAfter)
        } else {
            self.init(error.isTemporary ? .tryAgainLater : .badRequest, "\(error)", retryAfter: retryAfter)
        }
    }

    /// Creates the error of a request that failed as a whole.
    init(_ failure: CloudKitFailure, at connection: ContainerConnection) {
        switch failure.kind {
        case .refused(let error):
            self.init(error)
            if let advice = failure.advice { reason += ". \(advice)" }
            if let signed = failure.signed { reason += ". Signed: \(signed)" }
            // The error code for an expired token is not documented.
            if error.code == .authenticationFailed, case .webAuth = connection.credentials {
                reason +=
                    ". If the sign-in of \(connection.place) has ended, sign in again with skylight connect \(connection.container)"
            }
        case .throttled(let error):
            self.init(error)
        case .signInRequired(let error):
            self.init(
                .authenticationRequired,
                "\(error.reason). The sign-in of \(connection.place) has ended; sign in again with skylight connect \(connection.container)"
            )
        case .unreachable, .untrusted, .connectionLost, .closed, .cancelled:
            self.init(.tryAgainLater, "CloudKit did not answer: \(failure)")
        case .answerLost, .answerTooLarge, .unexpectedAnswer, .assetRefused:
            self.init(.internalError, "\(failure)")
        case .invalidRequest(let reason):
            self.init(.badRequest, reason)
        }
    }

    /// Creates the error from any error of the client.
    init(_ error: any Error, at connection: ContainerConnection) {
        switch error {
        case let error as RecordError: self = error
        case let error as CloudKitFailure: self.init(error, at: connection)
        default: self.init(.internalError, "\(error)")
        }
    }

    /// The error for a capability that CloudKit's protocol does not have.
    static func notInCloudKit(_ task: String) -> RecordError {
        RecordError(.badRequest, "A container in iCloud can't \(task): CloudKit's protocol has nothing for it")
    }

    /// The capability that CloudKit's protocol lacks according to an error; `nil` for any other error.
    public static func isMissingInCloudKit(_ error: RecordError) -> Bool {
        let frame = notInCloudKit("|").reason.split(separator: "|")
        return frame.count == 2 && error.reason.hasPrefix(frame[0]) && error.reason.hasSuffix(frame[1])
    }

    /// The error for deleting or renaming a connected container.
    static func cannotEdit(_ container: ContainerID) -> RecordError {
        RecordError(
            .badRequest,
            "\(container) is in iCloud, where Skylight can't delete or rename it; skylight disconnect \(container) forgets the connection"
        )
    }

    /// The error for an environment without a connection.
    static func notConnected(_ container: ContainerID, _ environment: Environment) -> RecordError {
        RecordError(
            .notFound,
            "\(container) is not connected in \(environment.rawValue); connect it with skylight connect \(container) --environment \(environment.rawValue)"
        )
    }
}
