import Accounts
import Foundation
import HTTPServing
import Records
import RequestLog
import Testing

@testable import WebServices

/// Pages of origins that an API token lists: allowed and refused requests.
@Suite("Pages of sites that API tokens list")
struct PageOriginTests {
    private static let root = "/database/1/\(CredentialStage.container)/development"
    private static let body = #"{"records":[{"recordName":"a"}]}"#
    private static let listed = CredentialStage.listedOrigin

    private static func send(
        _ server: TestServer, _ method: String, _ target: String, _ origin: String, _ more: [String] = [],
        body: String = ""
    ) async throws -> RawResponse {
        let request = NotedClient.head(method, target, ["Origin: \(origin)"] + more, length: body.utf8.count) + body
        return try #require(try await server.client.exchange(request).first)
    }

    @Test("A listed page asks first, asks, and reads answers and errors", arguments: AccessControl.Mode.allCases)
    func listed(mode: AccessControl.Mode) async throws {
        try await TestServer.run(requiring: mode) { server in
            let stage = try await CredentialStage(server)
            let target = "\(Self.root)/public/records/lookup?ckAPIToken=\(stage.restricted.secret)"
            let preflight = try await Self.send(
                server, "OPTIONS", target, Self.listed, ["Access-Control-Request-Method: POST"])
            #expect(preflight.status == 204 && preflight.headers["access-control-allow-origin"] == Self.listed)
            let answer = try await Self.send(server, "POST", target, Self.listed, body: Self.body)
            #expect(answer.status == 200 && answer.headers["access-control-allow-origin"] == Self.listed)
            let error = try await Self.send(server, "POST", target, Self.listed, body: "{")
            #expect(error.status == 400 && error.headers["access-control-allow-origin"] == Self.listed)
            #expect(error.headers["access-control-expose-headers"]?.contains("X-Apple-CloudKit-Web-Auth-Token") == true)
        }
    }

