internal import AsyncHTTPClient
internal import CloudKitClient
internal import Foundation
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL
internal import Records

/// The connection to a server: sends requests and decodes answers.
struct ServerClient: Sendable {
    /// The purpose of a request, which determines the reaction to a broken connection.
    typealias Purpose = ServiceCall.Effect

    /// The time limit for the complete answer to a change; for a read, that of the configuration.
    private static let patience: Duration = .seconds(600)

    /// The address without a trailing slash.
    let address: String
    private let exchanger: Exchanger
    private let options: CallOptions

    /// - Throws: `RecordError` BAD_REQUEST if the address is not one of a server.
    init(url: URL, credentials: ServerCredentials = .none) throws {
        var configuration = ClientConfiguration(address: url.absoluteString)
        while configuration.address.hasSuffix("/") { configuration.address.removeLast() }
        configuration.trust = credentials.trust
        configuration.dialect = .skylight
        configuration.repetition = .brokenReadOnce
        configuration.requestLimit = 32 << 20
        // The largest page of a server is far smaller.
        configuration.answerLimit = 512 << 20
        // Services may be silent until the time is up. Streams have a keep-alive message every 15 seconds.
        configuration.idleTimeout = Self.patience
        configuration.fileIdleTimeout = .seconds(45)
        configuration.connections = 64
        do {
            exchanger = try Exchanger(
                configuration, credentials: .none,
                logger: Logger(label: "skylight") { _ in SwiftLogNoOpLogHandler() })
        } catch {
            throw RecordError(
                .badRequest,
                "'\(url.absoluteString)' is not the address of a server; expected one like http://127.0.0.1:8080")
        }
        address = configuration.address
        var options = CallOptions()
        if let authorization = credentials.authorization {
            options.headers.add(name: "Authorization", value: authorization)
        }
        self.options = options
    }

    func close() async { await exchanger.close() }

    var isOpen: Bool { exchanger.isOpen }

    // MARK: Requests

    func get(
        _ path: String, parameters: [String: String] = [:], headers: HTTPHeaders = [:],
        accepting statuses: Set<Int> = []
    ) async throws -> Answer {
        try await call(
            ServiceCall(
                path, under: "", parameters: parameters.sorted { $0.key < $1.key }.map { ($0.key, $0.value) },
                accepting: statuses), headers)
    }

    /// Asks a service that CloudKit does not have.
    /// - Parameters:
    ///   - place: the path of the environment or database, with a slash at its end; empty for a service of the server.
    ///   - parameters: what the query string says about the client.
    func ask<Request, Answered>(
        _ service: SkylightService<Request, Answered>, _ request: Request, at place: String = "",
        parameters: [String: String] = [:], headers: HTTPHeaders = [:], accepting statuses: Set<Int> = []
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
        try await call(ServiceCall(path, under: "", purpose, body: body), headers)
    }

    private func call(_ call: ServiceCall, _ headers: HTTPHeaders) async throws -> Answer {
        try await asking {
            Answer(try await exchanger.perform(call, options(for: call.effect, headers)).object, from: self)
        }
    }

    private func options(for purpose: Purpose, _ headers: HTTPHeaders) -> CallOptions {
        var options = options
        options.headers.add(contentsOf: headers)
        if purpose != .reads { options.deadline = .now + Self.patience }
        return options
    }

    /// A database of the server, for requests of CloudKit's protocol. They throw ``CloudKitFailure``.
    func database(_ address: DatabaseAddress, _ purpose: Purpose, headers: HTTPHeaders = [:]) -> DatabaseClient {
        let client = ContainerClient(address.container, address.environment, over: exchanger)
            .database(address.scope).with(options.headers).with(headers)
        return purpose == .reads ? client : client.until(.now + Self.patience)
    }

    // MARK: Streams

    /// The body of a streaming answer.
    func stream(_ path: String, headers: HTTPHeaders = [:], body: [UInt8]? = nil) async throws
        -> HTTPClientResponse.Body
    {
        try await asking {
            try await exchanger.open(
                ServiceCall(path, under: "", body: body), options(for: .reads, headers), within: .seconds(30))
        }
    }

