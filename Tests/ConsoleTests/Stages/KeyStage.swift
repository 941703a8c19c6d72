import Accounts
import AssetStore
import Console
import Crypto
import Foundation
import HTTPServing
import HTTPTypes
import HummingbirdTesting
import InMemoryRecordStore
import RecordStore
import Records
import TestSupport
import Testing

/// A console with accessible accounts, over an empty container. The client runs no scripts.
struct KeyStage: ConsoleStage {
    let client: any TestClientProtocol
    let accounts: Accounts
    let container: ContainerID

    static func run(_ mode: AccessControl.Mode = .open, _ body: @Sendable (KeyStage) async throws -> Void) async throws
    {
        let engine = InMemoryRecordEngine()
        let accounts = try Accounts(file: nil)
        let folder = try TemporaryFolder()
        let container = try #require(ContainerID("iCloud.com.example.App"))
        let caller = try accounts.caller(named: nil, deviceID: nil)
        _ = try await engine.database(
            DatabaseAddress(container: container, environment: .development, scope: .private), as: caller)
        let assets = AssetStores(folder: folder.url, engine: engine)
        let access = AccessControl(mode, accounts: accounts)
        try await Console(
            engine: engine, accounts: accounts, assets: assets, access: access, templatesFolder: nil, publicFolder: nil
        ).test { client in
            try await body(KeyStage(client: client, accounts: accounts, container: container))
        }
    }

    // MARK: Credentials

    func ticket(origin: String? = nil, token: APIToken? = nil, now: Date = Date()) -> String {
        accounts.signInTicket(
            for: SignInRequest(container: container, environment: .development, apiTokenID: token?.id, origin: origin),
            now: now)
    }

    func token(named name: String = "Web app", origins: [String] = [], callback: String? = nil) async throws -> (
        token: APIToken, secret: String
    ) {
        try await accounts.makeAPIToken(
            named: name, container: container, environment: .development, allowedOrigins: origins, callback: callback)
    }

    /// The user of a web auth token; `nil` if the token is not valid.
    func user(of token: String, now: Date = Date()) -> Name? {
        if case .valid(let session) = accounts.webAuth(token, container: container, environment: .development, now: now)
        {
            session.user
        } else {
            nil
        }
    }
}

extension TestResponse {
    func header(_ name: String) -> String? { HTTPField.Name(name).flatMap { headers[$0] } }
}
