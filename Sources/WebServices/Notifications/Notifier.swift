internal import Foundation
internal import JSON
internal import Logging
internal import RecordStore
internal import Records
internal import Synchronization
internal import Text

/// Hands committed changes to the couriers of the devices whose users subscribe to them.
///
/// It follows the commits of an environment while a device of it is registered. Saves never wait for it: it reads the changes from the store,
/// page after page.
final class Notifier: Sendable {
    /// Time for which a token is good, in seconds: as long as those of iCloud.
    static let lifetime: Int64 = 43_200
    /// Maximum number of tokens of a user in an environment. A further one ends the oldest.
    static let tokensPerUser = 100

    /// The environment of a container.
    struct Place: Sendable, Hashable {
        let container: ContainerID
        let environment: Records.Environment

        func address(_ scope: DatabaseScope) -> DatabaseAddress { DatabaseAddress(container: container, environment: environment, scope: scope) }
    }

    private struct Device {
        let courier: Courier
        let place: Place
        /// Counted from the first one.
        let number: Int
        var isRegistered = false
    }

    private struct State {
        var devices: [String: Device] = [:]
        /// The number of the latest device or follower.
        var lastNumber = 0
        /// The tasks that follow environments. Each returns once it knows the position that it begins at.
        var followers: [Place: Follower] = [:]
        var isClosed = false

        /// Forgets a task that ends, unless another one follows the environment already.
        mutating func end(_ place: Place, _ number: Int) {
            if followers[place]?.number == number { followers[place] = nil }
        }
    }

    private struct Follower {
        let number: Int
        let beginning: Task<Int64, any Error>
        let following: Task<Void, Never>
    }

    private let engine: any RecordEngine
    private let now: @Sendable () -> Timestamp
    private let logger: Logger
    private let state = Mutex(State())

    init(engine: any RecordEngine, logger: Logger, now: @escaping @Sendable () -> Timestamp = Timestamp.now) {
        self.engine = engine
        self.logger = logger
        self.now = now
    }

    // MARK: Tokens

    /// Makes a token for a device. Notifications come once it is registered.
    func makeToken(for user: Name, clientID: String?, at place: Place) -> String {
        let now = now()
        let token = Hexadecimal.text(of: TokenSeal.makeKey())
        let courier = Courier(user: user, clientID: clientID, expires: Timestamp(milliseconds: now.milliseconds + Self.lifetime * 1000))
        let ended = state.withLock { state -> [Courier] in
            var ended = state.devices.filter { $0.value.courier.expires < now }.map(\.key)
            let own = state.devices.filter { $0.value.courier.user == user && $0.value.place == place && !ended.contains($0.key) }
            if own.count >= Self.tokensPerUser, let oldest = own.min(by: { $0.value.number < $1.value.number }) { ended.append(oldest.key) }
            state.lastNumber += 1
            state.devices[token] = Device(courier: courier, place: place, number: state.lastNumber)
            return ended.compactMap { state.devices.removeValue(forKey: $0)?.courier }
        }
        for courier in ended { courier.close() }
        return token
    }

    /// Registers a device for changes that are committed after this call.
    /// - Returns: `false` if the user has no such token there.
    /// - Throws: `RecordError` if the store can't tell which subscriptions changes fire.
    func register(_ token: String, of user: Name, at place: Place) async throws -> Bool {
        guard courier(of: token)?.user == user else { return false }
        let follower = state.withLock { state -> Follower? in
            guard state.devices[token]?.place == place, !state.isClosed else { return nil }
            state.devices[token]?.isRegistered = true
            if let follower = state.followers[place] { return follower }
            state.lastNumber += 1
            let follower = follow(place, as: Caller(userRecordName: user), number: state.lastNumber)
            state.followers[place] = follower
            return follower
        }
        guard let follower else { return false }
        _ = try await follower.beginning.value
        return true
    }

    /// The courier of a token; `nil` if the token is unknown or has expired.
    func courier(of token: String) -> Courier? {
        let now = now()
        return state.withLock { state in state.devices[token].flatMap { $0.courier.expires < now ? nil : $0.courier } }
    }

