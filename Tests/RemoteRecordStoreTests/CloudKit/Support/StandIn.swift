import AssetStore
import Crypto
import Foundation
import HTTPServing
import InMemoryRecordStore
import LoopbackServing
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing
import WebServices

@testable import Accounts
@testable import CloudKitClient
@testable import RemoteRecordStore

/// A server in the place of iCloud: it requires credentials, and has nothing but CloudKit's protocol.
struct StandIn: Sendable {
    let address: String
    /// The users and tokens of the server.
    let accounts: Accounts
    let faults: FaultInjection
    let container: ContainerID
    private let apiTokens: [Records.Environment: String]

    static func run(clock: TestClock = TestClock(), _ body: @Sendable (StandIn) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        let engine = InMemoryRecordEngine(clock: { clock.now() })
        let assets = AssetStores(folder: folder.url, engine: engine, clock: { clock.now() })
        let accounts = try Accounts(file: nil) { _ in }
        let container = try StoreScenarios.address(.private).container
        var apiTokens: [Records.Environment: String] = [:]
        for environment in Records.Environment.allCases {
            apiTokens[environment] =
                try await accounts.makeAPIToken(
                    named: "test", container: container, environment: environment, allowedOrigins: [], callback: nil
                ).secret
        }
        let faults = FaultInjection()
        let routes = Routes()
        routes.addGuards(trusting: .loopback, tokensOf: accounts, protocolOnly: true)
        // Clients sign with the real time, and scenarios wait for days.
        WebServices(
            engine: engine, accounts: accounts, assets: assets, faults: faults,
            access: AccessControl(.required, accounts: accounts),
            clock: { .now() }
        ).addRoutes(to: routes)
        try await LoopbackServer.run(routes, server: .guardedHTTP1(uploadLimit: assets.sizeLimit)) { [apiTokens] port in
            try await body(
                StandIn(
                    address: "http://127.0.0.1:\(port)", accounts: accounts, faults: faults, container: container,
                    apiTokens: apiTokens))
        }
        await assets.close()
        await engine.close()
    }

    /// A connection of a user who has just signed in.
    func connection(
        of user: Name = ada.userRecordName, _ environment: Records.Environment = .development, isWritable: Bool = true
    ) async throws -> ContainerConnection {
        let user = try await accounts.existingOrNewUser(named: user.string)
        let request = SignInRequest(container: container, environment: environment)
        let (_, token) = try await accounts.signIn(user.userRecordName, with: request, keepSignedIn: false, now: Date())
        return ContainerConnection(
            container: container, environment: environment, address: address,
            credentials: .webAuth(apiToken: try #require(apiTokens[environment]), webAuthToken: token),
            userRecordName: user.userRecordName,
            isWritable: isWritable)
    }

    /// A connection with a server-to-server key.
    func keyConnection() async throws -> ContainerConnection {
        let key = P256.Signing.PrivateKey()
        let registered = try await accounts.registerServerKey(
            pem: key.publicKey.pemRepresentation, named: "test", container: container, environment: .development)
        return ContainerConnection(
            container: container, environment: .development, address: address,
            credentials: .serverKey(keyID: registered.keyID, pem: key.pemRepresentation))
    }

    /// Runs with an engine over the stand-in.
    func withEngine(
        _ connection: ContainerConnection, log: LogLines = LogLines(), clock: TestClock = TestClock(),
        _ body: (CloudKitRecordEngine) async throws -> Void
    ) async throws {
        let engine = try CloudKitRecordEngine(connection, logger: log.logger, clock: { clock.now() }) { _ in }
        do {
            try await body(engine)
        } catch {
            await engine.close()
            throw error
        }
        await engine.close()
    }

    /// Makes the next requests fail.
    func inject(_ fault: InjectedFault, count: Int? = nil) throws {
        try faults.start(FaultSetting(fault, count: count), in: FaultArea(container: container))
    }
}

extension CloudKitRecordEngine {
    func database(_ scope: DatabaseScope) throws -> CloudKitDatabase {
        try database(
            DatabaseAddress(container: connection.container, environment: connection.environment, scope: scope))
    }
}
