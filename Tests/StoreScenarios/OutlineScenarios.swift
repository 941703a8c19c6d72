internal import RecordStore
internal import Records
internal import Testing

/// The distribution of a zone's changes in its feed.
enum OutlineScenarios {
    static let all: [Scenario] = [
        .init("an outline has every change in one section, and its tokens are before the sections") { engine, clock in
            let database = try await engine.withZone()
            guard database.can(.outlineFeed) else { return }
            let empty = try await database.require(.outlineFeed).outline(FeedOutlineRequest(notes))
            #expect(empty.stretches.isEmpty)
            let deletion = try await fill(database, clock)
            let changes = try await database.pull(notes).changes
            for parts in [1, 7, 1000] { try await check(database, changes, deletion: deletion, parts: parts) }
        },
        .init("a part of a feed is outlined alone") { engine, clock in
            let database = try await engine.withZone()
            guard database.can(.outlineFeed) else { return }
            let deletion = try await fill(database, clock)
            let changes = try await database.pull(notes).changes
            let next = try #require(changes.first { $0.position == deletion + 1 })
            let part = try await database.require(.outlineFeed).outline(
                FeedOutlineRequest(notes, after: deletion, through: deletion + 1, stretches: 5))
            #expect(
                part.stretches.map(\.changes) == [1] && part.stretches.first?.began == next.record?.modified.timestamp)
            let after = try await database.require(.outlineFeed).outline(
                FeedOutlineRequest(notes, after: part.position))
            let before = try await database.require(.outlineFeed).outline(FeedOutlineRequest(notes, through: -5))
            let beyond = try await database.require(.outlineFeed).outline(
                FeedOutlineRequest(notes, after: .max, through: .max))
            #expect(after.stretches.isEmpty && before.stretches.isEmpty && beyond.stretches.isEmpty)
            let refused1 = await refusal {
                _ = try await database.require(.outlineFeed).outline(FeedOutlineRequest(ZoneID(zoneName: "Nowhere")))
            }
            let refused2 = await refusal {
                _ = try await database.require(.outlineFeed).outline(FeedOutlineRequest(.default))
            }
            #expect(refused1 == .zoneNotFound && refused2?.code == .badRequest)
        },
    ]

    /// Thirty records mixed with changes of another zone. One is deleted, and two are saved after that.
    /// - Returns: the position of the deletion.
    private static func fill(_ database: any RecordDatabase, _ clock: TestClock) async throws -> Int64 {
        for number in 0..<30 {
            clock.advance()
            try await database.save(Name("r\(number)"), in: notes)
            if number % 3 == 0 { try await database.save("elsewhere") }
        }
        try await database.delete("r3", in: notes)
        clock.advance()
        try await database.save("r4", in: notes)
        clock.advance()
        try await database.save("last", in: notes)
        let token = try await database.pull(notes).token
        return try await database.require(.explainTokens).explain(token).position - 2
    }

    private static func check(
        _ database: any RecordDatabase, _ changes: [RecordChange], deletion: Int64, parts: Int
    ) async throws {
        let outline = try await database.require(.outlineFeed).outline(FeedOutlineRequest(notes, stretches: parts))
        let stretches = outline.stretches
        #expect(stretches.count <= min(parts, FeedOutlineRequest.stretchLimit) && outline.floor == 0)
        #expect(stretches.last?.through == outline.position && outline.position == changes.last?.position)
        let gaps = zip(stretches, stretches.dropFirst()).count { $0.through != $1.after }
        let total = stretches.reduce(0) { $0 + $1.changes }
        #expect(gaps == 0 && total == changes.count + 1)
        for stretch in stretches {
            let inside = changes.filter { $0.position.map { $0 > stretch.after && $0 <= stretch.through } ?? false }
            let hasDeletion = deletion > stretch.after && deletion <= stretch.through
            #expect(stretch.changes == inside.count + (hasDeletion ? 1 : 0))
            if !hasDeletion { #expect(stretch.began == inside.first?.record?.modified.timestamp) }
            let token = try #require(stretch.token)
            let since = try await database.pull(notes, since: token).changes.filter { $0.kind != .deleted }.map(
                \.position)
            let expected = changes.compactMap(\.position).filter { $0 > stretch.after }
            #expect(since == expected)
        }
    }
}
