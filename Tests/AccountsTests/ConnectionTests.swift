import Foundation
import GRDB
import Records
import TestSupport
import Testing

@testable import Accounts

/// The credentials of connected containers.
@Suite struct ConnectionTests {
    private static let secrets = (
        apiToken: "a0b1c2d3e4f5a6b7c8d9e0f1a2b3c4d5", webAuthToken: "72__54__AQ+bb/cc==__first",
        pem: "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEsecret\n-----END EC PRIVATE KEY-----\n"
    )
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var file: URL { folder.url.appending(path: "accounts.sqlite") }

    private func container(_ name: String = "App") throws -> ContainerID {
        try #require(ContainerID("iCloud.com.example.\(name)"))
    }

    private func signedIn(_ environment: Records.Environment = .development) throws -> ContainerConnection {
        ContainerConnection(
            container: try container(), environment: environment, address: "http://127.0.0.1:8081",
            origin: "http://127.0.0.1:8181",
            credentials: .webAuth(apiToken: Self.secrets.apiToken, webAuthToken: Self.secrets.webAuthToken),
            userRecordName: "_abc", isWritable: true,
            made: Timestamp(milliseconds: 5))
    }

    private func withKey() throws -> ContainerConnection {
        ContainerConnection(
            container: try container(), environment: .production,
            credentials: .serverKey(keyID: "key-1", pem: Self.secrets.pem),
            made: Timestamp(milliseconds: 6))
    }

    @Test func connectionsOutliveTheProcess() async throws {
        let (development, production) = (try signedIn(), try withKey())
        do {
            let accounts = try Accounts(file: file)
            try await accounts.connect(production)
            try await accounts.connect(development)
            #expect(accounts.connections() == [development, production])
        }
        let accounts = try Accounts(file: file)
        let here = accounts.connections(of: try container())
        #expect(accounts.connections() == [development, production] && here.count == 2)
        #expect(accounts.connections(of: try container("Other")).isEmpty)
        let mirror = try container("App.mirror")
        let original = try container()
        #expect(
            accounts.connection(mirroredIn: mirror, .production) == production
                && accounts.connection(mirroredIn: original, .production) == nil)
        #expect(development.reach == Set(DatabaseScope.allCases) && production.reach == [.public])
        let writable = try signedIn(.production)
        #expect(!development.isReadOnly && production.isReadOnly && !writable.isReadOnly)
    }

    @Test func onlyTheOwnerCanReadTheFile() async throws {
        let accounts = try Accounts(file: file)
        try await accounts.connect(signedIn())
        func permissions() throws -> Int? {
            (try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? NSNumber)?.intValue
        }
        #expect(try permissions() == 0o600)
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: file.path)
        let refused = await #expect(throws: Records.RecordError.self) { try await accounts.connect(withKey()) }
        #expect(refused?.code == .accessDenied && accounts.connections().count == 1)
    }

    @Test func replacedAndForgottenCredentialsAreGone() async throws {
        let accounts = try Accounts(file: file)
        let connection = try signedIn()
        try await accounts.connect(connection)
        func holds(_ text: String) throws -> Bool { try Data(contentsOf: file).firstRange(of: Data(text.utf8)) != nil }
        #expect(try holds(Self.secrets.webAuthToken) && holds(Self.secrets.apiToken))
        try await accounts.keepWebAuthToken("72__54__AQ+bb/cc==__second", of: connection.id)
        #expect(try !holds(Self.secrets.webAuthToken) && holds("72__54__AQ+bb/cc==__second"))
        #expect(
            accounts.connections()[0].credentials
                == .webAuth(apiToken: Self.secrets.apiToken, webAuthToken: "72__54__AQ+bb/cc==__second"))
        #expect(try Accounts(file: file).connections() == accounts.connections())
        #expect(try await accounts.disconnect(container(), .development).id == connection.id)
        #expect(try accounts.connections().isEmpty && !holds("second") && !holds(Self.secrets.apiToken))
        await #expect(throws: Records.RecordError.self) { try await accounts.disconnect(container(), .development) }
    }

    /// The answer to a request of an old connection comes late.
    @Test func aTokenOfAReplacedConnectionIsNotKept() async throws {
        let accounts = try Accounts(file: nil)
        let (old, new) = (try signedIn(), try signedIn())
        try await accounts.connect(old)
        try await accounts.connect(new)
        try await accounts.keepWebAuthToken("late", of: old.id)
        #expect(accounts.connections() == [new] && old.id != new.id)
        let key = try withKey()
        try await accounts.connect(key)
        try await accounts.keepWebAuthToken("late", of: key.id)
        #expect(accounts.connections() == [new, key])
    }

    @Test func credentialsHaveLimits() async throws {
        let accounts = try Accounts(file: nil)
        for credentials in [
            ContainerConnection.Credentials.webAuth(apiToken: "", webAuthToken: "x"),
            .serverKey(keyID: "k", pem: String(repeating: "x", count: 20_000)),
        ] {
            let connection = ContainerConnection(
                container: try container(), environment: .development, credentials: credentials)
            await #expect(throws: Records.RecordError.self) { try await accounts.connect(connection) }
        }
        for number in 0...ContainerConnection.countLimit {
            let connection = ContainerConnection(
                container: try container("App\(number)"), environment: .development,
                credentials: .webAuth(apiToken: "a", webAuthToken: "b"))
            if number < ContainerConnection.countLimit {
                try await accounts.connect(connection)
            } else {
                await #expect(throws: Records.RecordError.self) { try await accounts.connect(connection) }
            }
        }
        #expect(accounts.connections().count == ContainerConnection.countLimit)
    }

    @Test func noDescriptionContainsASecret() throws {
        for connection in [try signedIn(), try withKey()] {
            var texts = [
                "\(connection)", String(reflecting: connection), "\(connection.credentials)",
                String(reflecting: connection.credentials),
            ]
            var dumped = ""
            dump(connection, to: &dumped)
            dump([connection.credentials], to: &dumped)
            var writer = JSONWriter()
            writer.value(connection)
            texts += [dumped, String(decoding: writer.bytes, as: UTF8.self)]
            for text in texts {
                for secret in [Self.secrets.apiToken, Self.secrets.webAuthToken, "MHcCAQEEsecret"] {
                    #expect(!text.contains(secret))
                }
            }
        }
    }
}
