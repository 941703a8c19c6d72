import AssetStore
import Crypto
import Foundation
import HTTPServing
import InMemoryRecordStore
import Logging
import LoopbackServing
import RecordStore
import Records
import TestSupport
import Testing
import WebServices

@testable import Accounts
@testable import CloudKitClient

/// A real server that requires credentials and has nothing but CloudKit's protocol, and clients with each kind of
/// credentials.
struct LiveContainer: Sendable {
    static let container = "iCloud.com.example.Live"

    let address: String
    let stage: Stage
    let accounts: Accounts
    let faults: FaultInjection
    let container: ContainerID
    let apiToken: String
    private let trusted: [UInt8]?

    /// - Parameter certificate: for a server over TLS.
    static func run(
        certificate: ServerCertificate? = nil, trusting trusted: [UInt8]? = nil,
        _ body: @Sendable (LiveContainer) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let engine = InMemoryRecordEngine()
        let assets = AssetStores(folder: folder.url, engine: engine)
        let accounts = try Accounts(file: nil) { _ in }
        let container = try #require(ContainerID(Self.container))
        let faults = FaultInjection()
        let token = try await accounts.makeAPIToken(
            named: "test", container: container, environment: .development, allowedOrigins: [], callback: nil)
        let router = Routes()
        router.addGuards(trusting: .loopback, tokensOf: accounts, isSecure: certificate != nil, protocolOnly: true)
        WebServices(
            engine: engine, accounts: accounts, assets: assets, faults: faults,
            access: AccessControl(.required, accounts: accounts)
        )
        .addRoutes(to: router)
        try await LoopbackServer.run(
            router, server: try .guardedHTTP1(uploadLimit: assets.sizeLimit).encrypted(with: certificate)
        ) { port in
            let live = LiveContainer(
                address: "\(certificate == nil ? "http" : "https")://127.0.0.1:\(port)", stage: Stage(),
                accounts: accounts, faults: faults,
                container: container, apiToken: token.secret, trusted: trusted)
            try await body(live)
        }
        await assets.close()
        await engine.close()
    }

    /// A client of a user who has just signed in.
    func user(_ name: String = "Anna", _ body: (ContainerClient) async throws -> Void) async throws {
        let user = try await accounts.makeUser(displayName: name, emailAddress: "\(name.lowercased())@example.com")
        let request = SignInRequest(container: container, environment: .development)
        let session = try await accounts.signIn(user.userRecordName, with: request, keepSignedIn: false, now: Date())
        try await client(.webAuth(apiToken: apiToken, user: try stage.credential(session.token)), body)
    }

    /// A client with a server-to-server key.
    func serverKey(_ body: (ContainerClient) async throws -> Void) async throws {
        let key = P256.Signing.PrivateKey()
        let registered = try await accounts.registerServerKey(
            pem: key.publicKey.pemRepresentation, named: "test", container: container, environment: .development)
        try await client(
            .serverToServer(try ServerToServerKey(keyID: registered.keyID, pem: key.pemRepresentation)), body)
    }

    func client(_ credentials: ContainerCredentials, _ body: (ContainerClient) async throws -> Void) async throws {
        var configuration = ClientConfiguration(address: address)
        configuration.trustedCertificates = trusted
        let client = try ContainerClient(
            container: container, environment: .development, credentials: credentials, configuration: configuration,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            pacing: stage.time.pacing)
        do {
            try await body(client)
        } catch {
            await client.close()
            throw error
        }
        await client.close()
    }

    /// Makes the next requests of the container fail.
    func inject(_ fault: InjectedFault, count: Int? = nil) throws {
        try faults.start(FaultSetting(fault, count: count), in: FaultArea(container: container))
    }
}
