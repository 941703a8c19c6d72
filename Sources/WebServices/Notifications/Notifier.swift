public import Accounts
internal import Foundation
public import Logging
public import RecordStore
public import Records
public import RequestLog
internal import Synchronization

/// Creates notifications of committed changes, and adds them to the queues of the devices whose users have matching
/// subscriptions.
///
/// It follows the commits of an environment while a device fetches notifications of it. Saves never wait for it: it
/// reads the changes from the store, page after page. A token stores the position up to which its device received
/// notifications, so that a restarted server continues from there.
public final class Notifier: Sendable {
    /// An environment of a container.
    struct Place: Sendable, Hashable {
        let container: ContainerID
        let environment: Records.Environment

        func address(_ scope: DatabaseScope) -> DatabaseAddress {
            DatabaseAddress(container: container, environment: environment, scope: scope)
        }
    }

    struct Device {
        let queue: DeviceQueue
        /// The ID of the token; `nil` for a stream.
        let tokenID: String?
        /// The only database whose notifications a stream receives; `nil` for all databases.
        var scope: DatabaseScope?
    }

    private struct State {
        /// The devices by the IDs of their tokens. A token that was not used since the server started is stored only in
        /// the accounts.
        var devices: [String: Device] = [:]
        /// The number of the latest stream.
        var lastNumber = 0
        var isClosed = false
    }

    /// The time for which a request waits for a notification. It is less than a minute, after which many clients give
    /// up.
    let patience: Duration
    /// The pause between two checks for changes, as a multiple of the time that a check takes. Checks that used a third
    /// of a processor made saves a fifth slower. With this pause, clients are still notified within a few hundredths of
    /// a second.
    private static let rest = 29
    /// The maximum pause between two checks for changes.
    private static let longestPause = Duration.milliseconds(50)
    private let engine: any RecordEngine
    private let accounts: Accounts
    private let log: NotificationLog?
    private let now: @Sendable () -> Timestamp
    private let room = DeviceQueue.Room()
    private let maker: NotificationMaker
    private let follower: CommitFollower
    private let state = Mutex(State())

    /// - Parameters:
    ///   - engine: the engine whose changes cause notifications.
    ///   - accounts: stores the tokens of devices.
    ///   - access: the access of the devices. Unless it is unrestricted, users get no notifications of public records
    ///     that they may not read.
    ///   - faults: the active fault injection (docs/rehearsals.md).
    ///   - log: the log of notifications for the console; `nil` for none.
    ///   - patience: the time for which a request to the web courier waits.
    public init(
        engine: any RecordEngine, accounts: Accounts, access: Access = .unrestricted,
        faults: FaultInjection = FaultInjection(), log: NotificationLog? = nil, patience: Duration = .seconds(55),
        logger: Logger = Logger(label: "skylight.notifications"),
        now: @escaping @Sendable () -> Timestamp = Timestamp.now
    ) {
        self.patience = patience
        self.engine = engine
        self.accounts = accounts
        self.log = log
        self.now = now
        maker = NotificationMaker(faults: faults, log: log, now: now)
        follower = CommitFollower(engine: engine, access: access, logger: logger)
    }

    deinit { close() }

    // MARK: Tokens

    /// Creates a token for a device, and registers it for changes that are committed after this call.
    /// - Throws: `RecordError` if the store cannot determine which subscriptions match a change; a file error.
    func makeToken(for user: Name, clientID: String?, at place: Place) async throws -> String {
        let position = try await present(at: place, for: user)
        let now = now()
        let secret = try await accounts.makeNotificationToken(
            for: user, clientID: clientID, container: place.container, environment: place.environment, at: position,
            now: now,
            expires: Timestamp(milliseconds: now.milliseconds + SubscriptionRules.deviceTokenLifetime * 1000))
        _ = queue(of: secret)
        return secret
    }

    /// Registers a token for changes that are committed after this call, in the environment where it was created or in
    /// another one.
    /// - Returns: `false` if the user has no such token.
    /// - Throws: the errors of ``makeToken(for:clientID:at:)``; `RecordError` BAD_REQUEST for a token with too many
    ///   registrations.
    func register(_ secret: String, of user: Name, at place: Place) async throws -> Bool {
        let tokens = accounts.notificationTokens(secret, now: now())
        guard let token = tokens.first, token.user == user else { return false }
        if !tokens.contains(where: { Place($0.key) == place }) {
            try await accounts.extend(token, to: place.container, place.environment, at: present(at: place, for: user))
        }
        return queue(of: secret) != nil
    }

    /// The position of the latest change.
    /// - Throws: `RecordError` if the store cannot determine which subscriptions match a change.
    func present(at place: Place, for user: Name) async throws -> Int64 {
        try await engine.database(place.address(.public), as: Caller(userRecordName: user)).require(.fireSubscriptions)
            .firings(after: nil).position
    }

