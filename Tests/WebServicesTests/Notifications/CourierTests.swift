import RecordStore
import Records
import TestSupport
import Testing

@testable import WebServices

/// Notifications wait for their device: in order, once, and a limited number.
@Suite struct CourierTests {
    private static let patience = Duration.seconds(60)

    private let place: Notifier.Place

    init() throws {
        place = Notifier.Place(
            container: try #require(ContainerID("iCloud.com.example.Test")), environment: .development)
    }

    private static func courier() -> Courier { Courier(user: "_a", clientID: nil, room: Courier.Room()) }

    private func zone(_ name: Name, _ id: Name = "s") -> Courier.CoalescingKey {
        .zone(place, .private, subscriptionID: id, ZoneID(zoneName: name))
    }

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
        for number in 1...5 as ClosedRange<UInt8> { courier.send([number], of: Int64(number), at: place, key: nil) }
        #expect(await Self.all(courier) == [1, 2, 3, 4, 5])
        #expect(await courier.next(within: .milliseconds(1)) == nil)
        #expect([courier.nextBadge(), courier.nextBadge()] == [1, 2])
    }

    @Test func theNextOneIsWaitedFor() async throws {
        let courier = Self.courier()
        async let next = courier.next(within: Self.patience)
        courier.send([7], of: 7, at: place, key: nil)
        #expect(await next?.bytes == [7])
        async let none = courier.next(within: Self.patience)
        courier.close()
        #expect(await none == nil)
    }

    @Test func whatDidNotArriveIsTheNextAgain() async throws {
        let courier = Self.courier()
        for number in 1...2 as ClosedRange<UInt8> { courier.send([number], of: Int64(number), at: place, key: nil) }
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
        courier.send([1], of: 1, at: place, key: zone("Z"))
        courier.send([2], of: 2, at: place, key: zone("Z"))
        courier.send([3], of: 3, at: place, key: zone("Y"))
        courier.send([4], of: 4, at: place, key: zone("Z", "other"))
        let first = try #require(await courier.next(within: Self.patience))
        // This one is under way already, so it may not tell of a later change.
        courier.send([5], of: 5, at: place, key: zone("Z"))
        courier.confirm(first)
        #expect(first.bytes == [1])
        #expect(await Self.all(courier) == [3, 4, 5])
        courier.send([6], of: 6, at: place, key: .collapseID(place, "c"))
        courier.send([7], of: 7, at: place, key: nil)
        courier.send([8], of: 8, at: place, key: .collapseID(place, "c"))
        #expect(await Self.all(courier) == [8, 7])
    }

    @Test func theOldestAreDropped() async throws {
        let courier = Self.courier()
        courier.send([0], of: 0, at: place, key: nil)
        let inHand = try #require(await courier.next(within: Self.patience))
        for _ in 0..<Courier.limit { courier.send([1], of: 1, at: place, key: nil) }
        courier.send([2], of: 2, at: place, key: nil)
        #expect(courier.count == Courier.limit)
        courier.confirm(inHand)
        let left = await Self.all(courier)
        #expect(left.count == Courier.limit - 1 && left.last == 2)
    }

    /// A position counts as told only when every notification up to it was taken.
    @Test func toldIsWhatWasTaken() async throws {
        let courier = Self.courier()
        #expect(courier.told(at: place) == nil)
        courier.follow(place, after: 10)
        for position in [12, 12, 15] as [Int64] { courier.send([UInt8(position)], of: position, at: place, key: nil) }
        courier.noteRead(20, isPresent: true, at: place)
        #expect(courier.told(at: place) == 11)
        var told: [Int64?] = []
        for _ in 0..<3 {
            let parcel = try #require(await courier.next(within: Self.patience))
            courier.confirm(parcel)
            told.append(courier.told(at: place))
        }
        #expect(told == [11, 14, 20])
        // Several pages that another device needs do not set it back. A store that was restored from a copy does.
        courier.noteRead(15, isPresent: false, at: place)
        #expect(courier.told(at: place) == 20)
        courier.noteRead(3, isPresent: true, at: place)
        #expect(courier.told(at: place) == 3)
    }

    /// The connection of an earlier call may be dead, so that what it would get is lost.
    @Test func theLatestCallIsServedFirst() async throws {
        let courier = Self.courier()
        async let earlier = courier.next(within: Self.patience)
        try await eventually { courier.takers >= 1 }
        async let later = courier.next(within: Self.patience)
        try await eventually { courier.takers >= 2 }
        courier.send([1], of: 1, at: place, key: nil)
        #expect(await later?.bytes == [1])
        courier.send([2], of: 2, at: place, key: nil)
        #expect(await earlier?.bytes == [2])
    }

    @Test func lateOnesComeWhenTheyAreReady() async throws {
        let courier = Self.courier()
        courier.add([Courier.Notification(bytes: [1], delay: .seconds(3600))], of: 1, at: place)
        // The one that is ready first comes while the other is waited for.
        async let first = courier.next(within: Self.patience)
        try await eventually { courier.takers >= 1 }
        courier.add([Courier.Notification(bytes: [2], delay: .milliseconds(1))], of: 1, at: place)
        #expect(await first?.bytes == [2])
        courier.send([3], of: 2, at: place, key: nil)
        #expect(await courier.next(within: Self.patience)?.bytes == [3])
        #expect(await courier.next(within: .milliseconds(1)) == nil)
        #expect(courier.count == 3)
    }

    /// A client of a stream goes on after the last notification that it got.
    @Test func aStreamEndsBeforeItLosesAny() async throws {
        let stream = Courier(user: "_a", clientID: nil, endsWhenFull: true, room: Courier.Room())
        stream.follow(place, after: 0)
        for position in 1...Int64(Courier.limit) { stream.send([1], of: position, at: place, key: nil) }
        #expect(!stream.isClosed)
        stream.send([2], of: Int64(Courier.limit) + 1, at: place, key: nil)
        stream.noteRead(5000, isPresent: true, at: place)
        #expect(stream.isClosed && stream.told(at: place) == 0)
        #expect(await Self.all(stream).count == Courier.limit)
        #expect(stream.told(at: place) == Int64(Courier.limit))
    }

    @Test func whatNobodyAsksForIsDropped() async throws {
        let courier = Self.courier()
        for number in 1...3 as ClosedRange<UInt8> { courier.send([number], of: Int64(number), at: place, key: nil) }
        let inHand = try #require(await courier.next(within: Self.patience))
        courier.dropAll()
        #expect(courier.count == 1)
        courier.confirm(inHand)
        #expect(courier.count == 0)
    }

    @Test func allCouriersTogetherHaveLimitedRoom() async throws {
        let room = Courier.Room()
        let couriers = (0..<3).map { _ in Courier(user: "_a", clientID: nil, room: room) }
        let large = [UInt8](repeating: 0, count: Courier.Room.limit / 4)
        for courier in couriers {
            for number in 0..<5 as Range<Int64> { courier.send(large, of: number, at: place, key: nil) }
        }
        let waiting = couriers.map(\.count).reduce(0, +)
        #expect(waiting <= 4 + couriers.count && couriers.allSatisfy { $0.count >= 1 })
        // The latest ones are kept.
        #expect(try #require(await couriers[2].next(within: Self.patience)).position == 4)
    }
}

extension Courier {
    fileprivate func send(_ bytes: [UInt8], of position: Int64, at place: Notifier.Place, key: CoalescingKey?) {
        add([Notification(bytes: bytes, key: key)], of: position, at: place)
    }
}
