import RecordStore
import Testing

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
