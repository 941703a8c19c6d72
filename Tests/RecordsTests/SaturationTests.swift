import Records
import Testing

/// Arithmetic on numbers that may be any.
@Suite struct SaturationTests {
    @Test(
        arguments: [
            (.max, 1, .max, .max - 1, .max), (.min, -1, .min, .min + 1, .max), (.max, -1, .max - 1, .max, .min + 1),
            (.min, 1, .min + 1, .min, .min),
            (.max, .max, .max, 0, .max), (.min, .min, .min, 0, .max), (.max, .min, -1, .max, .min),
            (0, .min, .min, .max, 0), (7, 3, 10, 4, 21),
        ] as [(Int64, Int64, Int64, Int64, Int64)])
    func resultsStayInRange(left: Int64, right: Int64, sum: Int64, difference: Int64, product: Int64) {
        #expect(left.addingSaturated(right) == sum)
        #expect(left.subtractingSaturated(right) == difference)
        #expect(left.multipliedSaturated(by: right) == product)
    }

    @Test(
        arguments: [([], 0), ([1, 2], 3), ([.max, .max], .max), ([.max, .max, -1], .max - 1), ([.min, -1], .min)]
            as [([Int], Int)])
    func sumsStayInRange(numbers: [Int], sum: Int) {
        #expect(numbers.saturatedSum == sum)
    }
}
