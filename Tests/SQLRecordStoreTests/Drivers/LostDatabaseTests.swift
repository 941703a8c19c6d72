import Foundation
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import SQLRecordStore

/// What clients, commands and the log learn while a database does not answer.
@Suite struct LostDatabaseTests {
    private let folder: TemporaryFolder
    private let log = LogLines()

    init() throws { folder = try TemporaryFolder() }

    /// As libpq says it.
    private static let away = SQLError(
        .connectionLost, "08001", "connection to server at \"db1\" (10.0.0.7), port 5432 failed: Connection refused",
        "SELECT 1", isForLog: true)
    private static let refused = SQLError(
        .cannotOpen, "28P01",
        "connection to server at \"db1\" (10.0.0.7), port 5432 failed: FATAL: password authentication failed for user \"hush\"",
        isForLog: true)

    private func engine(_ home: any StoreLocation) -> SQLRecordEngine {
        SQLRecordEngine(home: home, logger: log.logger, clock: Timestamp.now)
    }

    private func container(_ name: String) throws -> ContainerID {
        try #require(ContainerID("iCloud.com.example.\(name)"))
    }

    private func tellsNoPlace(_ error: RecordError?) -> Bool {
        !["db1", "10.0.0.7", "5432", "hush", "SELECT"].contains { error?.reason.contains($0) ?? false }
    }

    @Test func everyRequestIsToTryAgainAndWorksWhenItIsBack() async throws {
        let home = try LosableHome(folder.url)
        let engine = engine(home)
        let database = try await engine.withZone()
        try await database.save("a", in: notes)
        let store = try #require(database as? SQLDatabase).store
        let (one, two, other) = (try address(.private).container, try container("Two"), try container("Other"))
        let requests: [(String, () async throws -> Void)] = [
            ("list", { _ = try await engine.require(.listContainers).containers() }),
            ("delete", { try await engine.require(.editContainers).deleteContainer(two) }),
            ("rename", { try await engine.require(.editContainers).renameContainer(two, to: other) }),
            ("read", { _ = try await database.pull(notes) }),
            ("save", { try await store.write { _, _ in } }),
            (
                "open",
                {
                    _ = try await engine.database(
                        DatabaseAddress(container: other, environment: .development, scope: .private), as: ada)
                }
            ),
        ]
        home.fail(Self.away)
        for (name, request) in requests {
            let refusal = await refusal(request)
            #expect(refusal?.code == .tryAgainLater && refusal?.retryAfter == 1, "\(name)")
            #expect(refusal?.reason.hasPrefix("The database does not answer (") == true, "\(name)")
            #expect(tellsNoPlace(refusal), "\(name): \(refusal?.reason ?? "")")
        }
        for line in [
            "The containers can't be listed: ", "\(two) can't be deleted: ", "can't be read: ", "Writing failed: ",
            "The database does not answer (the ",
        ] {
            #expect(log.lines.contains { $0.contains(line) && $0.contains("db1") }, "\(line)")
        }
        for reason in try await engine.require(.summarizeContainers).summaries(of: [one]).map(\.unreadableBecause)
            + engine.health().map(\.reason)
        {
            #expect(reason != nil && tellsNoPlace(reason), "\(reason?.reason ?? "")")
        }
        home.fail(nil)
        try await database.save("b", in: notes)
        #expect(try await database.pull(notes).changes.map(\.recordID.recordName) == ["a", "b"])
        try await engine.require(.editContainers).renameContainer(one, to: two)
        #expect(try await engine.require(.listContainers).containers() == [two])
        await engine.close()
    }

