import Accounts
import Foundation
import GRDB
import Testing

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
