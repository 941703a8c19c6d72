public import HTTPTypes
public import Hummingbird
public import NIOCore
internal import Records
internal import Synchronization

/// The routes of a server, in one table. One lookup by the parts of the path finds the handler of a request.
///
/// Hummingbird's own router splits paths by characters and copies every part and pattern. This one compares slices of
/// the target.
///
/// A pattern such as `/c/{container}/query` has constant and variable parts; constant ones win. Handlers read the parts
/// from ``ServingRequestContext/parts``. A pattern that ends in `**` takes all requests at and below its path that have
/// no route of their own.
public final class Routes: HTTPResponderBuilder {
    public typealias Handler = @Sendable (Request, ServingRequestContext) async throws -> Response
    /// Middleware: it runs around a handler, which is its last argument.
    public typealias Wrapper =
        @Sendable (
            Request, ServingRequestContext, (Request, ServingRequestContext) async throws -> Response
        ) async throws -> Response

    /// The threads on which a handler runs (docs/architecture.md, "Threads").
    public enum Threads: Sendable {
        /// The ``Records/ConcurrencyPool``.
        case pool
        /// The event loop of the connection, if the request has a small body; otherwise the pool. There the handler may
        /// wait for tasks, but not for a disk or a lock, and compute for a millisecond or so.
        case eventLoop
    }

    /// A route, such as `GET /find`.
    public struct Description: Sendable, CustomStringConvertible {
        public let method: HTTPRequest.Method
        public let pattern: String

        public var description: String { "\(method.rawValue) \(pattern)" }
    }

    /// Routes that share middleware.
    public struct Group {
        private let routes: Routes
        private let wrapper: Wrapper

        fileprivate init(_ routes: Routes, _ wrapper: @escaping Wrapper) {
            (self.routes, self.wrapper) = (routes, wrapper)
        }

        public func on(
            _ pattern: String, method: HTTPRequest.Method, threads: Threads = .pool, _ handler: @escaping Handler
        ) {
            routes.on(pattern, method: method, threads: threads, wrapped(handler))
        }

        public func get(_ pattern: String, threads: Threads = .pool, _ handler: @escaping Handler) {
            on(pattern, method: .get, threads: threads, handler)
        }
        public func post(_ pattern: String, _ handler: @escaping Handler) { on(pattern, method: .post, handler) }
        /// Handles the requests without a route.
        public func otherwise(_ handler: @escaping Handler) { routes.notFound = Route(wrapped(handler)) }
        /// Handles the methods of a pattern that have no route.
        public func otherMethods(of pattern: String, threads: Threads = .pool, _ handler: @escaping Handler) {
            routes.otherMethods(of: pattern, Route(wrapped(handler), on: threads))
        }

        private func wrapped(_ handler: @escaping Handler) -> Handler {
            { [wrapper] request, context in try await wrapper(request, context, handler) }
        }
    }

    private static let methods: [HTTPRequest.Method] = [.delete, .get, .options, .patch, .post, .put]

    private var nodes = [RouteNode()]
    private var guards: Guards?
    private var notFound = Route({ _, _ in throw HTTPError(.notFound) }, on: .eventLoop)
    /// All routes. A pattern that accepts any method is listed with the common methods.
    public private(set) var routes: [Description] = []

    public init() {}

    /// Adds the guards of all routes, including those that are added later. For use with
    /// ``HummingbirdCore/HTTPServerBuilder/guardedHTTP1(uploadLimit:idleTimeout:)``.
    func guarded(by guards: Guards) { self.guards = guards }

    public func group(_ wrapper: @escaping Wrapper) -> Group { Group(self, wrapper) }

    /// - Precondition: the pattern has no route for this method yet.
    public func on(
        _ pattern: String, method: HTTPRequest.Method, threads: Threads = .pool, _ handler: @escaping Handler
    ) {
        let node = node(at: pattern)
        precondition(!nodes[node].methods.contains { $0.method == method }, "\(method) \(pattern) already has a route")
        nodes[node].methods.append((method, Route(handler, on: threads)))
        routes.append(Description(method: method, pattern: pattern))
    }

