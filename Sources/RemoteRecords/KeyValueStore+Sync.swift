internal import CloudKitClient
internal import Records
internal import Synchronization

extension KeyValueStore {
    /// The maximum time, in seconds, for which a request waits for changes by other clients.
    private static let patience: Int64 = 55
    /// The time between two requests, if the server cannot keep a request waiting.
    private static let pause = Duration.seconds(5)

    /// Writes the local copy to its file, fetches the changes of other devices, and sends the local changes.
    ///
    /// Without a network this throws, and the local changes wait for the next call.
    /// - Throws: ``OperationError``: `quotaExceeded` if the local values do not fit into the store on the server, and
    ///   `serverRejectedRequest` if the server, like iCloud, offers no key-value stores.
    public func synchronize() async throws(OperationError) {
        do {
            try await turn.run {
                try await save()
                do {
                    try await fetch(wait: 0)
                    while let batch = copy.withLock({ $0.batch() }) { try await send(batch) }
                } catch {
                    // Keep everything that was received before the error.
                    try await save()
                    throw error
                }
                try await save()
            }
        } catch {
            throw OperationError(any: error)
        }
    }

    /// Synchronizes whenever a key changes, here or on another device, until the task is cancelled. After a temporary
    /// error it tries again, with growing pauses of up to five minutes.
    /// - Throws: ``OperationError``: `operationCancelled`, when the task is cancelled; a permanent error, such as
    ///   `notAuthenticated`.
    public func run() async throws(OperationError) {
        var backoff: Duration = .seconds(1)
        while true {
            // A key that is set during the synchronization must not be missed.
            let changed = wakes.listen()
            do throws(OperationError) {
                do throws(OperationError) {
                    try await synchronize()
                } catch {
                    // The change notification reports this error. The values have to change before there is room.
                    if error.code != .quotaExceeded { throw error }
                }
                backoff = .seconds(1)
                try await waitForChanges(changed)
            } catch {
                guard error.isTemporary || error.code == .serverResponseLost else { throw error }
                do {
                    try await container.client.pacing.pause(error.retryAfter ?? backoff)
                } catch {
                    throw .cancelled
                }
                backoff = min(backoff * 2, .seconds(300))
            }
        }
    }

