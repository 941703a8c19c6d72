import Accounts
import Foundation
import Records
import Testing

@Suite("Accounts")
struct AccountsTests {
    @Test("The developer is there from the start and speaks for requests without a name")
    func developer() throws {
        let accounts = try Accounts(file: nil)
        let users = accounts.users()
        #expect(users.map(\.handle) == ["developer"])
        #expect(try accounts.caller(named: nil, deviceID: nil) == Caller(userRecordName: users[0].userRecordName))
        #expect(
            try accounts.caller(named: "", deviceID: "phone")
                == Caller(userRecordName: users[0].userRecordName, deviceID: "phone"))
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
        #expect(accounts.user(recordName: anna)?.handle == "anna")
        #expect(accounts.user(recordName: anna)?.displayName == "Anna")
        #expect(accounts.users().map(\.handle) == ["developer", unknown, "anna"])
    }

    @Test("Users are remembered in the file")
    func remembered() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "skylight-accounts-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("accounts.sqlite")
        do {
            let accounts = try Accounts(file: file)
            _ = try accounts.caller(named: "anna", deviceID: nil)
            _ = try accounts.caller(named: "anna", deviceID: nil)
            try await accounts.writeUses()
        }
        #expect(try Accounts(file: file).users().map(\.handle) == ["developer", "anna"])
    }

    @Test(
        "Handles that can be nobody's are refused", arguments: [String(repeating: "x", count: 256), "a\u{0}b", "a\nb"])
    func refused(handle: String) throws {
        let accounts = try Accounts(file: nil)
        #expect(throws: RecordError.self) { try accounts.caller(named: handle, deviceID: nil) }
        #expect(accounts.users().count == 1)
    }

    @Test("Saved queries stay, each under its name in its container")
    func savedQueries() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("accounts.sqlite")
        let (app, other) = (
            try #require(ContainerID("iCloud.com.example.App")), try #require(ContainerID("iCloud.com.example.Other"))
        )
        func query(_ name: String, _ question: String, of container: ContainerID, zone: String? = nil) -> SavedQuery {
            SavedQuery(name: name, container: container, scope: .private, zone: zone, question: question)
        }
        let accounts = try Accounts(file: file)
        try await accounts.save(query("b", "type=B", of: app))
        try await accounts.save(query("a", "type=A", of: app, zone: ""))
        try await accounts.save(query("a", "type=X", of: other))
        try await accounts.save(query("b", "type=C", of: app, zone: "Notes"))
        // Composed and decomposed forms are different names.
        try await accounts.save(query("\u{E9}", "type=E", of: app))
        try await accounts.save(query("e\u{301}", "type=E", of: app))
        try await accounts.removeSavedQuery("e\u{301}", of: app)
        let again = try Accounts(file: file)
        for accounts in [accounts, again] {
            #expect(accounts.savedQueries(of: app).map(\.question) == ["type=A", "type=C", "type=E"])
            #expect(accounts.savedQueries(of: app).map(\.zone) == ["", "Notes", nil])
            #expect(accounts.savedQueries(of: other).count == 1)
        }
        for name in ["", String(repeating: "x", count: 101), "a\nb"] {
            await #expect(throws: RecordError.self) { try await accounts.save(query(name, "type=A", of: app)) }
        }
        await #expect(throws: RecordError.self) {
            try await accounts.save(query("long", String(repeating: "x", count: SavedQuery.questionLimit + 1), of: app))
        }
        for number in accounts.savedQueries(of: app).count..<SavedQuery.countLimit {
            try await accounts.save(query("n\(number)", "type=A", of: app))
        }
        await #expect(throws: RecordError.self) { try await accounts.save(query("one more", "type=A", of: app)) }
        try await accounts.save(query("a", "type=Z", of: app))
    }

    @Test("Saved queries and chosen titles go with their container")
    func goingWithTheContainer() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("accounts.sqlite")
        let (app, other) = (
            try #require(ContainerID("iCloud.com.example.App")), try #require(ContainerID("iCloud.com.example.Other"))
        )
        let accounts = try Accounts(file: file)
        for (name, question, container) in [
            ("a", "type=A", app), ("b", "type=B", app), ("b", "type=X", other), ("c", "type=C", other),
        ] {
            try await accounts.save(
                SavedQuery(name: name, container: container, scope: .private, zone: nil, question: question))
        }
        try await accounts.setTitleField("label", of: "Note", in: app)
        try await accounts.setTitleField("", of: "Room", in: app)
        try await accounts.setTitleField("name", of: "Room", in: other)
        try await accounts.setTitleField("name", of: "Gone", in: app)
        try await accounts.setTitleField(nil, of: "Gone", in: app)
        #expect(accounts.titleFields(of: app) == ["Note": "label", "Room": ""])
        try await accounts.moveQueriesAndTitles(of: app, to: other)
        for accounts in [accounts, try Accounts(file: file)] {
            #expect(accounts.savedQueries(of: app).isEmpty && accounts.titleFields(of: app).isEmpty)
            #expect(accounts.savedQueries(of: other).map(\.question) == ["type=A", "type=B", "type=C"])
            #expect(accounts.savedQueries(of: other).allSatisfy { $0.container == other })
            #expect(accounts.titleFields(of: other) == ["Note": "label", "Room": ""])
        }
        try await accounts.save(SavedQuery(name: "d", container: app, scope: .private, zone: nil, question: "type=D"))
        try await accounts.removeQueriesAndTitles(of: other)
        for accounts in [accounts, try Accounts(file: file)] {
            #expect(accounts.savedQueries(of: other).isEmpty && accounts.savedQueries(of: app).map(\.name) == ["d"])
            #expect(accounts.titleFields(of: other).isEmpty)
        }
    }
}
