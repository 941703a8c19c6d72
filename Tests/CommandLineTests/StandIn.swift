import Crypto
import Foundation
import LoopbackServing
import Records
import TestSupport
import Testing

/// A server process in the place of iCloud, with the folder `origin` open: it requires credentials, and has nothing but
/// CloudKit's protocol. The folder `data` is of the commands that connect to it.
struct StandIn {
    enum Credentials: Sendable, CaseIterable {
        case serverKey, signIn
    }

    static let container = "iCloud.com.example.Real"
    static let copy = "\(container).mirror"
    /// The user of sign-ins.
    static let user = "anna"

    let folder: TemporaryFolder
    let server: Server
    let keyID: String
    let key: P256.Signing.PrivateKey
    let apiToken: String
    /// A web auth token that no command has.
    private let userToken: String
    private let callback: String

    static func run(in folder: TemporaryFolder, _ body: (StandIn) async throws -> Void) async throws {
        let place = ["--container", container, "--data", path("origin", in: folder)]
        let key = P256.Signing.PrivateKey()
        let publicKey = try folder.write(key.publicKey.pemRepresentation, to: "key.pub.pem").path(percentEncoded: false)
        let callback = try await freeAddress()
        let keyID = try await line(["key", "register", "--file", publicKey] + place)
        let apiToken = try await line(["token", "create-api", "--callback", callback + "/"] + place)
        let userToken = try await line(["token", "create-web-auth", "--user", user, "--keep-signed-in"] + place)
        let server = try await Server(["--data", path("origin", in: folder), "--auth", "required", "--protocol-only"])
        try await body(
            StandIn(
                folder: folder, server: server, keyID: keyID, key: key, apiToken: apiToken, userToken: userToken,
                callback: callback))
        #expect(await server.end() == 0)
    }

    static func path(_ name: String, in folder: TemporaryFolder) -> String {
        folder.url.appending(path: name).path(percentEncoded: false)
    }

    /// Adds the indexes of a type that a mirror needs, before the server starts.
    static func addIndexes(to type: String, in folder: TemporaryFolder) async throws {
        let file = try folder.write(
            #"DEFINE SCHEMA RECORD TYPE \#(type) ( "___modTime" TIMESTAMP QUERYABLE SORTABLE, "___recordID" REFERENCE QUERYABLE );"#,
            to: "indexes.ckdb")
        let options = [
            "--merge", "--file", file.path(percentEncoded: false), "--container", container, "--data",
            path("origin", in: folder),
        ]
        let result = try await Command.run(["schema", "import"] + options)
        #expect(result.status == 0, "\(result.errors)")
    }

    /// The first line that a command prints.
    private static func line(_ arguments: [String]) async throws -> String {
        let result = try await Command.run(arguments)
        #expect(result.status == 0, "\(result.errors)")
        return String(result.output.prefix { $0 != "\n" })
    }

    /// An address of this machine at which nobody listens.
    private static func freeAddress() async throws -> String {
        var free = ""
        try await ScriptedServer.run(.close) { address, _ in free = address }
        return free
    }

    var data: String { Self.path("data", in: folder) }
    var port: Int { server.address.split(separator: ":").last.flatMap { Int($0) } ?? 0 }

    func keyFile() throws -> String {
        try folder.write(key.pemRepresentation, to: "key.pem").path(percentEncoded: false)
    }

    // MARK: Connecting

    /// Connects the folder `data`.
    /// - Parameters:
    ///   - address: of the server, or of a proxy.
    ///   - options: more of `skylight connect`.
    func connect(with credentials: Credentials = .serverKey, at address: String? = nil, _ options: [String] = [])
        async throws -> Command.Result
    {
        let arguments = ["connect", Self.container, "--data", data, "--server", address ?? server.address] + options
        switch credentials {
        case .serverKey: return try await Command.run(arguments + ["--key-id", keyID, "--key", keyFile()])
        case .signIn:
            let process = try RunningProcess(
                arguments + ["--api-token", apiToken, "--callback", callback, "--no-browser"])
            try await signIn()
            let output = await process.rest().map { "\($0)\n" }.joined()
            let (status, errors) = await process.end()
            return Command.Result(status: status, output: output, errors: errors)
        }
    }

    /// Does in a browser's place all that the sign-in needs, from the command's page to the return of the token.
    private func signIn() async throws {
        var start = ""
        try await eventually {
            guard let page = try? await server.exchange("GET", callback + "/") else { return false }
            start = page.text
            return page.status == 200
        }
        let found = try #require(start.firstMatch(of: /data-address="([^"]+)"/))
        let address = String(found.1).replacing("&amp;", with: "&")
        #expect(try await server.exchange("GET", address).text.contains("asks you to sign in"))
        let ticket = try #require(address.split(separator: "ticket=").last)
        let end = try await server.exchange(
            "POST", String(address.prefix { $0 != "?" }), "ticket=\(ticket)&user=\(Self.user)")
        #expect(end.status == 200 && end.text.contains("You are signed in"), "\(end.text)")
    }

    /// The user of the copy's private database: who signed in, or the developer with a key.
    func connectedUser() async throws -> String {
        let list = try await Command.run(["connections", "--json", "--data", data])
        guard case .array(let all)? = try list.outputJSON["connections"], case .object(let connection)? = all.first,
            case .string(let user)? = connection["userRecordName"]
        else { return "developer" }
        return user
    }

    // MARK: Changes in the origin

    /// Changes records of the origin as another client of the same user.
    func modify(_ operations: [JSONValue], in zone: String? = nil) async throws {
        let token = userToken.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        let target =
            "/database/1/\(Self.container)/development/\(zone == nil ? "public" : "private")/records/modify?ckAPIToken=\(apiToken)&ckWebAuthToken=\(token)"
        let zoneID: JSONValue = ["zoneName": .string(zone ?? "_defaultZone")]
        let saved = try await server.post(
            target, ["zoneID": zoneID, "operations": .array(operations), "atomic": false])
        #expect(saved.status == 200 && !"\(saved.answer)".contains("serverErrorCode"), "\(saved.answer)")
    }
}
