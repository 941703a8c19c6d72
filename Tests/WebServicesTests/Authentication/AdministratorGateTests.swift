import Accounts
import Foundation
import HTTPServing
import RecordStore
import Records
import RequestLog
import Testing

@testable import WebServices

/// If credentials are required, only the administrator may use Skylight's own services.
@Suite("The administrator's services")
struct AdministratorGateTests {
    private static let database = "/skylight/1/\(CredentialStage.container)/development/private/"
    private static let environment = "/skylight/1/\(CredentialStage.container)/development/"

    /// All services, from the tables that route them.
    private static var targets: [String] {
        let ofDatabases = (Array(SkylightServices.streams.keys) + SkylightServices.endpoints.keys).map { database + $0 }
        let ofEnvironments = SkylightServices.ofEnvironments.keys.map { environment + $0 }
        let ofServer =
            (Array(SkylightServices.server.keys) + TrafficServices.names + AccountServices.all.keys + ["rehearsals"])
            .map { SkylightServices.root + $0 }
        let more = [
            "/metrics", "/skylight/1/requests/x", "/skylight/1/nothing", "/skylight/1/accounts/tokens",
            "/skylight/2/health", "/skylight/1",
        ]
        let all = (ofDatabases + ofEnvironments + ofServer + more).filter { $0 != "/skylight/1/health" }
        // The router ignores a slash at the end.
        return (all + all.map { "\($0)/" } + ["/metrics/?x=1"]).sorted()
    }

    private static func send(
        _ server: TestServer, _ method: String, _ target: String, _ headers: [String] = [], body: String = ""
    ) async throws -> RawResponse {
        let request = NotedClient.head(method, target, headers, length: body.utf8.count) + body
        return try #require(try await server.client.exchange(request).first, "\(method) \(target)")
    }

    private static func basic(_ password: String) -> String {
        "Authorization: Basic " + Data("admin:\(password)".utf8).base64EncodedString()
    }

