import JSON
import RecordStore
import Records
import StoreScenarios
import Testing

/// A zone's changes as a sequence of pages.
@Suite struct ChangePagesTests {
    /// Takes pages, and cancels its task after the given number.
    /// - Returns: the number of pages up to the end; `nil` if it was cancelled before.
    private func taken(_ pages: ChangePages, cancellingAfter count: Int) async throws -> Int? {
        let taking = Task { () -> Int? in
            var taken = 0
            if count == 0 { withUnsafeCurrentTask { $0?.cancel() } }
            do {
                for try await _ in pages {
                    taken += 1
                    if taken == count { withUnsafeCurrentTask { $0?.cancel() } }
                }
            } catch is CancellationError {
                return nil
            }
            return taken
        }
        return try await taking.value
    }

    @Test func aCancelledPlaybackHasNoEnd() async throws {
        let database = try await InMemoryRecordEngine().withZone()
        for name in ["a", "b", "c"] as [Name] { try await database.save(name, in: notes) }
        let request = ZoneChangesRequest(notes, limit: PageLimit(records: 1))
        let counts = [
            try await taken(database.playback(request), cancellingAfter: 0), try await taken(database.playback(request), cancellingAfter: 1),
            // All pages have arrived by then.
            try await taken(database.playback(request), cancellingAfter: 3), try await taken(database.playback(request), cancellingAfter: 9),
        ]
        #expect(counts == [nil, nil, 3, 3])
    }

    @Test func aCancelledFollowerIsDone() async throws {
        let database = try await InMemoryRecordEngine().withZone()
        for name in ["a", "b"] as [Name] { try await database.save(name, in: notes) }
        let request = ZoneChangesRequest(notes, limit: PageLimit(records: 1))
        let counts = [try await taken(database.follow(request), cancellingAfter: 1), try await taken(database.follow(request), cancellingAfter: 2)]
        #expect(counts == [1, 2])
    }
}
