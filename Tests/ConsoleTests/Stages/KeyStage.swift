import Accounts
import AssetStore
import Console
import ConsolePages
import Crypto
import Foundation
import HTTPServing
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import InMemoryRecordStore
import NIOCore
import RecordStore
import Records
import TestSupport
import Testing

/// A console with accessible accounts, over an empty container. The client runs no scripts.
struct KeyStage: Sendable {
    static let there = "/c/iCloud.com.example.App/development/private"

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
        let router = Routes()
        router.addGuards(trusting: .loopback)
        let access = AccessControl(mode, accounts: accounts)
        try Console(
            engine: engine, accounts: accounts, assets: assets, access: access, templatesFolder: nil, publicFolder: nil
        ).addRoutes(to: router)
        try await Application(router: router).test(.router) { client in
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

    // MARK: The browser

    func get(_ path: String) async throws -> TestResponse {
        try await client.execute(uri: path.hasPrefix("/") ? path : "\(Self.there)/\(path)", method: .get) { $0 }
    }

    func post(_ path: String, _ fields: [(String, String)]) async throws -> TestResponse {
        let body = fields.map { "\(PercentEncoding.encoded($0.0))=\(PercentEncoding.encoded($0.1))" }.joined(
            separator: "&")
        return try await client.execute(
            uri: path.hasPrefix("/") ? path : "\(Self.there)/\(path)", method: .post, body: ByteBuffer(string: body)
        ) { $0 }
    }

    func page(_ path: String, _ status: HTTPResponse.Status = .ok) async throws -> String {
        let answer = try await get(path)
        #expect(answer.status == status, "\(path)")
        return EditStage.text(answer)
    }
}

extension TestResponse {
    func header(_ name: String) -> String? { HTTPField.Name(name).flatMap { headers[$0] } }
}