    @Test("Only the administrator gets a response")
    func refused() async throws {
        try await TestServer.run(requiring: .required) { server in
            let stage = try await CredentialStage(server)
            let session = "ckWebAuthToken=\(PercentEncoding.encoded(stage.session.token))"
            for target in Self.targets {
                for method in ["GET", "POST"] {
                    let signed = try stage.signer.headers(target)
                    let brought: [(String, [String])] = [
                        ("", []), ("", ["X-Skylight-User: developer", "X-Skylight-Access: owner"]),
                        ("?\(session)&ckAPIToken=\(stage.apiToken.secret)", []),
                        ("", signed), ("", ["Authorization: Bearer guess"]), ("", ["Authorization: Basic nonsense"]),
                    ]
                    for (query, headers) in method == "GET" ? brought : Array(brought.prefix(1)) {
                        let response = try await Self.send(server, method, target + query, headers)
                        #expect(
                            response.status == 401,
                            "\(method) \(target)\(query) \(headers): \(response.status) \(response.text)")
                        #expect(
                            response.headers["www-authenticate"] == #"Basic realm="Skylight", charset="UTF-8""#,
                            "\(target)")
                        #expect(response.text.contains("Only the administrator may do this"), "\(target)")
                        if target.hasPrefix("/skylight/") {
                            #expect(
                                Subset.differences(
                                    ["serverErrorCode": "AUTHENTICATION_FAILED", "uuid": "<any>"], try response.json())
                                    == [], "\(target)")
                        }
                    }
                }
            }
            #expect(try await server.engine.require(.listContainers).containers().isEmpty)
        }
    }

    @Test("The administrator is, by password and by the secret of the data folder")
    func answered() async throws {
        try await TestServer.run(requiring: .required) { server in
            _ = try await CredentialStage(server)
            // Programs such as Prometheus are asked for the password.
            let asked = try await Self.send(server, "GET", "/metrics", [])
            #expect(asked.status == 401 && asked.headers["www-authenticate"]?.hasPrefix("Basic ") == true)
            for header in [Self.basic(CredentialStage.password), "Authorization: Bearer \(TestServer.instanceSecret)"] {
                for target in [
                    "/metrics", "/skylight/1/users", "/skylight/1/rehearsals", "/skylight/1/requests",
                    Self.database + "schema",
                ] {
                    #expect(try await Self.send(server, "GET", target, [header]).status == 200, "\(target)")
                }
                // The administrator acts for the user that the request names.
                let caller = try await Self.send(
                    server, "GET", "/skylight/1/users/caller", [header, "X-Skylight-User: anna"])
                #expect(
                    Subset.value(at: "userRecordName", in: try caller.json())
                        == .string(User.recordName(ofHandle: "anna").string))
            }
        }
    }

    @Test("A script of a page is refused without a question for the password")
    func scripts() async throws {
        try await TestServer.run(requiring: .required) { server in
            let response = try await Self.send(
                server, "GET", "/skylight/1/users", ["Sec-Fetch-Mode: cors", "Sec-Fetch-Site: same-origin"])
            #expect(response.status == 401 && response.headers["www-authenticate"] == nil)
        }
    }

    @Test("Everyone may read /health")
    func health() async throws {
        try await TestServer.run(requiring: .required) { server in
            let stage = try await CredentialStage(server)
            try await stage.makeOpenType()
            for target in ["/health", "/skylight/1/health"] {
                let stranger = try await Self.send(server, "GET", target)
                #expect(stranger.status == 200 && stranger.text.contains(#""status":"ok""#), "\(target)")
                // The names of the containers are not revealed either.
                #expect(
                    !stranger.text.contains("stores") && !stranger.text.contains("iCloud."),
                    "\(target) \(stranger.text)")
                let administrator = try await Self.send(server, "GET", target, [Self.basic(CredentialStage.password)])
                #expect(administrator.status == 200 && administrator.text.contains("stores"), "\(target)")
            }
        }
    }

    @Test("Failed administrator sign-ins are logged")
    func noted() async throws {
        try await TestServer.run(requiring: .required) { server in
            _ = try await CredentialStage(server)
            let tries: [(header: String, problem: String)] = [
                ("Authorization: Bearer guess", "wrongSecret"), ("Authorization: Negotiate guess", "unknownScheme"),
                (Self.basic("guess"), "wrongPassword"),
            ]
            for (header, problem) in tries {
                for path in [
                    Self.database + "schema", "/database/1/\(CredentialStage.container)/development/private/zones/list",
                ] {
                    let answer = try await Self.send(server, "GET", path, [header])
                    let noted = try #require(
                        answer.headers["x-skylight-request"].flatMap { server.log.request($0) }, "\(path)")
                    #expect(
                        noted.authentication?.way == .administrator && noted.authentication?.problem?.kind == problem,
                        "\(path) \(header)")
                    #expect(noted.authentication?.problem?.sentence.contains("guess") == false)
                }
            }
        }
    }

    @Test("Wrong passwords are slowed down, the right one is not asked for twice")
    func tooMany() async throws {
        try await TestServer.run(requiring: .required) { server in
            _ = try await CredentialStage(server)
            // One after the other they would wait in line. Side by side, most come to a line that is full. Requests of
            // the protocol that try stand in it too.
            let paths = [
                "/skylight/1/users", Self.database + "schema",
                "/database/1/\(CredentialStage.container)/development/private/zones/list",
            ]
            let answers = try await withThrowingTaskGroup(of: (path: String, answer: RawResponse).self) { group in
                for path in Array(repeating: paths, count: 40).joined() {
                    group.addTask { (path, try await Self.send(server, "GET", path, [Self.basic("guess")])) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(
                answers.contains { $0.answer.status == 401 }
                    && answers.allSatisfy { [401, 421, 429].contains($0.answer.status) })
            for path in paths {
                let refused = try #require(answers.first { $0.path == path && $0.answer.status == 429 }, "\(path)")
                    .answer
                #expect(refused.headers["retry-after"] != nil)
                #expect(
                    Subset.differences(["serverErrorCode": "THROTTLED", "retryAfter": "<any>"], try refused.json())
                        == [])
            }
        }
    }

    @Test("A server without required credentials needs no administrator")
    func open() async throws {
        try await TestServer.run { server in
            for target in ["/metrics", "/skylight/1/users", "/skylight/1/rehearsals", Self.database + "schema"] {
                let status = try await Self.send(server, "GET", target).status
                #expect(status == 200, "\(target)")
            }
        }
    }
}
