public import HTTPTypes
public import Hummingbird
internal import NIOCore

/// The routes of a server, in one table. One lookup by the parts of the path finds the handler of a request.
///
/// Hummingbird's own router splits paths by characters and copies every part and pattern. This one compares slices of the target.
///
/// A pattern such as `/c/{container}/query` has constant and variable parts; constant ones win. Handlers read the parts
/// from ``ServingRequestContext/parts``. A pattern that ends in `**` takes all requests at and below its path that have no route of their own.
public final class Routes: HTTPResponderBuilder {
    public typealias Handler = @Sendable (Request, ServingRequestContext) async throws -> Response
    /// Work around handlers. Its last argument is the handler.
    public typealias Wrapper = @Sendable (
        Request, ServingRequestContext, (Request, ServingRequestContext) async throws -> Response
    ) async throws -> Response

    /// A route, such as `GET /find`.
    public struct Description: Sendable, CustomStringConvertible {
        public let method: HTTPRequest.Method
        public let pattern: String

        public var description: String { "\(method.rawValue) \(pattern)" }
    }

    /// Routes with common work around their handlers.
    public struct Group {
        private let routes: Routes
        private let wrapper: Wrapper

        fileprivate init(_ routes: Routes, _ wrapper: @escaping Wrapper) {
            (self.routes, self.wrapper) = (routes, wrapper)
        }

        public func on(_ pattern: String, method: HTTPRequest.Method, _ handler: @escaping Handler) {
            routes.on(pattern, method: method, wrapped(handler))
        }

        public func get(_ pattern: String, _ handler: @escaping Handler) { on(pattern, method: .get, handler) }
        public func post(_ pattern: String, _ handler: @escaping Handler) { on(pattern, method: .post, handler) }
        /// Handles the requests without a route.
        public func otherwise(_ handler: @escaping Handler) { routes.notFound = wrapped(handler) }
        /// Handles the methods of a pattern that have no route.
        public func otherMethods(of pattern: String, _ handler: @escaping Handler) { routes.otherMethods(of: pattern, wrapped(handler)) }

        private func wrapped(_ handler: @escaping Handler) -> Handler {
            { [wrapper] request, context in try await wrapper(request, context, handler) }
        }
    }

    private static let methods: [HTTPRequest.Method] = [.delete, .get, .options, .patch, .post, .put]

    private var nodes = [RouteNode()]
    private var guards: Guards?
    private var notFound: Handler = { _, _ in throw HTTPError(.notFound) }
    /// All routes. A pattern that takes any method is listed with the common ones.
    public private(set) var routes: [Description] = []

    public init() {}

    /// Guards all routes, whenever they are added. For use with ``HummingbirdCore/HTTPServerBuilder/guardedHTTP1(uploadLimit:idleTimeout:)``.
    func guarded(by guards: Guards) { self.guards = guards }

    public func group(_ wrapper: @escaping Wrapper) -> Group { Group(self, wrapper) }

    /// - Precondition: the pattern has no route for this method yet.
    public func on(_ pattern: String, method: HTTPRequest.Method, _ handler: @escaping Handler) {
        let node = node(at: pattern)
        precondition(!nodes[node].handlers.contains { $0.method == method }, "\(method) \(pattern) already has a route")
        nodes[node].handlers.append((method, handler))
        routes.append(Description(method: method, pattern: pattern))
    }

    public func get(_ pattern: String, _ handler: @escaping Handler) { on(pattern, method: .get, handler) }
    public func post(_ pattern: String, _ handler: @escaping Handler) { on(pattern, method: .post, handler) }

    func otherMethods(of pattern: String, _ handler: @escaping Handler) {
        let node = node(at: pattern)
        if pattern.hasSuffix("**") { nodes[node].below = handler } else { nodes[node].otherMethods = handler }
        for method in Self.methods where !nodes[node].handlers.contains(where: { $0.method == method }) || pattern.hasSuffix("**") {
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
            if isVariable { nodes[current].variable = nodes.count - 1 } else { nodes[current].constants[part] = nodes.count - 1 }
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
    var handlers: [(method: HTTPRequest.Method, handler: Routes.Handler)] = []
    var otherMethods: Routes.Handler?
    var below: Routes.Handler?
}

/// Answers requests with ``Routes``.
///
/// HEAD is answered like GET without the body, because the routes only know GET. The body is not generated, so
/// even endless streams are cheap. Ranges apply to GET only (RFC 9110, 14.2), so HEAD ignores them.
public struct RouteResponder: HTTPResponder {
    public typealias Context = ServingRequestContext

    let nodes: [RouteNode]
    let guards: Guards?
    let notFound: Routes.Handler

    public func respond(to request: Request, context: ServingRequestContext) async throws -> Response {
        guard request.method == .head else { return try await answer(request, context) }
        var (head, context) = (request.head, context)
        head.method = .get
        head.headerFields[.range] = nil
        context.isHead = true
        var response = try await answer(Request(head: head, body: request.body), context)
        response.body = ResponseBody(contentLength: response.body.contentLength) { writer in try await writer.finish(nil) }
        return response
    }

    private func answer(_ request: Request, _ context: ServingRequestContext) async throws -> Response {
        var context = context
        // A part that does not decode has no route of its own.
        let parts = request.pathParts
        context.parts = parts ?? []
        let handler = handler(of: request.method, at: request.rawPathParts, isDecoded: parts != nil)
        guard let guards else { return try await handler(request, context) }
        return try await guards.answer(request, context, handler)
    }

    /// Constant parts are compared as sent, because the guards look at the path as sent too.
    /// - Parameter isDecoded: `false` if a part does not decode. Such a path meets the handler below its first part.
    private func handler(of method: HTTPRequest.Method, at parts: [Substring], isDecoded: Bool) -> Routes.Handler {
        if !isDecoded, let root = parts.first { return nodes[0].constants[root].flatMap { nodes[$0].below } ?? notFound }
        var (current, below) = (0, nodes[0].below)
        for part in parts {
            guard let next = nodes[current].constants[part] ?? nodes[current].variable else { return below ?? notFound }
            current = next
            below = nodes[current].below ?? below
        }
        return nodes[current].handlers.first { $0.method == method }?.handler ?? nodes[current].otherMethods ?? below ?? notFound
    }
}
