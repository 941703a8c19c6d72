import JSON
import Records
import Testing

@testable import WebServices

/// Notifications wait for their device: in order, once, and a limited number.
@Suite struct CourierTests {
    private static let patience = Duration.seconds(60)

    private static func courier() -> Courier { Courier(user: "_a", clientID: nil, expires: Timestamp(milliseconds: .max)) }

    private static func zone(_ name: Name, _ id: Name = "s") -> Courier.CoalescingKey { .zone(.private, subscriptionID: id, ZoneID(zoneName: name)) }

    /// Takes everything that waits.
    private static func all(_ courier: Courier) async -> [UInt8] {
        var all: [UInt8] = []
        while courier.count > 0, let parcel = await courier.next(within: patience) {
            courier.confirm(parcel)
            all += parcel.bytes
        }
        return all
    }

    @Test func inOrderAndOnce() async throws {
        let courier = Self.courier()
        for number in 1...5 as ClosedRange<UInt8> { courier.send([number], key: nil) }
        #expect(await Self.all(courier) == [1, 2, 3, 4, 5])
        #expect(await courier.next(within: .milliseconds(1)) == nil)
        #expect([courier.nextBadge(), courier.nextBadge()] == [1, 2])
    }

    @Test func theNextOneIsWaitedFor() async throws {
        let courier = Self.courier()
        async let next = courier.next(within: Self.patience)
        courier.send([7], key: nil)
        #expect(await next?.bytes == [7])
        async let none = courier.next(within: Self.patience)
        courier.close()
        #expect(await none == nil)
    }

    @Test func whatDidNotArriveIsTheNextAgain() async throws {
        let courier = Self.courier()
        for number in 1...2 as ClosedRange<UInt8> { courier.send([number], key: nil) }
        let first = try #require(await courier.next(within: Self.patience))
        // Somebody else gets the second one meanwhile.
        let second = try #require(await courier.next(within: Self.patience))
        #expect(first.bytes == [1] && second.bytes == [2])
        courier.takeBack(first)
        courier.confirm(second)
        #expect(await Self.all(courier) == [1])
    }

    @Test func changesOfAZoneAreOneNotification() async throws {
        let courier = Self.courier()
        courier.send([1], key: Self.zone("Z"))
        courier.send([2], key: Self.zone("Z"))
        courier.send([3], key: Self.zone("Y"))
        courier.send([4], key: Self.zone("Z", "other"))
        let first = try #require(await courier.next(within: Self.patience))
        // This one is under way already, so it may not tell of a later change.
        courier.send([5], key: Self.zone("Z"))
        courier.confirm(first)
        #expect(first.bytes == [1])
        #expect(await Self.all(courier) == [3, 4, 5])
        courier.send([6], key: .collapseID("c"))
        courier.send([7], key: nil)
        courier.send([8], key: .collapseID("c"))
        #expect(await Self.all(courier) == [8, 7])
    }

    @Test func theOldestAreDropped() async throws {
        let courier = Self.courier()
        courier.send([0], key: nil)
        let inHand = try #require(await courier.next(within: Self.patience))
        for _ in 0..<Courier.limit { courier.send([1], key: nil) }
        courier.send([2], key: nil)
        #expect(courier.count == Courier.limit)
        courier.confirm(inHand)
        let left = await Self.all(courier)
        #expect(left.count == Courier.limit - 1 && left.last == 2)
    }
}
