import AssetStore
import Console
import HTTPServing
import HTTPTypes
import HummingbirdTesting
import InMemoryRecordStore
import NIOCore
import RecordStore
import Records
import TestSupport
import Testing

@testable import Accounts

/// A console that requires access, and a client that keeps its cookie.
struct AccessStage: ConsoleStage {
    static let password = "correct horse battery"

    let client: any TestClientProtocol
    let accounts: Accounts

    /// - Parameter password: the administrator's; `nil` for none.
    static func run(
        _ mode: AccessControl.Mode = .required, password: String? = password, isSecure: Bool = false,
        _ body: @Sendable (AccessStage) async throws -> Void
    ) async throws {
        let engine = InMemoryRecordEngine()
        // Delays after wrong passwords would slow the tests down, so they are skipped.
        let accounts = try Accounts(file: nil) { _ in }
        if let password {
            try await accounts.setAdministratorPassword(
                password, cost: PasswordHashing.Cost(rounds: 16, blockSize: 8, parallelism: 1))
        }
        let folder = try TemporaryFolder()
        let container = try #require(ContainerID("iCloud.com.example.App"))
        let address = DatabaseAddress(container: container, environment: .development, scope: .private)
        _ = try await engine.database(address, as: accounts.caller(named: nil, deviceID: nil))
            .modifyZones([.create(ZoneID(zoneName: "Notes"))])
        try await Console(
            engine: engine, accounts: accounts, assets: AssetStores(folder: folder.url, engine: engine),
            access: AccessControl(mode, accounts: accounts, instanceSecret: "of this run"), templatesFolder: nil,
            publicFolder: nil
        ).test(isSecure: isSecure) { client in
            try await body(AccessStage(client: client, accounts: accounts))
        }
    }

    /// Signs in.
    /// - Returns: the cookie, as a browser sends it back.
    func signIn() async throws -> HTTPFields {
        let answer = try await post("/admin/sign-in", "password=correct+horse+battery")
        #expect(answer.status == .seeOther)
        let cookie = try #require(answer.headers[.setCookie]?.split(separator: ";").first)
        return [.cookie: String(cookie)]
    }

    /// The form secret in the head of a page.
    func secret(_ cookie: HTTPFields) async throws -> String {
        let page = String(buffer: try await get("/", cookie).body)
        return String(try #require(page.firstMatch(of: /<meta name="form-secret" content="([0-9a-f]+)">/)).output.1)
    }
}
