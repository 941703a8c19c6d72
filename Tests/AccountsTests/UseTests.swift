import Foundation
import GRDB
import Records
import Synchronization
import Testing

@testable import Accounts

@Suite("When users, tokens and sessions were used last")
struct UseTests {
    @Test("Uses that could not be written once are written with the next ones")
    func unwritten() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "skylight-accounts-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("accounts.sqlite")
        let accounts = try Accounts(file: file)
        _ = try accounts.caller(named: "anna", deviceID: nil)
        #expect(accounts.credentials.withLock { $0.isWriting })
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let other = try DatabaseQueue(path: file.path, configuration: configuration)
        try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        await #expect(throws: DatabaseError.self) { try await accounts.writeUses() }
        #expect(!accounts.credentials.withLock { $0.isWriting }, "the next use finds somebody who writes it")
        try await other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        // Whoever was asked to write the first use may do so at any moment, and both with it.
        _ = try accounts.caller(named: "bert", deviceID: nil)
        try await accounts.writeUses()
        #expect(try Accounts(file: file).users().map(\.handle) == ["developer", "anna", "bert"])
    }

    @Test("Moments beyond all bounds in the file end no request", arguments: [Int64.min, .max])
    func moments(moment: Int64) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "skylight-accounts-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("accounts.sqlite")
        _ = try Accounts(file: file)
        let other = try DatabaseQueue(path: file.path)
        try await other.write { try $0.execute(sql: "UPDATE user SET lastSeen = ?", arguments: [moment]) }
        try other.close()
        let accounts = try Accounts(file: file)
        let developer = try accounts.caller(named: nil, deviceID: nil)
        #expect(try #require(accounts.lastSeen(developer.userRecordName)).milliseconds > 0)
        var rotation = TokenRotation(newestIssue: moment, firstUse: moment)
        rotation.used(issue: .max, at: 0, grace: 1000)
        let session = WebAuthSession(
            id: "0123456789abcdef", user: developer.userRecordName,
            container: try #require(ContainerID("iCloud.com.example.Test")), environment: .development,
            apiTokenID: nil, keepsSignedIn: true, made: Timestamp(milliseconds: moment), lastUsed: nil, revoked: nil)
        #expect(session.isLive(at: Timestamp(milliseconds: 0)) == (moment > 0))
    }
}
