import AssetStore
import Foundation
import HTTPServing
import Hummingbird
import InMemoryRecordStore
import Logging
import LoopbackServing
import RecordStore
import Records
import Synchronization
import TestSupport
import Testing
import WebServices

@testable import Accounts
@testable import CloudKitClient
@testable import DataTransfer

/// A server with nothing but CloudKit's protocol, the container in it, and a user who is signed in.
struct Origin: Sendable {
    let port: Int
    let engine: InMemoryRecordEngine
    let assets: AssetStores
    let accounts: Accounts
    let container: ContainerID
    let user: Name
    private let faults: FaultInjection
    private let clock: OriginClock
    private let apiToken: String
    private let userToken: NewestToken
    private let trusted: [UInt8]?

    /// - Parameter isEncrypted: true for a server over TLS, whose certificate only the clients here trust.
    static func run(isEncrypted: Bool = false, _ body: @Sendable (Origin) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        let clock = OriginClock()
        let engine = InMemoryRecordEngine(clock: { clock.now() })
        let assets = AssetStores(folder: folder.url, engine: engine)
        let faults = FaultInjection(clock: { clock.now() }, answerDelay: .zero)
        let certificate =
            try isEncrypted
            ? ServerCertificate(
                certificateFile: folder.write(TestCertificate.pem, to: "cert.pem").path(percentEncoded: false),
                keyFile: folder.write(TestCertificate.key, to: "key.pem").path(percentEncoded: false)) : nil
        let accounts = try Accounts(file: nil) { _ in }
        let container = try #require(ContainerID("iCloud.com.example.Mirrored"))
        let token = try await accounts.makeAPIToken(
            named: "test", container: container, environment: .development, allowedOrigins: [], callback: nil)
        let user = try await accounts.makeUser(displayName: "Anna", emailAddress: nil)
        let session = try await accounts.signIn(
            user.userRecordName, with: SignInRequest(container: container, environment: .development),
            keepSignedIn: false, now: Date())
        let router = Routes()
        router.addGuards(trusting: .loopback, tokensOf: accounts, isSecure: isEncrypted, protocolOnly: true)
        WebServices(
            engine: engine, accounts: accounts, assets: assets, faults: faults,
            access: AccessControl(.required, accounts: accounts)
        )
        .addRoutes(to: router)
        try await LoopbackServer.run(
            router, server: try .guardedHTTP1(uploadLimit: assets.sizeLimit).encrypted(with: certificate)
        ) { port in
            try await body(
                Origin(
                    port: port, engine: engine, assets: assets, accounts: accounts, container: container,
                    user: user.userRecordName, faults: faults,
                    clock: clock, apiToken: token.secret, userToken: NewestToken(session.token),
                    trusted: isEncrypted ? Array(TestCertificate.pem.utf8) : nil))
        }
        await assets.close()
        await engine.close()
    }

    func database(_ scope: DatabaseScope = .private, as name: Name? = nil) async throws -> any RecordDatabase {
        try await engine.database(
            DatabaseAddress(container: container, environment: .development, scope: scope),
            as: Caller(userRecordName: name ?? user))
    }

    /// Makes answers go wrong, or the next requests fail.
    func inject(_ fault: InjectedFault, count: Int? = nil) throws {
        try faults.start(FaultSetting(fault, count: count), in: FaultArea(container: container))
    }

    /// True if requests still have to fail.
    var isFaulty: Bool { !faults.isIdle }

    func stopFaults() { faults.stop() }

    /// Moves the origin's clock.
    func advance(by seconds: Int64) { clock.advance(by: seconds) }

    /// A client whose pauses take no time.
    /// - Parameter port: of a proxy.
    func client<Value>(through port: Int? = nil, _ body: (ContainerClient) async throws -> Value) async throws -> Value
    {
        let credential = WebAuthCredential(try #require(WebAuthToken(userToken.text))) { [userToken] in
            userToken.keep($0.text)
        }
        let elapsed = ManualClock()
        let pacing = Pacing(now: { elapsed.now }, pause: { elapsed.advance(by: $0) }, chance: { 0 })
        var configuration = ClientConfiguration(
            address: "\(trusted == nil ? "http" : "https")://127.0.0.1:\(port ?? self.port)")
        configuration.trustedCertificates = trusted
        let client = try ContainerClient(
            container: container, environment: .development,
            credentials: .webAuth(apiToken: apiToken, user: credential), configuration: configuration,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, pacing: pacing)
        do {
            let value = try await body(client)
            await client.close()
            return value
        } catch {
            await client.close()
            throw error
        }
    }
}

/// The user's token, which the server replaces.
private final class NewestToken: Sendable {
    private let token: Mutex<String>

    init(_ text: String) {
        token = Mutex(text)
    }

    var text: String { token.withLock { $0 } }
    func keep(_ text: String) { token.withLock { $0 = text } }
}

