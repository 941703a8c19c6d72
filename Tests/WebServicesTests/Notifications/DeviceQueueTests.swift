import RecordStore
import Records
import TestSupport
import Testing

@testable import WebServices

/// Notifications wait for their device: in order, once, and a limited number.
@Suite struct DeviceQueueTests {
    private static let patience = Duration.seconds(60)

    private let place: Notifier.Place

    init() throws {
        place = Notifier.Place(
            container: try #require(ContainerID("iCloud.com.example.Test")), environment: .development)
    }

    private static func queue() -> DeviceQueue {
        DeviceQueue(user: "_a", clientID: nil, room: DeviceQueue.Room())
    }

    private func zone(_ name: Name, _ id: Name = "s") -> DeviceQueue.CoalescingKey {
        .zone(place, .private, subscriptionID: id, ZoneID(zoneName: name))
    }

    /// Takes everything that waits.
    private static func all(_ queue: DeviceQueue) async -> [UInt8] {
        var all: [UInt8] = []
        while queue.count > 0, let delivery = await queue.next(within: patience) {
            queue.confirm(delivery)
            all += delivery.bytes
        }
        return all
    }

    @Test func inOrderAndOnce() async throws {
        let queue = Self.queue()
        for number in 1...5 as ClosedRange<UInt8> { queue.send([number], of: Int64(number), at: place, key: nil) }
        #expect(await Self.all(queue) == [1, 2, 3, 4, 5])
        #expect(await queue.next(within: .milliseconds(1)) == nil)
        #expect([queue.nextBadge(), queue.nextBadge()] == [1, 2])
    }

    @Test func theNextOneIsWaitedFor() async throws {
        let queue = Self.queue()
        async let next = queue.next(within: Self.patience)
        queue.send([7], of: 7, at: place, key: nil)
        #expect(await next?.bytes == [7])
        async let none = queue.next(within: Self.patience)
        queue.close()
        #expect(await none == nil)
    }

    @Test func whatDidNotArriveIsTheNextAgain() async throws {
        let queue = Self.queue()
        for number in 1...2 as ClosedRange<UInt8> { queue.send([number], of: Int64(number), at: place, key: nil) }
        let first = try #require(await queue.next(within: Self.patience))
        // Somebody else gets the second one meanwhile.
        let second = try #require(await queue.next(within: Self.patience))
        #expect(first.bytes == [1] && second.bytes == [2])
        queue.takeBack(first)
        queue.confirm(second)
        #expect(await Self.all(queue) == [1])
    }

    @Test func changesOfAZoneAreOneNotification() async throws {
        let queue = Self.queue()
        queue.send([1], of: 1, at: place, key: zone("Z"))
        queue.send([2], of: 2, at: place, key: zone("Z"))
        queue.send([3], of: 3, at: place, key: zone("Y"))
        queue.send([4], of: 4, at: place, key: zone("Z", "other"))
        let first = try #require(await queue.next(within: Self.patience))
        // This one is under way already, so it may not tell of a later change.
        queue.send([5], of: 5, at: place, key: zone("Z"))
        queue.confirm(first)
        #expect(first.bytes == [1])
        #expect(await Self.all(queue) == [3, 4, 5])
        queue.send([6], of: 6, at: place, key: .collapseID(place, "c"))
        queue.send([7], of: 7, at: place, key: nil)
        queue.send([8], of: 8, at: place, key: .collapseID(place, "c"))
        #expect(await Self.all(queue) == [8, 7])
    }

    @Test func theOldestAreDropped() async throws {
        let queue = Self.queue()
        queue.send([0], of: 0, at: place, key: nil)
        let inHand = try #require(await queue.next(within: Self.patience))
        for _ in 0..<DeviceQueue.limit { queue.send([1], of: 1, at: place, key: nil) }
        queue.send([2], of: 2, at: place, key: nil)
        #expect(queue.count == DeviceQueue.limit)
        queue.confirm(inHand)
        let left = await Self.all(queue)
        #expect(left.count == DeviceQueue.limit - 1 && left.last == 2)
    }

    /// A position counts as told only when every notification up to it was taken.
    @Test func toldIsWhatWasTaken() async throws {
        let queue = Self.queue()
        #expect(queue.deliveredPosition(at: place) == nil)
        queue.follow(place, after: 10)
        for position in [12, 12, 15] as [Int64] { queue.send([UInt8(position)], of: position, at: place, key: nil) }
        queue.noteRead(20, isPresent: true, at: place)
        #expect(queue.deliveredPosition(at: place) == 11)
        var told: [Int64?] = []
        for _ in 0..<3 {
            let delivery = try #require(await queue.next(within: Self.patience))
            queue.confirm(delivery)
            told.append(queue.deliveredPosition(at: place))
        }
        #expect(told == [11, 14, 20])
        // Several pages that another device needs do not set it back. A store that was restored from a copy does.
        queue.noteRead(15, isPresent: false, at: place)
        #expect(queue.deliveredPosition(at: place) == 20)
        queue.noteRead(3, isPresent: true, at: place)
        #expect(queue.deliveredPosition(at: place) == 3)
    }

    /// The connection of an earlier call may be dead, so that what it would get is lost.
    @Test func theLatestCallIsServedFirst() async throws {
        let queue = Self.queue()
        async let earlier = queue.next(within: Self.patience)
        try await eventually { queue.takers >= 1 }
        async let later = queue.next(within: Self.patience)
        try await eventually { queue.takers >= 2 }
        queue.send([1], of: 1, at: place, key: nil)
        #expect(await later?.bytes == [1])
        queue.send([2], of: 2, at: place, key: nil)
        #expect(await earlier?.bytes == [2])
    }

    @Test func lateOnesComeWhenTheyAreReady() async throws {
        let queue = Self.queue()
        queue.add([DeviceQueue.Notification(bytes: [1], delay: .seconds(3600))], of: 1, at: place)
        // The one that is ready first comes while the other is waited for.
        async let first = queue.next(within: Self.patience)
        try await eventually { queue.takers >= 1 }
        queue.add([DeviceQueue.Notification(bytes: [2], delay: .milliseconds(1))], of: 1, at: place)
        #expect(await first?.bytes == [2])
        queue.send([3], of: 2, at: place, key: nil)
        #expect(await queue.next(within: Self.patience)?.bytes == [3])
        #expect(await queue.next(within: .milliseconds(1)) == nil)
        #expect(queue.count == 3)
    }

    /// A client of a stream goes on after the last notification that it got.
    @Test func aStreamEndsBeforeItLosesAny() async throws {
        let stream = DeviceQueue(user: "_a", clientID: nil, endsWhenFull: true, room: DeviceQueue.Room())
        stream.follow(place, after: 0)
        for position in 1...Int64(DeviceQueue.limit) { stream.send([1], of: position, at: place, key: nil) }
        #expect(!stream.isClosed)
        stream.send([2], of: Int64(DeviceQueue.limit) + 1, at: place, key: nil)
        stream.noteRead(5000, isPresent: true, at: place)
        #expect(stream.isClosed && stream.deliveredPosition(at: place) == 0)
        #expect(await Self.all(stream).count == DeviceQueue.limit)
        #expect(stream.deliveredPosition(at: place) == Int64(DeviceQueue.limit))
    }

    @Test func whatNobodyAsksForIsDropped() async throws {
        let queue = Self.queue()
        for number in 1...3 as ClosedRange<UInt8> { queue.send([number], of: Int64(number), at: place, key: nil) }
        let inHand = try #require(await queue.next(within: Self.patience))
        queue.dropAll()
        #expect(queue.count == 1)
        queue.confirm(inHand)
        #expect(queue.count == 0)
    }

    @Test func allQueuesTogetherHaveLimitedRoom() async throws {
        let room = DeviceQueue.Room()
        let queues = (0..<3).map { _ in DeviceQueue(user: "_a", clientID: nil, room: room) }
        let large = [UInt8](repeating: 0, count: DeviceQueue.Room.limit / 4)
        for queue in queues {
            for number in 0..<5 as Range<Int64> { queue.send(large, of: number, at: place, key: nil) }
        }
        let waiting = queues.map(\.count).reduce(0, +)
        #expect(waiting <= 4 + queues.count && queues.allSatisfy { $0.count >= 1 })
        // The latest ones are kept.
        #expect(try #require(await queues[2].next(within: Self.patience)).position == 4)
    }
}

extension DeviceQueue {
    fileprivate func send(_ bytes: [UInt8], of position: Int64, at place: Notifier.Place, key: CoalescingKey?) {
        add([Notification(bytes: bytes, key: key)], of: position, at: place)
    }
}
