internal import AsyncHTTPClient
internal import CloudKitClient
internal import Foundation
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import Records
internal import Synchronization

/// The connection to a server: sends requests and decodes answers.
final class ServerClient: Sendable {
    /// The purpose of a request, which determines the reaction to a broken connection.
    enum Purpose: Sendable {
        /// Can be repeated.
        case reads
        /// May have succeeded although the answer is missing.
        case saves
    }

    /// The size limit of a request in bytes, which servers enforce.
    private static let requestLimit = 32 << 20
    /// The size limit of an answer, in bytes. The largest page of a server is far smaller.
    private static let answerLimit = 512 << 20
    /// The time limit for a complete answer.
    private static let patience: [Purpose: Duration] = [.reads: .seconds(120), .saves: .seconds(600)]

    /// The address without a trailing slash.
    let address: String
    private let client: HTTPClient
    /// The client for streams, whose servers send a keep-alive message every 15 seconds.
    private let streamClient: HTTPClient
    private let isClosed = Mutex(false)

    private let authorization: String?

    /// - Throws: `RecordError` BAD_REQUEST if the address is not one of a server.
    convenience init(url: URL, credentials: ServerCredentials = .none) throws {
        guard let scheme = url.scheme?.lowercased(), ["http", "https"].contains(scheme), let host = url.host(),
            !host.isEmpty, url.query() == nil
        else {
            throw RecordError(
                .badRequest,
                "'\(url.absoluteString)' is not the address of a server; expected one like http://127.0.0.1:8080")
        }
        var address = url.absoluteString
        while address.hasSuffix("/") { address.removeLast() }
        self.init(address: address, credentials: credentials)
    }