/// A clock that moves a millisecond with each look, and by leaps.
private final class OriginClock: Sendable {
    private let time = Mutex(Timestamp.now().milliseconds)

    func now() -> Timestamp {
        time.withLock { time in
            time += 1
            return Timestamp(milliseconds: time)
        }
    }

    func advance(by seconds: Int64) { time.withLock { $0 += seconds * 1000 } }
}

/// A mirror of an origin, in an engine of its own.
struct Copy: Sendable {
    let origin: Origin
    let engine: any RecordEngine
    let container: ContainerID
    var options = MirrorOptions(scopes: [.private, .shared])
    var assets: AssetStores?

    init(of origin: Origin, in engine: any RecordEngine, pageSize: Int = 200) throws {
        self.origin = origin
        container = try #require(origin.container.mirror)
        self.engine = engine
        options.pageSize = pageSize
    }

    func mirror<Value>(through port: Int? = nil, _ body: (ContainerMirror) async throws -> Value) async throws -> Value
    {
        try await origin.client(through: port) { client in
            let store = try await assets?.store(container, .development)
            return try await body(
                ContainerMirror(of: client, in: container, of: engine, as: origin.user, assets: store, options: options)
            )
        }
    }

    @discardableResult
    func pull(through port: Int? = nil) async throws -> PullReport {
        try await mirror(through: port) { try await $0.pull() }
    }

    @discardableResult
    func push(through port: Int? = nil, isDryRun: Bool = false) async throws -> PushReport {
        try await mirror(through: port) { try await $0.push(isDryRun: isDryRun) }
    }

    func database(_ scope: DatabaseScope = .private) async throws -> any RecordDatabase {
        try await engine.database(
            DatabaseAddress(container: container, environment: .development, scope: scope),
            as: Caller(userRecordName: origin.user))
    }

    /// Records an issue for each difference between the origin and the mirror.
    func expectEqual(_ scope: DatabaseScope = .private, sourceLocation: SourceLocation = #_sourceLocation) async throws
    {
        let (there, here) = (try await Contents(of: origin.database(scope)), try await Contents(of: database(scope)))
        #expect(Set(there.zones.keys) == Set(here.zones.keys), sourceLocation: sourceLocation)
        for (zone, records) in there.zones {
            let copies = here.zones[zone] ?? [:]
            #expect(Set(records.keys) == Set(copies.keys), "in \(zone)", sourceLocation: sourceLocation)
            for (name, record) in records { #expect(copies[name] == record, sourceLocation: sourceLocation) }
        }
    }
}

/// All records of a database by zone and name, with what a mirror promises to keep.
struct Contents {
    struct Version: Equatable {
        let recordType: Name
        let recordChangeTag: String
        let created: Signature
        let modified: Signature
        let parent: Name?
        let fields: [Name: FieldValue]
    }

    private(set) var zones: [Name: [Name: Version]] = [:]

    init(of database: any RecordDatabase) async throws {
        for zone in try await database.zones() {
            var records: [Name: Version] = [:]
            var after: Name?
            repeat {
                let page = try await database.require(.listRecords).list(RecordListRequest(zone.zoneID, after: after))
                for record in page.records where record.recordType != Schema.usersType {
                    let fields = try record.fields.decoded().map {
                        ($0.name, $0.value.mappingAssets { Asset(fileChecksum: "", size: $0.size) })
                    }
                    records[record.recordID.recordName] = Version(
                        recordType: record.recordType, recordChangeTag: record.recordChangeTag, created: record.created,
                        modified: record.modified,
                        parent: record.parent, fields: Dictionary(uniqueKeysWithValues: fields))
                }
                after = page.last
            } while after != nil
            // A default zone is there without a save, or not, as engines like it.
            if !zone.zoneID.isDefault || !records.isEmpty { zones[zone.zoneID.zoneName] = records }
        }
    }
}

extension RecordDatabase {
    func make(_ zone: ZoneID) async throws {
        for result in try await modifyZones([.create(zone)]) { _ = try result.get() }
    }

    func save(
        _ name: Name, in zoneID: ZoneID, type: Name = "Item", _ fields: [Name: FieldValue] = [:],
        parent: RecordOperation.Parent = .unchanged
    ) async throws {
        let operation = RecordOperation(
            .forceUpdate, recordName: name, recordType: type, fields: fields.mapValues { FieldInput($0) },
            parent: parent)
        for result in try await modify(ModifyRequest([operation], zoneID: zoneID)) { _ = try result.get() }
    }

    func remove(_ name: Name, in zoneID: ZoneID) async throws {
        for result in try await modify(ModifyRequest([RecordOperation(.forceDelete, recordName: name)], zoneID: zoneID))
        { _ = try result.get() }
    }

    func value(of field: Name, of name: Name, in zoneID: ZoneID) async throws -> FieldValue? {
        try await fetch([RecordID(recordName: name, zoneID: zoneID)], desiredKeys: nil)[0].get().fields.values(of: [
            field
        ])[field]
    }
}
