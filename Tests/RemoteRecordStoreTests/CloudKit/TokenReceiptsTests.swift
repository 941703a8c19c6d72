import RecordStore
import Records
import StoreScenarios
import Testing

@testable import RemoteRecordStore

/// The memory of received tokens.
@Suite struct TokenReceiptsTests {
    private static let feed = TokenReceipts.Feed.zone(ZoneID(zoneName: "Notes"), .private)
    private static func token(_ number: Int) -> ChangeToken { ChangeToken(text: "token \(number)") }

    @Test func aTokenIsKnownFromTheFirstTimeItCame() {
        let clock = TestClock()
        let receipts = TokenReceipts { clock.now() }
        let first = clock.now()
        receipts.noteRequest(since: nil, in: Self.feed)
        receipts.note(Self.token(1), in: Self.feed)
        #expect(
            receipts.receipt(of: Self.token(1), in: Self.feed) == TokenReceipts.Receipt(received: first, pullsSince: 0))
        for _ in 0..<3 {
            clock.advance()
            receipts.noteRequest(since: Self.token(1), in: Self.feed)
            receipts.note(Self.token(1), in: Self.feed)
        }
        #expect(
            receipts.receipt(of: Self.token(1), in: Self.feed) == TokenReceipts.Receipt(received: first, pullsSince: 3))
        #expect(receipts.receipt(of: Self.token(2), in: Self.feed) == nil)
        #expect(receipts.receipt(of: Self.token(1), in: .database(.private)) == nil)
    }

    @Test func theFurtherPagesOfAPullAreNoOtherPulls() {
        let receipts = TokenReceipts { TestClock().now() }
        receipts.noteRequest(since: nil, in: Self.feed)
        receipts.note(Self.token(0), in: Self.feed)
        receipts.noteRequest(since: Self.token(0), in: Self.feed)
        for number in 1...5 {
            receipts.note(Self.token(number), in: Self.feed, moreComing: number < 5)
            if number < 5 { receipts.noteRequest(since: Self.token(number), in: Self.feed) }
        }
        #expect(receipts.receipt(of: Self.token(0), in: Self.feed)?.pullsSince == 1)
        #expect(receipts.receipt(of: Self.token(5), in: Self.feed)?.pullsSince == 0)
        receipts.noteRequest(since: Self.token(5), in: Self.feed)
        #expect(receipts.receipt(of: Self.token(5), in: Self.feed)?.pullsSince == 1)
    }

    @Test func theMemoryIsBounded() {
        let receipts = TokenReceipts { TestClock().now() }
        for number in 0..<TokenReceipts.limit + 10 {
            let feed = TokenReceipts.Feed.zone(ZoneID(zoneName: "Zone \(number)"), .private)
            receipts.noteRequest(since: nil, in: feed)
            receipts.note(Self.token(number), in: feed)
        }
        func isKnown(_ number: Int) -> Bool {
            receipts.receipt(of: Self.token(number), in: .zone(ZoneID(zoneName: "Zone \(number)"), .private)) != nil
        }
        #expect(!isKnown(0) && !isKnown(9) && isKnown(10) && isKnown(TokenReceipts.limit + 9))
        let long = ChangeToken(text: String(repeating: "x", count: TokenReceipts.bytesLimit + 1))
        receipts.note(long, in: Self.feed)
        #expect(receipts.receipt(of: long, in: Self.feed) == nil)
    }
}
