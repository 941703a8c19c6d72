import Accounts
import AssetStore
import HTTPServing
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import InMemoryRecordStore
import NIOCore
import RecordStore
import Records
import RequestLog
import TestSupport
import Testing

@testable import Console

/// A console over an engine, the in-memory one if nothing else is said, with a log that tests fill like the web services would.
struct RequestStage: ConsoleStage {
    static let zone = ZoneID(zoneName: "Notes")

    let log: RequestLog
    let engine: any RecordEngine
    let accounts: Accounts
    let address: DatabaseAddress
    let user: Caller
    let database: any RecordDatabase
    let client: any TestClientProtocol
    /// The credentials of the pages' administrator.
    var headers = HTTPFields()

    /// - Parameters:
    ///   - device: the developer's.
    ///   - access: the need for credentials. The stage brings them.
    ///   - sender: sends notifications again.
    ///   - answering: the web services' answer to a replayed request; the id of the context is that of the request.
    static func with(
        engine: (any RecordEngine)? = nil, log: RequestLog = RequestLog(), journal: JournalLimits = .standard,
        device: String? = nil,
        access: AccessControl.Mode = .open,
        answering: (@Sendable (Request, ServingRequestContext, RequestLog) async throws -> Response)? = nil,
        sender: (any NotificationSender)? = nil, _ body: @Sendable (RequestStage) async throws -> Void
    ) async throws {
        let engine = engine ?? InMemoryRecordEngine(journal: journal)
        let accounts = try Accounts(file: nil)
        let folder = try TemporaryFolder()
        let container = try #require(ContainerID("iCloud.com.example.App"))
        let address = DatabaseAddress(container: container, environment: .development, scope: .private)
        let user = try accounts.caller(named: nil, deviceID: device)
        _ = try accounts.caller(named: "grace", deviceID: nil)
        let database = try await engine.database(address, as: user)
        _ = try await database.modifyZones([.create(zone)])
        let services = answering.map { answer in
            CallbackResponder<ServingRequestContext> { request, context in try await answer(request, context, log) }
        }
        try await Console(
            engine: engine, accounts: accounts, assets: AssetStores(folder: folder.url, engine: engine), log: log,
            webServices: services,
            notificationSender: sender,
            access: AccessControl(access, accounts: accounts, instanceSecret: "of this run"), templatesFolder: nil,
            publicFolder: nil
        ).test { client in
            let headers: HTTPFields = access == .open ? [:] : [.authorization: "Bearer of this run"]
            try await body(
                RequestStage(
                    log: log, engine: engine, accounts: accounts, address: address, user: user, database: database,
                    client: client, headers: headers))
        }
    }

    /// The zone as the stage's user names it.
    var seenZone: ZoneID {
        address.scope == .shared
            ? ZoneID(zoneName: Self.zone.zoneName, ownerRecordName: User.recordName(ofHandle: User.developerHandle))
            : Self.zone
    }

    /// The same console with the shared database of a user, with whom the zone is shared.
    func guest(_ handle: String) async throws -> RequestStage {
        let guest = try accounts.caller(named: handle, deviceID: nil)
        try await database.share(
            Self.zone, with: ZoneParticipant(userRecordName: guest.userRecordName, permission: .readWrite), on: engine)
        let there = DatabaseAddress(container: address.container, environment: address.environment, scope: .shared)
        return RequestStage(
            log: log, engine: engine, accounts: accounts, address: there, user: guest,
            database: try await engine.database(there, as: guest), client: client, headers: headers)
    }

    /// Returns when times differ from those of before. They have milliseconds.
    static func nextMillisecond() async throws {
        let now = Timestamp.now()
        try await eventually { Timestamp.now() > now }
    }

    func page(_ path: String, in place: String = RequestStage.there) async throws -> String {
        let text = String(buffer: try await get(path, headers, in: place).body)
        #expect(!text.contains("Optional(") && !text.contains("{{"))
        return text
    }

    @discardableResult
    func save(
        _ name: Name, type: Name = "Note", title: String = "t", in zoneID: ZoneID = RequestStage.zone
    ) async throws -> StoredRecord {
        let operation = RecordOperation(
            .forceUpdate, recordName: name, recordType: type,
            fields: ["title": FieldInput(.string(title)), "rank": FieldInput(.int64(1))])
        let results = try await database.modify(ModifyRequest([operation], zoneID: zoneID))
        guard case .saved(let record)? = try results.first?.get() else {
            throw RecordError(.internalError, "not a save")
        }
        return record
    }

    /// A log entry as the web services would write it.
    func request(
        _ operation: String, from name: String? = "phone", as user: Caller? = nil, in address: DatabaseAddress? = nil
    ) -> ServedRequest {
        let there = address ?? self.address
        var request = ServedRequest(
            id: UUIDs.next(), started: .now(), method: "POST",
            target: "/database/1/\(there.container)/\(there.environment.rawValue)/\(there.scope.rawValue)/\(operation)",
            operation: operation,
            client: ClientIdentity(name: name, deviceID: nil, userAgent: "Test/1.0"))
        request.status = 200
        request.milliseconds = 1.5
        request.address = there
        request.userRecordName = (user ?? self.user).userRecordName
        return request
    }

    @discardableResult
    func note(_ request: ServedRequest, sent: String = "", answered: String = "{}") -> ServedRequest {
        var request = request
        request.bytesIn = sent.utf8.count
        request.bytesOut = answered.utf8.count
        log.note(
            request,
            bodies: RequestBodies(
                request: sent.isEmpty ? nil : RequestBodies.Body(Array(sent.utf8)),
                response: answered.isEmpty ? nil : RequestBodies.Body(Array(answered.utf8))))
        return request
    }

    /// Pulls one page of a zone like a client, and logs it.
    /// - Returns: the new token; `nil` if the pull was refused.
    @discardableResult
    func pull(
        from name: String = "phone", since token: ChangeToken? = nil, limit: Int = 200, types: Set<Name>? = nil,
        keys: Set<Name>? = nil, reverse: Bool = false,
        zone: ZoneID = RequestStage.zone
    ) async throws -> ChangeToken? {
        var request = request("changes/zone", from: name)
        request.zoneIDs = [zone]
        var given: ChangeToken?
        do {
            let page = try await database.zoneChanges(
                ZoneChangesRequest(
                    zone, since: token, limit: PageLimit(records: limit), desiredKeys: keys, desiredRecordTypes: types,
                    reverse: reverse))
            given = page.syncToken
            request.pulls = [
                ServedRequest.Pull(
                    zoneID: zone, sent: token, given: page.syncToken, moreComing: page.moreComing,
                    changes: page.changes.count, recordTypes: types,
                    keys: keys, reverse: reverse)
            ]
        } catch let error as RecordError {
            let item = ServedRequest.ItemError(error, name: zone.zoneName)
            request.pulls = [
                ServedRequest.Pull(zoneID: zone, sent: token, given: nil, moreComing: false, changes: 0, error: item)
            ]
            request.itemErrors = [item]
        }
        note(request)
        return given
    }
}

/// Random request identifiers.
private enum UUIDs {
    static func next() -> String {
        let digits = (0..<32).map { _ in String(Int.random(in: 0..<16), radix: 16) }.joined()
        let parts = [(0, 8), (8, 4), (12, 4), (16, 4), (20, 12)].map { start, length in
            String(digits.dropFirst(start).prefix(length))
        }
        return parts.joined(separator: "-")
    }
}