    @Test func aDatabaseThatRefusesTheConnectionIsNotShownToClients() async throws {
        let home = try LosableHome(folder.url)
        let engine = engine(home)
        try await engine.withZone().save("a", in: notes)
        let unopened = DatabaseAddress(container: try container("Other"), environment: .development, scope: .private)
        let (one, two) = (try address(.private).container, try container("Two"))
        home.fail(Self.refused)
        let listed = await refusal { _ = try await engine.require(.listContainers).containers() }
        #expect(listed?.code == .internalError && listed?.reason.hasPrefix("The containers can't be listed: ") == true)
        let deleted = await refusal { try await engine.require(.editContainers).deleteContainer(one) }
        #expect(deleted?.code == .internalError && deleted?.reason.hasPrefix("\(one) can't be deleted: ") == true)
        let opened = await refusal { _ = try await engine.database(unopened, as: ada) }
        #expect(opened?.code == .internalError && opened?.reason.contains("can't be read") == true)
        let saved = await refusal { try await engine.full(.private).save("b", in: notes) }
        for error in [
            listed, deleted, opened, saved,
            StoreProblem.readOnly(StoreKey(container: two, environment: .development), because: Self.refused),
        ] {
            #expect(error != nil && tellsNoPlace(error), "\(error?.reason ?? "")")
        }
        #expect(
            log.lines.contains { $0.contains("The containers can't be listed: ") && $0.contains("hush") })
        await engine.close()
    }

    /// `move` shows the error to whoever gave it the addresses.
    @Test(arguments: [SQLError.Cause.connectionLost, .other])
    func aCopyThatFailsSaysWhyWithoutItsStatement(cause: SQLError.Cause) async throws {
        let source = try SQLRecordEngine(folder: folder.url.appending(path: "a"))
        try await source.withZone().save("a", in: notes)
        await source.close()
        let again = try SQLRecordEngine(folder: folder.url.appending(path: "a"))
        let home = try LosableHome(folder.url.appending(path: "b"))
        let target = engine(home)
        home.fail(
            SQLError(cause, "57P01", "db1 is away", "INSERT INTO records VALUES (?, ?, ?)", isForLog: true),
            isOfMaking: true)
        let failed = await refusal { _ = try await again.copyAll(to: target) { _, _, _ in } }
        #expect(failed?.code == (cause == .other ? .internalError : .tryAgainLater))
        #expect(
            failed?.reason.contains("db1 is away, 57P01") == true && failed?.reason.contains("INSERT") == false,
            "\(failed?.reason ?? "")")
        #expect(try !home.holds(StoreKey(container: address(.private).container, environment: .development)))
        home.fail(nil)
        #expect(try await again.copyAll(to: target) { _, _, _ in }.map(\.environment) == [.development])
        for engine in [again, target] { await engine.close() }
    }

    /// What a save would refuse today is copied, and counted.
    @Test func aCopyCountsEncryptedFieldsInThePublicDatabase() async throws {
        let source = try SQLRecordEngine(folder: folder.url.appending(path: "a"))
        let signature = Signature(
            timestamp: Timestamp(milliseconds: 1), userRecordName: ada.userRecordName, deviceID: "")
        for scope in [DatabaseScope.public, .private] {
            let database = scope == .public ? try await source.full(.public) : try await source.withZone()
            let zoneID = scope == .public ? ZoneID.default : notes
            let records = [true, true, false].enumerated().map { number, isEncrypted in
                StoredRecord(
                    recordID: RecordID(recordName: "r\(number)", zoneID: zoneID), recordType: "Item",
                    recordChangeTag: "1", created: signature, modified: signature,
                    fields: FieldsText([
                        Field(name: isEncrypted ? "key" : "text", value: .string("x"), isEncrypted: isEncrypted)
                    ]))
            }
            _ = try await database.require(.mirrorRecords).mirror(
                MirrorBatch(zoneID, changes: records.map { .init(.saved($0)) }))
            _ = try await database.require(.mirrorRecords).mirror(
                MirrorBatch(zoneID, changes: [.init(.deleted(records[0].recordID))]))
        }
        await source.close()
        let (again, target) = (
            try SQLRecordEngine(folder: folder.url.appending(path: "a")),
            try SQLRecordEngine(folder: folder.url.appending(path: "b"))
        )
        let copied = try await again.copyAll(to: target) { _, _, _ in }
        #expect(copied.map(\.encryptedInPublic) == [1] && copied.allSatisfy { $0.rows > 6 })
        for engine in [again, target] { await engine.close() }
    }

    @Test func anErrorDescribesItselfWithoutItsStatement() {
        let error = SQLError(.other, "23505", "a key is there already", "INSERT INTO records VALUES (?, ?, ?)")
        #expect("\(error)" == "a key is there already, 23505")
        #expect(StoreProblem.words(for: error) == "\(error)")
        #expect(StoreProblem.details(of: error) == "\(error), in: INSERT INTO records VALUES (?, ?, ?)")
    }
}
