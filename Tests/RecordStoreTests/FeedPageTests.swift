import Records
import RecordStore
import Synchronization
import Testing

/// The loop over the pages of a feed.
@Suite(.timeLimit(.minutes(10))) struct FeedPageTests {
    private struct Page: FeedPage {
        let number: Int
        var syncToken: ChangeToken { ChangeToken(bytes: [UInt8(number)]) }
        var moreComing: Bool { number < 5 }

        var next: Page { Page(number: number + 1) }
    }

    private final class Count: Sendable {
        let held = Mutex(0)
    }

    /// A page that counts as long as anything holds it.
    private final class HeldPage: FeedPage {
        let number: Int
        private let count: Count
        var syncToken: ChangeToken { ChangeToken(bytes: [UInt8(number)]) }
        var moreComing: Bool { number < 5 }

        init(_ number: Int, _ count: Count) {
            self.number = number
            self.count = count
            count.held.withLock { $0 += 1 }
        }

        deinit { count.held.withLock { $0 -= 1 } }
    }

    @Test(arguments: [nil, 0, 2, 4, 5])
    func everyPageIsTakenOnceInOrderUntilTheReaderEnds(end: Int?) async throws {
        var taken: [Int] = []
        let last = try await Page(number: 0).andLater {
            $0.next
        } take: { page in
            taken.append(page.number)
            return page.number != end
        }
        #expect(taken == Array(0...(end ?? 5)) && last.number == end ?? 5)
    }

    @Test func anErrorComesAfterThePageBefore() async throws {
        var taken: [Int] = []
        await #expect(throws: RecordError.zoneNotFound) {
            try await Page(number: 0).andLater { page in
                if page.number == 2 { throw RecordError.zoneNotFound }
                return page.next
            } take: { page in
                taken.append(page.number)
                return true
            }
        }
        #expect(taken == [0, 1, 2])
    }

    /// Another server may send its client in a circle, at once or after some pages.
    @Test(arguments: [1, 2, 3, 7]) func aCircleEnds(length: Int) async throws {
        struct Page: FeedPage {
            let number: Int
            let length: Int
            var syncToken: ChangeToken { ChangeToken(bytes: [UInt8(number % length)]) }
            var moreComing: Bool { number < 200 }
        }
        var taken = 0
        await #expect(throws: RecordError(known: .pagesInACircle)) {
            try await Page(number: 0, length: length).andLater {
                Page(number: $0.number + 1, length: length)
            } take: { _ in
                taken += 1
                return true
            }
        }
        #expect(taken < 4 * length + 2)
    }

    @Test func aPageIsReadWhileTheOneBeforeIsTaken() async throws {
        let (begun, signal) = AsyncStream.makeStream(of: Int.self)
        var beginnings = begun.makeAsyncIterator()
        try await Page(number: 0).andLater { page in
            signal.yield(page.number + 1)
            return page.next
        } take: { page in
            // Waits forever if the next page is read only after this one.
            if page.moreComing { #expect(await beginnings.next() == page.number + 1) }
            return true
        }
    }

    @Test func noMoreThanTwoPagesAreHeld() async throws {
        let count = Count()
        let (made, signal) = AsyncStream.makeStream(of: Int.self)
        var makings = made.makeAsyncIterator()
        try await HeldPage(0, count).andLater { page in
            let next = HeldPage(page.number + 1, count)
            signal.yield(next.number)
            return next
        } take: { page in
            if page.moreComing { #expect(await makings.next() == page.number + 1) }
            #expect(count.held.withLock { $0 } == (page.moreComing ? 2 : 1), "page \(page.number)")
            return true
        }
    }
}

@Suite struct FeedRulerTests {
    private func parts(_ ruler: FeedRuler?) -> [[Int64]] {
        ruler.map { ruler in (0..<ruler.count).map { [ruler.part($0).after, ruler.part($0).through] } } ?? []
    }

    @Test func partsAreOfEqualWidthButTheLast() {
        #expect(parts(FeedRuler(after: 0, through: 10, parts: 3, latest: 10)) == [[0, 4], [4, 8], [8, 10]])
        #expect(parts(FeedRuler(after: 5, through: 6, parts: 60, latest: 10)) == [[5, 6]])
        #expect(parts(FeedRuler(after: 0, through: 3, parts: 60, latest: 2)) == [[0, 1], [1, 2]])
    }

    @Test func endsAreMovedToUnits() {
        #expect(
            parts(FeedRuler(after: 3, through: 20, parts: 60, unit: 8, latest: 100)) == [[-1, 7], [7, 15], [15, 23]])
        #expect(parts(FeedRuler(after: 7, through: 15, parts: 60, unit: 8, latest: 100)) == [[7, 15]])
        #expect(parts(FeedRuler(after: 0, through: 30, parts: 2, unit: 8, latest: 28)) == [[-1, 15], [15, 28]])
    }

    @Test func nothingLiesBetween() {
        for (after, through) in [(10, 20), (.max, .max), (11, 5)] as [(Int64, Int64)] {
            #expect(parts(FeedRuler(after: after, through: through, parts: 5, latest: 10)).isEmpty)
        }
        #expect(parts(FeedRuler(after: .min, through: .max, parts: 1, latest: 10)) == [[-1, 10]])
    }
}