    /// The queue of a token; `nil` if the token is unknown or has expired. From now on, its environments are followed.
    func queue(of secret: String) -> DeviceQueue? {
        let tokens = accounts.notificationTokens(secret, now: now())
        guard let token = tokens.first else { return nil }
        let places = Set(tokens.map { Place($0.key) })
        let queue = state.withLock { state -> DeviceQueue? in
            if state.isClosed { return nil }
            let device =
                state.devices[token.key.id]
                ?? Device(
                    queue: DeviceQueue(user: token.user, clientID: token.clientID, room: room, log: log),
                    tokenID: token.key.id)
            state.devices[token.key.id] = device
            for token in tokens { device.queue.follow(Place(token.key), after: token.deliveredPosition) }
            // A renamed container counts as another environment.
            for place in device.queue.places where !places.contains(place) { device.queue.unfollow(place) }
            return device.queue
        }
        if queue != nil { for place in places { follow(place, for: token.user) } }
        return queue
    }

    /// Notes that the device received a notification.
    func delivered(_ delivery: DeviceQueue.Delivery, by queue: DeviceQueue, of secret: String) {
        queue.confirm(delivery)
        for token in accounts.notificationTokens(secret, now: now()) where Place(token.key) == delivery.place {
            if let delivered = queue.deliveredPosition(at: delivery.place) {
                accounts.noteDelivered(delivered, to: token.key)
            }
        }
    }

    // MARK: Streams

    /// Creates a queue without a token, for the user's subscriptions in one database. It exists until ``end(_:)``.
    /// - Parameter position: the position after which changes cause notifications.
    func stream(to user: Name, of address: DatabaseAddress, after position: Int64) -> DeviceQueue {
        let place = Place(container: address.container, environment: address.environment)
        let queue = DeviceQueue(user: user, clientID: nil, endsWhenFull: true, room: room)
        queue.follow(place, after: position)
        state.withLock { state in
            if state.isClosed { return queue.close() }
            state.lastNumber += 1
            state.devices["stream \(state.lastNumber)"] = Device(queue: queue, tokenID: nil, scope: address.scope)
        }
        follow(place, for: user)
        return queue
    }

    /// Follows the environments again that could not be followed before.
    func resume(_ queue: DeviceQueue) {
        for place in queue.places { follow(place, for: queue.user) }
    }

    func end(_ queue: DeviceQueue) {
        state.withLock { state in state.devices = state.devices.filter { $0.value.queue !== queue } }
    }

    /// Stops following all environments, and ends all waiting calls.
    func close() {
        let devices = state.withLock { state in
            state.isClosed = true
            defer { state.devices = [:] }
            return Array(state.devices.values)
        }
        follower.close()
        for device in devices { device.queue.close() }
    }

    // MARK: Following

    /// Follows an environment, if it is not followed already. Devices are added before, so that they are found.
    private func follow(_ place: Place, for user: Name) {
        follower.follow(place, as: user) { [weak self] database in
            try await self?.notifyDevices(in: database, at: place) ?? false
        }
    }

    /// Creates the notifications of all changes that were committed so far.
    /// - Returns: `false` if no device follows the environment any more.
    private func notifyDevices(in database: any RecordDatabase, at place: Place) async throws -> Bool {
        var isForLate = false
        while let round = round(of: place, isForLate: isForLate) {
            let start = ContinuousClock.now
            let page = try await database.require(.fireSubscriptions).firings(after: round.since)
            makeRoom()
            let devices = Dictionary(grouping: round.devices, by: \.queue.user)
            // Several changes of the page may match a subscription that fires only once.
            var ended: Set<OwnedSubscription> = []
            var rest = page.firings[...]
            while let position = rest.first?.change.position {
                let same = rest.prefix { $0.change.position == position }
                try await notify(same, of: position, to: devices, at: place, in: database, except: &ended)
                rest = rest.dropFirst(same.count)
            }
            for device in round.devices {
                device.queue.noteRead(page.position, isPresent: !page.moreComing, at: place)
                guard let id = device.tokenID, let delivered = device.queue.deliveredPosition(at: place) else {
                    continue
                }
                accounts.noteDelivered(
                    delivered,
                    to: NotificationToken.Key(id: id, container: place.container, environment: place.environment))
            }
            // Limits the processor time for checks, however many commits there are, so that saves are not slowed down.
            try await Task.sleep(for: min((.now - start) * Self.rest, Self.longestPause))
            if !page.moreComing, !round.leavesLate { return true }
            isForLate.toggle()
        }
        return false
    }

    /// The devices for which a page of changes is read. A device that is added in the meantime may need earlier
    /// changes, and is part of the next round.
    private struct Round {
        let since: Int64
        let devices: [Device]
        /// True if other devices are more than a page behind.
        let leavesLate: Bool
    }

