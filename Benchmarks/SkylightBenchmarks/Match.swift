import ArgumentParser
import RecordStore
import Records

/// Finds the subscription that a saved note of the public database fires, among many that it does not.
struct Match: AsyncParsableCommand {
    @OptionGroup var store: BenchmarkStore

    @Option(help: "How many query subscriptions there are.")
    var subscriptions = 10_000

    @Option(help: "How many notes are saved.")
    var rounds = 300

    func run() async throws {
        try await store.withEngine { engine, database in
            var address = database.address
            address.scope = .public
            let notes = try await engine.database(address, as: database.caller)
            try await subscribe(engine, address)
            var position = try await notes.require(.fireSubscriptions).firings(after: nil).position
            var times: [Duration] = []
            for round in 0...rounds {
                let rank = FieldInput(FieldValue.int64(Int64(round % subscriptions)))
                try await BenchmarkStore.save(
                    [
                        RecordOperation(
                            .forceUpdate, recordName: "matched", recordType: NoteRecords.typeName,
                            fields: ["rank": rank])
                    ], in: notes, .default)
                let start = ContinuousClock.now
                let page = try await notes.require(.fireSubscriptions).firings(after: position)
                times.append(.now - start)
                guard page.firings.count == 1, page.firings[0].subscriptions.count == 1 else {
                    throw RecordError(
                        .internalError,
                        "The note fires \(page.firings.map(\.subscriptions.count)) subscriptions, not one")
                }
                position = page.position
            }
            var writer = JSONWriter()
            writer.object { writer in
                // The first look reads all subscriptions.
                writer.member("reading", seconds: times.removeFirst())
                writer.member("matching", times.sorted())
            }
            print(String(decoding: writer.bytes, as: UTF8.self))
        }
    }

    private func subscribe(_ engine: any RecordEngine, _ address: DatabaseAddress) async throws {
        let limit = SubscriptionRules.limit
        for first in stride(from: 0, to: subscriptions, by: limit) {
            let number = String(first / limit)
            let user = Caller(
                userRecordName: Name("_be7c4" + String(repeating: "0", count: 27 - number.count) + number))
            let operations = (first..<min(first + limit, subscriptions)).map { rank in
                let filter = Query.Filter("rank", .equals, FieldInput(.int64(Int64(rank))))
                let query = Subscription.RecordSubject(
                    Query(recordType: NoteRecords.typeName, filters: [filter]), firesOn: [.create, .update])
                return SubscriptionOperation.save(
                    Subscription(Name("rank \(rank)"), to: .query(query), notificationInfo: NotificationInfo()))
            }
            for result in try await engine.database(address, as: user).require(.keepSubscriptions).modifySubscriptions(
                operations)
            {
                _ = try result.get()
            }
        }
    }
}