    public func get(_ pattern: String, threads: Threads = .pool, _ handler: @escaping Handler) {
        on(pattern, method: .get, threads: threads, handler)
    }
    public func post(_ pattern: String, threads: Threads = .pool, _ handler: @escaping Handler) {
        on(pattern, method: .post, threads: threads, handler)
    }

    func otherMethods(of pattern: String, _ route: Route) {
        let node = node(at: pattern)
        if pattern.hasSuffix("**") { nodes[node].below = route } else { nodes[node].otherMethods = route }
        for method in Self.methods
        where !nodes[node].methods.contains(where: { $0.method == method }) || pattern.hasSuffix("**") {
            routes.append(Description(method: method, pattern: pattern))
        }
    }

    private func node(at pattern: String) -> Int {
        var current = 0
        for part in pattern.split(separator: "/") where part != "**" {
            let isVariable = part.hasPrefix("{")
            if let next = isVariable ? nodes[current].variable : nodes[current].constants[part] {
                current = next
                continue
            }
            nodes.append(RouteNode())
            if isVariable {
                nodes[current].variable = nodes.count - 1
            } else {
                nodes[current].constants[part] = nodes.count - 1
            }
            current = nodes.count - 1
        }
        return current
    }

    /// The responder for the routes added so far. It answers HEAD wherever GET works.
    public func buildResponder() -> RouteResponder {
        RouteResponder(nodes: nodes, guards: guards, notFound: notFound)
    }
}

/// A part of the table: what follows one part of a path.
struct RouteNode: Sendable {
    var constants: [Substring: Int] = [:]
    var variable: Int?
    var methods: [(method: HTTPRequest.Method, route: Route)] = []
    var otherMethods: Route?
    var below: Route?
}

/// A handler and the threads on which it runs.
struct Route: Sendable {
    let handler: Routes.Handler
    let threads: Routes.Threads

    init(_ handler: @escaping Routes.Handler, on threads: Routes.Threads = .pool) {
        (self.handler, self.threads) = (handler, threads)
    }
}

/// Answers requests with ``Routes``.
///
/// HEAD is answered like GET without the body, because the routes only know GET. The body is not generated, so
/// even endless streams are cheap. Ranges apply to GET only (RFC 9110, 14.2), so HEAD ignores them.
public struct RouteResponder: HTTPResponder {
    public typealias Context = ServingRequestContext

    /// One of so many requests leaves its event loop, however brief it is. Otherwise a client that sends many without
    /// waiting for the answers would keep the loop from its other connections.
    private static let requestsInTurn = 16
    private static let briefRequests = Atomic(0)

    let nodes: [RouteNode]
    let guards: Guards?
    let notFound: Route

    public func respond(to request: Request, context: ServingRequestContext) async throws -> Response {
        var response = try await response(to: request, context)
        response.body = response.body.leavingEventLoop
        return response
    }

    private func response(to request: Request, _ context: ServingRequestContext) async throws -> Response {
        if let response = try await guards?.passedOn(request, context) { return response }
        guard request.method == .head else { return try await answer(request, context) }
        var (head, context) = (request.head, context)
        head.method = .get
        head.headerFields[.range] = nil
        context.isHead = true
        var response = try await answer(Request(head: head, body: request.body), context)
        response.body = ResponseBody(contentLength: response.body.contentLength) { writer in
            try await writer.finish(nil)
        }
        return response
    }

    private func answer(_ request: Request, _ context: ServingRequestContext) async throws -> Response {
        var context = context
        // A part that cannot be decoded has no route.
        let sent = request.rawPathParts
        let parts = request.decoded(sent)
        context.parts = parts ?? []
        let route = route(of: request.method, at: sent, isDecoded: parts != nil)
        context.isOnEventLoop = Self.staysOnEventLoop(request, route)
        if context.isOnEventLoop { return try await answer(request, context, with: route.handler) }
        return try await ConcurrencyPool.run { [context] in try await answer(request, context, with: route.handler) }
    }

    private static func staysOnEventLoop(_ request: Request, _ route: Route) -> Bool {
        guard route.threads == .eventLoop, request.hasSmallBody else { return false }
        return briefRequests.add(1, ordering: .relaxed).newValue % requestsInTurn != 0
    }

