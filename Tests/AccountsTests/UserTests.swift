import Foundation
import Records
import Synchronization
import Testing

@testable import Accounts

@Suite("Users with names and e-mail addresses")
struct UserTests {
    @Test("A user has a handle of the address or the name, and is found by the address")
    func made() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "skylight-accounts-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("accounts.sqlite")
        let accounts = try Accounts(file: file)
        let anna = try await accounts.makeUser(displayName: " Anna Maria Müller ", emailAddress: "Anna.M@Example.com")
        #expect(
            anna.handle == "anna.m" && anna.displayName == "Anna Maria Müller"
                && anna.userRecordName == User.recordName(ofHandle: "anna.m"))
        #expect(anna.givenName == "Anna Maria" && anna.familyName == "Müller")
        let other = try await accounts.makeUser(displayName: "Anna.M", emailAddress: "anna.m@example.org")
        #expect(other.handle == "anna.m-2" && other.givenName == "Anna.M" && other.familyName == nil)
        let developer = try await accounts.makeUser(displayName: "Developer", emailAddress: "")
        #expect(developer.handle == "developer-2" && developer.emailAddress == nil)
        let strange = try await accounts.makeUser(displayName: "李 小龍 (Bruce)!", emailAddress: nil)
        #expect(strange.handle == "李-小龍-bruce")
        #expect(try await accounts.makeUser(displayName: "!!!", emailAddress: nil).handle == "user")
        for accounts in [accounts, try Accounts(file: file)] {
            #expect(accounts.user(emailAddress: "ANNA.M@example.COM") == anna)
            #expect(accounts.user(emailAddress: "nobody@example.com") == nil)
            #expect(accounts.user(recordName: anna.userRecordName) == anna)
            #expect(try accounts.caller(named: "anna.m", deviceID: nil).userRecordName == anna.userRecordName)
            #expect(accounts.users().count == 6)
        }
    }

    @Test("Names and addresses that can't be anybody's are refused")
    func refused() async throws {
        let accounts = try Accounts(file: nil)
        _ = try await accounts.makeUser(displayName: "Anna", emailAddress: "anna@example.com")
        let cases: [(String, String?)] = [
            ("", nil), ("  ", nil), ("a\nb", nil), (String(repeating: "x", count: 256), nil), ("A", "anna@example.com"),
            ("A", "ANNA@EXAMPLE.COM "), ("A", "a"),
            ("A", "a@"), ("A", "@b"), ("A", "a@b@c"), ("A", "a@b@\u{301}c"), ("A", "a b@c"), ("A", "<a@b>"),
            ("A", String(repeating: "x", count: 250) + "@b.com"),
        ]
        for (name, address) in cases {
            await #expect(throws: RecordError.self) {
                _ = try await accounts.makeUser(displayName: name, emailAddress: address)
            }
        }
        #expect(accounts.users().count == 2)
    }

    @Test("Nobody else can use the handle of a server key's user")
    func reserved() async throws {
        let accounts = try Accounts(file: nil)
        let handle = "server-key-0123456789ab"
        #expect(throws: RecordError.self) { _ = try accounts.caller(named: handle, deviceID: nil) }
        await #expect(throws: RecordError.self) { _ = try await accounts.existingOrNewUser(named: handle) }
        let user = try await accounts.makeUser(displayName: handle, emailAddress: nil)
        #expect(user.handle == handle + "-2" && !user.isServerKey && !accounts.isServerKey(user.userRecordName))
        #expect(try accounts.caller(named: "server-key-of-anna", deviceID: nil).userRecordName != user.userRecordName)
    }

    @Test("There is an end to users, and a handle is found at once")
    func limit() async throws {
        let accounts = try Accounts(file: nil)
        for number in 2...9 {
            #expect(
                try await accounts.makeUser(displayName: "Bert", emailAddress: nil).handle
                    == (number == 2 ? "bert" : "bert-\(number - 1)"))
        }
        _ = try await accounts.makeUser(displayName: "Bert", emailAddress: nil)
        #expect(try await accounts.makeUser(displayName: "Bert", emailAddress: nil).handle.utf8.count == 13)
        accounts.known.withLock { users in
            for number in users.count..<User.countLimit { users.insert(User(handle: "user \(number)")) }
        }
        await #expect(throws: RecordError.self) {
            _ = try await accounts.makeUser(displayName: "One more", emailAddress: nil)
        }
        #expect(throws: RecordError.self) { _ = try accounts.caller(named: "one-more", deviceID: nil) }
        #expect(try accounts.caller(named: "bert", deviceID: nil).userRecordName == User.recordName(ofHandle: "bert"))
    }

    @Test("Two simultaneous users with the same address create one user")
    func atOnce() async throws {
        let accounts = try Accounts(file: nil)
        let made = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    (try? await accounts.makeUser(displayName: "Anna", emailAddress: "anna@example.com")) != nil
                }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(made == 1)
        let handles = await withTaskGroup(of: String?.self) { group in
            for _ in 0..<20 {
                group.addTask { try? await accounts.makeUser(displayName: "Bert", emailAddress: nil).handle }
            }
            return await group.reduce(into: Set<String>()) { if let handle = $1 { $0.insert(handle) } }
        }
        #expect(handles.count == 20)
    }
}
