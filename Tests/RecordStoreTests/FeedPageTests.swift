import RecordStore
import Records
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
