import CloudKitClient
import Foundation
import LoopbackServing
import Records
import SkylightTesting
import Synchronization
import TestSupport
import Testing

@testable import RemoteRecords

/// What one send of an engine sends, and what it throws.
@Suite struct SendingTests {
    private static func recordID(_ name: Name) -> RecordID { RecordID(recordName: name, zoneID: zone) }

    /// An app that adds each failed change again, without a change of its record.
    private final class Stubborn: SyncEngineDelegate {
        func nextRecordZoneChangeBatch(_ context: SyncEngine.SendChangesContext, syncEngine: SyncEngine) async
            -> RecordZoneChangeBatch?
        {
            await RecordZoneChangeBatch(pendingChanges: syncEngine.state.pendingRecordZoneChanges) {
                Record(recordType: "Item", recordID: $0)
            }
        }

        func handleEvent(_ event: SyncEngine.Event, syncEngine: SyncEngine) async {
            guard case .sentRecordZoneChanges(let sent) = event else { return }
            syncEngine.state.add(
                pendingRecordZoneChanges: sent.failedRecordSaves.map { .saveRecord($0.record.recordID) })
        }
    }

    private static func refusing(_ body: (Container, ScriptedServer) async throws -> Void) async throws {
        try await withScript({ request, _ in
            if request.path.hasSuffix("users/caller") { return .json(#"{"users":[{"userRecordName":"_a"}]}"#) }
            if request.path.hasSuffix("changes/database") {
                return .json(#"{"zones":[],"syncToken":"t","moreComing":false}"#)
            }
            return records(#""recordName":"a","serverErrorCode":"ACCESS_DENIED","reason":"no""#)
        }) { container, server in try await body(container, server) }
    }

    private static func modifications(_ server: ScriptedServer) -> Int {
        server.requests.count { $0.path.hasSuffix("records/modify") }
    }

    /// Otherwise it would be sent for ever.
    @Test func aChangeThatIsAddedAgainGoesWithTheNextSend() async throws {
        try await Self.refusing { container, server in
            let engine = try SyncEngine(
                .init(database: container.privateCloudDatabase, stateSerialization: nil, delegate: Stubborn()))
            engine.state.add(pendingRecordZoneChanges: [.saveRecord(Self.recordID("a"))])
            for count in 1...3 {
                let error = await operationError { try await engine.sendChanges() }
                #expect(error?.code == .partialFailure && Self.modifications(server) == count)
                #expect(error?.partialErrors.mapValues(\.code) == [.record(Self.recordID("a")): .permissionFailure])
                #expect(engine.state.pendingRecordZoneChanges == [.saveRecord(Self.recordID("a"))])
            }
        }
    }

    /// A sync sends again what was added meanwhile, and comes to its end. It is not ended by what was refused.
    @Test func aSyncSendsAChangeThatIsAddedAgainAFewTimes() async throws {
        try await Self.refusing { container, server in
            let engine = try SyncEngine(
                .init(database: container.privateCloudDatabase, stateSerialization: nil, delegate: Stubborn()))
            engine.state.add(pendingRecordZoneChanges: [.saveRecord(Self.recordID("a"))])
            try await engine.sync()
            #expect(Self.modifications(server) == 5)
        }
    }

    /// An app that does not use the pending changes, and returns the same batch again and again.
    private struct Untracked: SyncEngineDelegate {
        func nextRecordZoneChangeBatch(_ context: SyncEngine.SendChangesContext, syncEngine: SyncEngine) async
            -> RecordZoneChangeBatch?
        { RecordZoneChangeBatch(recordsToSave: [Record(recordType: "Item", recordID: recordID("a"))]) }

        func handleEvent(_ event: SyncEngine.Event, syncEngine: SyncEngine) async {}
    }

    @Test func aRecordThatIsNotPendingIsSentOnce() async throws {
        try await Self.refusing { container, server in
            let engine = try SyncEngine(
                .init(database: container.privateCloudDatabase, stateSerialization: nil, delegate: Untracked()))
            let error = await operationError { try await engine.sendChanges() }
            #expect(error?.code == .partialFailure && Self.modifications(server) == 1)
        }
    }

    /// An app that makes the parent of a record while the record is about to be sent.
    private final class Late: SyncEngineDelegate {
        let callbacks = CallbackLog()
        private let isMade = Mutex(false)

        func nextRecordZoneChangeBatch(_ context: SyncEngine.SendChangesContext, syncEngine: SyncEngine) async
            -> RecordZoneChangeBatch?
        {
            let changes = syncEngine.state.pendingRecordZoneChanges
            let isFirst = isMade.withLock { isMade in
                defer { isMade = true }
                return !isMade
            }
            if isFirst { syncEngine.state.add(pendingRecordZoneChanges: [.saveRecord(recordID("parent"))]) }
            return await RecordZoneChangeBatch(pendingChanges: changes) { recordID in
                var record = Record(recordType: "Item", recordID: recordID)
                if recordID.recordName == "child" { record.parent = "parent" }
                return record
            }
        }

        func handleEvent(_ event: SyncEngine.Event, syncEngine: SyncEngine) async {
            if case .sentRecordZoneChanges = event, let words = event.words { callbacks.note(words) }
        }
    }

    /// It is not reported as refused, since its parent is sent next.
    @Test func aChildWaitsForAParentThatIsAddedMeanwhile() async throws {
        try await LiveServer.run { server in
            try await server.device { client in
                let database = Container(client).privateCloudDatabase
                try await database.save(zone)
                let app = Late()
                let engine = try SyncEngine(.init(database: database, stateSerialization: nil, delegate: app))
                engine.state.add(pendingRecordZoneChanges: [.saveRecord(Self.recordID("child"))])
                try await engine.sendChanges()
                #expect(app.callbacks.all.isEmpty && engine.state.pendingRecordZoneChanges.count == 2)
                try await engine.sendChanges()
                #expect(app.callbacks.all == ["sent records +2 -0 !0"] && engine.state.pendingRecordZoneChanges.isEmpty)
            }
        }
    }

    // MARK: The delegate

    /// An app that is the delegate of its engine.
    private final class Owner: SyncEngineDelegate {
        private let engine = Mutex<SyncEngine?>(nil)
        private let onEnd: @Sendable () -> Void

        init(_ onEnd: @escaping @Sendable () -> Void) {
            self.onEnd = onEnd
        }

        deinit { onEnd() }

        func makeEngine(_ database: Database) throws -> SyncEngine {
            var configuration = SyncEngine.Configuration(database: database, stateSerialization: nil, delegate: self)
            configuration.keepsDelegate = false
            let made = try SyncEngine(configuration)
            engine.withLock { $0 = made }
            return made
        }

        func nextRecordZoneChangeBatch(_ context: SyncEngine.SendChangesContext, syncEngine: SyncEngine) async
            -> RecordZoneChangeBatch?
        { nil }
        func handleEvent(_ event: SyncEngine.Event, syncEngine: SyncEngine) async {}
    }

    @Test func anAppThatOwnsItsEngineIsFreed() async throws {
        try await Self.refusing { container, _ in
            let isGone = Mutex(false)
            var app: Owner? = Owner { isGone.withLock { $0 = true } }
            let engine = try #require(try app?.makeEngine(container.privateCloudDatabase))
            try await engine.fetchChanges()
            #expect(!isGone.withLock { $0 })
            app = nil
            #expect(isGone.withLock { $0 })
            // What it would fetch would be lost.
            #expect(await operationError { try await engine.fetchChanges() }?.code == .operationCancelled)
        }
    }

    /// A value is nobody else's.
    @Test func aDelegateThatIsNoObjectIsKept() async throws {
        try await Self.refusing { container, server in
            var configuration = SyncEngine.Configuration(
                database: container.privateCloudDatabase, stateSerialization: nil, delegate: Untracked())
            configuration.keepsDelegate = false
            let engine = try SyncEngine(configuration)
            #expect(await operationError { try await engine.sendChanges() }?.code == .partialFailure)
            #expect(Self.modifications(server) == 1)
        }
    }
}

private func recordID(_ name: Name) -> RecordID { RecordID(recordName: name, zoneID: zone) }

// MARK: - An app like Apple's sample

/// The behaviour that the tests of Apple's sample for CKSyncEngine expect: a record is sent again by the next send after
/// a conflict, and after its zone or itself was deleted by others.
@Suite struct SampleAppTests {
    /// Names with the time of their change. The later one wins.
    private struct Contact: Hashable {
        var name: String
        var changed: Date
        var server: Record?

        static func == (left: Contact, right: Contact) -> Bool {
            left.name == right.name && abs(left.changed.timeIntervalSince(right.changed)) < 0.001
        }

        func hash(into hasher: inout Hasher) { hasher.combine(name) }

        mutating func merge(_ record: Record) {
            server = record
            guard let date = record["changed"] as? Date, date >= changed else { return }
            (name, changed) = (record["name"] as? String ?? "", date)
        }
    }

    private final class App: SyncEngineDelegate {
        private let stored = Mutex<[Name: Contact]>([:])

        var contacts: [Name: Contact] { stored.withLock { $0 } }

        func save(_ contacts: [Name: Contact], _ engine: SyncEngine) {
            stored.withLock { $0.merge(contacts) { _, new in new } }
            engine.state.add(
                pendingRecordZoneChanges: contacts.keys.sorted().map { .saveRecord(recordID($0)) })
        }

        func nextRecordZoneChangeBatch(_ context: SyncEngine.SendChangesContext, syncEngine: SyncEngine) async
            -> RecordZoneChangeBatch?
        {
            let changes = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
            let contacts = contacts
            return await RecordZoneChangeBatch(pendingChanges: changes) { recordID in
                guard let contact = contacts[recordID.recordName] else { return nil }
                var record = contact.server ?? Record(recordType: "Contact", recordID: recordID)
                record["name"] = contact.name
                record["changed"] = contact.changed
                return record
            }
        }

        func handleEvent(_ event: SyncEngine.Event, syncEngine: SyncEngine) async {
            switch event {
            case .fetchedRecordZoneChanges(let event):
                for record in event.modifications.map(\.record) { take(record) }
            case .sentRecordZoneChanges(let event):
                for record in event.savedRecords { stored.withLock { $0[record.recordID.recordName]?.server = record } }
                for failed in event.failedRecordSaves {
                    let recordID = failed.record.recordID
                    switch failed.error.code {
                    case .serverRecordChanged: failed.error.serverRecord.map { take($0) }
                    case .zoneNotFound:
                        syncEngine.state.add(pendingDatabaseChanges: [.saveZone(recordID.zoneID)])
                        fallthrough
                    case .unknownItem: stored.withLock { $0[recordID.recordName]?.server = nil }
                    default: continue
                    }
                    syncEngine.state.add(pendingRecordZoneChanges: [.saveRecord(recordID)])
                }
            default: break
            }
        }

        private func take(_ record: Record) {
            stored.withLock { contacts in
                var contact = contacts[record.recordID.recordName] ?? Contact(name: "", changed: .distantPast)
                contact.merge(record)
                contacts[record.recordID.recordName] = contact
            }
        }
    }

    private struct Phone {
        let app = App()
        let engine: SyncEngine

        init(_ database: Database) throws {
            engine = try SyncEngine(.init(database: database, stateSerialization: nil, delegate: app))
        }
    }

    private static func phones(_ body: (Database, Phone, Phone) async throws -> Void) async throws {
        try await LiveServer.run { server in
            try await server.device { client in
                let database = Container(client).privateCloudDatabase
                try await database.save(zone)
                try await body(database, Phone(database), Phone(database))
            }
        }
    }

    private static let start = Date(timeIntervalSince1970: 1_700_000_000)

    @Test(arguments: [1, 10, 444]) func contactsArrive(count: Int) async throws {
        try await Self.phones { _, first, second in
            let contacts = Dictionary(
                uniqueKeysWithValues: (0..<count).map { (Name("c\($0)"), Contact(name: "\($0)", changed: Self.start)) })
            first.app.save(contacts, first.engine)
            try await first.engine.sendChanges()
            #expect(first.engine.state.pendingRecordZoneChanges.isEmpty && second.app.contacts.isEmpty)
            try await second.engine.fetchChanges()
            #expect(second.app.contacts == contacts)
        }
    }

    @Test func aNewNameGoesBothWays() async throws {
        try await Self.phones { _, first, second in
            var contact = Contact(name: "one", changed: Self.start)
            first.app.save(["c": contact], first.engine)
            try await first.engine.sendChanges()
            for (number, (from, to)) in [(second, first), (first, second)].enumerated() {
                try await from.engine.fetchChanges()
                contact = try #require(from.app.contacts["c"])
                contact.name = "name \(number)"
                contact.changed += 1
                from.app.save(["c": contact], from.engine)
                try await from.engine.sendChanges()
                try await to.engine.fetchChanges()
                #expect(to.app.contacts["c"]?.name == "name \(number)")
            }
        }
    }

    /// Another device deleted the record, or its zone. The first send says so, and the next one makes it anew.
    @Test(arguments: [true, false]) func aDeletedContactIsMadeAnew(withItsZone: Bool) async throws {
        try await Self.phones { database, first, second in
            first.app.save(["c": Contact(name: "one", changed: Self.start)], first.engine)
            try await first.engine.sendChanges()
            let created = try #require(first.app.contacts["c"]?.server?.created)
            if withItsZone {
                try await database.deleteRecordZone(withID: zone)
            } else {
                try await database.deleteRecord(withID: recordID("c"))
            }
            var contact = try #require(first.app.contacts["c"])
            (contact.name, contact.changed) = ("two", Self.start + 1)
            first.app.save(["c": contact], first.engine)
            let error = await operationError { try await first.engine.sendChanges() }
            #expect(
                error?.partialErrors.mapValues(\.code) == [
                    .record(recordID("c")): withItsZone ? .zoneNotFound : .unknownItem
                ])
            #expect(first.app.contacts["c"] != nil && first.app.contacts["c"]?.server == nil)
            try await first.engine.sendChanges()
            try await second.engine.fetchChanges()
            #expect(second.app.contacts["c"] == contact && second.app.contacts["c"]?.server?.created != created)
        }
    }

    /// The later change wins, whichever device sends first.
    @Test(arguments: [true, false]) func aConflictIsSentByTheNextSend(winnerSendsFirst: Bool) async throws {
        try await Self.phones { _, winner, loser in
            winner.app.save(["c": Contact(name: "old", changed: Self.start)], winner.engine)
            try await winner.engine.sendChanges()
            try await loser.engine.fetchChanges()
            for (phone, name, seconds) in [(winner, "wins", 2.0), (loser, "loses", 1.0)] {
                var contact = try #require(phone.app.contacts["c"])
                (contact.name, contact.changed) = (name, Self.start + seconds)
                phone.app.save(["c": contact], phone.engine)
            }
            let (first, last) = winnerSendsFirst ? (winner, loser) : (loser, winner)
            try await first.engine.sendChanges()
            #expect(await operationError { try await last.engine.sendChanges() }?.code == .partialFailure)
            #expect(
                first.engine.state.pendingRecordZoneChanges.isEmpty
                    && last.engine.state.pendingRecordZoneChanges.count == 1)
            #expect(last.app.contacts["c"]?.name == "wins")
            try await last.engine.sendChanges()
            try await first.engine.fetchChanges()
            #expect([first, last].map { $0.app.contacts["c"]?.name } == ["wins", "wins"])
        }
    }
}
