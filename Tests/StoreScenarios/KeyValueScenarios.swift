internal import RecordStore
internal import Records
internal import Testing

/// Key-value stores: what they keep, what clients hear, and their limits.
enum KeyValueScenarios {
    private static let values: [Name: PropertyValue] = [
        "string": .string("a\"\u{0}é"), "empty": .string(""), "bytes": .bytes([0, 1, 255]), "yes": .bool(true),
        "no": .bool(false),
        "integer": .integer(.min), "double": .double(1), "date": .date(Timestamp(milliseconds: -1)),
        "array": .array([.integer(1), .array([]), .dictionary([:])]),
        "dictionary": .dictionary(["a": .double(0.5), "": .string("none"), "list": .array([.bytes([])])]),
    ]

    private static func all(_ database: any RecordDatabase) async throws -> [Name: PropertyValue] {
        let changes = try await database.require(.keepKeyValues).keyValues(since: nil).changes
        return try Dictionary(uniqueKeysWithValues: changes.map { ($0.key, try #require($0.value)) })
    }

    private static func change(_ operations: KeyValueOperation..., in database: any RecordDatabase) async throws {
        _ = try await database.require(.keepKeyValues).modifyKeyValues(operations)
    }

    /// Bytes that take this much room.
    private static func filler(_ size: Int) -> PropertyValue { .bytes([UInt8](repeating: 7, count: size)) }

    static let all: [Scenario] = [
        .init("a key-value store keeps values of all kinds as they were set, for one user and environment") {
            engine, _ in
            let database = try await engine.full(.private)
            #expect(try await database.require(.keepKeyValues).keyValues(since: nil).changes.isEmpty)
            let usage = try await database.require(.keepKeyValues).modifyKeyValues(
                values.map { .set($0.key, $0.value) })
            let kept = try await database.require(.keepKeyValues).keyValues(since: nil)
            #expect(try await all(database) == values && kept.usage == usage)
            #expect(usage == KeyValueUsage(keys: values.count, bytes: values.values.reduce(0) { $0 + $1.size }))
            // Names of keys are compared by their bytes.
            try await change(.set("Caf\u{e9}", .bool(true)), .set("Cafe\u{301}", .bool(false)), in: database)
            #expect(try await all(database).count == values.count + 2)
            #expect(try await all(engine.full(.private, as: grace)).isEmpty)
            #expect(try await all(engine.full(.private, as: ada, .production)).isEmpty)
        },
        .init("a client hears each changed key once, in the order of the changes, and of those that are removed") {
            engine, clock in
            let database = try await engine.full(.private)
            try await change(.set("a", .integer(1)), .set("b", .integer(1)), .set("c", .integer(1)), in: database)
            let begun = try await database.require(.keepKeyValues).keyValues(since: nil)
            #expect(begun.changes.map(\.key) == ["a", "b", "c"])
            #expect(try await database.require(.keepKeyValues).keyValues(since: begun.syncToken).changes.isEmpty)
            #expect(try await !database.require(.keepKeyValues).hasKeyValues(since: begun.syncToken))
            clock.advance()
            // A key that is set twice in a request has the last value. Keys that are not there can be removed.
            try await change(
                .set("b", .integer(2)), .remove("a"), .remove("none"), .set("b", .integer(3)), in: database)
            #expect(try await database.require(.keepKeyValues).hasKeyValues(since: begun.syncToken))
            let news = try await database.require(.keepKeyValues).keyValues(since: begun.syncToken)
            #expect(news.changes.map(\.key) == ["a", "b"] && news.changes.map(\.value) == [nil, .integer(3)])
            #expect(news.changes.allSatisfy { $0.modified == clock.now() } && news.usage.keys == 2)
            let positions = (begun.changes + news.changes).map(\.position)
            #expect(positions == positions.sorted() && Set(positions).count == positions.count)
            #expect(try await database.require(.keepKeyValues).keyValues(since: news.syncToken).changes.isEmpty)
            #expect(try await !database.require(.keepKeyValues).hasKeyValues(since: news.syncToken))
            // Without a token the removed ones count for nothing, and set again they are there.
            #expect(try await all(database) == ["b": .integer(3), "c": .integer(1)])
            try await change(.set("a", .integer(4)), in: database)
            #expect(
                try await database.require(.keepKeyValues).keyValues(since: news.syncToken).changes.map(\.value) == [
                    .integer(4)
                ])
        },
        .database("a full key-value store refuses the whole request") { database in
            try await change(
                .set("half", filler(KeyValueLimits.bytes / 2)), .set("rest", filler(KeyValueLimits.bytes / 2)),
                in: database)
            let before = try await database.require(.keepKeyValues).keyValues(since: nil)
            #expect(before.usage.bytes == KeyValueLimits.bytes)
            let tooLarge = await refusal { try await change(.remove("none"), .set("flag", .bool(true)), in: database) }
            #expect(
                tooLarge?.code == .quotaExceeded
                    && tooLarge?.reason.contains("\(KeyValueLimits.bytes + 8) bytes") == true)
            let tooLargeAlone = await refusal {
                try await change(.remove("half"), .set("rest", filler(KeyValueLimits.bytes + 1)), in: database)
            }
            #expect(tooLargeAlone?.code == .quotaExceeded)
            #expect(try await database.require(.keepKeyValues).keyValues(since: before.syncToken).changes.isEmpty)
            // Room that the same request makes counts, and one value may have all of it.
            try await change(.set("all", filler(KeyValueLimits.bytes)), .remove("half"), .remove("rest"), in: database)
            #expect(
                try await database.require(.keepKeyValues).keyValues(since: nil).usage
                    == KeyValueUsage(keys: 1, bytes: KeyValueLimits.bytes))
        },
        .database("a key-value store has 1,024 keys of 64 bytes") { database in
            let operations = (0..<KeyValueLimits.keys).map { KeyValueOperation.set(Name("k\($0)"), .string("")) }
            #expect(
                try await database.require(.keepKeyValues).modifyKeyValues(operations)
                    == KeyValueUsage(keys: KeyValueLimits.keys, bytes: 0))
            let longest = Name(String(repeating: "é", count: KeyValueLimits.keyLength / 2))
            #expect(
                await refusal { try await change(.set(longest, .string("")), in: database) }?.code == .quotaExceeded)
            try await change(.remove("k0"), .set(longest, .string("")), in: database)
            for key in ["", longest.string + "x"] {
                #expect(
                    await refusal { try await change(.set(Name(key), .string("")), in: database) }?.code == .badRequest)
            }
            let nested = (0..<KeyValueLimits.depth).reduce(PropertyValue.bool(true)) { value, _ in .array([value]) }
            #expect(await refusal { try await change(.set("k1", nested), in: database) }?.code == .badRequest)
            let usage = try await database.require(.keepKeyValues).keyValues(since: nil).usage
            #expect(usage == KeyValueUsage(keys: KeyValueLimits.keys, bytes: 0))
        },
        .database("a key-value store forgets old removals, and tokens from before them") { database in
            try await change(.set("kept", .bool(true)), in: database)
            let begun = try await database.require(.keepKeyValues).keyValues(since: nil).syncToken
            var later = begun
            // One removal more than are remembered.
            for round in 0..<2 {
                let keys = (0..<(KeyValueRules.removalsLimit / 2 + round)).map { Name("\(round).\($0)") }
                _ = try await database.require(.keepKeyValues).modifyKeyValues(keys.map { .set($0, .bool(true)) })
                _ = try await database.require(.keepKeyValues).modifyKeyValues(keys.map { .remove($0) })
                if round == 0 { later = try await database.require(.keepKeyValues).keyValues(since: begun).syncToken }
            }
            let expired = await refusal { _ = try await database.require(.keepKeyValues).keyValues(since: begun) }
            #expect(
                await refusal { _ = try await database.require(.keepKeyValues).hasKeyValues(since: begun) } == expired)
            #expect(expired == TokenCodec.expired)
            let news = try await database.require(.keepKeyValues).keyValues(since: later)
            #expect(
                news.changes.count == KeyValueRules.removalsLimit / 2 + 1 && news.changes.allSatisfy { $0.value == nil }
            )
            #expect(try await all(database) == ["kept": .bool(true)])
        },
        .init("a reset empties the key-value stores of the environment") { engine, _ in
            let (mine, others) = (try await engine.full(.private), try await engine.full(.private, as: grace))
            let production = try await engine.full(.private, as: ada, .production)
            for database in [mine, others, production] { try await change(.set("k", .bool(true)), in: database) }
            let tokens = (
                try await mine.require(.keepKeyValues).keyValues(since: nil).syncToken,
                try await others.require(.keepKeyValues).keyValues(since: nil).syncToken
            )
            _ = try await mine.require(.editSchema).reset(to: .initial)
            #expect(
                await refusal { _ = try await mine.require(.keepKeyValues).keyValues(since: tokens.0) }
                    == TokenCodec.expired)
            #expect(
                await refusal { _ = try await others.require(.keepKeyValues).keyValues(since: tokens.1) }
                    == TokenCodec.expired)
            #expect(try await all(mine).isEmpty)
            #expect(try await all(others).isEmpty)
            #expect(try await all(production) == ["k": .bool(true)])
            let begun = try await mine.require(.keepKeyValues).keyValues(since: nil)
            try await change(.set("k", .bool(false)), in: mine)
            #expect(
                try await mine.require(.keepKeyValues).keyValues(since: begun.syncToken).changes.map(\.key) == ["k"])
        },
        .init("a token is good for the key-value store that it is of, until all tokens expire") { engine, _ in
            let database = try await engine.withZone()
            try await change(.set("k", .bool(true)), in: database)
            let token = try await database.require(.keepKeyValues).keyValues(since: nil).syncToken
            let foreign = [
                try await database.require(.tellCurrentToken).currentToken(), try await database.pull(notes).token,
                ChangeToken(bytes: [1, 2, 3]),
            ]
            for other in foreign {
                #expect(
                    await refusal { _ = try await database.require(.keepKeyValues).keyValues(since: other) }
                        == TokenCodec.foreign)
            }
            #expect(await refusal { _ = try await database.pull(notes, since: token) } == TokenCodec.foreign)
            #expect(
                await refusal { _ = try await database.require(.explainTokens).explain(token) }
                    == KeyValueRules.otherToken)
            let others = try await engine.full(.private, as: grace)
            #expect(
                await refusal { _ = try await others.require(.keepKeyValues).keyValues(since: token) }
                    == TokenCodec.foreign)
            try await database.require(.expireTokens).expireTokens()
            #expect(
                await refusal { _ = try await database.require(.keepKeyValues).keyValues(since: token) }
                    == TokenCodec.expired)
        },
        .zone("records and key-value stores do not change each other") { database in
            try await database.save("r", in: notes)
            try await change(.set("k", .bool(true)), in: database)
            let (token, zone) = (
                try await database.require(.keepKeyValues).keyValues(since: nil).syncToken,
                try await database.pull(notes).token
            )
            try await database.save("s", in: notes)
            #expect(try await database.require(.keepKeyValues).keyValues(since: token).changes.isEmpty)
            try await change(.remove("k"), in: database)
            #expect(try await database.pull(notes, since: zone).changes.map { $0.record?.recordID.recordName } == ["s"])
            #expect(try await database.require(.keepKeyValues).keyValues(since: token).changes.map(\.key) == ["k"])
        },
    ]
}