    /// Ends all following and waiting.
    func close() {
        let (followers, couriers) = state.withLock { state in
            state.isClosed = true
            defer { (state.followers, state.devices) = ([:], [:]) }
            return (Array(state.followers.values), state.devices.values.map(\.courier))
        }
        for follower in followers { follower.following.cancel() }
        for courier in couriers { courier.close() }
    }

    // MARK: Following

    private func follow(_ place: Place, as caller: Caller, number: Int) -> Follower {
        let beginning = Task { [engine] in
            try await engine.database(place.address(.public), as: caller).firings(after: nil).position
        }
        let following = Task { [self] in
            do {
                let database = try await engine.database(place.address(.public), as: caller)
                let commits = try database.commits()
                var position = try await beginning.value
                while isNeeded(place, by: number) {
                    do {
                        position = try await tell(since: position, in: database, at: place)
                        guard await Self.isNext(of: commits) else { break }
                    } catch let error as RecordError where error.code == .tryAgainLater {
                        // The store is busy, or is being closed or opened.
                        try await Task.sleep(for: .seconds(1))
                    }
                }
            } catch is CancellationError {
            } catch {
                logger.warning("Changes of \(place.container) (\(place.environment.rawValue)) are not told any more: \(error)")
            }
            state.withLock { $0.end(place, number) }
        }
        return Follower(number: number, beginning: beginning, following: following)
    }

    private static func isNext(of commits: AsyncStream<Void>) async -> Bool {
        for await _ in commits { return !Task.isCancelled }
        return false
    }

    /// True if a registered device of the environment has a good token. Otherwise the next registration begins anew.
    private func isNeeded(_ place: Place, by number: Int) -> Bool {
        let now = now()
        return state.withLock { state in
            let isNeeded = state.devices.values.contains { $0.place == place && $0.isRegistered && $0.courier.expires >= now }
            if !isNeeded { state.end(place, number) }
            return isNeeded
        }
    }

    /// - Returns: the position up to which all changes are told.
    private func tell(since position: Int64, in database: any RecordDatabase, at place: Place) async throws -> Int64 {
        var position = position
        while true {
            let page = try await database.firings(after: position)
            // A subscription that fires once may be fired by several changes of the page.
            var ended: Set<StandingSubscription> = []
            for firing in page.firings { try await tell(firing, at: place, except: &ended) }
            position = page.position
            if !page.moreComing { return position }
        }
    }

    private func tell(_ firing: Firing, at place: Place, except ended: inout Set<StandingSubscription>) async throws {
        let couriers = state.withLock { state in state.devices.values.filter { $0.place == place && $0.isRegistered }.map(\.courier) }
        let id = UUID().uuidString
        for standing in firing.subscriptions where !ended.contains(standing) {
            for courier in couriers where courier.user == standing.user && !Self.isOwn(firing.change, of: courier) {
                let badge = standing.subscription.notificationInfo?.shouldBadge == true ? courier.nextBadge() : 0
                let payload = try NotificationPayload(of: standing, for: firing.change, in: place.container, id: id, badge: badge)
                if let payload { courier.send(payload.bytes, key: Self.key(of: standing, firing.change)) }
            }
            guard case .query(let subject) = standing.subscription.subject, subject.firesOnce else { continue }
            ended.insert(standing)
            let database = try await engine.database(place.address(standing.scope), as: Caller(userRecordName: standing.user))
            _ = try await database.modifySubscriptions([.delete(standing.subscription.subscriptionID)])
        }
    }

    /// True if the device made the change itself.
    private static func isOwn(_ change: CommittedChange, of courier: Courier) -> Bool {
        guard let clientID = courier.clientID, let signature = change.record?.signature else { return false }
        return signature.userRecordName == courier.user && signature.deviceID == clientID
    }

    private static func key(of standing: StandingSubscription, _ change: CommittedChange) -> Courier.CoalescingKey? {
        switch standing.subscription.subject {
        case .query: standing.subscription.notificationInfo?.collapseIDKey.map { .collapseID($0) }
        case .zone, .database: .zone(standing.scope, subscriptionID: standing.subscription.subscriptionID, change.zoneID)
        }
    }
}