    /// Apart from the other, because Swift 6.3.1 can't optimise an initializer that throws in a class with a `Mutex`.
    private init(address: String, credentials: ServerCredentials) {
        self.address = address
        authorization = credentials.authorization
        var configuration = HTTPClient.Configuration()
        configuration.tlsConfiguration = credentials.configuration
        configuration.redirectConfiguration = .disallow
        configuration.httpVersion = .http1Only
        configuration.timeout.connect = .seconds(10)
        // Below the server's idle timeout of a minute. Otherwise a save might be sent while the server closes the
        // connection.
        configuration.connectionPool.idleTimeout = .seconds(30)
        // Reports an unreachable server immediately.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        configuration.timeout.read = .seconds(45)
        streamClient = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    deinit {
        // An engine that was not closed must not crash the process in its deinitializer. The shutdown closes the
        // connections.
        if isOpen {
            for client in [client, streamClient] { _ = client.shutdown() as EventLoopFuture<Void> }
        }
    }

    func close() async {
        let wasClosed = isClosed.withLock { isClosed in
            defer { isClosed = true }
            return isClosed
        }
        if wasClosed { return }
        // This fails only after an earlier shutdown, which is harmless.
        try? await streamClient.shutdown()
        try? await client.shutdown()
    }

    var isOpen: Bool { !isClosed.withLock { $0 } }

    // MARK: Requests

    func get(
        _ path: String, parameters: [String: String] = [:], headers: HTTPHeaders = [:],
        accepting statuses: [HTTPResponseStatus] = [.ok]
    ) async throws -> Answer {
        try await send(.GET, path + Self.query(parameters), headers, body: nil, .reads, statuses)
    }

    /// Asks a service that CloudKit does not have.
    /// - Parameters:
    ///   - place: the path of the environment or database, with a slash at its end; empty for a service of the server.
    ///   - parameters: what the query string says about the client.
    func ask<Request, Answered>(
        _ service: SkylightService<Request, Answered>, _ request: Request, at place: String = "",
        parameters: [String: String] = [:], headers: HTTPHeaders = [:], accepting statuses: [HTTPResponseStatus] = [.ok]
    ) async throws -> Answered {
        let path = "/skylight/1/\(place)\(service.entry.path)"
        var writer = JSONWriter(capacity: 1024)
        writer.object { service.writeRequest(request, &$0) }
        let answer: Answer
        switch service.entry.use {
        case .get:
            answer = try await get(path, parameters: parameters, headers: headers, accepting: statuses)
        // A request without members needs no body.
        case .read where writer.bytes.count == 2: answer = try await get(path, headers: headers)
        case .read, .ask: answer = try await post(path, writer.bytes, headers: headers, .reads)
        case .change: answer = try await post(path, writer.bytes, headers: headers, .saves)
        }
        return try answer.read(service.readAnswer)
    }

    /// Asks a service without members.
    func ask<Answered>(_ service: SkylightService<(), Answered>) async throws -> Answered {
        try await ask(service, ())
    }

    func post(_ path: String, _ body: [UInt8], headers: HTTPHeaders, _ purpose: Purpose) async throws -> Answer {
        guard body.count <= Self.requestLimit else {
            throw RecordError(
                .badRequest,
                "The request has \(body.count) bytes, and the limit is \(Self.requestLimit); split it into smaller requests"
            )
        }
        return try await send(.POST, path, headers, body: ByteBuffer(bytes: body), purpose, [.ok])
    }

    /// The body of a streaming answer.
    func stream(_ path: String, headers: HTTPHeaders) async throws -> HTTPClientResponse.Body {
        try await open(.GET, path, headers: headers, accepting: [.ok]).body
    }

    /// An answer whose body is not read yet.
    /// - Parameter timeout: the time limit for the start of the answer.
    func open(
        _ method: HTTPMethod, _ path: String, headers: HTTPHeaders, body: HTTPClientRequest.Body? = nil,
        timeout: TimeAmount = .seconds(30),
        accepting statuses: [HTTPResponseStatus], purpose: Purpose = .reads
    ) async throws -> HTTPClientResponse {
        var request = request(method, path, headers, body: nil)
        request.body = body
        let response: HTTPClientResponse
        do {
            response = try await streamClient.execute(request, timeout: timeout)
        } catch {
            try Task.checkCancellation()
            throw failure(error, purpose)
        }
        if statuses.contains(response.status) { return response }
        throw try await answer(of: response, purpose).error ?? unexpected(response.status)
    }

    /// The complete body of a small answer.
    func answer(of response: HTTPClientResponse, _ purpose: Purpose) async throws -> Answer {
        let body: ByteBuffer
        do {
            body = try await reading(purpose) { try await PacedBody(response.body).collect(upTo: 1 << 20) }
        } catch let error as BrokenConnection {
            throw failure(error.cause, purpose)
        }
        return try answer(response.status, body)
    }

    private func send(
        _ method: HTTPMethod, _ path: String, _ headers: HTTPHeaders, body: ByteBuffer?, _ purpose: Purpose,
        _ statuses: [HTTPResponseStatus]
    ) async throws -> Answer {
        let request = request(method, path, headers, body: body)
        do {
            return try await exchange(request, purpose, statuses)
        } catch let error as BrokenConnection where purpose == .reads {
            // Most likely an idle connection that the server had just closed.
            do {
                return try await exchange(request, purpose, statuses)
            } catch is BrokenConnection {
                throw failure(error.cause, purpose)
            }
        } catch let error as BrokenConnection {
            throw failure(error.cause, purpose)
        }
    }

    private func exchange(_ request: HTTPClientRequest, _ purpose: Purpose, _ statuses: [HTTPResponseStatus])
        async throws -> Answer
    {
        let (status, body) = try await reading(purpose) { [client] in
            let response = try await client.execute(request, deadline: .distantFuture)
            return (response.status, try await PacedBody(response.body).collect(upTo: Self.answerLimit))
        }
        let answer = try answer(status, body)
        if statuses.contains(status) { return answer }
        throw answer.error ?? unexpected(status)
    }

    private func request(_ method: HTTPMethod, _ path: String, _ headers: HTTPHeaders, body: ByteBuffer?)
        -> HTTPClientRequest
    {
        var request = HTTPClientRequest(url: address + path)
        request.method = method
        request.headers = headers
        request.headers.add(name: "User-Agent", value: SkylightVersion.userAgent)
        if let authorization { request.headers.replaceOrAdd(name: "Authorization", value: authorization) }
        if let body {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(body)
        }
        return request
    }

    private static func query(_ parameters: [String: String]) -> String {
        guard !parameters.isEmpty else { return "" }
        return "?"
            + parameters.sorted { $0.key < $1.key }.map { "\($0.key)=\(PercentEncoding.encoded($0.value))" }.joined(
                separator: "&")
    }

    // MARK: Answers

    func answer(_ status: HTTPResponseStatus, _ body: ByteBuffer) throws -> Answer {
        do {
            return try Answer(Array(body.readableBytesView)[...], from: address)
        } catch {
            throw unexpected(status)
        }
    }

    private func unexpected(_ status: HTTPResponseStatus) -> RecordError {
        RecordError(
            .internalError,
            "The server at \(address) is not a Skylight, or has another version: it sent status \(status.code) without its JSON"
        )
    }

    // MARK: Failures

    private struct BrokenConnection: Error {
        let cause: any Error
    }

    private struct OutOfTime: Error {}

    /// Limits the time of an answer.
    private func reading<Value: Sendable>(_ purpose: Purpose, _ body: @escaping @Sendable () async throws -> Value)
        async throws -> Value
    {
        do {
            return try await withThrowingTaskGroup(of: Value.self) { group in
                group.addTask { try await body() }
                group.addTask {
                    try await Task.sleep(for: Self.patience[purpose] ?? .seconds(120))
                    throw OutOfTime()
                }
                defer { group.cancelAll() }
                guard let value = try await group.next() else { throw CancellationError() }
                return value
            }
        } catch {
            try Task.checkCancellation()
            throw Self.isBroken(error) ? BrokenConnection(cause: error) : failure(error, purpose)
        }
    }

    /// True if an established connection broke.
    private static func isBroken(_ error: any Error) -> Bool {
        if let error = error as? HTTPClientError { return error == .remoteConnectionClosed }
        if let error = error as? IOError { return error.errnoCode != ECONNREFUSED }
        return error is ChannelError
    }

    func failure(_ error: any Error, _ purpose: Purpose) -> any Error {
        if error is RecordError || error is CancellationError { return error }
        if case NIOSSLError.handshakeFailed(let cause) = error { return UntrustedCertificate(reason: "\(cause)") }
        if let error = error as? NIOSSLExtraError, error == .failedToValidateHostname {
            return UntrustedCertificate(reason: "\(error)")
        }
        if !isOpen { return RecordError(.tryAgainLater, "The store is closed", retryAfter: 1) }
        if wasNeverSent(error) {
            return RecordError(
                .tryAgainLater, "No server answers at \(address): \(Self.words(for: error)). Is it running?")
        }
        switch purpose {
        case .reads:
            return RecordError(
                .tryAgainLater, "The connection to \(address) was lost before the response: \(Self.words(for: error))")
        case .saves:
            return RecordError(
                .internalError,
                "The connection to \(address) was lost before the response (\(Self.words(for: error))). It is unknown if the change was made; "
                    + "check before you repeat it")
        }
    }

    /// True if the request certainly did not reach the server.
    private func wasNeverSent(_ error: any Error) -> Bool {
        if let error = error as? HTTPClientError {
            return [.connectTimeout, .getConnectionFromPoolTimeout, .tlsHandshakeTimeout, .alreadyShutdown].contains(
                error)
        }
        if let error = error as? IOError { return error.errnoCode == ECONNREFUSED }
        return error is NIOConnectionError
    }

    private static func words(for error: any Error) -> String {
        switch error {
        case is OutOfTime: "it took too long"
        case let error as HTTPClientError where error == .remoteConnectionClosed: "the server closed it"
        case let error as NIOConnectionError:
            error.connectionErrors.first.map { words(for: $0.error) } ?? "\(error.host) was not found"
        case let error as IOError where error.errnoCode == ECONNREFUSED: "the connection was refused"
        case is NIOTooManyBytesError: "the response is too large; request less"
        default: "\(error)"
        }
    }
}

// MARK: - Calls of one database

/// The connection to one database of a server, for one caller.
struct ServerLine: Sendable {
    /// The root path of the services.
    enum Root: String, Sendable {
        /// CloudKit's services.
        case database
        /// Skylight's own services.
        case skylight
    }

