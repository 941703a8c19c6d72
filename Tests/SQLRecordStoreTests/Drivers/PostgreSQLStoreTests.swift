#if PostgreSQL
    import Foundation
    import RecordStore
    import Records
    import StoreScenarios
    import TestSupport
    import Testing

    @testable import SQLRecordStore
    @testable import TestStores

    /// Stores in PostgreSQL: what files have otherwise. The other tests of stores run there too, if
    /// `SKYLIGHT_POSTGRESQL` has the address of a server.
    @Suite(.enabled(if: !StoreUnderTest.isSQLite, "SKYLIGHT_POSTGRESQL has no server")) struct PostgreSQLStoreTests {
        @Test("The tables of an earlier version get what they lack when the store is opened")
        func upgrade() async throws {
            let folder = try TemporaryFolder()
            var engine = try StoreUnderTest.engine(folder: folder.url)
            try await engine.withZone().save("a", in: notes)
            await engine.close()
            let server = try PostgreSQLConnection(try StoreUnderTest.database(of: folder.url))
            try server.execute(
                "SET search_path = store_1; DROP INDEX child_links; ALTER TABLE zones DROP COLUMN isMirror; UPDATE lastCommit SET tables = 0"
            )
            engine = try StoreUnderTest.engine(folder: folder.url)
            let database = try await engine.full(.private)
            try await database.save("b", in: notes)
            #expect(try await database.pull(notes).changes.map(\.recordID.recordName) == ["a", "b"])
            let db = SQLConnection(PostgreSQLDriver(server))
            #expect(try Bool.fetchOne(db, sql: "SELECT to_regclass('child_links') IS NOT NULL") == true)
            await engine.close()
        }

        @Test("The tables of a newer version are refused, and not changed")
        func newer() async throws {
            let folder = try TemporaryFolder()
            var engine = try StoreUnderTest.engine(folder: folder.url)
            try await engine.withZone().save("a", in: notes)
            await engine.close()
            let server = try PostgreSQLConnection(try StoreUnderTest.database(of: folder.url))
            try server.execute("SET search_path = store_1; UPDATE lastCommit SET version = version + 1, tables = 0")
            engine = try StoreUnderTest.engine(folder: folder.url)
            let refused = await refusal { try await engine.full(.private).save("b", in: notes) }
            #expect(refused?.code == .internalError)
            #expect(refused?.reason.hasSuffix("was written by a newer version of Skylight; use that version") == true)
            await engine.close()
            #expect(try server.row("SELECT tables FROM lastCommit") == ["0"])
            // An early version had no such column.
            try server.execute("ALTER TABLE lastCommit DROP COLUMN version")
            engine = try StoreUnderTest.engine(folder: folder.url)
            try await engine.full(.private).save("b", in: notes)
            await engine.close()
            #expect(try server.row("SELECT version FROM lastCommit") != ["0"])
        }

        @Test("Copied to a file and back, a store keeps its records and the tokens of clients, and its numbers go on")
        func copies() async throws {
            let folder = try TemporaryFolder()
            let (first, file, last) = (
                try StoreUnderTest.engine(folder: folder.url.appending(path: "a")),
                try SQLRecordEngine(folder: folder.url.appending(path: "file")),
                try StoreUnderTest.engine(folder: folder.url.appending(path: "b"))
            )
            let before = try await first.withZone()
            for name in ["a", "bé", "c"] as [Name] { try await before.save(name, in: notes) }
            let held = try await before.pull(notes)
            try await before.save("d", in: notes)
            let all = try await before.pull(notes)
            await first.close()
            let again = try StoreUnderTest.engine(folder: folder.url.appending(path: "a"))
            #expect(try await again.copyAll(to: file) { _, _, _ in }.map(\.environment) == [.development])
            #expect(try await file.full(.private).pull(notes).changes.map(\.recordID) == all.changes.map(\.recordID))
            let taken = await refusal { _ = try await again.copyAll(to: file) { _, _, _ in } }
            #expect(taken?.code == .badRequest && taken?.reason.contains("is there already") == true)
            await file.close()
            let source = try SQLRecordEngine(folder: folder.url.appending(path: "file"))
            _ = try await source.copyAll(to: last) { _, _, _ in }
            let after = try await last.full(.private)
            #expect(try await after.pull(notes, since: held.token).changes.map(\.recordID.recordName) == ["d"])
            try await after.save("e", in: notes)
            _ = try await after.modifyZones([.create(ZoneID(zoneName: "More"))])
            #expect(try await after.pull(notes, since: all.token).changes.map(\.recordID.recordName) == ["e"])
            #expect(try await StoreRecount.problems(of: after) == [])
            for engine in [again, source, last] { await engine.close() }
        }

        @Test("Stores can't be moved while a process serves them")
        func presence() async throws {
            let folder = try TemporaryFolder()
            let address = try StoreUnderTest.database(of: folder.url)
            let first = try SQLRecordEngine(postgreSQL: address)
            #expect(throws: DatabaseUnavailable.self) { try SQLRecordEngine(postgreSQL: address, isAlone: true) }
            await first.close()
            let mover = try SQLRecordEngine(postgreSQL: address, isAlone: true)
            #expect(throws: DatabaseUnavailable.self) { try SQLRecordEngine(postgreSQL: address) }
            await mover.close()
        }

        @Test("A move fails if the connection that kept others out is lost")
        func lostLock() async throws {
            let folder = try TemporaryFolder()
            let address = try StoreUnderTest.database(of: folder.url)
            let first = try SQLRecordEngine(postgreSQL: address)
            try await first.withZone().save("a", in: notes)
            await first.close()
            let mover = try SQLRecordEngine(postgreSQL: address, isAlone: true)
            // Other tests use the server, too.
            let holders =
                "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            try PostgreSQLConnection(address).execute(
                "SELECT pg_terminate_backend(pid, 60000) FROM (\(holders)) AS holders")
            let file = try SQLRecordEngine(folder: folder.url.appending(path: "file"))
            await #expect { _ = try await mover.copyAll(to: file) { _, _, _ in } } throws: {
                "\($0)".contains("they may have saved meanwhile")
            }
            #expect(try await file.full(.private).zones().count == 1, "nothing was copied")
            for engine in [mover, file] { await engine.close() }
        }
    }
#endif
