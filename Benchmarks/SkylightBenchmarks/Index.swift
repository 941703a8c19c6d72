import ArgumentParser
import RecordStore
import Records

/// Builds an index on all notes while others go on saving some of them, and tells how long saves took meanwhile and
/// before.
struct Index: AsyncParsableCommand {
    @OptionGroup var store: BenchmarkStore

    @OptionGroup var saves: SavesMeanwhile

    private static let field: FieldKey = .custom("title")

    func run() async throws {
        try await store.with { database in
            _ = try await database.require(.editSchema).edit([.setIndexes([], of: Self.field, in: NoteRecords.typeName)]
            )
            while try await !database.require(.showSchema).indexBuilds().isEmpty {
                try await Task.sleep(for: .milliseconds(10))
            }
            let before = try await saves.before(in: database)
            let start = ContinuousClock.now
            var built = Duration.zero
            let during = try await saves.during(in: database) {
                _ = try await database.require(.editSchema).edit([
                    .setIndexes([.queryable, .sortable], of: Self.field, in: NoteRecords.typeName)
                ])
                built = .now - start
            }
            say(before, during, built: built, found: try await count(in: database))
        }
    }

    /// The notes that a walk through the index finds.
    private func count(in database: any RecordDatabase) async throws -> Int {
        var count = 0
        var marker: String?
        repeat {
            let query = Query(recordType: NoteRecords.typeName, filters: Self.anyTitle, sorts: [Query.Sort("title")])
            let page = try await database.query(
                QueryRequest(
                    query, in: .zone(NoteRecords.zoneID), limit: PageLimit(records: 5000), continuationMarker: marker,
                    desiredKeys: []))
            count += page.records.count
            marker = page.continuationMarker
        } while marker != nil
        return count
    }

    private static let anyTitle = [Query.Filter("title", .greaterThanOrEquals, FieldInput(.string("")))]

    private func say(_ before: [Duration], _ during: [Duration], built: Duration, found: Int) {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("quiet", before)
            writer.member("building", during)
            writer.member("seconds", seconds: built)
            writer.member("found", Int64(found))
        }
        print(String(decoding: writer.bytes, as: UTF8.self))
    }
}
