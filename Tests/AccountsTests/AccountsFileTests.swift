import Foundation
import GRDB
import Records
import Testing
import TestSupport

@testable import Accounts

@Suite struct NewerFileTests {
    @Test("The accounts of a newer version are refused, and not changed")
    func newer() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("accounts.sqlite")
        _ = try Accounts(file: file)
        let queue = try DatabaseQueue(path: file.path)
        try queue.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('of tomorrow')") }
        try queue.close()
        let before = try Data(contentsOf: file)
        let refusal = #expect(throws: UnreadableAccounts.self) { _ = try Accounts(file: file) }
        #expect(refusal?.description == "accounts.sqlite was written by a newer version of Skylight; use that version")
        #expect(try Data(contentsOf: file) == before)
    }
}

@Suite("A file of accounts that two processes share")
struct SharedFileTests {
    @Test("Each learns of the other's users, tokens and removals")
    func following() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "skylight-accounts-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("accounts.sqlite")
        let (one, other) = (try Accounts(file: file, isShared: true), try Accounts(file: file, isShared: true))

        let anna = try one.caller(named: "anna", deviceID: nil).userRecordName
        try await eventually { other.user(handle: "anna")?.userRecordName == anna }
        let bert = try await other.makeUser(displayName: "Bert", emailAddress: "bert@example.com")
        try await eventually { one.user(emailAddress: "bert@example.com") == bert }

        _ = try await one.removeUser(anna)
        try await eventually { other.user(recordName: anna) == nil }
        #expect(other.user(handle: "bert") == bert)
    }
}