    private func answer(_ request: Request, _ context: ServingRequestContext, with handler: Routes.Handler)
        async throws -> Response
    {
        guard let guards else { return try await handler(request, context) }
        return try await guards.answer(request, context, handler)
    }

    /// Constant parts are compared as sent, because the guards look at the path as sent too.
    /// - Parameter isDecoded: false if a part of the path cannot be decoded. Then the route for all paths below the
    ///   first part applies.
    private func route(of method: HTTPRequest.Method, at parts: [Substring], isDecoded: Bool) -> Route {
        if !isDecoded, let root = parts.first {
            return nodes[0].constants[root].flatMap { nodes[$0].below } ?? notFound
        }
        var (current, below) = (0, nodes[0].below)
        for part in parts {
            guard let next = nodes[current].constants[part] ?? nodes[current].variable else { return below ?? notFound }
            current = next
            below = nodes[current].below ?? below
        }
        return nodes[current].methods.first { $0.method == method }?.route ?? nodes[current].otherMethods ?? below
            ?? notFound
    }
}

// MARK: - Context of a request

/// The context of a request on its way through guards, web services and console.
public struct ServingRequestContext: RequestContext {
    public var coreContext: CoreRequestContextStorage
    /// The connection of the request. It is closed after some refusals.
    public let channel: any Channel
    /// The time at which the head of the request arrived.
    public let started: ContinuousClock.Instant
    /// The identifier of the request, a lower-case UUID. Error answers return it as `uuid`.
    public let requestID: String
    /// The parts of the request's path, percent-decoded.
    public internal(set) var parts: [Substring] = []
    /// True for HEAD, which is answered like GET.
    public internal(set) var isHead = false
    /// True if the handler runs on the event loop of the connection.
    public internal(set) var isOnEventLoop = false

    public init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
        started = .now
        requestID = Self.randomID()
    }

    /// A random UUID of version 4 (RFC 9562), written once.
    private static func randomID() -> String {
        var random = SystemRandomNumberGenerator()
        // The version and the variant have fixed bits.
        let (high, low) = (random.next() & ~0xF000 | 0x4000, random.next() & ~(3 << 62) | 1 << 63)
        return String(unsafeUninitializedCapacity: 36) { text in
            var digit = 0
            for index in 0..<36 {
                if index == 8 || index == 13 || index == 18 || index == 23 {
                    text[index] = UInt8(ascii: "-")
                    continue
                }
                let value = UInt8(truncatingIfNeeded: (digit < 16 ? high : low) >> UInt64(60 - digit % 16 * 4)) & 0xF
                text[index] = value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
                digit += 1
            }
            return 36
        }
    }
}

extension ServingRequestContext {
    /// True if the request comes from this machine: the connection is local, and no reverse proxy forwarded the request
    /// (RFC 7239).
    public func isFromThisMachine(_ request: Request) -> Bool {
        Self.isThisMachine(channel.remoteAddress) && !request.isForwarded
    }

    /// The IP address of the client, without a port; empty if the connection has none.
    public var peer: String { channel.remoteAddress?.ipAddress ?? "" }

    /// True if an address is local: loopback (RFC 1122, 3.2.1.3; RFC 4291, 2.5.3) or a Unix domain socket.
    static func isThisMachine(_ address: SocketAddress?) -> Bool {
        switch address {
        case .v4?, .v6?:
            guard let text = address?.ipAddress else { return false }
            return text == "::1" || text.hasPrefix("127.") || text.hasPrefix("::ffff:127.")
        case .unixDomainSocket?: return true
        case nil: return false
        }
    }
}

extension Request {
    /// True if a proxy's header says that it forwarded the request.
    fileprivate var isForwarded: Bool {
        headers.contains(.forwarded) || headers.contains(.xForwardedFor)
    }
}

// MARK: - Paths

extension Request {
    /// The target without its query, as sent. Unlike `uri.path`, it copies nothing.
    public var path: Substring {
        let target = head.path ?? ""
        guard let mark = target.firstIndex(ofByte: UInt8(ascii: "?")) else { return target[...] }
        return target[..<mark]
    }

    /// True if the target has a query.
    public var hasQuery: Bool { head.path?.firstIndex(ofByte: UInt8(ascii: "?")) != nil }