    @Test("Origins that are not in the list are refused", arguments: AccessControl.Mode.allCases)
    func foreign(mode: AccessControl.Mode) async throws {
        try await TestServer.run(requiring: mode) { server in
            let stage = try await CredentialStage(server)
            let token = "ckAPIToken=\(stage.restricted.secret)"
            let refused: [(String, String, String)] = [
                ("another site", "\(Self.root)/public/records/lookup?\(token)", "https://evil.example"),
                ("another port of the site", "\(Self.root)/public/records/lookup?\(token)", "\(Self.listed):8443"),
                (
                    "a site that only starts so", "\(Self.root)/public/records/lookup?\(token)",
                    "\(Self.listed).evil.example"
                ),
                ("the other scheme", "\(Self.root)/public/records/lookup?\(token)", "http://app.example.com"),
                ("no token", "\(Self.root)/public/records/lookup", Self.listed),
                (
                    "a token that lists nothing",
                    "\(Self.root)/public/records/lookup?ckAPIToken=\(stage.apiToken.secret)", Self.listed
                ),
                ("a revoked token", "\(Self.root)/public/records/lookup?ckAPIToken=\(stage.revoked)", Self.listed),
                (
                    "Skylight's own services",
                    "/skylight/1/\(CredentialStage.container)/development/private/records/query?\(token)", Self.listed
                ),
                ("Skylight's own services of the server", "/skylight/1/users?\(token)", Self.listed),
                ("the numbers", "/metrics?\(token)", Self.listed),
                (
                    "another container",
                    "/database/1/iCloud.com.example.Other/development/public/records/lookup?\(token)", Self.listed
                ),
                (
                    "another environment",
                    "/database/1/\(CredentialStage.container)/production/public/records/lookup?\(token)", Self.listed
                ),
                ("a rehearsal", "\(Self.root)/public/records/lookup?\(token)&skylightRehearse=throttled", Self.listed),
            ]
            for (what, target, origin) in refused {
                let answer = try await Self.send(server, "POST", target, origin, body: Self.body)
                #expect(answer.status == 403, "\(what): \(answer.status) \(answer.text)")
                let preflight = try await Self.send(
                    server, "OPTIONS", target, origin, ["Access-Control-Request-Method: POST"])
                if target.hasPrefix("/metrics") {
                    #expect(
                        [answer, preflight].allSatisfy { $0.headers["access-control-allow-origin"] == nil }, "\(what)")
                    continue
                }
                // The page reads why, and no more.
                Self.expectReadable(answer, by: origin)
                #expect(
                    try Subset.differences(
                        ["serverErrorCode": "ACCESS_DENIED", "reason": "<has --allow-origin>"], answer.json()) == [])
                #expect(
                    preflight.status == 204 && preflight.headers["access-control-allow-origin"] == origin, "\(what)")
                #expect(
                    preflight.headers["access-control-allow-credentials"] == nil && preflight.text.isEmpty, "\(what)")
            }
        }
    }

    private static func expectReadable(_ answer: RawResponse, by origin: String) {
        #expect(
            answer.headers["access-control-allow-origin"] == origin
                && answer.headers["vary"]?.contains("Origin") == true)
        #expect(
            answer.headers["access-control-allow-credentials"] == nil
                && answer.headers["access-control-expose-headers"] == nil)
    }

    @Test("A page without an origin reads its refusal too, but may send no headers, and reads nothing of what it gets")
    func nameless() async throws {
        try await TestServer.run { server in
            let target = "\(Self.root)/public/records/lookup"
            let refused = try await Self.send(server, "POST", target, "null", body: Self.body)
            #expect(refused.status == 403)
            Self.expectReadable(refused, by: "null")
            for method in ["GET", "POST"] {
                let preflight = try await Self.send(
                    server, "OPTIONS", target, "null", ["Access-Control-Request-Method: \(method)"])
                #expect(preflight.status == 403)
            }
            let read = try await Self.send(server, "GET", "\(Self.root)/public/users/caller", "null")
            #expect(read.status == 200 && read.headers["access-control-allow-origin"] == nil)
        }
    }

    @Test(
        "Refusals from before and after the services can be read by an accepted page, and by no other",
        arguments: AccessControl.Mode.allCases)
    func refusals(mode: AccessControl.Mode) async throws {
        try await TestServer.run(requiring: mode) { server in
            let near = "http://localhost:3000"
            let service = "\(Self.root)/private/records/lookup"
            let long = "\(service)?a=\(String(repeating: "a", count: 20_000))"
            let refused: [(method: String, target: String, headers: [String], body: String, status: Int)] = [
                ("POST", "\(Self.root)/private/records/none", [], "{}", 404), ("PUT", service, [], "{}", 405),
                ("POST", service, [], "{", mode == .open ? 400 : 421),
                ("POST", service, ["Content-Encoding: br"], "{}", mode == .open ? 415 : 421),
                ("POST", long, [], "{}", 414),
                ("POST", "\(service)?a=%zz", [], "{}", 400),
                ("GET", "/skylight/1/none", [], "", mode == .open ? 404 : 401),
                ("POST", "/assets/none", [], "", 404), ("POST", "/aps", [], "", 405),
                ("PUT", "/openapi.json", [], "", 405),
                ("POST", service, ["X-Skylight-Rehearse: throttled"], "{}", mode == .open ? 429 : 421),
                ("POST", service, ["X-Skylight-Rehearse: none such"], "{}", 400),
            ]
            for (method, target, headers, body, status) in refused {
                let answer = try await Self.send(server, method, target, near, headers, body: body)
                #expect(answer.status == status, "\(method) \(target.prefix(100)): \(answer.status) \(answer.text)")
                #expect(answer.headers["access-control-allow-origin"] == near, "\(method) \(target.prefix(100))")
                #expect(answer.headers["vary"]?.contains("Origin") == true)
            }
            // The page of another host than the server's may point its own name at this machine.
            let rebound = try await server.client.exchange(
                "GET \(Self.root)/public/users/caller HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example\r\nConnection: close\r\n\r\n"
            )
            #expect(rebound.map(\.status) == [403] && rebound.first?.headers["access-control-allow-origin"] == nil)
        }
    }

    @Test(
        "A token for every site lets each page in, with that token and for no more",
        arguments: AccessControl.Mode.allCases)
    func everySite(mode: AccessControl.Mode) async throws {
        try await TestServer.run(requiring: mode) { server in
            _ = try await CredentialStage(server)
            let container = try #require(ContainerID(CredentialStage.container))
            let (token, secret) = try await server.accounts.makeAPIToken(
                named: "any", container: container, environment: .development, allowedOrigins: ["*"], callback: nil)
            let target = "\(Self.root)/public/records/lookup?ckAPIToken=\(secret)"
            for origin in ["https://anything.example", "capacitor://localhost", "null"] {
                let preflight = try await Self.send(
                    server, "OPTIONS", target, origin, ["Access-Control-Request-Method: POST"])
                #expect(preflight.status == 204 && preflight.headers["access-control-allow-origin"] == origin)
                let answer = try await Self.send(server, "POST", target, origin, body: Self.body)
                #expect(
                    answer.status == 200 && answer.headers["access-control-allow-origin"] == origin,
                    "\(origin): \(answer.text)")
                for target in [
                    "\(Self.root)/public/records/lookup", "/skylight/1/users?ckAPIToken=\(secret)",
                    "\(target)&skylightRehearse=throttled",
                ] {
                    #expect(
                        try await Self.send(server, "POST", target, origin, body: Self.body).status == 403, "\(target)")
                }
                #expect(
                    try await Self.send(server, "POST", target, origin, ["X-Skylight-Access: owner"], body: Self.body)
                        .status == 403)
            }
            // In capitals it is the same environment.
            let capitals = target.replacing("/development/", with: "/DEVELOPMENT/")
            #expect(
                try await Self.send(server, "POST", capitals, "https://anything.example", body: Self.body).status == 200
            )
            _ = try await server.accounts.revokeAPIToken(token.id)
            #expect(
                try await Self.send(server, "POST", target, "https://anything.example", body: Self.body).status == 403)
        }
    }

    @Test("A listed page asks for nothing that is the owner's", arguments: AccessControl.Mode.allCases)
    func owner(mode: AccessControl.Mode) async throws {
        try await TestServer.run(requiring: mode) { server in
            let stage = try await CredentialStage(server)
            let target = "\(Self.root)/public/records/lookup?ckAPIToken=\(stage.restricted.secret)"
            for header in ["X-Skylight-Access", "X-Skylight-Rehearse"] {
                for (name, value) in [
                    (header, header.hasSuffix("Access") ? "owner" : "throttled"), (header.lowercased(), ""),
                ] {
                    let asked = [
                        "Access-Control-Request-Method: POST", "Access-Control-Request-Headers: content-type, \(name)",
                    ]
                    let preflight = try await Self.send(server, "OPTIONS", target, Self.listed, asked)
                    // What follows is refused.
                    #expect(
                        preflight.status == 204 && preflight.headers["access-control-allow-credentials"] == nil,
                        "\(name)")
                    let answer = try await Self.send(
                        server, "POST", target, Self.listed, ["\(name): \(value)"], body: Self.body)
                    #expect(answer.status == 403, "\(name): \(answer.text)")
                    Self.expectReadable(answer, by: Self.listed)
                }
            }
            // A page of this machine may, because it counts as the owner's.
            let near = try await Self.send(
                server, "OPTIONS", target, "http://localhost:3000",
                ["Access-Control-Request-Method: POST", "Access-Control-Request-Headers: X-Skylight-Access"])
            #expect(near.status == 204 && near.headers["access-control-allow-headers"] == "X-Skylight-Access")
        }
    }

    @Test("A page of this machine that a token does not list is told so, and may read it")
    func unlistedButTrusted() async throws {
        try await TestServer.run(requiring: .required) { server in
            let stage = try await CredentialStage(server)
            let target = "\(Self.root)/public/records/lookup?ckAPIToken=\(stage.restricted.secret)"
            let answer = try await Self.send(server, "POST", target, "http://localhost:3000", body: Self.body)
            #expect(answer.status == 401 && answer.headers["access-control-allow-origin"] == "http://localhost:3000")
            let noted = try #require(answer.headers["x-skylight-request"].flatMap { server.log.request($0) })
            #expect(
                noted.authentication?.problem?.expected == Self.listed
                    && noted.authentication?.problem?.received == "http://localhost:3000")
        }
    }

    @Test("A listed page may send and show the files of its records")
    func files() async throws {
        try await TestServer.run(requiring: .required) { server in
            let stage = try await CredentialStage(server)
            let upload = "/assets/\(CredentialStage.container)/development/upload/none"
            let listed = try await Self.send(server, "POST", upload, Self.listed, body: "x")
            // The request is admitted, and then fails because of its invalid ticket.
            #expect(listed.status == 404 && listed.headers["access-control-allow-origin"] == Self.listed)
            let foreign = try await Self.send(server, "POST", upload, "https://evil.example", body: "x")
            #expect(foreign.status == 403)
            Self.expectReadable(foreign, by: "https://evil.example")
            _ = try await server.accounts.revokeAPIToken(stage.restricted.token.id)
            #expect(try await Self.send(server, "POST", upload, Self.listed, body: "x").status == 403)
        }
    }

    @Test("The sign-in that a page is sent to knows the page")
    func signIn() async throws {
        try await TestServer.run(requiring: .required) { server in
            let stage = try await CredentialStage(server)
            let target = "\(Self.root)/public/users/caller?ckAPIToken=\(stage.restricted.secret)"
            let answer = try await Self.send(server, "POST", target, Self.listed, body: "{}")
            #expect(answer.status == 421 && answer.headers["access-control-allow-origin"] == Self.listed)
            guard case .string(let url)? = Subset.value(at: "redirectURL", in: try answer.json()),
                let ticket = url.split(separator: "ticket=").last
            else {
                Issue.record("no redirectURL in \(answer.text)")
                return
            }
            #expect(server.accounts.signInRequest(ticket: String(ticket), now: .now)?.origin == Self.listed)
        }
    }
}