    /// Returns when a key changes locally or on another device.
    private func waitForChanges(_ changed: AsyncStream<Void>) async throws(OperationError) {
        let seconds = min(Self.patience, container.client.waitingTime.components.seconds)
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    // The next synchronization fetches the changes.
                    if seconds < 1 {
                        try await self.container.client.pacing.pause(Self.pause)
                    } else {
                        try await self.fetch(wait: seconds)
                    }
                }
                if seconds >= 1 {
                    // Other requests may begin to take turns while this one waits. This one must then give up its turn.
                    group.addTask {
                        while self.container.client.waitingTime > .zero { try await Task.sleep(for: Self.pause) }
                    }
                }
                group.addTask { for await _ in changed { return } }
                defer { group.cancelAll() }
                try await group.next()
            }
            // Do not ask without a pause if the server does not keep requests waiting.
            try await container.client.pacing.pause(.milliseconds(10))
            try Task.checkCancellation()
        } catch {
            throw OperationError(any: error)
        }
    }

    // MARK: Requests

    /// Fetches the changes since the last answer, and notifies the listeners.
    private func fetch(wait: Int64) async throws {
        let token = copy.withLock { $0.token }
        var reason: ChangeReason = token == nil ? .initialSyncChange : .serverChange
        var isWhole = token == nil
        let answer: KeyValueChanges
        do {
            answer = try await changes(since: token, wait: wait)
        } catch let error as OperationError
            where token != nil && (error.code == .changeTokenExpired || error.isOfOtherStore)
        {
            if error.isOfOtherStore { reason = .accountChange }
            isWhole = true
            answer = try await changes(since: nil, wait: 0)
        }
        let keys = copy.withLock { copy -> [Name] in
            // The answer to another request came first.
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
        return try KeyValueChanges.form.read(RequestObject(answer))
    }

    private func send(_ batch: KeyValueCopy.Batch) async throws {
        do {
            _ = try await call("modify", saves: true) { writer in
                writer.member("operations", values: batch.operations) { $0.value($1) }
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
        "The server has no key-value stores. iCloud's are not in the web protocol: use a Skylight that serves more than CloudKit's protocol"
    )

    /// The error for a server without this service. It contains the server's own text, because something else may be
    /// missing, such as the container.
    fileprivate static func noKeyValueStores(_ failure: CloudKitFailure) -> OperationError {
        var error = noKeyValueStores
        if let stated = failure.serverError { error.reason += ". It says: \(stated.reason)" }
        (error.serverError, error.failure) = (failure.serverError, failure)
        return error
    }

    /// True if the token belongs to the store of another user or server.
    fileprivate var isOfOtherStore: Bool { serverError?.known == .unknownToken }
}

// MARK: - The copy on this device

/// The local copy of a key-value store, with the changes that are not sent yet.
struct KeyValueCopy: Sendable {
    /// The maximum number of keys with unsent changes. These include removed keys, which the store's own limit does not
    /// count.
    static let pendingLimit = 4096
    /// The maximum number of operations in a request.
    private static let batchLimit = 2048

    private(set) var values: [Name: PropertyValue] = [:]
    /// The keys to send, each with the number of its latest local change.
    private(set) var pending: [Name: Int] = [:]
    private(set) var token: ChangeToken?
    private var lastNumber = 0
    /// The number of the last change that did not fit on the server. The same changes are not sent again.
    private var refusedNumber: Int?

    init() {}

    // MARK: Changes here

    /// - Parameter value: `nil` to remove the key.
    /// - Throws: `RecordError` if the key or value is refused, or the store would be too large.
    mutating func change(_ key: Name, to value: PropertyValue?) throws {
        // Another device may have changed the key since the last answer, so a value is sent even if the copy has the
        // same one. The removal of a key that the copy lacks is not sent: removals have no limit, and removals of
        // unknown keys would accumulate.
        if pending[key] != nil || value == nil, Self.areSame(values[key], value) { return }
        if let value {
            try KeyValueLimits.check(.set(key, value))
            // Changes from other devices may have filled the copy beyond the limits. Smaller values must remain
            // possible.
            if values[key].map({ value.size > $0.size }) ?? true {
                let others = values.filter { $0.key != key }.values
                try KeyValueLimits.check(
                    KeyValueUsage(keys: others.count + 1, bytes: others.reduce(value.size) { $0 + $1.size }))
            }
            if pending[key] == nil, pending.count >= Self.pendingLimit {
                throw RecordError(
                    .badRequest,
                    "\(pending.count) changed keys wait to be sent, and the limit is \(Self.pendingLimit); synchronize first"
                )
            }
        }
        values[key] = value
        lastNumber += 1
        pending[key] = lastNumber
    }

    /// Strings that Swift considers equal may have different bytes.
    private static func areSame(_ left: PropertyValue?, _ right: PropertyValue?) -> Bool {
        func json(_ value: PropertyValue) -> [UInt8] {
            var writer = JSONWriter()
            writer.value(value)
            return writer.bytes
        }
        return left == right && left.map(json) == right.map(json)
    }

    // MARK: Sending

    /// Changes to send in one request. Removals come first, because they free space.
    struct Batch: Sendable {
        let operations: [KeyValueOperation]
        fileprivate let numbers: [Name: Int]
        fileprivate let lastNumber: Int

        var keys: [Name] { operations.map(\.key) }
    }

    /// Returns the next batch; `nil` if there is nothing to send, or if the server had no room for it before.
    func batch() -> Batch? {
        guard !pending.isEmpty, refusedNumber != lastNumber else { return nil }
        let keys = pending.keys.sorted { left, right in
            let (isLeftSet, isRightSet) = (values[left] != nil, values[right] != nil)
            return isLeftSet == isRightSet ? left < right : isRightSet
        }.prefix(Self.batchLimit)
        let operations = keys.map { key in values[key].map { .set(key, $0) } ?? .remove(key) } as [KeyValueOperation]
        let sent = Set(keys)
        return Batch(operations: operations, numbers: pending.filter { sent.contains($0.key) }, lastNumber: lastNumber)
    }

    /// Marks a batch as sent. Keys that changed after the batch was made are still to be sent.
    mutating func confirm(_ batch: Batch) {
        for (key, number) in batch.numbers where pending[key] == number { pending[key] = nil }
    }

    /// Notes that the server had no room for a batch.
    mutating func refuse(_ batch: Batch) { refusedNumber = batch.lastNumber }

    // MARK: Receiving

    /// Applies the server's values. Keys with unsent local changes keep their values, except at the first answer: then
    /// the server's values replace the initial values of a new device.
    /// - Parameter isWhole: true if the answer has all keys.
    /// - Returns: the keys whose values changed.
    mutating func receive(_ answer: KeyValueChanges, isWhole: Bool) -> [Name] {
        var news = answer.changes.map { (key: $0.key, value: $0.value) }
        if isWhole {
            let present = Set(news.map(\.key))
            news += values.keys.filter { pending[$0] == nil && !present.contains($0) }.map { ($0, nil) }
        }
        var changed: [Name] = []
        for (key, value) in news {
            if token == nil { pending[key] = nil }
            guard pending[key] == nil else { continue }
            if values[key] != value { changed.append(key) }
            values[key] = value
        }
        token = answer.syncToken
        // The server may have room now.
        if !answer.changes.isEmpty { refusedNumber = nil }
        return changed.sorted()
    }

    /// Replaces the copy with the store of another user.
    /// - Returns: the keys whose values changed.
    mutating func replace(with answer: KeyValueChanges) -> [Name] {
        let former = values
        self = KeyValueCopy()
        _ = receive(answer, isWhole: true)
        return Set(former.keys).union(values.keys).filter { former[$0] != values[$0] }.sorted()
    }

    // MARK: JSON

    /// The whole copy as JSON, to write it to a file.
    var bytes: [UInt8] {
        var writer = JSONWriter(capacity: 4096)
        writer.object { writer in
            if let token { writer.member("syncToken", token.text) }
            writer.name("values")
            writer.value(.dictionary(values))
            writer.member("pending", values: pending.keys.sorted()) { $0.value($1) }
        }
        return writer.bytes
    }

    /// - Throws: `RecordError` if the bytes are not those of a copy.
    init(_ bytes: [UInt8]) throws {
        let object = try RequestObject(bytes)
        guard
            case .dictionary(let values) = try PropertyValue(
                object.required("values", "an object", object.object("values")))
        else {
            throw RecordError(.badRequest, "The values of the key-value store are none")
        }
        self.values = values
        token = try object.string("syncToken").map { ChangeToken(text: $0) }
        for key in try object.required("pending", "an array", object.names("pending")) {
            lastNumber += 1
            pending[key] = lastNumber
        }
    }
}