    let server: ServerClient
    /// True if the roles of record types restrict the caller. Skylight's own services do not check roles.
    let isHeldToRoles: Bool
    private let place: String
    private let headers: HTTPHeaders

    init(_ server: ServerClient, to address: DatabaseAddress, as caller: Caller) throws {
        guard caller.userRecordName.isUserRecordName else {
            // The server would read a name of another format as a handle, possibly that of another user.
            throw RecordError(
                .badRequest,
                "'\(caller.userRecordName)' is not a user record name (_ and 32 hexadecimal digits); get the name for a handle from the server"
            )
        }
        guard caller.deviceID.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
            throw RecordError(.badRequest, "The deviceID of the caller contains a control character")
        }
        if caller.access == .anonymous {
            throw RecordError(.badRequest, "A caller without a name can't use another Skylight; use a user")
        }
        self.server = server
        isHeldToRoles = address.scope == .public && caller.access != .unrestricted
        place = "\(address.container)/\(address.environment.rawValue)/\(address.scope.rawValue)"
        var headers: HTTPHeaders = [
            "X-Skylight-Client": "skylight", "X-Skylight-User": caller.userRecordName.string,
            "X-Skylight-Device": caller.deviceID,
        ]
        // Roles do not restrict the owner of the server.
        if caller.access == .unrestricted { headers.add(name: "X-Skylight-Access", value: "owner") }
        self.headers = headers
    }

