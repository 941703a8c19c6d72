import Accounts
import Foundation
import JSON
import Records
import Testing

@Suite("Accounts")
struct AccountsTests {
    @Test("The developer is there from the start and speaks for requests without a name")
    func developer() throws {
        let accounts = try Accounts(file: nil)
        let users = try accounts.users()
        #expect(users.map(\.handle) == ["developer"])
        #expect(try accounts.caller(named: nil, deviceID: nil) == Caller(userRecordName: users[0].userRecordName))
        #expect(try accounts.caller(named: "", deviceID: "phone") == Caller(userRecordName: users[0].userRecordName, deviceID: "phone"))
    }

    @Test("A handle always means the same user record name")
    func names() throws {
        let first = try Accounts(file: nil).caller(named: "anna", deviceID: nil)
        let second = try Accounts(file: nil).caller(named: "anna", deviceID: nil)
        #expect(first == second)
        #expect(first.userRecordName != User.recordName(ofHandle: "bert"))
        #expect(User.isRecordName(first.userRecordName.string))
        // The first 16 bytes of SHA-256 of "anna": what other tools may compute, too.
        #expect(first.userRecordName == "_55579b557896d0ce1764c47fed644f9b")
        // Composed and decomposed forms are different names.
        #expect(User.recordName(ofHandle: "\u{E9}") != User.recordName(ofHandle: "e\u{301}"))
    }

    @Test("A user record name stands for itself, and for the user who has it")
    func recordNames() throws {
        let accounts = try Accounts(file: nil)
        let unknown = "_0123456789abcdef0123456789abcdef"
        #expect(try accounts.caller(named: unknown, deviceID: nil).userRecordName.string == unknown)
        let anna = User.recordName(ofHandle: "anna")
        #expect(try accounts.caller(named: anna.string, deviceID: nil).userRecordName == anna)
        _ = try accounts.caller(named: "anna", deviceID: nil)
        #expect(try accounts.user(recordName: anna)?.handle == "anna")
        #expect(try accounts.user(recordName: anna)?.displayName == "Anna")
        #expect(try accounts.users().map(\.handle) == ["developer", unknown, "anna"])
    }

    @Test("Users are remembered in the file")
    func remembered() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("skylight-accounts-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("accounts.sqlite")
        do {
            let accounts = try Accounts(file: file)
            _ = try accounts.caller(named: "anna", deviceID: nil)
            _ = try accounts.caller(named: "anna", deviceID: nil)
        }
        #expect(try Accounts(file: file).users().map(\.handle) == ["developer", "anna"])
    }

    @Test("Handles that can be nobody's are refused", arguments: [String(repeating: "x", count: 256), "a\u{0}b", "a\nb"])
    func refused(handle: String) throws {
        let accounts = try Accounts(file: nil)
        #expect(throws: RecordError.self) { try accounts.caller(named: handle, deviceID: nil) }
        #expect(try accounts.users().count == 1)
    }
}
