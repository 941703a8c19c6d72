import Crypto
import Foundation
import Records
import RemoteRecordStore
import TestSupport
import Testing

@testable import CloudKitClient
@testable import skylight

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Connecting to a stand-in for iCloud: a server process that requires credentials and has nothing but CloudKit's
/// protocol.
@Suite(.serialized) struct ConnectTests: CommandTests {
    private static let container = StandIn.container
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Runs with a stand-in that knows a server-to-server key.
    private func withStandIn(_ body: (_ server: Server, _ keyID: String, _ keyFile: String) async throws -> Void)
        async throws
    {
        try await StandIn.run(in: folder) { try await body($0.server, $0.keyID, $0.keyFile()) }
    }

    /// The files of the data folder that contain a text.
    private func files(with text: String) throws -> [String] {
        let files = try #require(
            FileManager.default.enumerator(at: URL(filePath: data), includingPropertiesForKeys: [.isRegularFileKey]))
        return try files.compactMap { $0 as? URL }.filter { url in
            guard try url.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true else { return false }
            return try Data(contentsOf: url).firstRange(of: Data(text.utf8)) != nil
        }.map(\.lastPathComponent)
    }

    // MARK: Commands

    @Test func aKeyConnectsAndIsForgotten() async throws {
        try await withStandIn { server, keyID, keyFile in
            let connect = ["connect", Self.container, "--key-id", keyID, "--key", keyFile, "--server", server.address]
            let secret = try #require(
                try String(contentsOfFile: keyFile, encoding: .utf8).split(separator: "\n").dropFirst().first.map(
                    String.init))
            let connected = try await run(connect + ["--show-signature"])
            #expect(
                connected.status == 0 && connected.output.contains("\(Self.container) (development) is connected"),
                "\(connected.errors)")
            #expect(
                connected.errors.contains(
                    /Signed: [-0-9TZ:]+:[^:]+:\/database\/1\/iCloud.com.example.Real\/development\/public\/records\/lookup/
                ))
            let list = try await run(["connections"])
            #expect(
                list.output.contains(keyID) && list.output.contains(server.address) && list.output.contains("allowed"))
            let json = try await run(["connections", "--json"])
            guard case .array(let all)? = try json.outputJSON["connections"], case .object(let connection)? = all.first
            else { return #expect(Bool(false)) }
            #expect(
                connection["container"] == .string(Self.container) && connection["keyID"] == .string(keyID)
                    && connection["writable"] == false)
            for text in [connected.output, connected.errors, list.output, json.output] {
                #expect(!text.contains(secret))
            }
            #expect(try files(with: secret) == ["accounts.sqlite"])
            let permissions =
                try FileManager.default.attributesOfItem(atPath: data + "/accounts.sqlite")[.posixPermissions]
                as? NSNumber
            #expect(permissions?.intValue == 0o600)
            #expect(try await run(["disconnect", Self.container]).output.contains("is no longer connected"))
            #expect(try files(with: secret).isEmpty)
            #expect(try await run(["connections"]).output == "No container is connected.\n")
            let again = try await run(["disconnect", Self.container, "--json"])
            #expect(again.status == 1)
            #expect(try again.errorJSON["code"] == "NOT_FOUND")
        }
    }

    /// Connecting through the server that has the folder open, which then has the container at once.
    @Test func aRunningServerHasTheContainerAtOnce() async throws {
        try await withStandIn { standIn, keyID, keyFile in
            let server = try await Server(["--data", data])
            let connected = try await run([
                "connect", Self.container, "--key-id", keyID, "--key", keyFile, "--server", standIn.address,
            ])
            #expect(
                connected.status == 0 && connected.errors.contains("Using the server at \(server.address)"),
                "\(connected.errors)")
            #expect(try await server.exchange("GET", "/skylight/1/containers").text.contains(Self.container))
            let path = "/database/1/\(Self.container)/development/public/records/"
            let found = try await server.post(path + "lookup", ["records": [["recordName": "none"]]])
            #expect("\(found.answer)".contains("NOT_FOUND"))
            let operation: JSONValue = ["operationType": "create", "record": ["recordType": "T", "recordName": "r"]]
            let refused = try await server.post(path + "modify", ["operations": [operation]])
            #expect("\(refused.answer)".contains("ACCESS_DENIED"))
            let list = try await server.exchange("GET", "/skylight/1/accounts/connections")
            #expect(list.status == 200 && list.text.contains(keyID) && !list.text.contains("PRIVATE KEY"))
            #expect(try await run(["disconnect", Self.container]).status == 0)
            #expect(try await !server.exchange("GET", "/skylight/1/containers").text.contains(Self.container))
            #expect(await server.end() == 0)
        }
    }

    @Test func badCredentialsAreNotKept() async throws {
        try await withStandIn { server, keyID, keyFile in
            let other = try write(P256.Signing.PrivateKey().pemRepresentation, to: "other.pem")
            let wrong = try await run([
                "connect", Self.container, "--key-id", keyID, "--key", other, "--server", server.address,
            ])
            #expect(wrong.status == 77 && wrong.errors.contains("Signed: "), "\(wrong.errors)")
            let text = try write("no key", to: "none.pem")
            #expect(
                try await run(["connect", Self.container, "--key-id", keyID, "--key", text, "--server", server.address])
                    .status == 65)
            #expect(
                try await run([
                    "connect", Self.container, "--key-id", keyID, "--key", text + ".none", "--server", server.address,
                ]).status == 66)
            #expect(
                try await run([
                    "connect", Self.container, "--key-id", keyID, "--key", keyFile, "--server", "http://127.0.0.1:1",
                ]).status == 69)
            for arguments in [
                [], ["--key-id", keyID], ["--api-token", "a", "--key-id", keyID, "--key", keyFile],
                ["--api-token", "a", "--callback", "http://example.com"],
            ] {
                #expect(try await run(["connect", Self.container] + arguments).status == 64, "\(arguments)")
            }
            #expect(try await run(["connections"]).output == "No container is connected.\n")
        }
    }

    @Test func aSignInThroughThePageOfTheServerConnects() async throws {
        try await StandIn.run(in: folder) { standIn in
            let connected = try await standIn.connect(with: .signIn, ["--json"])
            #expect(connected.status == 0, "\(connected.errors)")
            guard case .object(let connection)? = try connected.outputJSON["connection"],
                case .string(let user)? = connection["userRecordName"]
            else {
                Issue.record("\(connected.output)")
                return
            }
            #expect(user.hasPrefix("_") && connection["keyID"] == nil)
            #expect(try files(with: standIn.apiToken) == ["accounts.sqlite"])
            let server = try await Server(["--data", data])
            let zones = try await server.exchange("GET", "/database/1/\(Self.container)/development/private/zones/list")
            #expect(zones.status == 200 && zones.text.contains("_defaultZone"), "\(zones.text)")
            #expect(await server.end() == 0)
        }
    }

    @Test func anUnknownCertificateIsRefused() async throws {
        let certificate = try write(TestCertificate.pem, to: "cert.pem")
        let key = try write(TestCertificate.key, to: "key.pem")
        let server = try await Server([
            "--data", StandIn.path("origin", in: folder), "--auth", "required", "--protocol-only", "--tls-cert",
            certificate, "--tls-key", key,
        ])
        let address = String(try #require(server.firstLine.split(separator: " ").last))
        #expect(address.hasPrefix("https://"))
        let refused = try await run(["connect", Self.container, "--api-token", "a", "--server", address])
        #expect(refused.status == 69 && refused.errors.contains("certificate"), "\(refused.errors)")
        #expect(await server.end() == 0)
    }

    @Test func aContainerOfThisMachineIsNotHidden() async throws {
        let rows = try write("k\na\n", to: "a.csv")
        #expect(try await run(["import", rows, "--type", "T", "--container", Self.container]).status == 0)
        let refused = try await run(["connect", Self.container, "--api-token", "a", "--json"])
        #expect(refused.status == 1)
        #expect(try refused.errorJSON["code"] == "EXISTS")
    }

    // MARK: Sign-in

    private static func page() throws -> SignInPage {
        SignInPage(
            container: try #require(ContainerID(container)), signInURL: "https://example.com/sign-in?a=1&b=\"2\"")
    }

    /// Runs a sign-in, whose browser is a script.
    private static func answer(
        _ page: SignInPage, within limit: Duration = .seconds(60), _ browser: (String) async throws -> Void
    ) async throws -> SignInAnswer {
        try await SignInListener.answer(to: page, on: "127.0.0.1", port: 0, within: limit) {
            try await browser("http://127.0.0.1:\($0)")
        }
    }

    private static func exchange(_ method: String, _ url: String, _ body: String? = nil) async throws -> (
        status: Int, text: String
    ) {
        var request = URLRequest(url: try #require(URL(string: url)))
        request.httpMethod = method
        request.httpBody = body.map { Data($0.utf8) }
        let (data, response) = try await URLSession.shared.data(for: request)
        return (try #require(response as? HTTPURLResponse).statusCode, String(decoding: data, as: UTF8.self))
    }

    @Test func aRedirectBringsTheToken() async throws {
        var (start, end) = ("", "")
        let answer = try await Self.answer(Self.page()) { address in
            start = try await Self.exchange("GET", address + "/").text
            let other = try await Self.exchange("POST", address + "/elsewhere", "ckSession=wrong")
            #expect(other.status == 404)
            end = try await Self.exchange(
                "GET", address + "/signed-in?ckWebAuthToken=72__54__AQ%2Bb%3D%3D&ckSession=72__54__AQ%2Bb%3D%3D"
            ).text
        }
        guard case .token(let token) = answer else { return #expect(Bool(false), "\(answer)") }
        #expect(token.text == "72__54__AQ+b==")
        #expect(start.contains("https://example.com/sign-in?a=1&amp;b=&quot;2&quot;") && start.contains(Self.container))
        #expect(end.contains("You are signed in") && !end.contains("72__54__"))
    }

    @Test func aMessageBringsTheToken() async throws {
        let page = try Self.page()
        let answer = try await Self.answer(page) { address in
            let told = try await Self.exchange("POST", address + page.messagePath, "ckSession=72__54__AQ%2Bb%3D%3D")
            #expect(told.text.contains("You are signed in"))
        }
        guard case .token(let token) = answer else { return #expect(Bool(false), "\(answer)") }
        #expect(token.text == "72__54__AQ+b==")
    }

    @Test func aRefusalHasItsReason() async throws {
        let page = try Self.page()
        let answer = try await Self.answer(page) { address in
            let told = try await Self.exchange("POST", address + page.messagePath, "errorMessage=accessError")
            #expect(told.text.contains("Advanced Data Protection"))
        }
        #expect(answer == .refused(code: "accessError"))
        #expect(ConnectionAttempt.refusal("<b>").contains("<b>"))
        let shown = try await Self.answer(page) { address in
            let end = try await Self.exchange("GET", address + "/?errorMessage=%3Cb%3E")
            #expect(end.text.contains("&lt;b&gt;") && !end.text.contains("<b>"))
        }
        #expect(shown == .refused(code: "<b>"))
    }

    @Test func aPortInUseIsNamed() async throws {
        let error = await #expect(throws: CommandFailure.self) {
            _ = try await Self.answer(Self.page()) { address in
                let port = try #require(address.split(separator: ":").last.flatMap { Int($0) })
                _ = try await SignInListener.answer(to: Self.page(), on: "127.0.0.1", port: port) { _ in }
            }
        }
        #expect(error?.reason.contains("it is in use") == true && error?.status == .unavailable)
    }

    @Test func nobodyWaitsForever() async throws {
        let error = await #expect(throws: CommandFailure.self) {
            _ = try await Self.answer(Self.page(), within: .milliseconds(10)) { _ in }
        }
        #expect(error?.code == "SIGN_IN_TIMEOUT")
    }
}
