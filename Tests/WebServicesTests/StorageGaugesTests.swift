import RecordStore
import Records
import Synchronization
import TestSupport
import Testing

@testable import WebServices

/// The storage metrics are cached instead of computed for each request.
@Suite("Storage gauges") struct StorageGaugesTests {
    @Test("An immediate second request gets the same numbers with their age")
    func interval() async throws {
        let (engine, clock) = (CountedEngine(), ManualClock())
        let gauges = StorageGauges(engine, interval: .seconds(10), now: { clock.now })
        let first = await gauges.reading()
        #expect(first.stores.map(\.total.records) == [1] && first.age == .zero)
        clock.advance(by: .seconds(9))
        let second = await gauges.reading()
        #expect(second.stores.map(\.total.records) == [1] && second.age == .seconds(9))
        clock.advance(by: .seconds(1))
        let third = await gauges.reading()
        #expect(third.stores.map(\.total.records) == [2] && third.age == .zero)
    }

    @Test("Summing up takes a hundredth of the time at the most")
    func share() async throws {
        let clock = ManualClock()
        let engine = CountedEngine { clock.advance(by: .seconds(1)) }
        let gauges = StorageGauges(engine, interval: .seconds(10), now: { clock.now })
        let first = await gauges.reading()
        #expect(first.age == .seconds(1))
        clock.advance(by: .seconds(99))
        let second = await gauges.reading()
        #expect(second.stores.map(\.total.records) == [1] && second.age == .seconds(100))
        clock.advance(by: .seconds(1))
        let third = await gauges.reading()
        #expect(third.stores.map(\.total.records) == [2])
    }

    @Test("A failed measurement keeps the previous numbers")
    func failures() async throws {
        let (engine, clock) = (CountedEngine(), ManualClock())
        let gauges = StorageGauges(engine, interval: .zero, now: { clock.now })
        _ = await gauges.reading()
        engine.fail()
        clock.advance(by: .seconds(5))
        let reading = await gauges.reading()
        #expect(reading.stores.map(\.total.records) == [1] && reading.age == .seconds(5))
        let none = StorageGauges(engine, now: { clock.now })
        let nothing = await none.reading()
        #expect(nothing.stores.isEmpty && nothing.age == nil)
    }

    @Test("A concurrent request does not start a second measurement")
    func together() async throws {
        let engine = CountedEngine()
        let gauges = StorageGauges(engine)
        await withTaskGroup(of: [Int].self) { group in
            for _ in 0..<20 { group.addTask { await gauges.reading().stores.map(\.total.records) } }
            for await records in group { #expect(records == [1]) }
        }
    }

    /// Its record count is the number of times that it was asked.
    private final class CountedEngine: RecordEngine, StoreMeasuring {
        private let asked = Mutex(0)
        private let hasFailed = Mutex(false)
        private let work: @Sendable () -> Void

        init(_ work: @escaping @Sendable () -> Void = {}) {
            self.work = work
        }

        func fail() { hasFailed.withLock { $0 = true } }

        func storage(limit: Int) async throws -> [StoreStorage] {
            if hasFailed.withLock({ $0 }) { throw RecordError(.internalError, "The disk failed") }
            let records = asked.withLock { asked in
                asked += 1
                return asked
            }
            work()
            return [
                StoreStorage(
                    container: ScenarioRunner.address.container, environment: .development, scope: .private,
                    [("N", "Z", RecordTotals(records: records, bytes: 10))], limit: limit)
            ]
        }

        func database(_ address: DatabaseAddress, as caller: Caller) async throws -> any RecordDatabase {
            throw RecordError.recordNotFound
        }
        func close() async {}
    }
}
