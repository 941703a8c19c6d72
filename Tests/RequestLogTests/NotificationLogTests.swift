import Records
import Testing

@testable import RequestLog

/// The log of notifications: what became of each, and a limited number.
@Suite struct NotificationLogTests {
    private static func notification(_ position: Int64, payload count: Int = 0) -> LoggedNotification {
        var notification = LoggedNotification(
            at: Timestamp(milliseconds: 1),
            in: DatabaseAddress(container: Requests.container, environment: .development, scope: .private), of: "_a",
            subscriptionID: "s", position: position, zoneID: ZoneID(zoneName: "Z"), recordName: nil, event: nil,
            tokenID: "t", clientID: nil, outcome: .waiting)
        notification.payload = [UInt8](repeating: 1, count: count)
        return notification
    }

    @Test func eachHasItsOutcome() throws {
        let log = NotificationLog()
        let numbers = (1...3).compactMap { log.add(Self.notification($0)) }
        #expect(numbers == [1, 2, 3])
        log.note(.delivered(Timestamp(milliseconds: 5)), of: 2)
        log.note(.coalesced(into: 2), of: 3)
        log.note(.lost, of: 9)
        #expect(log.latest().map(\.outcome) == [.coalesced(into: 2), .delivered(Timestamp(milliseconds: 5)), .waiting])
        #expect(
            log.latest(1, before: 3).map(\.id) == [2] && log.latest { $0.outcome == .waiting }.map(\.position) == [1])
        #expect(log.notification(2)?.position == 2 && log.notification(0) == nil && log.notification(4) == nil)
        // Addresses may name any number.
        for number in [Int64.min, -1, .max] {
            #expect(log.notification(number) == nil && NotificationLog(isOn: false).notification(number) == nil)
            log.note(.lost, of: number)
        }
    }

    @Test func theLatestAreKept() {
        let log = NotificationLog()
        let count = 2 * NotificationLog.limit + 10
        for position in 1...Int64(count) { _ = log.add(Self.notification(position)) }
        #expect(
            log.latest().count == NotificationLog.limit
                && log.latest().last?.id == Int64(count - NotificationLog.limit + 1))
        #expect(log.notification(Int64(count))?.position == Int64(count) && log.notification(1) == nil)
        // Large ones are fewer.
        for position in 1...10 as ClosedRange<Int64> {
            _ = log.add(Self.notification(position, payload: NotificationLog.bytesLimit / 4))
        }
        #expect(log.latest().count == 3 && log.latest().first?.position == 10)
        log.note(.dropped, of: Int64(count))
        #expect(!log.latest().contains { $0.outcome == .dropped })
    }

    @Test func aLogThatIsOffKeepsNothing() {
        #expect(NotificationLog(isOn: false).add(Self.notification(1)) == nil)
        #expect(!RequestLog(capacity: 0).notifications.isOn && RequestLog().notifications.isOn)
    }
}
