import AssetStore
import Console
import Crypto
import Foundation
import HTTPServing
import Hummingbird
import HummingbirdTesting
import InMemoryRecordStore
import Logging
import LoopbackServing
import NIOCore
import RecordStore
import Records
import RemoteRecordStore
import RequestLog
import StoreScenarios
import TestSupport
import Testing
import WebServices

@testable import Accounts

/// A console, and a stand-in for iCloud: a server that requires credentials, and has nothing but CloudKit's protocol.
struct ConnectedStage: ConsoleStage {
    static let container = "iCloud.com.example.Real"
    static let there = "/c/\(container)/development/private"
    static let mirror = "/c/\(container).mirror/development/private"
    static let notes = ZoneID(zoneName: "Notes")

    let client: any TestClientProtocol
    /// The console's accounts and containers.
    let accounts: Accounts
    let containers: ContainersByEngine
    /// The address of the stand-in, its accounts and its data.
    let address: String
    let originAccounts: Accounts
    let origin: InMemoryRecordEngine
    let user: Name
    private let apiTokens: [Records.Environment: String]
    private let log: RequestLog

    /// - Parameter environment: is connected from the start; `nil` for no connection.
    static func run(
        _ environment: Records.Environment? = .development, isWritable: Bool = true, mode: AccessControl.Mode = .open,
        _ body: @Sendable (ConnectedStage) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let engine = InMemoryRecordEngine()
        let assets = AssetStores(folder: folder.url.appending(path: "origin"), engine: engine)
        let originAccounts = try Accounts(file: nil) { _ in }
        let container = try #require(ContainerID(container))
        var apiTokens: [Records.Environment: String] = [:]
        for environment in Records.Environment.allCases {
            apiTokens[environment] = try await originAccounts.makeAPIToken(
                named: "test", container: container, environment: environment, allowedOrigins: [], callback: nil
            ).secret
        }
        let user = try await originAccounts.makeUser(displayName: "Anna", emailAddress: nil).userRecordName
        let log = RequestLog()
        let routes = Routes()
        routes.addGuards(trusting: .loopback, tokensOf: originAccounts, protocolOnly: true)
        WebServices(
            engine: engine, accounts: originAccounts, assets: assets, log: log,
            access: AccessControl(.required, accounts: originAccounts)
        )
        .addRoutes(to: routes)
        try await LoopbackServer.run(routes, server: .guardedHTTP1(uploadLimit: assets.sizeLimit)) { [apiTokens] port in
            let accounts = try Accounts(file: nil) { _ in }
            let containers = ContainersByEngine(
                local: InMemoryRecordEngine(), accounts: accounts,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            let ownAssets = AssetStores(folder: folder.url.appending(path: "own"), engine: containers)
            try await Console(
                engine: containers, connections: containers, accounts: accounts, assets: ownAssets,
                access: AccessControl(mode, accounts: accounts, instanceSecret: "of this run"), templatesFolder: nil,
                publicFolder: nil
            ).test { client in
                let stage = ConnectedStage(
                    client: client, accounts: accounts, containers: containers, address: "http://127.0.0.1:\(port)",
                    originAccounts: originAccounts,
                    origin: engine, user: user, apiTokens: apiTokens, log: log)
                try await stage.fill()
                if let environment { try await accounts.connect(stage.connection(environment, isWritable: isWritable)) }
                try await body(stage)
            }
            await ownAssets.close()
            await containers.close()
        }
        await assets.close()
        await engine.close()
    }

    private func fill() async throws {
        for result in try await there().modifyZones([.create(Self.notes)]) { _ = try result.get() }
        try await save("note", ["title": .string("before"), "rank": .int64(1)])
    }

    // MARK: The origin

    func there(_ environment: Records.Environment = .development) async throws -> any RecordDatabase {
        let container = try #require(ContainerID(Self.container))
        return try await origin.database(
            DatabaseAddress(container: container, environment: environment, scope: .private),
            as: Caller(userRecordName: user))
    }

    func save(_ name: Name, _ fields: [Name: FieldValue]) async throws {
        let operation = RecordOperation(
            .forceUpdate, recordName: name, recordType: "Note", fields: fields.mapValues { FieldInput($0) })
        try await there().apply([operation], in: Self.notes)
    }

    /// Saves a record with a file, over the connection.
    func saveFile(_ name: Name, _ bytes: [UInt8]) async throws {
        let container = try #require(ContainerID(Self.container))
        let engine = try #require(try containers.connected(container, .development))
        let database = try engine.database(
            DatabaseAddress(container: engine.connection.container, environment: .development, scope: .private))
        let request = UploadRequest(recordType: "Photo", fieldName: "file", recordName: name)
        let grant = try #require(
            try await database.require(.uploadAssets).grantUploads([request], in: Self.notes).first
        )
        .get()
        let asset = try await database.upload(size: Int64(bytes.count), with: grant) {
            AsyncStream<ByteBuffer> { continuation in
                continuation.yield(ByteBuffer(bytes: bytes))
                continuation.finish()
            }
        }
        try await database.save(name, as: .create, type: "Photo", in: Self.notes, ["file": .asset(asset)])
    }

    func record(_ name: Name) async throws -> StoredRecord {
        try #require(try await there().fetch([RecordID(recordName: name, zoneID: Self.notes)], desiredKeys: nil).first)
            .get()
    }

    func values(_ name: Name) async throws -> [Name: FieldValue] {
        Dictionary(
            try await record(name).fields.decoded().map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first }
        )
    }

    func exists(_ name: Name) async throws -> Bool {
        guard
            case .success? = try await there().fetch([RecordID(recordName: name, zoneID: Self.notes)], desiredKeys: [])
                .first
        else { return false }
        return true
    }

    /// The number of requests that the stand-in got.
    var requestCount: Int64 { log.cursor }

    func apiToken(_ environment: Records.Environment = .development) throws -> String {
        try #require(apiTokens[environment])
    }

    /// A token of a user who has just signed in.
    func webAuthToken(_ environment: Records.Environment = .development) async throws -> String {
        let container = try #require(ContainerID(Self.container))
        return try await originAccounts.signIn(
            user, with: SignInRequest(container: container, environment: environment), keepSignedIn: false, now: Date()
        ).token
    }

    func connection(_ environment: Records.Environment = .development, isWritable: Bool = true) async throws
        -> ContainerConnection
    {
        ContainerConnection(
            container: try #require(ContainerID(Self.container)), environment: environment, address: address,
            credentials: .webAuth(
                apiToken: try apiToken(environment), webAuthToken: try await webAuthToken(environment)),
            userRecordName: user,
            isWritable: isWritable)
    }

    /// A key that the stand-in knows.
    func key() async throws -> (id: String, pem: String) {
        let key = P256.Signing.PrivateKey()
        let registered = try await originAccounts.registerServerKey(
            pem: key.publicKey.pemRepresentation, named: "test", container: try #require(ContainerID(Self.container)),
            environment: .development)
        return (registered.keyID, key.pemRepresentation)
    }

    /// Sends a form that changes iCloud, and then the question that it leads to.
    func sendAndConfirm(
        _ path: String, of page: String, _ changes: [String: String?] = [:],
        button: (name: String, value: String)? = nil
    ) async throws -> TestResponse {
        let question = EditStage.text(try await send(path, of: page, changes, button: button))
        #expect(question.contains("Change \(Self.container) (development) in iCloud?"), "\(question)")
        return try await send(path, of: question)
    }
}
