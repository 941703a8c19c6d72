import Foundation
import Records
import TestSupport
import Testing

/// The commands about tokens, keys and the administrator, on a folder and through the server that has it open.
@Suite(.serialized) struct AccountCommandTests: CommandTests {
    let folder: TemporaryFolder
    private static let container = ["--container", "iCloud.com.example.X"]
    private static let publicKey = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEpyVrSyYO8GHLmdmZgKs/ClKeSrDd
        PuP7Gk5hqCH30xm+i+Cm8cLa3oTAA+5Gc4K3mMKFFw8w/lCNk/XBgI+B1w==
        -----END PUBLIC KEY-----
        """

    init() throws { folder = try TemporaryFolder() }

    /// Makes, lists and revokes one of each.
    private func everything() async throws {
        let made = try await run(
            ["token", "create-api", "--name", "Web", "--origin", "http://localhost:3000"] + Self.container)
        #expect(made.status == 0 && made.output.contains(/^[0-9a-f]{64}\n$/), "\(made.errors)")
        let id = String(
            try #require(made.errors.firstMatch(of: /API token ([0-9a-f]{8}) of iCloud.com.example.X \(development\)/))
                .1)
        let list = try await run(["token", "list"])
        #expect(
            list.output.contains(
                try Regex("\(id) +Web +iCloud.com.example.X +development +http://localhost:3000 +[-0-9: ]+ +never")))
        #expect(!list.output.contains(made.output.trimmingCharacters(in: .newlines)))
        #expect(try await run(["token", "list", "--environment", "production"]).output == "There are no API tokens.\n")
        let signedIn = try await run(
            ["token", "create-web-auth", "--user", "ada", "--api-token", id, "--keep-signed-in"] + Self.container)
        #expect(signedIn.status == 0 && signedIn.output.hasSuffix("=\n"), "\(signedIn.errors)")
        let sessions = try await run(["token", "list", "--web-auth", "--json"]).outputJSON
        guard case .array(let all)? = sessions["sessions"], case .object(let session)? = all.first,
            case .string(let sessionID)? = session["id"]
        else {
            Issue.record("\(sessions)")
            return
        }
        #expect(session["apiTokenID"] == .string(id) && session["keepsSignedIn"] == true)
        #expect(try await run(["token", "list", "--web-auth"]).output.contains(try Regex("\(sessionID) +ada +iCloud")))
        #expect(try await run(["token", "revoke", sessionID]).output.contains("is revoked"))
        #expect(try await run(["token", "list", "--web-auth"]).output == "Nobody is signed in to an app.\n")
        try await removal()
        #expect(try await run(["token", "revoke", id, "--json"]).outputJSON["token"] != nil)
        #expect(try await run(["token", "list"]).output == "There are no API tokens.\n")
        #expect(try await run(["token", "list", "--all"]).output.contains(id))
        let gone = try await run(["token", "revoke", "00000000", "--json"])
        #expect(gone.status == 1)
        #expect(try gone.errorJSON["code"] == "NOT_FOUND")
        let file = try write(Self.publicKey, to: "key.pub.pem")
        let registered = try await run(["key", "register", "--file", file, "--name", "Nightly"] + Self.container)
        #expect(registered.status == 0 && registered.output.contains(/^[0-9a-f]{64}\n$/), "\(registered.errors)")
        let keyID = registered.output.trimmingCharacters(in: .newlines)
        #expect(try await run(["key", "list"]).output.contains(try Regex("\(keyID) +Nightly +iCloud")))
        #expect(try await run(["key", "revoke", keyID]).output.contains("'Nightly'"))
        #expect(try await run(["key", "list"]).output == "No server-to-server key is registered.\n")
        let secret = try write(
            "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n", to: "key.pem"
        )
        let refused = try await run(["key", "register", "--file", secret, "--json"] + Self.container)
        #expect(refused.status == 65)
        #expect(try refused.json(refused.errors)["error"] != nil && refused.errors.contains("private key"))
        #expect(try await run(["key", "register", "--file", secret + ".none"] + Self.container).status == 66)
    }

    /// Removes a user who is signed in to an app.
    private func removal() async throws {
        #expect(try await run(["token", "create-web-auth", "--user", "bert"] + Self.container).status == 0)
        let record = "_[0-9a-f]{32}"
        #expect(
            try await run(["user", "list"]).output.contains(
                try Regex("bert +Bert +\(record) +server +[-0-9]{10} [0-9:]{5} +")))
        #expect(try await run(["user", "list", "--made-by", "stranger"]).output == "There are no such users.\n")
        let asked = try await run(["user", "remove", "bert", "--json"])
        #expect(asked.status == 64)
        #expect(try asked.errorJSON["code"] == "CONFIRMATION_NEEDED")
        #expect(try await run(["token", "list", "--web-auth"]).output.contains(" bert "))
        let removed = try await run(["user", "remove", "bert", "--yes"])
        #expect(removed.output.contains("1 sign-in session ended"), "\(removed.errors)")
        #expect(removed.output.contains(try Regex("stays under \(record)")))
        #expect(try await run(["token", "list", "--web-auth", "--all"]).output.contains(" bert ") == false)
        #expect(try await !run(["user", "list"]).output.contains("bert"))
        for command in [["user", "remove", "bert", "--yes", "--json"], ["user", "remove", "bert", "--json"]] {
            let gone = try await run(command)
            #expect(gone.status == 1)
            #expect(try gone.errorJSON["code"] == "NOT_FOUND")
        }
        #expect(try await run(["user", "remove", "developer", "--yes"]).status == 1)
    }

    @Test func commandsWorkOnTheFolder() async throws {
        #expect(try await run(["token", "list"]).errors.contains("There is no data folder"))
        try await everything()
    }

    @Test func commandsWorkThroughTheServer() async throws {
        let server = try await Server(["--data", data])
        try await everything()
        #expect(try await run(["token", "list"]).errors.contains("Using the server at \(server.address)"))
        #expect(await server.end() == 0)
        // The server's changes are in the folder.
        #expect(try await run(["token", "list", "--all"]).output.contains("Web"))
        #expect(try await run(["key", "list", "--all"]).output.contains("Nightly"))
    }

    @Test func aPasswordComesFromTheEnvironmentOrIsRefused() async throws {
        let password = ["SKYLIGHT_ADMIN_PASSWORD": "a long password"]
        #expect(
            try await run(["admin", "set-password"], environment: password).output
                == "The administrator's password is set.\n")
        let short = try await run(
            ["admin", "set-password", "--json"], environment: ["SKYLIGHT_ADMIN_PASSWORD": "short"])
        #expect(short.status == 1)
        #expect(try short.errorJSON["code"] == "BAD_REQUEST")
        // There is no terminal to ask on.
        let nobody = try await run(["admin", "set-password"], environment: ["SKYLIGHT_ADMIN_PASSWORD": ""])
        #expect(nobody.status == 64 && nobody.errors.contains("--stdin"))
        #expect(try await run(["admin", "set-password", "--stdin"]).status == 66)
    }

    @Test func aTokenIsNoID() async throws {
        let result = try await run(["token", "revoke", String(repeating: "a", count: 64)])
        #expect(result.status == 64 && result.errors.contains("use the ID"))
    }
}
