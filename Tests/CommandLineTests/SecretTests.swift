import Crypto
import Foundation
import LoopbackServing
import Records
import TestSupport
import Testing

/// Credentials of connected containers are in the accounts file, and nowhere else.
@Suite(.serialized) struct SecretTests: CommandTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Everything that commands, pages and files say.
    private final class Said {
        private(set) var bytes = Data()

        func note(_ texts: String...) { for text in texts { bytes += Data(text.utf8) } }
        func note(_ data: Data) { bytes += data }

        @discardableResult
        func run(_ arguments: [String], in data: String) async throws -> Command.Result {
            let result = try await Command.run(arguments + ["--data", data])
            note(result.output, result.errors)
            return result
        }
    }

    @Test(arguments: StandIn.Credentials.allCases)
    func noCredentialIsAnywhereElse(credentials: StandIn.Credentials) async throws {
        let imported = try importing(
            "ATL,Atlanta\nBER,Berlin\n", into: StandIn.container, credentials, of: StandIn.user)
        #expect(try await Command.run(imported + ["--data", StandIn.path("origin", in: folder)]).status == 0)
        try await StandIn.addIndexes(to: "Airport", in: folder)
        let said = Said()
        try await StandIn.run(in: folder) { standIn in
            let (fixed, tokens) = try await BreakingProxy.run(to: standIn.port, .forward) { port, proxy in
                try await use(standIn, credentials, at: "http://127.0.0.1:\(port)", said)
                // A mirror without answers asks again until it is stopped.
                proxy.stop()
                let waiting = try RunningProcess(Self.mirror + ["--data", data])
                try await eventually { proxy.isStopped }
                waiting.signal(SIGTERM)
                said.note(await waiting.rest().joined(), await waiting.end().errors)
                return (Self.fixedSecrets(standIn, credentials), Self.webAuthTokens(in: proxy.heads))
            }
            // The file has the newest token only.
            let accounts = try Data(contentsOf: URL(filePath: data + "/accounts.sqlite"))
            #expect(fixed.allSatisfy { accounts.range(of: Data($0.utf8)) != nil })
            #expect(tokens.count { accounts.range(of: Data($0.utf8)) != nil } == (credentials == .signIn ? 1 : 0))
            #expect(credentials == .serverKey || tokens.count > 15, "the tokens did not rotate: \(tokens.count)")

            let written = try FileManager.default.subpathsOfDirectory(atPath: data).filter {
                !$0.hasPrefix("accounts.sqlite")
            }
            #expect(written.contains { $0.hasSuffix("/development.sqlite") })
            for name in written { said.note((try? Data(contentsOf: URL(filePath: "\(data)/\(name)"))) ?? Data()) }
            let unreserved = CharacterSet.alphanumerics.union(CharacterSet(charactersIn: "-._~"))
            for secret in fixed + tokens
                + tokens.compactMap({ $0.addingPercentEncoding(withAllowedCharacters: unreserved) })
            {
                #expect(said.bytes.range(of: Data(secret.utf8)) == nil, "\(secret)")
            }
        }
    }

    private static let mirror = ["mirror", StandIn.container, "--public-types", "Airport"]

    /// The arguments of an import.
    private func importing(_ rows: String, into container: String, _ credentials: StandIn.Credentials, of user: String)
        throws -> [String]
    {
        let file = try write("iata,name\n\(rows)", to: "rows.csv")
        let place = (credentials == .signIn ? ["--zone", "Flights"] : ["--database", "public"]) + ["--user", user]
        return ["import", file, "--type", "Airport", "--name-field", "iata", "--container", container] + place
    }

    /// Connects, mirrors, pushes and shows pages, also with refusals.
    private func use(_ standIn: StandIn, _ credentials: StandIn.Credentials, at address: String, _ said: Said)
        async throws
    {
        let connected = try await standIn.connect(with: credentials, at: address, ["--show-signature"])
        #expect(connected.status == 0, "\(connected.errors)")
        said.note(connected.output, connected.errors)
        try await said.run(["connections", "--json"], in: data)
        for _ in 0..<4 { try await said.run(Self.mirror, in: data) }
        try await said.run(
            importing("DEN,Denver\n", into: StandIn.copy, credentials, of: standIn.connectedUser()), in: data)
        let pushed = try await said.run(["push", StandIn.container, "--yes"], in: data)
        #expect(pushed.status == 0 && pushed.errors.contains("1 sent"), "\(pushed.errors)")
        let log = try folder.write("", to: "log")
        let server = try await Server(["--data", data, "--log-level", "debug"], log: log)
        for name in try FileManager.default.contentsOfDirectory(atPath: data) where name.hasPrefix("accounts.sqlite") {
            let permissions =
                try FileManager.default.attributesOfItem(atPath: "\(data)/\(name)")[.posixPermissions] as? NSNumber
            #expect(permissions?.intValue == 0o600, "\(name)")
        }
        try await visit(server, said)
        let root = "/database/1/\(StandIn.container)/development/\(credentials == .signIn ? "private" : "public")/"
        for (action, body) in [
            ("records/lookup", #"{"records":[{"recordName":"ATL"}]}"#),
            ("records/query", #"{"query":{"recordType":"Airport"}}"#), ("records/none", "{}"),
        ] {
            said.note(try await server.exchange("POST", root + action, body).text)
        }
        #expect(await server.end() == 0)
        let lines = try Data(contentsOf: log)
        #expect(!lines.isEmpty)
        said.note(lines)
    }

    /// The credentials that stay the same.
    private static func fixedSecrets(_ standIn: StandIn, _ credentials: StandIn.Credentials) -> [String] {
        if credentials == .signIn { return [standIn.apiToken] }
        return standIn.key.pemRepresentation.split(separator: "\n").filter { !$0.hasPrefix("-----") }.map(String.init)
    }

    /// Shows the pages that the start page and the container's pages lead to, and the lists of the services.
    private func visit(_ server: Server, _ said: Said) async throws {
        var (next, seen) = (
            ["/", "/skylight/1/accounts/connections", "/skylight/1/requests", "/metrics"], Set<String>()
        )
        for scope in ["private", "public"] {
            let page = "/c/\(StandIn.container)/development/\(scope)"
            // There is no index for it.
            next += [page, page + "/query?type=Airport&filter1=name&is1=EQUALS&value1=x"]
        }
        while let path = next.first, seen.count < 40 {
            next.removeFirst()
            guard seen.insert(path).inserted else { continue }
            let text = try await server.exchange("GET", path).text
            said.note(text)
            next += text.matches(of: /href="(\/[^"#]*)"/).map { String($0.1).replacing("&amp;", with: "&") }.filter {
                $0.contains("/\(StandIn.container)/")
            }
        }
        #expect(seen.count > 15)
    }

    /// The web auth tokens of requests and answers, as servers write them.
    private static func webAuthTokens(in heads: String) -> [String] {
        let sent = heads.matches(of: /ckWebAuthToken=([^& ]+)/).compactMap { String($0.1).removingPercentEncoding }
        let received = heads.split(whereSeparator: \.isNewline).compactMap {
            $0.wholeMatch(of: /(?i)x-apple-cloudkit-web-auth-token: *(.+)/).map { String($0.1) }
        }
        return Set(sent + received).sorted()
    }
}
