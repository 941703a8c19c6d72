#if PostgreSQL
    import Foundation
    import RecordStore
    import Records
    import StoreScenarios
    import TestSupport
    import Testing

    @testable import SQLRecordStore
    @testable import TestStores

    /// Engines that share a database of PostgreSQL as processes do: nothing that one of them keeps in memory may make
    /// another one wrong.
    @Suite(.enabled(if: !StoreUnderTest.isSQLite, "SKYLIGHT_POSTGRESQL has no server")) struct SeveralProcessesTests {
        private let folder: TemporaryFolder
        private let engines: [SQLRecordEngine]

        init() throws {
            let folder = try TemporaryFolder()
            self.folder = folder
            engines = try (0..<3).map { _ in try StoreUnderTest.engine(folder: folder.url) }
        }

        private func close() async {
            for engine in engines { await engine.close() }
        }

        @Test("Saves through all of them have positions in one order, and every token leads on everywhere")
        func saves() async throws {
            _ = try await engines[0].withZone()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (number, engine) in engines.enumerated() {
                    for saver in 0..<4 {
                        group.addTask {
                            let database = try await engine.full(.private)
                            for save in 0..<25 {
                                try await database.save(Name("\(number).\(saver).\(save % 10)"), in: notes)
                            }
                        }
                    }
                    group.addTask {
                        // A position never appears behind a token.
                        let database = try await engine.full(.private)
                        var (token, seen): (ChangeToken?, Set<Name>) = (nil, [])
                        while seen.count < 120 {
                            let page = try await database.pull(notes, since: token)
                            seen.formUnion(page.changes.map(\.recordID.recordName))
                            token = page.token
                        }
                    }
                }
                try await group.waitForAll()
            }
            var feeds: [[RecordID]] = []
            for engine in engines { feeds.append(try await engine.full(.private).pull(notes).changes.map(\.recordID)) }
            #expect(Set(feeds).count == 1 && feeds[0].count == 120)
            #expect(try await StoreRecount.problems(of: engines[1].full(.private)) == [])
            await close()
        }

        @Test("A type that one of them adds, and an index that another one builds, are known to all")
        func schema() async throws {
            let databases = try await [engines[0].withZone(), engines[1].full(.private), engines[2].full(.private)]
            for number in 0..<40 {
                try await databases[number % 3].save(Name("\(number)"), in: notes, ["rank": .int64(Int64(number))])
            }
            let query = Query(
                recordType: "Item", filters: [Query.Filter("rank", .greaterThanOrEquals, FieldInput(.int64(0)))],
                sorts: [Query.Sort("rank", ascending: false)])
            _ = try await databases[0].require(.editSchema).edit([.setIndexes([], of: .custom("rank"), in: "Item")])
            #expect(await refusal { _ = try await databases[2].all(query, in: .zone(notes)) }?.code == .badRequest)
            // Whoever keeps up builds it.
            _ = try await databases[1].require(.editSchema).edit([
                .setIndexes([.queryable, .sortable], of: .custom("rank"), in: "Item")
            ])
            try await eventually { try await databases[2].require(.showSchema).indexBuilds().isEmpty }
            for database in databases {
                #expect(try await database.all(query, in: .zone(notes)).first?.recordID.recordName == "39")
            }
            #expect(try await StoreRecount.problems(of: databases[0]) == [])
            await close()
        }

        /// The raw connection of an administrator.
        private func administrator() throws -> PostgreSQLConnection {
            try PostgreSQLConnection(try StoreUnderTest.database(of: folder.url), schema: "store_1")
        }

        @Test("Who waits for an index that another one builds is told why that fails")
        func failures() async throws {
            // No index is built within the edit.
            let pair = try (0..<2).map { _ in
                try StoreUnderTest.engine(folder: folder.url, indexLimits: IndexLimits(recordsAtOnce: 0))
            }
            let builder = try await pair[0].withZone()
            try await builder.save("a", in: notes, ["rank": .int64(1)])
            let rank: SchemaEdit = .setIndexes([.queryable, .sortable], of: .custom("rank"), in: "Item")
            _ = try await builder.require(.editSchema).edit(
                [.setIndexes([], of: .custom("rank"), in: "Item")], because: .edit, waitingForIndexes: true)
            // The first of them has built something, so it goes on with that.
            _ = try await builder.require(.editSchema).edit([rank], because: .edit, waitingForIndexes: true)
            _ = try await builder.require(.editSchema).edit(
                [.setIndexes([], of: .custom("rank"), in: "Item")], because: .edit, waitingForIndexes: true)
            try administrator().execute(
                """
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no room'' USING ERRCODE = ''53100''; END';
                CREATE TRIGGER refuse BEFORE INSERT ON entries FOR EACH ROW EXECUTE FUNCTION refuse()
                """)
            let waiting = try await pair[1].full(.private)
            let problem = await refusal {
                _ = try await waiting.require(.editSchema).edit([rank], because: .edit, waitingForIndexes: true)
            }
            #expect(
                problem?.reason.hasPrefix("The index is declared and will be built later: ") == true,
                "\(String(describing: problem))")
            try administrator().execute("DROP TRIGGER refuse ON entries")
            try await eventually { try await waiting.require(.showSchema).indexBuilds().isEmpty }
            for engine in pair { await engine.close() }
            await close()
        }

        @Test("Who waits for the work of another one commits nothing meanwhile")
        func patience() async throws {
            let gate = WorkGate()
            gate.open()
            var limits = IndexLimits(recordsAtOnce: 0)
            limits.beforeStep = { await gate.wait() }
            let builder = try StoreUnderTest.engine(folder: folder.url, indexLimits: limits)
            let database = try await builder.withZone()
            try await database.save("a", in: notes, ["rank": .int64(1)])
            let edits: [Indexes] = [[], .queryable, []]
            for indexes in edits {
                _ = try await database.require(.editSchema).edit(
                    [.setIndexes(indexes, of: .custom("rank"), in: "Item")], because: .edit, waitingForIndexes: true)
            }
            gate.close()
            _ = try await database.require(.editSchema).edit(
                [.setIndexes(.queryable, of: .custom("rank"), in: "Item")], because: .edit, waitingForIndexes: false)
            let other = try await engines[1].full(.private)
            #expect(try await other.require(.showSchema).indexBuilds().isEmpty == false)
            // The builder waits, too.
            try await gate.allow(0)
            let server = try administrator()
            let before = try server.row("SELECT mark FROM lastCommit")
            try await Task.sleep(for: .milliseconds(2500))
            #expect(try server.row("SELECT mark FROM lastCommit") == before)
            gate.open()
            try await eventually { try await other.require(.showSchema).indexBuilds().isEmpty }
            await builder.close()
            await close()
        }

        @Test("Commits of one are heard by all that follow")
        func followers() async throws {
            let database = try await engines[0].withZone()
            let other = try await engines[2].store(of: address(.private).container, .development)
            try await eventually { try await engines[2].full(.private).zones().count == 2 }
            var commits = other.commits().makeAsyncIterator()
            try await database.save("a", in: notes)
            #expect(await commits.next() != nil)
            await close()
        }

        @Test("Expired tokens are expired everywhere")
        func expiry() async throws {
            try await engines[0].withZone().save("a", in: notes)
            let second = try await engines[1].full(.private)
            let token = try await second.pull(notes).token
            try await engines[0].full(.private).require(.expireTokens).expireTokens()
            try await eventually { await refusal { _ = try await second.pull(notes, since: token) } != nil }
            await close()
        }

        @Test("A container that one deletes or renames is gone for all")
        func deletion() async throws {
            try await engines[0].withZone().save("a", in: notes)
            let second = try await engines[1].full(.private)
            let token = try await second.pull(notes).token
            let name = try #require(ContainerID("iCloud.com.example.Renamed"))
            try await engines[0].renameContainer(address(.private).container, to: name)
            try await eventually { try await engines[1].full(.private).zones().count == 1 }
            #expect(try await engines[2].containers() == [name])
            try await engines[2].deleteContainer(name)
            #expect(try await engines[1].containers() == [])
            // Its tokens are no good for a new one.
            try await engines[1].withZone().save("b", in: notes)
            #expect(await refusal { _ = try await engines[0].full(.private).pull(notes, since: token) } != nil)
            await close()
        }

        /// The ticket of an upload to a container.
        private func ticket(from engine: SQLRecordEngine, of container: ContainerID) async throws -> String {
            let database = try await engine.database(
                DatabaseAddress(container: container, environment: .development, scope: .private), as: ada)
            return try await database.require(.uploadAssets).grantUploads(
                [UploadRequest(recordType: "Item", fieldName: "file", recordName: "a")], in: nil)[0].get().ticket
        }

        @Test("Tickets for assets are good everywhere after one of them has made a container anew")
        func assetKeys() async throws {
            let container = try address(.private).container
            _ = try await engines[0].withZone()
            // Asset stores keep their ledgers.
            var ledgers: [any AssetLedger] = []
            for engine in engines {
                ledgers.append(try await engine.require(.keepAssets).assetLedger(container, .development))
            }
            let former = try await ticket(from: engines[0], of: container)
            try await engines[0].deleteContainer(container)
            _ = try await engines[0].withZone()
            let ticket = try await ticket(from: engines[0], of: container)
            let anew = try await engines[0].assetLedger(container, .development)
            #expect(anew.tickets.openUpload(ticket) != nil)
            // The second one is asked for more tickets, the third one for nothing else.
            // Until it knows of the deletion, it finds no tables.
            try await eventually {
                (try? await self.ticket(from: engines[1], of: container)).map { anew.tickets.openUpload($0) != nil }
                    ?? false
            }
            #expect(ledgers[1].tickets.openUpload(ticket) != nil)
            try await eventually { try await ledgers[2].presentTickets().openUpload(ticket) != nil }
            for ledger in [anew, ledgers[1], ledgers[2]] { #expect(ledger.tickets.openUpload(former) == nil) }
            await close()
        }

        @Test("A container that is new after another one was deleted has one key from the first ticket on")
        func keysOfNewContainers() async throws {
            let container = try #require(ContainerID("iCloud.com.example.New"))
            _ = try await engines[0].withZone()
            let ledger = try await engines[1].assetLedger(container, .development)
            // This changes the keys of all containers that are not there yet.
            try await engines[0].deleteContainer(address(.private).container)
            let ticket = try await ticket(from: engines[1], of: container)
            #expect(ledger.tickets.openUpload(ticket) != nil)
            #expect(try await engines[2].assetLedger(container, .development).tickets.openUpload(ticket) != nil)
            await close()
        }

        @Test("A user has one number, whichever of them gives it")
        func users() async throws {
            let callers = (0..<30).map { Caller(userRecordName: Name("_user\($0 / 3)")) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (number, caller) in callers.enumerated() {
                    group.addTask { [engine = engines[number % 3]] in
                        try await engine.full(.private, as: caller).save(Name("\(number)"))
                    }
                }
                try await group.waitForAll()
            }
            for (number, caller) in callers.enumerated() {
                let first = number / 3 * 3
                let names = (first..<first + 3).map { Name("\($0)") }
                for engine in engines { #expect(try await engine.full(.private, as: caller).names(of: names) == names) }
            }
            await close()
        }
    }
#endif
