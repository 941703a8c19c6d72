import Foundation
import Records
import TestSupport
import Testing

@testable import skylight

/// Servers that require credentials, and the commands that work through them.
@Suite(.serialized) struct AccessCommandTests: CommandTests {
    private static let container = ["--container", "iCloud.com.example.X"]
    private static let password = ["SKYLIGHT_ADMIN_PASSWORD": "correct horse battery"]
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func path(_ name: String, _ text: String) throws -> String {
        try write(text, to: name)
    }

    /// Normalizes white space, because the terminal wraps lines.
    private static func words(_ text: String) -> String { text.replacing(/\s+/, with: " ") }

    // MARK: Refusals at start

    @Test(arguments: ["0.0.0.0", "::", "192.0.2.1", "box.example", "127.0.0.1.example.com"])
    func elsewhereAPasswordIsNeeded(hostname: String) async throws {
        let refused = try await Command.run(["serve", "--hostname", hostname, "--port", "0", "--data", data])
        #expect(refused.status == 64)
        #expect(refused.output.isEmpty)
        let words = Self.words(refused.errors)
        #expect(
            words.contains("Others can reach this server on \(hostname)")
                && words.contains("skylight admin set-password"), "\(words)")
        #expect(words.contains("SKYLIGHT_ADMIN_PASSWORD") && words.contains("Without --hostname"))
        let json = try await Command.run(["serve", "--hostname", hostname, "--port", "0", "--data", data, "--json"])
        #expect(try json.errorJSON["code"] == "USAGE")
    }

    @Test(arguments: ["0.0.0.0", "::", "192.0.2.1", "box.example"]) func openIsForThisMachineOnly(hostname: String)
        async throws
    {
        let refused = try await Command.run(
            ["serve", "--hostname", hostname, "--auth", "open", "--data", data], environment: Self.password)
        #expect(refused.status == 64)
        #expect(Self.words(refused.errors).contains("--auth open works only on this machine's own address"))
        #expect(!FileManager.default.fileExists(atPath: data))
    }

    @Test(arguments: [
        (["--tls-cert", "a"], "belong together"), (["--tls-key", "a"], "belong together"),
        (["--allow-host", "a/b"], "needs a name or an address"),
        (["--allow-origin", "app.example.com"], "needs a scheme, a host"),
        (["--allow-origin", "https://app.example.com/"], "needs a scheme, a host"),
        (["--hostname", "a b"], "needs an address or a name"), (["--auth", "none"], "none"),
    ])
    func optionsThatCannotBe(options: [String], message: String) async throws {
        let refused = try await Command.run(["serve", "--data", data] + options)
        #expect(refused.status == 64)
        #expect(Self.words(refused.errors).contains(message), "\(refused.errors)")
    }

    @Test func certificatesThatCannotBe() async throws {
        let (certificate, key) = (try path("cert.pem", TestCertificate.pem), try path("key.pem", TestCertificate.key))
        let other = try path("other.pem", TestCertificate.otherKey)
        for (certificate, key, status) in [(certificate, other, 65), (key, key, 65), (certificate, "\(key).not", 66)]
            as [(String, String, Int32)]
        {
            let refused = try await Command.run([
                "serve", "--tls-cert", certificate, "--tls-key", key, "--data", data, "--json",
            ])
            #expect(refused.status == status)
            #expect(try refused.errorJSON["remedy"] != nil)
        }
        // A server that does not start creates nothing.
        #expect(!FileManager.default.fileExists(atPath: data))
    }

    @Test func aPasswordThatIsTooShort() async throws {
        let refused = try await Command.run(
            ["serve", "--data", data], environment: ["SKYLIGHT_ADMIN_PASSWORD": "short"])
        #expect(refused.status == 64)
        #expect(Self.words(refused.errors).contains("SKYLIGHT_ADMIN_PASSWORD can't be used"))
    }

    @Test func theVariableDoesNotReplaceThePasswordInTheFolder() async throws {
        let first = try await Server(["--data", data, "--auth", "required"], environment: Self.password)
        #expect(await first.end() == 0)
        let file = try path("b.csv", "k\na\n")
        // Not even an invalid password in the environment keeps the server from starting.
        for other in ["another password", "short"] {
            let server = try await Server(
                ["--data", data, "--auth", "required"], environment: ["SKYLIGHT_ADMIN_PASSWORD": other])
            let there = ["import", file, "--type", "T", "--url", server.address] + Self.container
            #expect(try await Command.run(there, environment: ["SKYLIGHT_ADMIN_PASSWORD": other]).status == 77)
            #expect(try await Command.run(there, environment: Self.password).status == 0)
            #expect(await server.end() == 0)
        }
    }

    // MARK: Commands

    @Test func theOwnerOfTheFolderIsLetIn() async throws {
        let server = try await Server(["--data", data, "--auth", "required"], environment: Self.password)
        let attributes = try FileManager.default.attributesOfItem(atPath: data + "/.server")
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        let folderAttributes = try FileManager.default.attributesOfItem(atPath: data)
        #expect((folderAttributes[.posixPermissions] as? NSNumber)?.intValue == 0o700)
        let secret = try #require(
            String(contentsOfFile: data + "/.server", encoding: .utf8).split(separator: "\n").last)
        #expect(secret.wholeMatch(of: /[0-9a-f]{64}/) != nil)
        let file = try path("a.csv", "k\na\nb\n")
        let imported = try await Command.run(
            ["import", file, "--type", "T", "--zone", "Notes", "--data", data] + Self.container)
        #expect(
            imported.status == 0 && imported.errors.contains("Using the server at \(server.address)"),
            "\(imported.errors)")
        #expect(
            try await Command.run(["export", "--json", "--data", data] + Self.container).output.split(separator: "\n")
                .count == 3)
        #expect(
            try await Command.run(["changes", "--zone", "Notes", "--data", data] + Self.container).output.contains(
                "created"))
        #expect(!imported.errors.contains(secret) && !imported.output.contains(secret))
        #expect(await server.end() == 0)
    }

    @Test func theDataFolderIsItsOwners() async throws {
        let made = DataFolder(data)
        let store = try made.open()
        #expect(!made.isOpenToOthers)
        await store.close()
        let there = folder.url.appending(path: "there")
        try FileManager.default.createDirectory(
            at: there, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
        #expect(DataFolder(there.path(percentEncoded: false)).isOpenToOthers)
        #expect(!DataFolder(data + "-not").isOpenToOthers)
    }

    @Test func remoteAddressesNeedThePassword() async throws {
        let server = try await Server(["--ephemeral", "--auth", "required"], environment: Self.password)
        let file = try path("a.csv", "k\na\n")
        let there = ["import", file, "--type", "T", "--url", server.address] + Self.container
        let none = try await Command.run(there + ["--json"])
        #expect(none.status == 77)
        #expect(try none.errorJSON["code"] == "AUTHENTICATION_FAILED")
        #expect(none.errors.contains("requires the administrator's password"), "\(none.errors)")
        let wrong = try await Command.run(there, environment: ["SKYLIGHT_ADMIN_PASSWORD": "something else"])
        #expect(wrong.status == 77 && Self.words(wrong.errors).contains("the password is wrong"))
        let right = try await Command.run(there, environment: Self.password)
        #expect(right.status == 0 && right.output.contains("Imported 1 record"), "\(right.errors)")
        #expect(await server.end() == 0)
    }

    @Test func commandsSpeakTLS() async throws {
        let (certificate, key) = (try path("cert.pem", TestCertificate.pem), try path("key.pem", TestCertificate.key))
        let server = try await Server(
            ["--data", data, "--auth", "required", "--tls-cert", certificate, "--tls-key", key],
            environment: Self.password)
        let address = try #require(server.firstLine.split(separator: " ").last.map(String.init))
        #expect(address.hasPrefix("https://127.0.0.1:"))
        let file = try path("a.csv", "k\na\n")
        // A command that finds the server through its folder needs no credentials.
        let imported = try await Command.run(["import", file, "--type", "T", "--data", data] + Self.container)
        #expect(imported.status == 0 && imported.errors.contains(address), "\(imported.errors)")
        let there = ["schema", "show", "--url", address] + Self.container
        let untrusted = try await Command.run(there + ["--json"], environment: Self.password)
        #expect(untrusted.status == 69)
        #expect(try untrusted.errorJSON["code"] == "CERTIFICATE_NOT_TRUSTED", "\(untrusted.errors)")
        let trusted = Self.password.merging(["SKYLIGHT_TLS_CA": certificate]) { first, _ in first }
        #expect(try await Command.run(there, environment: trusted).output.contains("RECORD TYPE T"))
        let bad = try await Command.run(there, environment: ["SKYLIGHT_TLS_CA": file])
        #expect(bad.status == 65 && bad.errors.contains("SKYLIGHT_TLS_CA"))
        #expect(try await Command.run(there, environment: ["SKYLIGHT_TLS_CA": file + ".not"]).status == 66)
        #expect(await server.end() == 0)
    }
}
