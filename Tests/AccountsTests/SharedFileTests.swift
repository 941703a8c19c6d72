import Foundation
import Records
import TestSupport
import Testing

@testable import Accounts

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
