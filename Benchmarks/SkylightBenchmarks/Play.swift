import ArgumentParser
import RecordStore
import Records

/// Plays a zone back from the beginning to the end, page by page as the server does, and looks at every record.
struct Play: AsyncParsableCommand {
    @OptionGroup var store: BenchmarkStore

    @Option(help: "Records in a page.")
    var page = 500

    @Option(help: "How many times to play it back; the first is left out of the time.")
    var rounds = 2

    func run() async throws {
        try await store.with { database in
            for round in 0..<rounds {
                let start = ContinuousClock.now
                var request = ZoneChangesRequest(NoteRecords.zoneID, limit: PageLimit(records: page))
                var (count, bytes) = (0, 0)
                while true {
                    let page = try await database.zoneChanges(request)
                    count += page.changes.count
                    // In place: copying each change to look at it would be measured too.
                    page.changes.withUnsafeBufferPointer { changes in
                        for index in changes.indices {
                            bytes += changes[index].bytes + changes[index].recordID.recordName.utf8.count
                        }
                    }
                    if !page.moreComing { break }
                    request.since = page.syncToken
                }
                if round > 0 || rounds == 1 { Finding.say(count, in: .now - start, bytes: bytes) }
            }
        }
    }
}