    /// Skylight services that reveal no more than the protocol's own services.
    private static let harmless: Set<String> = [
        "schema", "token/current", "token/explain", "changes/zones", "changes/page",
    ]

    /// - Throws: `RecordError` ACCESS_DENIED for a service that would bypass the caller's roles.
    private func path(_ root: Root, _ action: String) throws -> String {
        if isHeldToRoles, root == .skylight, !Self.harmless.contains(action) {
            throw RecordError(
                .accessDenied,
                "Another Skylight does not check roles for '\(action)', but the caller is limited by them; use the owner"
            )
        }
        return "/\(root.rawValue)/1/\(place)/\(action)"
    }

    func get(_ action: String, of root: Root, parameters: [String: String] = [:]) async throws -> Answer {
        try await server.get(path(root, action), parameters: parameters, headers: headers)
    }

    /// Sends a request with an object of the written members.
    func post(
        _ action: String, of root: Root, _ purpose: ServerClient.Purpose, _ members: (inout JSONWriter) throws -> Void
    ) async throws -> Answer {
        var writer = JSONWriter(capacity: 1024)
        try writer.object { writer in try members(&writer) }
        return try await server.post(path(root, action), writer.bytes, headers: headers, purpose)
    }

    /// - Parameter lastEventID: the ID of the last event of an earlier stream, after which this one begins; `nil` for
    ///   none.
    func stream(_ action: String, lastEventID: String? = nil) async throws -> HTTPClientResponse.Body {
        var headers = headers
        if let lastEventID { headers.add(name: "Last-Event-ID", value: lastEventID) }
        return try await server.stream(path(.skylight, action), headers: headers)
    }
}

// MARK: - Credentials

/// The credentials for a server, and the way to verify the server's identity.
public struct ServerCredentials: Sendable {
    /// The value of the header `Authorization`.
    let authorization: String?
    /// The trust rule for servers with https.
    let trust: Trust

    enum Trust: Sendable {
        /// Trusts certificates that the system trusts, or one of these.
        case certificates([NIOSSLCertificate])
        /// Trusts the address itself: on this machine, from a file that only its owner can read.
        case place
    }

    private init(authorization: String?, trust: Trust) {
        self.authorization = authorization
        self.trust = trust
    }

    /// For servers without authentication.
    public static let none = ServerCredentials(authorization: nil, trust: .certificates([]))

    /// The secret of a server on this machine, from its data folder.
    public static func secret(_ secret: String) -> ServerCredentials {
        ServerCredentials(authorization: "Bearer \(secret)", trust: .place)
    }

    /// The administrator's password for a remote server, or no password.
    /// - Parameter certificates: additional trusted certificates in PEM format. The server's own certificate is
    ///   sufficient.
    /// - Throws: an error of the TLS library if the certificates are not in PEM format.
    public static func password(_ password: String?, trusting certificates: [UInt8]? = nil) throws -> ServerCredentials
    {
        let authorization = password.map { "Basic " + Data("admin:\($0)".utf8).base64EncodedString() }
        return ServerCredentials(
            authorization: authorization,
            trust: .certificates(try certificates.map { try NIOSSLCertificate.fromPEMBytes($0) } ?? []))
    }

    /// The TLS configuration of the client library.
    var configuration: TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        switch trust {
        case .certificates(let certificates):
            if !certificates.isEmpty { configuration.additionalTrustRoots = [.certificates(certificates)] }
        case .place: configuration.certificateVerification = .none
        }
        return configuration
    }
}

/// The identity of an https server could not be verified.
public struct UntrustedCertificate: Error {
    /// The message of the TLS library.
    public let reason: String
}
