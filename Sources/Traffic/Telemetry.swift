public import Records

/// Request counts, errors and durations per operation since the server was started.
///
/// The memory is bounded by a maximum number of operations. Requests without a matching service count as ``unknown``.
public struct Telemetry: Sendable {
    /// The number of minutes that are kept.
    public static let minuteLimit = 180
    /// The operation name for requests without a matching service.
    public static let unknown = "unknown"
    private static let operationLimit = 200

    /// The requests of one operation.
    public struct Operation: Sendable {
        /// The request counts by HTTP status; 0 for connections that ended without an answer.
        public internal(set) var statuses: [Int: Int] = [:]
        /// The number of failed items by error code, including items in answers with status 200.
        public internal(set) var itemErrors: [ServerErrorCode: Int] = [:]
        /// The durations of the answers. Streams count only if they failed before they began, and requests only if they did not wait
        /// for a change, because their duration depends on the client.
        public internal(set) var latency = LatencyHistogram()
        public internal(set) var bytesIn: Int64 = 0
        public internal(set) var bytesOut: Int64 = 0
        /// The number of records in the answers.
        public internal(set) var records: Int64 = 0

        public var count: Int { statuses.values.reduce(0, +) }
        /// The number of requests that failed as a whole.
        public var errors: Int { statuses.filter { $0.key >= 400 || $0.key == 0 }.values.reduce(0, +) }
    }

    /// The requests that began within one minute.
    public struct Minute: Sendable, Hashable {
        public let start: Timestamp
        public internal(set) var requests = 0
        /// The number of requests that failed as a whole.
        public internal(set) var errors = 0
        /// The number of failed items.
        public internal(set) var itemErrors = 0
        /// The number of both by container and environment, without those of Skylight's own requests: a command may ask for a zone to learn
        /// whether it exists. Requests name any containers, so only the first ones of a minute count.
        var clientErrors: [Target: Int] = [:]
        public internal(set) var milliseconds = 0.0
    }

    /// The container and environment in the path of a request; `nil` where the path has none.
    struct Target: Sendable, Hashable {
        let container: ContainerID?
        let environment: Environment?
    }

    private static let targetLimit = 100

    /// The statistics by operation name.
    public private(set) var operations: [String: Operation] = [:]
    /// The recent minutes with requests, the oldest first.
    public private(set) var minutes: [Minute] = []

    public init() {}

    /// The number of failed requests and failed items of apps' clients in a container's environment, in the minutes that began at a time or later.
    public func errors(in container: ContainerID, _ environment: Environment, since time: Timestamp) -> Int {
        let target = Target(container: container, environment: environment)
        return minutes.reversed().prefix { $0.start >= time }.reduce(0) { $0 + ($1.clientErrors[target] ?? 0) }
    }

    /// Counts an answered request.
    public mutating func note(_ request: ServedRequest) {
        var name = request.operation.utf8.first == UInt8(ascii: "/") ? Self.unknown : request.operation
        if operations.count >= Self.operationLimit, operations[name] == nil { name = Self.unknown }
        operations[name, default: Operation()].note(request)
        let start = request.started.milliseconds - request.started.milliseconds % 60_000
        // Requests are recorded in the order of their ends. One that began in an earlier minute counts there, if that minute is still kept.
        var index = minutes.count
        while index > 0, minutes[index - 1].start.milliseconds > start { index -= 1 }
        if index == 0 || minutes[index - 1].start.milliseconds != start {
            minutes.insert(Minute(start: Timestamp(milliseconds: start)), at: index)
            index += 1
        }
        minutes[index - 1].requests += 1
        let errors = request.status >= 400 || request.status == 0 ? 1 : 0
        minutes[index - 1].errors += errors
        minutes[index - 1].itemErrors += request.itemErrors.count
        let failures = errors + request.itemErrors.count
        let target = Target(container: request.container, environment: request.environment)
        if failures > 0, !request.client.isOfSkylight, minutes[index - 1].clientErrors.count < Self.targetLimit || minutes[index - 1].clientErrors[target] != nil {
            minutes[index - 1].clientErrors[target, default: 0] += failures
        }
        minutes[index - 1].milliseconds += request.isTimedByClient ? 0 : request.milliseconds
        if minutes.count > Self.minuteLimit { minutes.removeFirst() }
    }
}

extension Telemetry.Operation {
    fileprivate mutating func note(_ request: ServedRequest) {
        statuses[request.status, default: 0] += 1
        for error in request.itemErrors { itemErrors[error.code, default: 0] += 1 }
        if !request.isTimedByClient { latency.note(request.milliseconds) }
        bytesIn = bytesIn.addingSaturated(Int64(request.bytesIn))
        bytesOut = bytesOut.addingSaturated(Int64(request.bytesOut))
        records = records.addingSaturated(Int64(request.records))
    }
}
