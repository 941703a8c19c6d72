import HTTPServing
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import Testing

/// One table finds the handler of a request.
@Suite("Routes")
struct RoutesTests {
    /// A table whose handlers answer with their names and the parts of the path.
    private static func responder() -> RouteResponder {
        let routes = Routes()
        func named(_ name: String) -> Routes.Handler {
            { _, context in Response.text("\(name): \(context.parts.joined(separator: "|"))") }
        }
        routes.get("/", named("root"))
        routes.get("/find", named("find"))
        routes.get("/c/{container}/query", named("query"))
        routes.post("/c/{container}/query", named("change"))
        routes.get("/c/fixed/query", named("fixed"))
        let group = routes.group { request, context, next in
            var response = try await next(request, context)
            response.headers[.server] = "group"
            return response
        }
        group.get("/services/1/{name}/records/list", named("list"))
        group.otherMethods(of: "/services/**", named("services"))
        group.get("/health", named("health"))
        group.otherMethods(of: "/health", named("method"))
        group.otherwise(named("nothing"))
        return routes.buildResponder()
    }

    private static func answer(_ method: HTTPRequest.Method, _ target: String) async throws -> (
        text: String, isOfGroup: Bool
    ) {
        let source = ApplicationRequestContextSource(
            channel: NIOAsyncTestingChannel(), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let head = HTTPRequest(method: method, scheme: "http", authority: "localhost", path: target)
        let response = try await responder().respond(
            to: Request(head: head, body: RequestBody(buffer: ByteBuffer())),
            context: ServingRequestContext(source: source))
        let collected = Collected()
        try await response.body.write(collected)
        return (String(buffer: collected.buffer), response.headers[.server] == "group")
    }

    private final class Collected: ResponseBodyWriter {
        private(set) var buffer = ByteBuffer()

        func write(_ buffer: ByteBuffer) async throws { self.buffer.writeImmutableBuffer(buffer) }
        func finish(_ trailingHeaders: HTTPFields?) async throws {}
    }

    @Test(
        "A request meets the closest route",
        arguments: [
            ("/", "root: "), ("/?x=/find", "root: "), ("/find", "find: find"), ("/find/", "find: find"),
            ("/find?q=%", "find: find"),
            ("/c/a/query", "query: c|a|query"), ("/c/fixed/query", "fixed: c|fixed|query"),
            ("/c/a%2Fb/query", "query: c|a/b|query"),
            ("/c/%C3%A9/query", "query: c|é|query"),
        ])
    func closest(target: String, expected: String) async throws {
        let (text, isOfGroup) = try await Self.answer(.get, target)
        #expect(text == expected)
        #expect(!isOfGroup)
    }

    @Test(
        "What has no route of its own meets that of its root, or the last one",
        arguments: [
            (HTTPRequest.Method.get, "/services/1/a/records/list", "list: services|1|a|records|list"),
            (.post, "/services/1/a/records/list", "services: services|1|a|records|list"),
            (.get, "/services", "services: services"),
            (.get, "/services/1/a/records/list/more", "services: services|1|a|records|list|more"),
            (.get, "/services/%FF/x", "services: "),
            (.get, "/health", "health: health"), (.put, "/health", "method: health"),
            (.get, "/health/more", "nothing: health|more"),
            (.post, "/find", "nothing: find"), (.get, "/c/a", "nothing: c|a"), (.get, "/c/%zz/query", "nothing: "),
            (.get, "/Find", "nothing: Find"),
            // An encoded part is no constant: the guards would take it for another path.
            (.get, "/f%69nd", "nothing: find"),
            (.get, "/%73ervices/1/a/records/list", "nothing: services|1|a|records|list"),
            (.get, "/services/%31/a/records/list", "services: services|1|a|records|list"),
        ])
    func others(method: HTTPRequest.Method, target: String, expected: String) async throws {
        let (text, isOfGroup) = try await Self.answer(method, target)
        #expect(text == expected)
        #expect(isOfGroup)
    }

    @Test("HEAD is answered like GET, and POST is another route")
    func head() async throws {
        #expect(try await Self.answer(.head, "/find").text == "")
        #expect(try await Self.answer(.head, "/health").isOfGroup)
        #expect(try await Self.answer(.post, "/c/a/query").text == "change: c|a|query")
    }
}