    /// Streams lines of JSON.
    func lines(_ path: String, _ body: [UInt8]? = nil) async throws -> AsyncThrowingStream<Answer, any Error> {
        let parts = try await stream(path, body: body)
        let (lines, continuation) = AsyncThrowingStream.makeStream(of: Answer.self)
        let reading = Task {
            do {
                var rest = ByteBuffer()
                for try await part in parts {
                    rest.writeImmutableBuffer(part)
                    while let end = rest.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) {
                        let line = rest.readBytes(length: end - rest.readerIndex) ?? []
                        rest.moveReaderIndex(forwardBy: 1)
                        guard case .object(let object)? = try? JSONReader.value(of: line) else {
                            throw unexpected(status: 200)
                        }
                        continuation.yield(Answer(object, from: self))
                    }
                    rest.discardReadBytes()
                }
                continuation.finish()
            } catch let error as RecordError {
                continuation.finish(throwing: error)
            } catch {
                let failure = exchanger.failure(error, reading: path)
                continuation.finish(throwing: (failure as? CloudKitFailure).map { self.error($0) } ?? failure)
            }
        }
        continuation.onTermination = { _ in reading.cancel() }
        return lines
    }

    // MARK: Failures

    /// Runs requests, and throws their failures as `RecordError` or ``UntrustedCertificate``.
    func asking<Value>(_ request: () async throws -> Value) async throws -> Value {
        do {
            return try await request()
        } catch let failure as CloudKitFailure {
            try Task.checkCancellation()
            throw error(failure)
        }
    }

    private func error(_ failure: CloudKitFailure) -> any Error {
        if !isOpen { return RecordError(.tryAgainLater, "The store is closed", retryAfter: 1) }
        switch failure.kind {
        case .refused(let error), .signInRequired(let error), .throttled(let error):
            // Only a server of another kind sends a status without its error.
            if let status = failure.status, error.codeName == ServerError.unavailable {
                return unexpected(status: status)
            }
            return self.error(error)
        case .untrusted(let reason): return UntrustedCertificate(reason: reason)
        case .unreachable(let reason):
            return RecordError(.tryAgainLater, "No server answers at \(address): \(reason). Is it running?")
        case .invalidRequest(let reason): return RecordError(.badRequest, reason)
        case .unexpectedAnswer(200, let reason): return unexpected(reason)
        case .unexpectedAnswer(let status, _), .assetRefused(let status): return unexpected(status: status)
        case .connectionLost(let reason), .answerLost(let reason):
            if let status = failure.status { return status == 200 ? unexpected(reason) : unexpected(status: status) }
            if case .answerLost = failure.kind { return changeLost(reason) }
            return RecordError(.tryAgainLater, "The connection to \(address) was lost before the response: \(reason)")
        case .answerTooLarge:
            return RecordError(
                .tryAgainLater,
                "The connection to \(address) was lost before the response: the response is too large; request less")
        case .closed, .cancelled: return RecordError(.tryAgainLater, "\(failure)")
        }
    }

    /// The error of an item of an answer, with the server's words. An unknown code is an error of the server, not of
    /// the caller.
    func error(_ error: ServerError) -> RecordError {
        RecordError(
            error.code ?? .internalError, error.reason, retryAfter: error.retryAfter.map { Int($0.components.seconds) })
    }

    /// The error for a change whose answer is missing.
    func changeLost(_ reason: String) -> RecordError {
        RecordError(
            .internalError,
            "The connection to \(address) was lost before the response (\(reason)). It is unknown if the change was made; "
                + "check before you repeat it")
    }

    private func unexpected(status: Int) -> RecordError {
        unexpected(saying: "it sent status \(status) without its JSON")
    }

    /// The error for an answer in an unexpected format.
    func unexpected(_ what: String) -> RecordError { unexpected(saying: "expected \(what)") }

    func unexpected(saying reason: String) -> RecordError {
        RecordError(.internalError, "The server at \(address) is not a Skylight, or has another version: \(reason)")
    }
}

// MARK: - Calls of one database

/// The connection to one database of a server, for one caller.
struct ServerLine: Sendable {
    /// The root path of the services.
    typealias Root = DatabaseClient.Services

