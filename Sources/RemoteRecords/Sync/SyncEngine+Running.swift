internal import CloudKitClient
internal import JSON
internal import Records

extension SyncEngine {
    /// The subscription of ``run(every:listening:)``. Each database has one, for all devices of the user.
    static let subscription: Subscription = {
        var silent = NotificationInfo()
        silent.shouldSendContentAvailable = true
        return Subscription("RemoteRecords", to: .database(recordType: nil), notificationInfo: silent)
    }()

    /// Fetches and sends, again and again, until the task is cancelled.
    ///
    /// Errors that time mends are waited out, longer each time, up to five minutes, or as long as the server asks for. Notifications do not end that.
    /// - Parameters:
    ///   - interval: the pause after each sync.
    ///   - listening: true to begin earlier when a notification comes. The engine saves a subscription of the database for that. If that fails,
    ///     the interval remains.
    /// - Throws: ``OperationError``: `operationCancelled`, or one that time does not mend, such as `notAuthenticated`. Changes are sent before, also if
    ///   it is an error of the fetch.
    public func run(every interval: Duration, listening: Bool = false) async throws {
        try await run(every: interval, listening: listening) { try await sync() }
    }

    /// Fetches and sends. One zone that can't be fetched keeps nothing from being sent.
    /// - Parameter check: throws an error after which nothing may go on.
    /// - Throws: the first error.
    func sync(_ check: () throws -> Void = {}) async throws {
        var failure: (any Error)?
        do {
            try check()
            try await fetchChanges()
        } catch let error as OperationError where !error.isOfNetwork && error.code != .notAuthenticated && error.code != .operationCancelled {
            failure = error
        }
        try check()
        do {
            try await sendChanges()
        } catch {
            failure = failure ?? error
        }
        try check()
        if let failure { throw failure }
    }

    /// - Parameter sync: fetches and sends.
    func run(every interval: Duration, listening: Bool, _ sync: () async throws -> Void) async throws {
        let wakes = Signals()
        let listener = listening ? Task { await listen(wakes) } : nil
        defer { listener?.cancel() }
        var backoff: Duration = .seconds(1)
        while true {
            // A notification that comes during the sync must not be missed.
            let woken = wakes.listen()
            var pause = interval
            do {
                try await sync()
                backoff = .seconds(1)
            } catch let error as OperationError where error.isMendedByTime || error.code == .serverResponseLost {
                pause = max(interval, error.retryAfter ?? backoff)
                backoff = min(backoff * 2, .seconds(300))
            }
            try await wait(pause, for: listening && pause == interval ? woken : nil)
        }
    }

    private func wait(_ pause: Duration, for woken: AsyncStream<Void>?) async throws {
        let pacing = database.container.client.pacing
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await pacing.pause(pause) }
                if let woken {
                    group.addTask { for await _ in woken { return } }
                }
                defer { group.cancelAll() }
                try await group.next()
            }
            try Task.checkCancellation()
        } catch {
            throw OperationError.cancelled
        }
    }

    /// Signals each notification of the database. After an error it tries again.
    private func listen(_ wakes: Signals) async {
        let pacing = database.container.client.pacing
        var backoff: Duration = .seconds(1)
        while !Task.isCancelled {
            do {
                try await database.save(Self.subscription)
                var notifications = database.container.notifications.makeAsyncIterator()
                try await notifications.register()
                // Nobody tells of a change between the last fetch and now.
                wakes.send()
                while let notification = try await notifications.next() {
                    backoff = .seconds(1)
                    if notification.scope == nil || notification.scope == database.scope { wakes.send() }
                }
            } catch {
                try? await pacing.pause(backoff)
                backoff = min(backoff * 2, .seconds(300))
            }
        }
    }
}