    /// - Parameter isForLate: true to begin with the device that is furthest behind; false to leave out devices that
    ///   are more than a page behind, so that the others do not wait for them.
    /// - Returns: `nil` if there is no device.
    private func round(of place: Place, isForLate: Bool) -> Round? {
        let now = now()
        return state.withLock { state in
            for (id, device) in state.devices {
                guard let tokenID = device.tokenID, accounts.notificationTokens(id: tokenID, now: now).isEmpty else {
                    continue
                }
                state.devices[id] = nil
                device.queue.close()
            }
            let devices = state.devices.values.compactMap { device in
                // An ended stream only delivers the notifications that already wait.
                device.queue.isClosed ? nil : device.queue.read(at: place).map { (device, read: $0) }
            }
            return devices.map(\.read).max().map { latest in
                let timely = devices.filter { isForLate || $0.read > latest - Int64(FiringPage.recordLimit) }
                return Round(
                    since: timely.map(\.read).min() ?? latest, devices: timely.map(\.0),
                    leavesLate: timely.count < devices.count)
            }
        }
    }

    /// If all queues together are too large, drops the queues of the devices that have not fetched for the longest
    /// time.
    private func makeRoom() {
        if !room.isFull { return }
        let queues = state.withLock { $0.devices.values.map(\.queue) }
        for (queue, _) in queues.map({ ($0, $0.asked) }).sorted(by: { $0.1 < $1.1 }) {
            if !room.isFull { return }
            queue.dropAll()
        }
    }

    private func notify(
        _ firings: ArraySlice<Firing>, of position: Int64, to devices: [Name: [Device]], at place: Place,
        in database: any RecordDatabase,
        except ended: inout Set<OwnedSubscription>
    ) async throws {
        var matches: [Name: [SubscriptionMatch]] = [:]
        var last: [OwnedSubscription] = []
        for firing in firings {
            let id = UUID().uuidString
            for owned in firing.subscriptions where !ended.contains(owned) {
                if devices[owned.user] != nil {
                    matches[owned.user, default: []].append(
                        SubscriptionMatch(change: firing.change, id: id, owned: owned))
                }
                guard case .query(let subject) = owned.subscription.subject, subject.firesOnce,
                    owned.lastPosition == nil
                else { continue }
                ended.insert(owned)
                last.append(owned)
            }
        }
        if !last.isEmpty { try await database.require(.fireSubscriptions).noteFired(last, at: position) }
        for (user, matches) in matches {
            for device in devices[user] ?? [] {
                guard let read = device.queue.read(at: place), position > read else { continue }
                let notifications = matches.flatMap { maker.notifications(of: $0, for: device, at: place) }
                device.queue.add(notifications, of: position, at: place)
            }
        }
    }

}

extension Notifier: NotificationSender {
    public func sendAgain(_ id: Int64) throws -> Int64 {
        guard let original = log?.notification(id) else {
            throw RecordError(.notFound, "The log has this notification no longer")
        }
        if original.payload.isEmpty {
            throw RecordError(.badRequest, "The notification was not sent, so it can't be sent again")
        }
        let place = Place(container: original.address.container, environment: original.address.environment)
        guard !accounts.notificationTokens(id: original.tokenID, now: now()).isEmpty,
            let queue = state.withLock({ $0.devices[original.tokenID]?.queue }), let read = queue.read(at: place)
        else { throw RecordError(.notFound, "The device's token has expired, so the notification can't be sent again") }
        guard let number = log?.add(original.again(at: now())) else {
            throw RecordError(.notFound, "The log keeps no notifications")
        }
        queue.add([DeviceQueue.Notification(bytes: original.payload, logID: number)], of: read, at: place)
        return number
    }

    public func send(_ owned: OwnedSubscription, about change: CommittedChange, in address: DatabaseAddress)
        -> SentNotifications
    {
        let place = Place(container: address.container, environment: address.environment)
        let match = SubscriptionMatch(change: change, id: UUID().uuidString, owned: owned)
        let devices = state.withLock { state in
            state.devices.values.filter { $0.tokenID != nil && $0.queue.user == owned.user }
        }
        var sent = SentNotifications(devices: 0, queued: [])
        for device in devices {
            guard let read = device.queue.read(at: place) else { continue }
            let notifications = maker.notifications(of: match, for: device, at: place)
            device.queue.add(notifications, of: read, at: place)
            sent.devices += 1
            sent.queued += notifications.compactMap(\.logID)
        }
        return sent
    }
}

extension LoggedNotification {
    /// A copy of the log entry for sending the notification again.
    fileprivate func again(at moment: Timestamp) -> LoggedNotification {
        var copy = LoggedNotification(
            at: moment, in: address, of: user, subscriptionID: subscriptionID, position: position, zoneID: zoneID,
            recordName: recordName, event: event,
            tokenID: tokenID, clientID: clientID, outcome: .waiting)
        (copy.payload, copy.original) = (payload, id)
        return copy
    }
}

extension Notifier.Place {
    init(_ key: NotificationToken.Key) { self.init(container: key.container, environment: key.environment) }
}
