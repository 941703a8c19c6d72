internal import CloudKitClient
internal import JSON
internal import Records
internal import Synchronization

extension KeyValueStore {
    /// Maximum number of seconds for which a request waits for changes of others.
    private static let patience: Int64 = 55
    /// The time between two requests where none can wait.
    private static let pause = Duration.seconds(5)

    /// Writes the copy to its file, fetches what others changed, and sends what changed here.
    ///
    /// Without a network this throws, and all changes stay for the next time.
    /// - Throws: ``OperationError``: `quotaExceeded` if the server has no room for what was set here, and `serverRejectedRequest` if the server has no
    ///   key-value stores, as iCloud.
    public func synchronize() async throws(OperationError) {
        do {
            try await turn.run {
                try await save()
                do {
                    try await fetch(wait: 0)
                    while let batch = copy.withLock({ $0.batch() }) { try await send(batch) }
                } catch {
                    // All that came before the error is kept.
                    try await save()
                    throw error
                }
                try await save()
            }
        } catch {
            throw OperationError(any: error)
        }
    }

    /// Synchronizes whenever a key changes, here or on another device, until the task is cancelled. Errors that time mends are waited out, longer each
    /// time, up to five minutes.
    /// - Throws: ``OperationError``: `operationCancelled`, or one that time does not mend, such as `notAuthenticated`.
    public func run() async throws(OperationError) {
        var backoff: Duration = .seconds(1)
        while true {
            // A key that is set during the synchronization must not be missed.
            let changed = wakes.listen()
            do throws(OperationError) {
                do throws(OperationError) {
                    try await synchronize()
                } catch {
                    // The change note tells it. Something has to change before there is room.
                    if error.code != .quotaExceeded { throw error }
                }
                backoff = .seconds(1)
                try await waitForChanges(changed)
            } catch {
                guard error.isMendedByTime || error.code == .serverResponseLost else { throw error }
                do {
                    try await container.client.pacing.pause(error.retryAfter ?? backoff)
                } catch {
                    throw .cancelled
                }
                backoff = min(backoff * 2, .seconds(300))
            }
        }
    }

    /// Returns when something changed here, or on another device.
    private func waitForChanges(_ changed: AsyncStream<Void>) async throws(OperationError) {
        let seconds = min(Self.patience, container.client.waitingTime.components.seconds)
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    // The synchronization that follows fetches.
                    if seconds < 1 { try await self.container.client.pacing.pause(Self.pause) } else { try await self.fetch(wait: seconds) }
                }
                if seconds >= 1 {
                    // Requests may begin to take turns while this one waits. They need its turn then.
                    group.addTask { while self.container.client.waitingTime > .zero { try await Task.sleep(for: Self.pause) } }
                }
                group.addTask { for await _ in changed { return } }
                defer { group.cancelAll() }
                try await group.next()
            }
            // A server that does not wait is not asked without a pause.
            try await container.client.pacing.pause(.milliseconds(10))
            try Task.checkCancellation()
        } catch {
            throw OperationError(any: error)
        }
    }

    // MARK: Requests

    /// Fetches what changed since the last answer, and tells of it.
    private func fetch(wait: Int64) async throws {
        let token = copy.withLock { $0.token }
        var reason: ChangeReason = token == nil ? .initialSyncChange : .serverChange
        var isWhole = token == nil
        let answer: KeyValueChanges
        do {
            answer = try await changes(since: token, wait: wait)
        } catch let error as OperationError where token != nil && (error.code == .changeTokenExpired || error.isOfOtherStore) {
            if error.isOfOtherStore { reason = .accountChange }
            isWhole = true
            answer = try await changes(since: nil, wait: 0)
        }
        let keys = copy.withLock { copy -> [Name] in
            // Another answer was faster.
            guard copy.token == token else { return [] }
            return reason == .accountChange ? copy.replace(with: answer) : copy.receive(answer, isWhole: isWhole)
        }
        tell(reason, keys)
    }

    private func changes(since token: ChangeToken?, wait: Int64) async throws -> KeyValueChanges {
        let answer = try await call("changes", saves: false) { writer in
            if let token { writer.member("syncToken", token.text) }
            if wait > 0 { writer.member("wait", wait) }
        }
        return try KeyValueChanges(RequestObject(answer))
    }

    private func send(_ batch: KeyValueCopy.Batch) async throws {
        do {
            _ = try await call("modify", saves: true) { writer in
                writer.name("operations")
                writer.array { writer in for operation in batch.operations { writer.value(operation) } }
            }
            copy.withLock { $0.confirm(batch) }
        } catch let error as OperationError where error.code == .quotaExceeded {
            copy.withLock { $0.refuse(batch) }
            tell(.quotaViolationChange, batch.keys.sorted())
            throw error
        }
    }

    /// - Parameter members: writes the members of the request's object.
    /// - Throws: ``OperationError``.
    private func call(_ action: String, saves: Bool, _ members: (inout JSONWriter) -> Void) async throws -> JSONObject {
        let client = container.client
        guard client.address != ClientConfiguration.cloudKit else { throw OperationError.noKeyValueStores }
        let root = "/skylight/1/\(client.container)/\(client.environment.rawValue)/private/"
        var writer = JSONWriter(capacity: 1024)
        writer.object(members)
        do {
            return try await client.call("keyvalues/\(action)", under: root, body: writer.bytes, saves: saves)
        } catch let failure as CloudKitFailure where failure.status == 404 {
            throw OperationError.noKeyValueStores(failure)
        } catch {
            throw OperationError(any: error)
        }
    }
}

extension OperationError {
    static let noKeyValueStores = OperationError(
        .serverRejectedRequest,
        "The server has no key-value stores. iCloud's are not in the web protocol: use a Skylight that serves more than CloudKit's protocol")

    /// The error of a server that knows no such service, with the server's own words: it may miss something else, such as the container.
    fileprivate static func noKeyValueStores(_ failure: CloudKitFailure) -> OperationError {
        var error = noKeyValueStores
        if let stated = failure.serverError { error.reason += ". It says: \(stated.reason)" }
        (error.serverError, error.failure) = (failure.serverError, failure)
        return error
    }

    /// True if a token is of the store of another user or server.
    fileprivate var isOfOtherStore: Bool { serverError?.known == .unknownToken }
}