    let server: ServerClient
    /// True if the roles of record types restrict the caller. Skylight's own services do not check roles.
    let isHeldToRoles: Bool
    private let address: DatabaseAddress
    private let headers: HTTPHeaders

    init(_ server: ServerClient, to address: DatabaseAddress, as caller: Caller) throws {
        guard caller.userRecordName.isUserRecordName else {
            // The server would read a name of another format as a handle, possibly that of another user.
            throw RecordError(
                .badRequest,
                "'\(caller.userRecordName)' is not a user record name (_ and 32 hexadecimal digits); get the name for a handle from the server"
            )
        }
        if caller.deviceID.unicodeScalars.contains(where: \.isControl) {
            throw RecordError(.badRequest, "The deviceID of the caller contains a control character")
        }
        if caller.access == .anonymous {
            throw RecordError(.badRequest, "A caller without a name can't use another Skylight; use a user")
        }
        self.server = server
        isHeldToRoles = address.scope == .public && caller.access != .unrestricted
        self.address = address
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

    /// A client for requests of the protocol.
    func client(_ purpose: ServerClient.Purpose) -> DatabaseClient {
        server.database(address, purpose, headers: headers)
    }

    /// - Throws: `RecordError` ACCESS_DENIED for a service of Skylight that would bypass the caller's roles.
    func allow(_ action: String) throws {
        if isHeldToRoles, !Self.harmless.contains(action) {
            throw RecordError(
                .accessDenied,
                "Another Skylight does not check roles for '\(action)', but the caller is limited by them; use the owner"
            )
        }
    }

    private func path(_ root: Root, _ action: String) throws -> String {
        if root == .skylight { try allow(action) }
        return client(.reads).root(of: root) + action
    }

    func get(_ action: String, of root: Root, parameters: [String: String] = [:]) async throws -> Answer {
        try await server.get(path(root, action), parameters: parameters, headers: headers)
    }

    /// Asks a service of the database that CloudKit does not have.
    func ask<Request, Answered>(
        _ service: SkylightService<Request, Answered>, _ request: Request, parameters: [String: String] = [:]
    ) async throws -> Answered {
        try allow(service.entry.path)
        return try await server.ask(
            service, request, at: "\(address.container)/\(address.environment.rawValue)/\(address.scope.rawValue)/",
            parameters: parameters, headers: headers)
    }

    /// Asks a service without members.
    func ask<Answered>(_ service: SkylightService<(), Answered>) async throws -> Answered {
        try await ask(service, ())
    }

    /// Sends a request with an object of the written members.
    func post(
        _ action: String, of root: Root, _ purpose: ServerClient.Purpose, _ members: (inout JSONWriter) throws -> Void
    ) async throws -> Answer {
        var writer = JSONWriter(capacity: 1024)
        try await server.asking { try writer.object { writer in try members(&writer) } }
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
    let trust: ClientConfiguration.Trust

    private init(authorization: String?, trust: ClientConfiguration.Trust) {
        self.authorization = authorization
        self.trust = trust
    }

    /// For servers without authentication.
    public static let none = ServerCredentials(authorization: nil, trust: .certificates(nil))

    /// The secret of a server on this machine, from its data folder.
    public static func secret(_ secret: String) -> ServerCredentials {
        // The address is from a file that only its owner can read.
        ServerCredentials(authorization: "Bearer \(secret)", trust: .address)
    }

    /// The administrator's password for a remote server, or no password.
    /// - Parameter certificates: additional trusted certificates in PEM format. The server's own certificate is
    ///   sufficient.
    /// - Throws: an error of the TLS library if the certificates are not in PEM format.
    public static func password(_ password: String?, trusting certificates: [UInt8]? = nil) throws -> ServerCredentials
    {
        let authorization = password.map { "Basic " + Data("admin:\($0)".utf8).base64EncodedString() }
        if let certificates { _ = try NIOSSLCertificate.fromPEMBytes(certificates) }
        return ServerCredentials(authorization: authorization, trust: .certificates(certificates))
    }
}

/// The identity of an https server could not be verified.
public struct UntrustedCertificate: Error {
    /// The message of the TLS library.
    public let reason: String
}