    /// The value of a query parameter, percent-decoded; `nil` if it is missing.
    public func queryParameter(_ name: String) -> String? {
        hasQuery ? uri.queryParameters[name[...]].map(String.init) : nil
    }

    /// The parts of the path between slashes, percent-decoded. Empty parts are omitted. `nil` if a part cannot be
    /// decoded.
    public var pathParts: [Substring]? { decoded(rawPathParts) }

    /// Percent-decodes ``rawPathParts``; `nil` if a part cannot be decoded.
    fileprivate func decoded(_ parts: [Substring]) -> [Substring]? {
        if path.firstIndex(ofByte: UInt8(ascii: "%")) == nil { return parts }
        let decoded = parts.compactMap { PercentEncoding.decoded($0)?[...] }
        return decoded.count == parts.count ? decoded : nil
    }

    /// The parts of the path as sent.
    public var rawPathParts: [Substring] {
        let (path, slash) = (path, UInt8(ascii: "/"))
        // Bytes in memory are split faster than a view of them, and each request is.
        let offsets = path.utf8.withContiguousStorageIfAvailable { bytes in
            bytes.split(separator: slash).map { $0.startIndex..<$0.endIndex }
        }
        guard let offsets else { return path.utf8.split(separator: slash).map { Substring($0) } }
        func index(_ offset: Int) -> Substring.Index { path.utf8.index(path.startIndex, offsetBy: offset) }
        return offsets.map { path[index($0.lowerBound)..<index($0.upperBound)] }
    }

    private static let webServiceRoots = ["/assets", "/database", "/device", "/skylight"]

    /// True for the paths of the web services and of assets. Clients of the web services only read JSON.
    public var isWebServiceRequest: Bool {
        let path = path.utf8
        return Self.webServiceRoots.contains { root in
            guard path.starts(with: root.utf8) else { return false }
            let next = path.dropFirst(root.utf8.count).first
            return next == nil || next == UInt8(ascii: "/")
        }
    }
}

extension StringProtocol {
    /// The place of the first such byte; `nil` if there is none. `utf8.firstIndex(of:)` takes ten times as long, and each
    /// request looks for some.
    package func firstIndex(ofByte byte: UInt8) -> Index? {
        guard let offset = utf8.withContiguousStorageIfAvailable({ $0.firstIndex(of: byte) }) else {
            return utf8.firstIndex(of: byte)
        }
        return offset.map { utf8.index(utf8.startIndex, offsetBy: $0) }
    }
}

// MARK: - Queries

/// The query of a request target exactly as sent: a plus sign stays a plus sign instead of a space.
///
/// Base64 has plus signs, and some clients do not percent-encode those in their tokens.
public struct SentQuery: Sendable {
    public struct Parameter: Sendable, Hashable {
        /// The value as sent.
        public let sent: String
        /// The percent-decoded value.
        public let value: String
    }

    private let parameters: [(name: String, parameter: Parameter)]

    public init(_ request: Request) {
        self.init(target: request.head.path ?? "")
    }

    /// - Parameter target: a path, with an optional query after the first question mark.
    public init(target: String) {
        guard let mark = target.firstIndex(ofByte: UInt8(ascii: "?")) else {
            parameters = []
            return
        }
        parameters = target.utf8[mark...].dropFirst().split(separator: UInt8(ascii: "&")).map { part in
            let sides = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false).map {
                String(Substring($0))
            }
            let sent = sides.count > 1 ? sides[1] : ""
            return (Self.decoded(sides[0]), Parameter(sent: sent, value: Self.decoded(sent)))
        }
    }

    /// True if the target has no parameters.
    public var isEmpty: Bool { parameters.isEmpty }

    /// The first parameter of this name with a non-empty value.
    public subscript(name: String) -> Parameter? {
        parameters.first { $0.name == name && !$0.parameter.value.isEmpty }?.parameter
    }

    /// The percent-decoded text; unchanged if it cannot be decoded to UTF-8.
    private static func decoded(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "%")) else { return text }
        return String(validating: PercentEncoding.bytes(of: text.utf8).bytes, as: UTF8.self) ?? text
    }
}
