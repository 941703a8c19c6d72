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

    private struct Device {
        let courier: Courier
        /// The ID of the token; `nil` for a stream.
        let tokenID: String?
        /// The only database whose notifications a stream receives; `nil` for all databases.
        var scope: DatabaseScope?
    }

    private struct State {
        /// The devices by the IDs of their tokens. A token that was not used since the server started is stored only in
        /// the accounts.
        var devices: [String: Device] = [:]
        /// The number of the latest follower or stream.
        var lastNumber = 0
        /// The tasks that follow the commits of environments.
        var followers: [Place: Follower] = [:]
        var isClosed = false
    }

    private struct Follower {
        let number: Int
        /// Wakes the task to check for changes.
        let waker: AsyncStream<Void>.Continuation
        let task: Task<Void, Never>
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
    private let access: Access
    private let faults: FaultInjection
    private let log: NotificationLog?
    private let now: @Sendable () -> Timestamp
    private let logger: Logger
    private let room = Courier.Room()
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
        self.access = access
        self.faults = faults
        self.log = log
        self.logger = logger
        self.now = now
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
            expires: Timestamp(milliseconds: now.milliseconds + SubscriptionRules.tokenLifetime * 1000))
        _ = courier(of: secret)
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
        return courier(of: secret) != nil
    }

    /// The position of the latest change.
    /// - Throws: `RecordError` if the store cannot determine which subscriptions match a change.
    func present(at place: Place, for user: Name) async throws -> Int64 {
        try await engine.database(place.address(.public), as: Caller(userRecordName: user)).require(.fireSubscriptions)
            .firings(after: nil).position
    }

    /// The queue of a token; `nil` if the token is unknown or has expired. From now on, its environments are followed.
    func courier(of secret: String) -> Courier? {
        let tokens = accounts.notificationTokens(secret, now: now())
        guard let token = tokens.first else { return nil }
        let places = Set(tokens.map { Place($0.key) })
        return state.withLock { state -> Courier? in
            if state.isClosed { return nil }
            let device =
                state.devices[token.key.id]
                ?? Device(
                    courier: Courier(user: token.user, clientID: token.clientID, room: room, log: log),
                    tokenID: token.key.id)
            state.devices[token.key.id] = device
            for token in tokens { device.courier.follow(Place(token.key), after: token.told) }
            // A renamed container counts as another environment.
            for place in device.courier.places where !places.contains(place) { device.courier.unfollow(place) }
            for place in places { follow(place, for: token.user, in: &state) }
            return device.courier
        }
    }

    /// Notes that the device received a notification.
    func delivered(_ parcel: Courier.Parcel, by courier: Courier, of secret: String) {
        courier.confirm(parcel)
        for token in accounts.notificationTokens(secret, now: now()) where Place(token.key) == parcel.place {
            if let told = courier.told(at: parcel.place) { accounts.noteTold(told, to: token.key) }
        }
    }

    // MARK: Streams

    /// Creates a queue without a token, for the user's subscriptions in one database. It exists until ``end(_:)``.
    /// - Parameter position: the position after which changes cause notifications.
    func stream(to user: Name, of address: DatabaseAddress, after position: Int64) -> Courier {
        let place = Place(container: address.container, environment: address.environment)
        let courier = Courier(user: user, clientID: nil, endsWhenFull: true, room: room)
        courier.follow(place, after: position)
        state.withLock { state in
            if state.isClosed { return courier.close() }
            state.lastNumber += 1
            state.devices["stream \(state.lastNumber)"] = Device(courier: courier, tokenID: nil, scope: address.scope)
            follow(place, for: user, in: &state)
        }
        return courier
    }

    /// Follows the environments again that could not be followed before.
    func resume(_ courier: Courier) {
        state.withLock { state in
            if !state.isClosed { for place in courier.places { follow(place, for: courier.user, in: &state) } }
        }
    }

    func end(_ courier: Courier) {
        state.withLock { state in state.devices = state.devices.filter { $0.value.courier !== courier } }
    }

    /// Stops following all environments, and ends all waiting calls.
    func close() {
        let (followers, devices) = state.withLock { state in
            state.isClosed = true
            defer { (state.followers, state.devices) = ([:], [:]) }
            return (Array(state.followers.values), Array(state.devices.values))
        }
        for follower in followers { follower.task.cancel() }
        for device in devices { device.courier.close() }
    }

    // MARK: Following

    /// Wakes the task that follows an environment, or starts it.
    private func follow(_ place: Place, for user: Name, in state: inout State) {
        if let follower = state.followers[place] {
            follower.waker.yield()
            return
        }
        state.lastNumber += 1
        let number = state.lastNumber
        let (wakes, waker) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        waker.yield()
        let task = Task { [weak self, engine, access, logger] in
            do {
                let database = try await engine.database(
                    place.address(.public), as: Caller(userRecordName: user, access: access))
                let commits = try database.require(.signalCommits).commits()
                let forwarding = Task {
                    for await _ in commits { waker.yield() }
                    waker.finish()
                }
                defer { forwarding.cancel() }
                for await _ in wakes {
                    do {
                        guard try await self?.tellAll(in: database, at: place, number) ?? false else { break }
                    } catch let error as RecordError where error.code == .tryAgainLater {
                        // The store is busy, or is being closed or opened.
                        try await Task.sleep(for: .seconds(1))
                        waker.yield()
                    }
                }
            } catch is CancellationError {
            } catch {
                logger.warning(
                    "Changes of \(place.container) (\(place.environment.rawValue)) are not told until a device asks again: \(error)"
                )
            }
            self?.end(place, number)
        }
        state.followers[place] = Follower(number: number, waker: waker, task: task)
    }

    private func end(_ place: Place, _ number: Int) {
        state.withLock { state in if state.followers[place]?.number == number { state.followers[place] = nil } }
    }

    /// Creates the notifications of all changes that were committed so far.
    /// - Returns: `false` if no device follows the environment any more. The next device starts a new task.
    private func tellAll(in database: any RecordDatabase, at place: Place, _ number: Int) async throws -> Bool {
        var isForLate = false
        while let round = round(of: place, number, isForLate: isForLate) {
            let start = ContinuousClock.now
            let page = try await database.require(.fireSubscriptions).firings(after: round.since)
            makeRoom()
            let devices = Dictionary(grouping: round.devices, by: \.courier.user)
            // Several changes of the page may match a subscription that fires only once.
            var ended: Set<OwnedSubscription> = []
            var rest = page.firings[...]
            while let position = rest.first?.change.position {
                let same = rest.prefix { $0.change.position == position }
                try await tell(same, of: position, to: devices, at: place, in: database, except: &ended)
                rest = rest.dropFirst(same.count)
            }
            for device in round.devices {
                device.courier.noteRead(page.position, isPresent: !page.moreComing, at: place)
                guard let id = device.tokenID, let told = device.courier.told(at: place) else { continue }
                accounts.noteTold(
                    told, to: NotificationToken.Key(id: id, container: place.container, environment: place.environment))
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
    /// - Returns: `nil` if there is no device, so that the task ends.
    private func round(of place: Place, _ number: Int, isForLate: Bool) -> Round? {
        let now = now()
        return state.withLock { state in
            for (id, device) in state.devices {
                guard let tokenID = device.tokenID, accounts.notificationTokens(id: tokenID, now: now).isEmpty else {
                    continue
                }
                state.devices[id] = nil
                device.courier.close()
            }
            let devices = state.devices.values.compactMap { device in
                // An ended stream only delivers the notifications that already wait.
                device.courier.isClosed ? nil : device.courier.read(at: place).map { (device, read: $0) }
            }
            if let latest = devices.map(\.read).max() {
                let timely = devices.filter { isForLate || $0.read > latest - Int64(FiringPage.recordLimit) }
                return Round(
                    since: timely.map(\.read).min() ?? latest, devices: timely.map(\.0),
                    leavesLate: timely.count < devices.count)
            }
            if state.followers[place]?.number == number { state.followers[place] = nil }
            return nil
        }
    }

    /// If all queues together are too large, drops the queues of the devices that have not fetched for the longest
    /// time.
    private func makeRoom() {
        if !room.isFull { return }
        let couriers = state.withLock { $0.devices.values.map(\.courier) }
        for (courier, _) in couriers.map({ ($0, $0.asked) }).sorted(by: { $0.1 < $1.1 }) {
            if !room.isFull { return }
            courier.dropAll()
        }
    }

    private func tell(
        _ firings: ArraySlice<Firing>, of position: Int64, to devices: [Name: [Device]], at place: Place,
        in database: any RecordDatabase,
        except ended: inout Set<OwnedSubscription>
    ) async throws {
        var told: [Name: [Occasion]] = [:]
        var last: [OwnedSubscription] = []
        for firing in firings {
            let id = UUID().uuidString
            for standing in firing.subscriptions where !ended.contains(standing) {
                if devices[standing.user] != nil {
                    told[standing.user, default: []].append(Occasion(change: firing.change, id: id, standing: standing))
                }
                guard case .query(let subject) = standing.subscription.subject, subject.firesOnce,
                    standing.lastPosition == nil
                else { continue }
                ended.insert(standing)
                last.append(standing)
            }
        }
        if !last.isEmpty { try await database.require(.fireSubscriptions).noteFired(last, at: position) }
        for (user, occasions) in told {
            for device in devices[user] ?? [] {
                guard let read = device.courier.read(at: place), position > read else { continue }
                let notifications = occasions.flatMap { self.notifications($0, for: device, at: place) }
                device.courier.add(notifications, of: position, at: place)
            }
        }
    }

    private func notifications(_ occasion: Occasion, for device: Device, at place: Place) -> [Courier.Notification] {
        guard device.scope.map({ $0 == occasion.standing.scope }) ?? true else { return [] }
        func noted(_ fate: LoggedNotification.Fate, _ payload: [UInt8] = [], delay: Duration? = nil) -> Int64? {
            // Streams are not devices, so their notifications are not logged.
            guard let log, let tokenID = device.tokenID else { return nil }
            return log.add(occasion.logged(fate, payload, delay: delay, to: tokenID, device.courier, at: place, now()))
        }
        if occasion.isOwn(of: device.courier), !isOn(.ownNotifications, occasion, at: place) {
            _ = noted(.ownChange)
            return []
        }
        guard let notification = occasion.notification(for: device, at: place) else {
            _ = noted(.withoutContent)
            return []
        }
        let sent = rehearsed(notification, occasion, at: place)
        if sent.isEmpty { _ = noted(.lost, notification.bytes) }
        return sent.map { notification in
            var notification = notification
            notification.logID = noted(.waiting, notification.bytes, delay: notification.delay)
            return notification
        }
    }

    /// The notifications that result from one after applying the injected faults.
    private func rehearsed(_ notification: Courier.Notification, _ occasion: Occasion, at place: Place) -> [Courier
        .Notification]
    {
        func isOn(_ fault: InjectedFault) -> Bool { self.isOn(fault, occasion, at: place) }
        if isOn(.lostNotifications) { return [] }
        var notification = notification
        if isOn(.coalescedNotifications) { notification.key = .anything }
        notification.isFirst = isOn(.shuffledNotifications)
        if isOn(.lateNotifications) { notification.delay = InjectedFault.notificationDelay }
        guard isOn(.doubledNotifications) else { return [notification] }
        var second = notification
        second.key = nil
        return [notification, second]
    }

    private func isOn(_ fault: InjectedFault, _ occasion: Occasion, at place: Place) -> Bool {
        if faults.isIdle { return false }
        return faults.isOn(fault) { area in
            area.covers(place.container, place.environment, occasion.standing.scope)
                && area.covers(.zones([occasion.change.zoneID]))
                && area.user.map { $0 == occasion.standing.user } ?? true
        }
    }

    /// A change and one of the subscriptions that match it.
    private struct Occasion {
        let change: CommittedChange
        /// The ID that all notifications of the change have.
        let id: String
        let standing: OwnedSubscription

        /// - Returns: `nil` if the subscription does not define the content of a notification.
        func notification(for device: Device, at place: Place) -> Courier.Notification? {
            let badge = standing.subscription.notificationInfo?.shouldBadge == true ? device.courier.nextBadge() : 0
            return NotificationPayload(of: standing, for: change, in: place.container, id: id, badge: badge)
                .map { Courier.Notification(bytes: $0.bytes, key: key(at: place)) }
        }

        /// True if the device itself made the change.
        func isOwn(of courier: Courier) -> Bool {
            guard let clientID = courier.clientID, let signature = change.record?.signature else { return false }
            return signature.userRecordName == courier.user && signature.deviceID == clientID
        }

        func logged(
            _ fate: LoggedNotification.Fate, _ payload: [UInt8], delay: Duration?, to tokenID: String,
            _ courier: Courier, at place: Place, _ now: Timestamp
        ) -> LoggedNotification {
            var logged = LoggedNotification(
                at: now, in: place.address(standing.scope), of: standing.user,
                subscriptionID: standing.subscription.subscriptionID,
                position: change.position, zoneID: change.zoneID, recordName: change.record?.record.recordID.recordName,
                event: change.record?.event,
                tokenID: tokenID, clientID: courier.clientID, fate: fate)
            (logged.payload, logged.delay) = (payload, delay)
            return logged
        }

        private func key(at place: Place) -> Courier.CoalescingKey? {
            switch standing.subscription.subject {
            case .query: standing.subscription.notificationInfo?.collapseIDKey.map { .collapseID(place, $0) }
            case .zone, .database:
                .zone(place, standing.scope, subscriptionID: standing.subscription.subscriptionID, change.zoneID)
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
            let courier = state.withLock({ $0.devices[original.tokenID]?.courier }), let read = courier.read(at: place)
        else { throw RecordError(.notFound, "The device's token has expired, so the notification can't be sent again") }
        guard let number = log?.add(original.again(at: now())) else {
            throw RecordError(.notFound, "The log keeps no notifications")
        }
        courier.add([Courier.Notification(bytes: original.payload, logID: number)], of: read, at: place)
        return number
    }
}

extension LoggedNotification {
    /// A copy of the log entry for sending the notification again.
    fileprivate func again(at moment: Timestamp) -> LoggedNotification {
        var copy = LoggedNotification(
            at: moment, in: address, of: user, subscriptionID: subscriptionID, position: position, zoneID: zoneID,
            recordName: recordName, event: event,
            tokenID: tokenID, clientID: clientID, fate: .waiting)
        (copy.payload, copy.original) = (payload, id)
        return copy
    }
}

extension Notifier.Place {
    init(_ key: NotificationToken.Key) { self.init(container: key.container, environment: key.environment) }
}
