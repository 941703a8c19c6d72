import Accounts
import Foundation
import HTTPServing
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
@testable import skylight
import TestSupport
import Testing

/// Checks every route of a server. The list comes from the router, so that no route is forgotten.
@Suite("A walk of the router") struct RouterWalkTests {
    private static let password = "correct horse battery"

    /// A route, and an address that leads to it.
    private struct Route: CustomStringConvertible {
        let pattern: String
        let method: HTTPRequest.Method
        let path: String

        var description: String { "\(method) \(pattern)" }
        var isReading: Bool { [.get, .head, .options].contains(method) }

        init(_ route: Routes.Description) {
            pattern = route.pattern
            method = route.method
            let values = [
                "{container}": "iCloud.com.example.App", "{environment}": "development", "{database}": "private",
                "{name}": "skylight.css", "{id}": "none",
                "{version}": "old",
                // A path of the services' usual form.
                "**": "1/iCloud.com.example.App/development/private/records/query",
            ]
            path = pattern.split(separator: "/").map { part in values[String(part)] ?? String(part) }.reduce("") {
                "\($0)/\($1)"
            }
        }

        var target: String { path.isEmpty ? "/" : path }
    }

    /// The routes that never need a session, and the reason. A pattern that ends in `**` stands for all routes below
    /// it.
    private static let open: [String: String] = [
        "/static/{name}": "style sheets and scripts of the sign-in page, and nothing of the data",
        "/static/{version}/{name}": "the same files, by the addresses that browsers cache",
        "/admin/sign-in": "the administrator's sign-in itself",
        "/sign-in": "the sign-in of an app's users, who have a ticket",
        "/connect/return": "the way back from iCloud, with the cookie of a sign-in that the administrator began",
        "/connect/returned": "a link into the console",
        "/health": "for those who watch servers", "/skylight/1/health": "for those who watch servers",
        "/openapi.json": "a description, and nothing of the data",
        "/skylight/1/{container}/{environment}/{database}/keyvalues/changes":
            "key-value stores, with the protocol's credentials",
        "/skylight/1/{container}/{environment}/{database}/keyvalues/modify":
            "key-value stores, with the protocol's credentials",
        "/database/**": "the protocol, with credentials of its own",
        "/device/**": "the protocol, with credentials of its own",
        "/assets/**": "the bytes of files, with a ticket in the address",
        "/aps": "notifications, with a token in the address",
    ]

    private static func isOpen(_ pattern: String) -> Bool {
        open.keys.contains { $0 == pattern || $0.hasSuffix("/**") && pattern.hasPrefix($0.dropLast(2)) }
    }

