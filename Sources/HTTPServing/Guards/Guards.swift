public import Accounts
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import Records

/// The middleware of all routes: guards of host and origin, CORS, error answers, memory limits, compression, security
/// headers and timing.
struct Guards: Sendable {
    let hosts: HostGuard
    let origins: OriginGuard
    let crossOrigin: CrossOrigin
    /// True if connections are encrypted.
    let isSecure: Bool
    let budget: MemoryBudget
    /// True to serve only CloudKit's protocol.
    let protocolOnly: Bool
    /// The requests that are passed on; `nil` to answer all.
    let passing: PassingOn?

    /// Passes a request on, if it is one of those.
    ///
    /// Its target and host are checked. Whose pages may send it is for the other server to decide.
    func passedOn(_ sent: Request, _ context: ServingRequestContext) async throws -> Response? {
        let request = isSecure ? sent.overTLS : sent
        guard let passing, hosts.standIn(for: request), passing.covers(request) else { return nil }
        let memory = RequestMemory(of: budget)
        var response: Response
        do {
            try hosts.check(request)
            // Whole bodies are read, decoded and noted.
            response = try await ConcurrencyPool.run {
                try await RequestMemory.$current.withValue(memory) { try await passing.answer(request, context) }
            }
        } catch {
            response = try FailureReport.answer(to: error, of: request, context)
        }
        if response.isPassedOn { return response }
        // Errors and rehearsals contain no data, and the page could not read them otherwise.
        if let origin = request.headers[.origin] {
            response.headers[.accessControlAllowOrigin] = origin
            response.headers[.accessControlAllowCredentials] = "true"
        }
        SecurityHeaders.add(to: &response.headers)
        return response
    }

    func answer(_ sent: Request, _ context: ServingRequestContext, _ handler: Routes.Handler) async throws -> Response {
        let request = isSecure ? sent.overTLS : sent
        let memory = RequestMemory(of: budget)
        var response: Response
        do {
            try hosts.check(request)
            try origins.check(request)
            response = try await RequestMemory.$current.withValue(memory) {
                guard protocolOnly else { return try await handle(request, context, handler) }
                return try await ProtocolOnly.answer(request, context) { try await handle($0, $1, handler) }
            }
        } catch {
            // Errors become answers here, so that error answers get the headers too.
            response = try FailureReport.answer(to: error, of: request, context)
        }
        crossOrigin.add(to: &response.headers, for: request)
        response = memory.hold(response, on: context.channel.eventLoop)
        Compression.apply(to: &response, for: request)
        SecurityHeaders.add(to: &response.headers)
        if protocolOnly {
            ProtocolOnly.removeOwn(from: &response.headers)
            return response
        }
        response.headers.append(HTTPField(name: .serverTiming, value: Self.milliseconds(since: context.started)))
        return response
    }

    private func handle(_ request: Request, _ context: ServingRequestContext, _ handler: Routes.Handler) async throws
        -> Response
    {
        if request.method == .options, CrossOrigin.covers(request) { return crossOrigin.preflight(request) }
        return try await handler(request, context)
    }

    /// The server's processing time in milliseconds with two decimals, which browsers show in their network view.
    private static func milliseconds(since start: ContinuousClock.Instant) -> String {
        let (seconds, attoseconds) = (ContinuousClock.now - start).components
        let hundredths = seconds * 100_000 + (attoseconds + 5_000_000_000_000) / 10_000_000_000_000
        let (whole, rest) = hundredths.quotientAndRemainder(dividingBy: 100)
        return "total;dur=\(whole).\(rest < 10 ? "0" : "")\(rest)"
    }
}

extension Request {
    /// The same request with the scheme `https`, so that addresses made from it are correct.
    var overTLS: Request {
        var head = head
        head.scheme = "https"
        return Request(head: head, body: body)
    }
}

extension Routes {
    /// Adds the guards of all routes.
    /// - Parameters:
    ///   - accounts: the accounts whose API tokens list accepted origins; `nil` to accept none from tokens.
    ///   - isSecure: true if connections are encrypted.
    ///   - memory: the memory limit of all requests and answers together.
    ///   - protocolOnly: true to serve only CloudKit's protocol, as a stand-in for iCloud.
    ///   - passing: the requests for hosts of others that are passed on; `nil` to answer all.
    public func addGuards(
        trusting trusted: TrustedSites, tokensOf accounts: Accounts? = nil, isSecure: Bool = false,
        memory: MemoryBudget = MemoryBudget(),
        protocolOnly: Bool = false, passingOn passing: PassingOn? = nil
    ) {
        let origins = PageOrigins(trusting: trusted, tokensOf: accounts)
        guarded(
            by: Guards(
                hosts: HostGuard(trusting: trusted), origins: OriginGuard(admitting: origins),
                crossOrigin: CrossOrigin(origins: origins),
                isSecure: isSecure, budget: memory, protocolOnly: protocolOnly, passing: passing))
    }
}

// MARK: - CloudKit's protocol only

/// Restricts a server to CloudKit's protocol, so that it can stand in for iCloud in tests of clients.
///
/// It only serves CloudKit's services, its web courier, asset files, and the page where users sign in. Every other path
/// is not found. Answers contain no members and headers that CloudKit does not have, and Skylight's own request headers
/// have no effect.
enum ProtocolOnly {
    /// The first parts of the served paths. The sign-in page needs a style sheet and scripts.
    private static let roots: Set<Substring> = ["database", "device", "aps", "assets", "sign-in", "static"]
    private static let prefix = "x-skylight-"

    /// True for the paths that are served.
    static func serves(_ request: Request) -> Bool {
        (request.pathParts ?? request.rawPathParts).first.map(roots.contains) ?? false
    }

    static func answer(_ sent: Request, _ context: ServingRequestContext, _ handler: Routes.Handler) async throws
        -> Response
    {
        guard serves(sent) else { return Response(status: .notFound) }
        var head = sent.head
        // Fault injection is kept, so that a proxy between the client and this server can request it.
        for field in head.headerFields where isOwn(field.name) && field.name != .skylightRehearse {
            head.headerFields[field.name] = nil
        }
        let request = Request(head: head, body: sent.body)
        return try await Asset.$showsFileName.withValue(false) { try await handler(request, context) }
    }

    static func removeOwn(from headers: inout HTTPFields) {
        for field in headers where isOwn(field.name) { headers[field.name] = nil }
        guard let exposed = headers[.accessControlExposeHeaders] else { return }
        let kept = exposed.split(separator: ", ").filter {
            !$0.lowercased().hasPrefix(prefix) && $0 != HTTPField.Name.serverTiming.rawName
        }
        headers[.accessControlExposeHeaders] = kept.joined(separator: ", ")
    }

    private static func isOwn(_ name: HTTPField.Name) -> Bool { name.canonicalName.hasPrefix(prefix) }
}

// MARK: - Security headers

/// Restricts pages in browsers: only the server's own scripts and styles, no frames, no content sniffing.
public enum SecurityHeaders {
    /// Forbids inline code and content from other origins.
    public static let contentSecurityPolicy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; font-src 'self'; connect-src 'self'; "
        + "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

    private static let fields: HTTPFields = [
        .contentSecurityPolicy: contentSecurityPolicy, .xContentTypeOptions: "nosniff", .xFrameOptions: "DENY",
        .referrerPolicy: "same-origin",
        .crossOriginOpenerPolicy: "same-origin",
    ]

    /// Adds the headers. Headers that a handler set do not change.
    static func add(to headers: inout HTTPFields) {
        for field in fields where !headers.contains(field.name) { headers.append(field) }
    }
}
