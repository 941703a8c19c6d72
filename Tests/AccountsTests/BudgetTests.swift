import Testing

@testable import Accounts

@Suite("Budgets")
struct BudgetTests {
    private let start = ContinuousClock.now

    @Test("Some happen at once, and then one after the other, at the pace that was set")
    func pace() {
        var budget = Budget<String>(atOnce: 10, interval: .milliseconds(100), keyLimit: 10)
        func taken(at milliseconds: Int) -> Int {
            (0..<100).count { _ in budget.take("a", at: start + .milliseconds(milliseconds)) == .after(.zero) }
        }
        #expect(
            taken(at: 0) == 10 && taken(at: 50) == 0 && taken(at: 350) == 3 && taken(at: 1450) == 10
                && taken(at: 100_000) == 10)
        #expect(budget.take("a", at: start + .seconds(100)) == .refused(retryAfter: 1))
        #expect(budget.take("b", at: start + .seconds(100)) == .after(.zero))
    }

    @Test("Waiting requests are served in order")
    func line() {
        var budget = Budget<String>(atOnce: 1, interval: .seconds(1), keyLimit: 10)
        let turns = (0..<5).map { _ in budget.take("a", at: start, waiting: .seconds(3)) }
        #expect(
            turns == [
                .after(.zero), .after(.seconds(1)), .after(.seconds(2)), .after(.seconds(3)), .refused(retryAfter: 1),
            ])
        #expect(budget.wait(of: "a", at: start) == .seconds(4) && budget.wait(of: "b", at: start) == .zero)
        budget.giveBack("a")
        #expect(budget.take("a", at: start, waiting: .seconds(3)) == .after(.seconds(3)))
        budget.forget("a")
        #expect(budget.take("a", at: start) == .after(.zero))
    }

    @Test("However many keys come, no more are remembered than there is room for")
    func room() {
        var budget = Budget<Int>(atOnce: 30, interval: .seconds(1), keyLimit: 100)
        let admitted = (0..<10_000).count { budget.take($0, at: start) == .after(.zero) }
        #expect(admitted == 100 + 30 && budget.count == 100)
        #expect(budget.take(20_000, at: start) == .refused(retryAfter: 1))
        #expect(budget.take(20_000, at: start + .seconds(1000)) == .after(.zero) && budget.count == 1)
    }
}