    private func withRoutes(
        _ mode: AccessControl.Mode, hasPassword: Bool = false, protocolOnly: Bool = false,
        _ body: (Walker, [Route], AccessControl) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let store = try DataFolder(folder.url.appending(path: "data").path(percentEncoded: false)).open()
        if hasPassword { try await store.accounts.setAdministratorPassword(Self.password) }
        let access = AccessControl(mode, accounts: store.accounts, instanceSecret: "a secret of this run")
        let served = try ServedRoutes(store: store, access: access, protocolOnly: protocolOnly).routes()
        let routes = served.routes.map(Route.init)
        // An empty list of routes would pass every check.
        #expect(
            routes.count > 200
                && routes.contains { $0.pattern == "/c/{container}/{environment}/{database}/record/save" })
        #expect(routes.contains { $0.pattern == "/database/1/{container}/{environment}/{database}/records/query" })
        do { try await body(Walker(responder: served.buildResponder()), routes, access) } catch {
            await store.close()
            throw error
        }
        await store.close()
    }

    /// Sends requests without a network.
    private struct Walker {
        let responder: any HTTPResponder<ServingRequestContext>

        func answer(_ route: Route, host: String = "localhost", _ headers: HTTPFields = [:], body: String = "")
            async throws -> Response
        {
            try await answer(route.method, route.target, host: host, headers, body: body)
        }

        func answer(
            _ method: HTTPRequest.Method, _ target: String, host: String = "localhost", _ headers: HTTPFields = [:],
            body: String = ""
        ) async throws -> Response {
            let source = ApplicationRequestContextSource(
                channel: NIOAsyncTestingChannel(), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            var headers = headers
            if method == .post, headers[.contentType] == nil {
                headers[.contentType] = "application/x-www-form-urlencoded"
            }
            let head = HTTPRequest(method: method, scheme: "http", authority: host, path: target, headerFields: headers)
            let request = Request(head: head, body: RequestBody(buffer: ByteBuffer(string: body)))
            return try await responder.respond(to: request, context: ServingRequestContext(source: source))
        }
    }

    @Test(arguments: AccessControl.Mode.allCases) func everyRouteRefusesAForeignHost(mode: AccessControl.Mode)
        async throws
    {
        try await withRoutes(mode) { walker, routes, _ in
            for route in routes {
                for host in ["evil.example", "evil.example:8080", "localhost.evil.example", "192.168.7.7:8080"] {
                    let answer = try await walker.answer(
                        route, host: host, [.authorization: "Bearer a secret of this run"])
                    #expect(answer.status == .forbidden, "\(route) for the host \(host)")
                    #expect(answer.headers[.connection] == "close", "\(route) for the host \(host)")
                }
            }
        }
    }

    @Test(arguments: AccessControl.Mode.allCases) func everyChangeRefusesAForeignOrigin(mode: AccessControl.Mode)
        async throws
    {
        try await withRoutes(mode) { walker, routes, access in
            let cookie = try await cookie(walker, access)
            for route in routes {
                for origin in ["https://evil.example", "http://localhost.evil.example", "null"] {
                    let answer = try await walker.answer(
                        route, [.origin: origin, .cookie: cookie.pair, formHeader: cookie.session.csrf])
                    // A page may ask beforehand, and read why it is refused, and nothing else.
                    let mayRead =
                        (route.method == .options || answer.status.code >= 400)
                        && !answer.headers.contains(.accessControlAllowCredentials)
                    #expect(mayRead || !answer.headers.contains(.accessControlAllowOrigin), "\(route) from \(origin)")
                    if !route.isReading { #expect(answer.status == .forbidden, "\(route) from \(origin)") }
                }
            }
        }
    }

    @Test func everyRouteThatIsNotOpenNeedsTheAdministrator() async throws {
        try await withRoutes(.required, hasPassword: true) { walker, routes, _ in
            let patterns = Set(routes.map(\.pattern))
            for pattern in Self.open.keys { #expect(patterns.contains(pattern), "\(pattern) is not there any more") }
            let others: [HTTPFields] = [
                [:], [.authorization: "Bearer another"],
                [.authorization: "Basic \(Data("admin:wrong".utf8).base64EncodedString())"],
                [.cookie: "skylight-80=\(String(repeating: "0", count: 64))"],
            ]
            for route in routes where !Self.isOpen(route.pattern) && route.method != .options {
                // The wrong password is tried only once, because after a few tries passwords are no longer checked.
                for headers in route.pattern == "/metrics" && route.method == .get
                    ? others : [others[0], others[1], others[3]]
                {
                    // The router ignores a slash at the end.
                    for target in headers == others[2] || route.target == "/"
                        ? [route.target] : [route.target, "\(route.target)/"]
                    {
                        let answer = try await walker.answer(route.method, target, headers)
                        let isLed =
                            answer.status == .seeOther && answer.headers[.location]?.hasPrefix("/admin/sign-in") == true
                        #expect(
                            isLed && route.isReading || answer.status == .unauthorized,
                            "\(route) at \(target) with \(headers): \(answer.status)")
                    }
                }
            }
            // Nor does a path without a route say that it has none.
            #expect(try await walker.answer(.get, "/nowhere").status == .seeOther)
            for target in [
                "/skylight", "/skylight/1/nothing", "/skylight/1/iCloud.com.example.App/development/private/none",
                "/nowhere",
            ] {
                #expect(try await walker.answer(.post, target).status == .unauthorized, "\(target)")
            }
        }
    }

    @Test func aServerOfTheProtocolAloneHasNothingElse() async throws {
        let kept = ["/database/", "/device/", "/assets/", "/aps", "/sign-in", "/static/"]
        try await withRoutes(.required, protocolOnly: true) { walker, routes, access in
            let cookie = try await cookie(walker, access)
            for route in routes {
                for headers in [
                    [.authorization: "Bearer a secret of this run"],
                    [.cookie: cookie.pair, formHeader: cookie.session.csrf],
                ] as [HTTPFields] {
                    let answer = try await walker.answer(route, headers)
                    #expect(
                        kept.contains { route.pattern.hasPrefix($0) } || answer.status == .notFound,
                        "\(route): \(answer.status)")
                }
            }
            #expect(try await walker.answer(.get, "/sign-in").headers[.contentType]?.hasPrefix("text/html") == true)
            #expect(try await walker.answer(.get, "/static/skylight.css").status == .ok)
            let asked = try await walker.answer(
                .post, "/database/1/iCloud.com.example.App/development/private/zones/list", body: "{}")
            #expect(asked.status.code == 421 || asked.status == .unauthorized)
        }
    }

    @Test func everyFormNeedsTheSecretOfItsSession() async throws {
        try await withRoutes(.required) { walker, routes, access in
            let cookie = try await cookie(walker, access)
            let other = access.accounts.openConsoleSession()
            for route in routes where !Self.isOpen(route.pattern) && !route.isReading {
                let isService = route.pattern.hasPrefix("/skylight/") || route.pattern == "/metrics"
                for form in ["", "form-secret=", "form-secret=\(other.csrf)", "name=form-secret"] {
                    let answer = try await walker.answer(route, [.cookie: cookie.pair], body: form)
                    #expect(answer.status == (isService ? .unauthorized : .forbidden), "\(route) with '\(form)'")
                }
                let answer = try await walker.answer(route, [.cookie: cookie.pair, formHeader: other.csrf])
                #expect(
                    answer.status == (isService ? .unauthorized : .forbidden), "\(route) with another session's secret")
            }
        }
    }

    @Test func everyRouteIsThereForTheAdministrator() async throws {
        try await withRoutes(.required) { walker, routes, access in
            for route in routes where !Self.isOpen(route.pattern) && route.pattern != "/admin/sign-out" {
                // Each route gets its own session, in case a route ends it.
                let cookie = try await cookie(walker, access)
                for headers in [
                    [.cookie: cookie.pair, formHeader: cookie.session.csrf],
                    [.authorization: "Bearer a secret of this run"],
                ] as [HTTPFields] {
                    let answer = try await walker.answer(route, headers)
                    let isLed = answer.headers[.location]?.hasPrefix("/admin/sign-in") == true
                    #expect(
                        !isLed && answer.status != .unauthorized && answer.status.code < 500,
                        "\(route) with \(headers): \(answer.status)")
                }
            }
        }
    }

    @Test func everyRouteThatAnswersToGETAnswersToHEAD() async throws {
        try await withRoutes(.open) { walker, routes, _ in
            _ = try await walker.answer(.post, "/containers", body: "container=iCloud.com.example.App")
            for route in routes where route.method == .get {
                let (get, head) = (try await walker.answer(route), try await walker.answer(.head, route.target))
                #expect(head.status == get.status, "\(route)")
                for name in [HTTPField.Name.contentType, .contentDisposition, .eTag, .allow, .location, .cacheControl] {
                    #expect(head.headers[name] == get.headers[name], "\(route): \(name)")
                }
                try await head.body.write(NothingExpected(from: route.description))
            }
            #expect(try await walker.answer(.head, "/").status == .ok)
            #expect(
                try await walker.answer(.head, "/static/skylight.css").headers[.contentLength].flatMap { Int($0) } ?? 0
                    > 1000)
            #expect(try await walker.answer(.head, "/c/iCloud.com.example.App/development/private/query").status == .ok)
            #expect(try await walker.answer(.head, "/nowhere").status == .notFound)
        }
    }

    /// Discards an empty body, and fails on any content.
    private struct NothingExpected: ResponseBodyWriter {
        let from: String

        func write(_ buffer: ByteBuffer) async throws { #expect(buffer.readableBytes == 0, "\(from)") }
        consuming func finish(_ trailingHeaders: HTTPFields?) async throws {}
    }

    // MARK: Sessions

    private var formHeader: HTTPField.Name { .init(AccessControl.forgeryHeader) ?? .cookie }

    private func cookie(_ walker: Walker, _ access: AccessControl) async throws -> (
        pair: String, session: ConsoleSession
    ) {
        let session = access.accounts.openConsoleSession()
        return ("skylight-80=\(session.token)", session)
    }
}
