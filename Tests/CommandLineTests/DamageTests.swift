import Foundation
import GRDB
import Records
import TestSupport
import Testing

/// A data folder whose containers are damaged in different ways: the server starts, reports each problem, and serves
/// the other containers.
@Suite(.serialized, .timeLimit(.minutes(10))) struct DamageTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var data: URL { folder.url.appending(path: "data") }

    /// The expected effect on a container.
    enum Outcome {
        /// It is served without restrictions.
        case served
        /// All requests are refused with these words.
        case refused(String)
        /// Data in intact pages is served, the rest is refused with a clear error.
        case either
    }

    struct Damage: Sendable {
        let name: String
        let outcome: Outcome
        /// - Parameter place: the container's folder.
        let act: @Sendable (Place) throws -> Void

        init(_ name: String, _ outcome: Outcome, _ act: @escaping @Sendable (Place) throws -> Void) {
            (self.name, self.outcome, self.act) = (name, outcome, act)
        }

        /// SQL on tables whose columns accept any value.
        static func sql(_ name: String, _ outcome: Outcome, _ sql: String) -> Damage {
            Damage(name, outcome) { try $0.execute(sql) }
        }
    }

    struct Place: Sendable {
        let folder: URL
        var file: URL { folder.appending(path: "development.sqlite") }
        var log: URL { folder.appending(path: "development.sqlite-wal") }

        func truncate(to length: UInt64) throws {
            let handle = try FileHandle(forWritingTo: file)
            try handle.truncate(atOffset: length)
            try handle.close()
        }

        func overwrite(_ bytes: Data, at offset: UInt64) throws {
            let handle = try FileHandle(forUpdating: file)
            try handle.seek(toOffset: offset)
            try handle.write(contentsOf: bytes)
            try handle.close()
        }

        var length: UInt64 {
            get throws {
                UInt64(
                    try FileManager.default.attributesOfItem(atPath: file.path(percentEncoded: false))[.size] as? Int
                        ?? 0)
            }
        }

        func execute(_ sql: String) throws {
            let queue = try DatabaseQueue(path: file.path(percentEncoded: false))
            try queue.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA writable_schema = ON")
                try db.execute(sql: "UPDATE sqlite_schema SET sql = replace(sql, ' NOT NULL', '') WHERE type = 'table'")
                try db.execute(sql: "PRAGMA writable_schema = RESET")
                try db.execute(sql: sql)
            }
            try queue.close()
        }

        func replaceByLink(_ url: URL) throws {
            let elsewhere = folder.deletingLastPathComponent().deletingLastPathComponent().appending(
                path: "elsewhere-\(UUID().uuidString)")
            if FileManager.default.fileExists(atPath: url.path(percentEncoded: false)) {
                try FileManager.default.moveItem(at: url, to: elsewhere)
            } else {
                try FileManager.default.createDirectory(at: elsewhere, withIntermediateDirectories: true)
            }
            try FileManager.default.createSymbolicLink(
                atPath: url.path(percentEncoded: false), withDestinationPath: elsewhere.path(percentEncoded: false))
        }
    }

    static let kinds: [Damage] = [
        Damage("the file is missing", .served) { try FileManager.default.removeItem(at: $0.file) },
        Damage("the file is missing beside its log", .refused("its log")) {
            try FileManager.default.removeItem(at: $0.file)
            try Data(repeating: 7, count: 5000).write(to: $0.log)
        },
        Damage("the file is empty", .refused("is empty")) { try $0.truncate(to: 0) },
        Damage("the file is empty beside its log", .refused("its log")) {
            try $0.truncate(to: 0)
            try Data(repeating: 7, count: 5000).write(to: $0.log)
        },
        Damage("the file ends within its header", .refused("damaged")) { try $0.truncate(to: 50) },
        Damage("the file ends after its header", .refused("damaged")) { try $0.truncate(to: 100) },
        Damage("the file ends after its first page", .refused("damaged")) { try $0.truncate(to: 4096) },
        Damage("the file ends in the middle", .either) { try $0.truncate(to: try $0.length / 8192 * 4096) },
        Damage("the file ends within its last page", .either) { try $0.truncate(to: try $0.length - 100) },
        Damage("a page is torn in its middle", .either) {
            try $0.overwrite(Data(repeating: 0, count: 2048), at: 4096 * 3 + 2048)
        },
        Damage("the page of the schema is torn", .refused("damaged")) {
            try $0.overwrite(Data(repeating: 0xA5, count: 3000), at: 100)
        },
        Damage("all pages but the first are overwritten", .refused("damaged")) {
            try $0.overwrite(Data(repeating: 0x5A, count: Int(try $0.length) - 4096), at: 4096)
        },
        Damage("the file is text", .refused("damaged")) {
            try Data(String(repeating: "This is a note. ", count: 4000).utf8).write(to: $0.file)
        },
        Damage("the file is another program's database", .refused("another program")) { place in
            try FileManager.default.removeItem(at: place.file)
            try place.execute("CREATE TABLE notes (text)")
        },
        .sql("the file is of a newer version", .refused("newer version"), "INSERT INTO grdb_migrations VALUES ('99')"),
        .sql("a user has no name", .refused("'users'"), "UPDATE users SET name = NULL"),
        .sql("a user has the number 0", .refused("'users'"), "UPDATE users SET number = 0"),
        .sql("a type has no name", .refused("'types'"), "UPDATE types SET name = NULL WHERE name = 'Note'"),
        .sql("a type has no grants", .refused("'types'"), "UPDATE types SET grants = NULL"),
        .sql("a field has no declaration", .refused("'fields'"), "UPDATE fields SET declaration = NULL"),
        .sql("a field has text for its indexes", .refused("'fields'"), "UPDATE fields SET indexes = 'many'"),
        .sql("an epoch has no number", .refused("'incarnations'"), "UPDATE incarnations SET number = NULL"),
        .sql("an epoch has text for its place", .refused("'incarnations'"), "UPDATE incarnations SET after = 'there'"),
        .sql("the key of the tokens is missing", .served, "DELETE FROM facts WHERE name = 'tokenKey'"),
        .sql(
            "the key of the tokens is NULL", .refused("'facts'"),
            "UPDATE facts SET value = NULL WHERE name = 'tokenKey'"),
        .sql(
            "the key of the tokens is short", .refused("'facts'"),
            "UPDATE facts SET value = x'0102' WHERE name = 'tokenKey'"),
        .sql(
            "the version of the schema is missing", .refused("'facts'"),
            "DELETE FROM facts WHERE name = 'schemaVersion'"),
        .sql("a zone has no name", .either, "UPDATE zones SET name = NULL"),
        .sql("a zone has text for its position", .refused("'zones'"), "UPDATE zones SET position = 'there'"),
        .sql("the zones are missing", .refused("zones"), "DROP TABLE zones"),
        .sql("a record has an unknown type", .refused("'types'"), "UPDATE records SET type = 77"),
        .sql("a record has no name", .either, "UPDATE records SET name = NULL"),
        .sql("the fields of a record are no JSON", .either, "UPDATE records SET fields = x'00FF'"),
        Damage("a file of somebody's lies there", .served) {
            try Data("hello".utf8).write(to: $0.folder.appending(path: "notes.txt"))
        },
        Damage("the log is not one", .served) { try Data(repeating: 7, count: 50_000).write(to: $0.log) },
        Damage("a folder lies in the file's place", .refused("is not a file")) {
            try FileManager.default.removeItem(at: $0.file)
            try FileManager.default.createDirectory(at: $0.file, withIntermediateDirectories: false)
        },
        Damage("a link lies in the file's place", .refused("symbolic link")) { try $0.replaceByLink($0.file) },
        Damage("a link lies in the container's place", .refused("symbolic link")) { try $0.replaceByLink($0.folder) },
        Damage("a file lies in the container's place", .refused("is not a folder")) {
            try FileManager.default.removeItem(at: $0.folder)
            try Data().write(to: $0.folder)
        },
        Damage("a link lies in the place of the assets", .served) {
            try $0.replaceByLink($0.folder.appending(path: "development.assets"))
        },
    ]

    private static func container(_ number: Int) -> String { "iCloud.com.example.Damaged\(number)" }

    private func make() async throws {
        let server = try await Server(["--data", data.path(percentEncoded: false)])
        let body =
            #"{"operations":[{"operationType":"create","record":{"recordType":"Note","recordName":"one","fields":{"title":{"value":"Hello"}}}}]}"#
        let (status, answer) = try await server.exchange(
            "POST", "/database/1/iCloud.com.example.Well/development/private/records/modify", body)
        #expect(status == 200, "\(answer)")
        #expect(await server.end() == 0)
        for (number, damage) in Self.kinds.enumerated() {
            let place = Place(folder: data.appending(path: Self.container(number), directoryHint: .notDirectory))
            try FileManager.default.copyItem(at: data.appending(path: "iCloud.com.example.Well"), to: place.folder)
            do { try damage.act(place) } catch { Issue.record("\(damage.name): \(error)") }
        }
    }

    @Test("Each kind of damage is told, and the others are served")
    func everyKind() async throws {
        #expect(Self.kinds.count >= 29)
        try await make()
        let server = try await Server(["--data", data.path(percentEncoded: false)])
        for (number, damage) in Self.kinds.enumerated() {
            let root = "/database/1/\(Self.container(number))/development/private"
            let answers = [
                try await server.exchange("POST", "\(root)/records/query", #"{"query":{"recordType":"Note"}}"#),
                try await server.exchange("POST", "\(root)/records/lookup", #"{"records":[{"recordName":"one"}]}"#),
                try await server.exchange("POST", "\(root)/zones/list", "{}"),
            ]
            switch damage.outcome {
            case .served:
                for (status, text) in answers {
                    #expect(
                        [200, 400, 404].contains(status) && !text.contains("INTERNAL_ERROR"),
                        "\(damage.name): \(status) \(text)")
                }
            case .refused(let words):
                let refusals = answers.filter { $0.1.contains("INTERNAL_ERROR") }
                #expect(!refusals.isEmpty, "\(damage.name): \(answers)")
                for (_, text) in refusals { #expect(text.contains(words), "\(damage.name): \(text)") }
            case .either:
                for (_, text) in answers where text.contains("INTERNAL_ERROR") {
                    #expect(text.contains("Damaged\(number)"), "\(damage.name): \(text)")
                }
            }
            let (status, text) = try await server.exchange(
                "POST",
                "/database/1/iCloud.com.example.Well/development/private/records/lookup",
                #"{"records":[{"recordName":"one"}]}"#)
            #expect(status == 200 && text.contains("Hello"), "beside: \(damage.name)")
        }
        let (status, home) = try await server.exchange("GET", "/")
        #expect(status == 200 && home.contains("iCloud.com.example.Well"))
        let (healthStatus, health) = try await server.exchange("GET", "/skylight/1/health")
        #expect(healthStatus == 503)
        for (number, damage) in Self.kinds.enumerated() {
            guard case .refused(let words) = damage.outcome else { continue }
            #expect(health.contains("\"\(Self.container(number))\""), "\(damage.name) is not in health")
            #expect(health.contains(words), "\(damage.name)")
        }
        #expect(health.contains("\"unreadable\"") && health.contains("\"since\""))
        #expect(await server.end() == 0)
    }

    /// A symbolic link in place of the assets folder leads out of the data folder. Nothing may be written or removed
    /// there.
    @Test func filesAreNotSentThroughALink() async throws {
        try await make()
        let server = try await Server(["--data", data.path(percentEncoded: false)])
        let number = try #require(Self.kinds.firstIndex { $0.name.contains("place of the assets") })
        let (status, answer) = try await server.exchange(
            "POST", "/database/1/\(Self.container(number))/development/private/assets/upload",
            #"{"tokens":[{"recordType":"Note","fieldName":"file"}]}"#)
        #expect(status == 500 && answer.contains("symbolic link"), "\(status) \(answer)")
        #expect(await server.end() == 0)
    }

    /// Without its accounts a server cannot check credentials, so it refuses to start and says what to do.
    @Test(arguments: [
        "UPDATE user SET userRecordName = NULL", "UPDATE user SET displayName = NULL", "DROP TABLE user", nil,
    ])
    func accounts(sql: String?) async throws {
        let server = try await Server(["--data", data.path(percentEncoded: false)])
        #expect(await server.end() == 0)
        let file = data.appending(path: "accounts.sqlite")
        if let sql {
            let queue = try DatabaseQueue(path: file.path(percentEncoded: false))
            try await queue.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA writable_schema = ON")
                try db.execute(sql: "UPDATE sqlite_schema SET sql = replace(sql, ' NOT NULL', '') WHERE type = 'table'")
                try db.execute(sql: "PRAGMA writable_schema = RESET")
                try db.execute(sql: sql)
            }
            try queue.close()
        } else {
            try Data(repeating: 7, count: 9000).write(to: file)
        }
        let result = try await Command.run(["serve", "--port", "0", "--data", data.path(percentEncoded: false)])
        #expect(
            result.status != 0 && result.errors.contains("accounts.sqlite") && result.errors.contains("Restore"),
            "\(result.errors)")
    }
}
