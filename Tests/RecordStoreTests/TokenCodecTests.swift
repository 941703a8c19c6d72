import RecordStore
import Records
import Testing

@Suite struct TokenCodecTests {
    private let codec = TokenCodec(
        seal: TokenSeal(key: Array(0..<32)),
        epochs: [Epoch(number: 7, after: 0, through: 10), Epoch(number: 8, after: 10)])

    private func feed(position: Int64 = 20, floor: Int64 = 0) -> FeedState {
        FeedState(
            scope: .private, databaseNumber: 1, subject: .zone(3), position: position,
            moment: Timestamp(milliseconds: 1_700_000_000_000), floor: floor)
    }

    private func refusal(_ token: ChangeToken, _ feed: FeedState) -> RecordError? {
        do {
            _ = try codec.content(of: token, for: feed) { _ in false }
            return nil
        } catch {
            return error as? RecordError
        }
    }

    @Test(arguments: [
        TokenContent.Progress.complete, .firstPull(began: 20), .pull(since: 5), .reversePull(began: 20, since: 5),
    ])
    func bringsBackWhatWasSealed(progress: TokenContent.Progress) throws {
        let moment = Timestamp(milliseconds: 1_700_000_000_123)
        let token = codec.token(of: feed(), at: 12, moment: moment, progress: progress)
        let content = try codec.content(of: token, for: feed()) { _ in false }
        #expect(
            content.position == 12 && content.progress == progress && content.moment == moment
                && content.subject == .zone(3))
        #expect(codec.token(of: feed(), at: 12, moment: moment, progress: progress) == token)
    }

    @Test func everyFlippedBitIsNoticed() {
        let token = codec.current(feed())
        for bit in 0..<(token.bytes.count * 8) {
            var bytes = token.bytes
            bytes[bit / 8] ^= 1 << (bit % 8)
            let error = refusal(ChangeToken(bytes: bytes), feed())
            #expect(error == TokenCodec.foreign, "bit \(bit)")
        }
    }

    @Test func thePositionDecidesTheEpoch() {
        #expect(
            codec.open(codec.token(of: feed(), at: 10, moment: Timestamp(milliseconds: 0), progress: .complete))?
                .content.epoch == 7)
        #expect(
            codec.open(codec.token(of: feed(), at: 11, moment: Timestamp(milliseconds: 0), progress: .complete))?
                .content.epoch == 8)
        // A page token also has the position where its pull began.
        #expect(
            codec.open(
                codec.token(of: feed(), at: 5, moment: Timestamp(milliseconds: 0), progress: .firstPull(began: 20)))?
                .content.epoch == 8)
    }

    /// After deletions were purged, tokens before them expire. A pull that began without a token does not need them.
    @Test func purgedDeletionsExpireEarlierTokens() {
        func token(_ position: Int64, _ progress: TokenContent.Progress = .complete) -> ChangeToken {
            codec.token(of: feed(), at: position, moment: Timestamp(milliseconds: 0), progress: progress)
        }
        let purged = feed(floor: 15)
        #expect(refusal(token(14), purged) == TokenCodec.expired)
        #expect(refusal(token(15), purged) == nil)
        #expect(refusal(token(5, .firstPull(began: 20)), purged) == nil)
        #expect(refusal(token(5, .firstPull(began: 12)), purged) == TokenCodec.expired)
    }

    /// A reverse pull returns the oldest deletions last, so its lower end counts, not its current position.
    @Test func purgedDeletionsExpireAPullFromNewToOldThatGoesDownToThem() {
        func token(since: Int64, at position: Int64) -> ChangeToken {
            codec.token(
                of: feed(), at: position, moment: Timestamp(milliseconds: 0),
                progress: .reversePull(began: 20, since: since))
        }
        #expect(refusal(token(since: 5, at: 18), feed(floor: 10)) == TokenCodec.expired)
        #expect(refusal(token(since: 12, at: 18), feed(floor: 10)) == nil)
        // A pull that began without a token needs no earlier deletions.
        #expect(refusal(token(since: 0, at: 3), feed(floor: 10)) == nil)
    }
}
