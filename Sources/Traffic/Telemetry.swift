public import Records

/// How many requests there were of each operation, how they went and how long they took, since the server was started.
///
/// It is bounded by the operations there are; requests that no service was known for count as ``unknown``.
public struct Telemetry: Sendable {
    /// Minutes that are kept.
    public static let minuteLimit = 180
    /// What requests that no service is known for are counted as.
    public static let unknown = "unknown"
    private static let operationLimit = 200

    /// The requests of one kind.
    public struct Operation: Sendable {
        /// By HTTP status; 0 for those whose connection ended without an answer.
        public internal(set) var statuses: [Int: Int] = [:]
        /// Items that failed, in answers with status 200 too, by their code.
        public internal(set) var itemErrors: [ServerErrorCode: Int] = [:]
        /// Of the answers. How long a stream lasts is up to its client, so streams count only if they failed before they began.
        public internal(set) var latency = LatencyHistogram()
        public internal(set) var bytesIn: Int64 = 0
        public internal(set) var bytesOut: Int64 = 0
        /// Records in the answers.
        public internal(set) var records: Int64 = 0

        public var count: Int { statuses.values.reduce(0, +) }
        /// Requests that failed as a whole.
        public var errors: Int { statuses.filter { $0.key >= 400 || $0.key == 0 }.values.reduce(0, +) }
    }

    /// The requests that began within one minute.
    public struct Minute: Sendable, Hashable {
        public let start: Timestamp
        public internal(set) var requests = 0
        /// Requests that failed as a whole.
        public internal(set) var errors = 0
        /// Items that failed.
        public internal(set) var itemErrors = 0
        public internal(set) var milliseconds = 0.0
    }

    /// What is counted of each, by its name as the log has it.
    public private(set) var operations: [String: Operation] = [:]
    /// The minutes of late in which there were requests, oldest first.
    public private(set) var minutes: [Minute] = []

    public init() {}

    /// Counts a request that was answered.
    public mutating func note(_ request: ServedRequest) {
        var name = request.operation.utf8.first == UInt8(ascii: "/") ? Self.unknown : request.operation
        if operations.count >= Self.operationLimit, operations[name] == nil { name = Self.unknown }
        operations[name, default: Operation()].note(request)
        let start = request.started.milliseconds - request.started.milliseconds % 60_000
        // Requests are noted in the order of their ends; one that began in an earlier minute counts there, if it is still kept.
        var index = minutes.count
        while index > 0, minutes[index - 1].start.milliseconds > start { index -= 1 }
        if index == 0 || minutes[index - 1].start.milliseconds != start {
            minutes.insert(Minute(start: Timestamp(milliseconds: start)), at: index)
            index += 1
        }
        minutes[index - 1].requests += 1
        minutes[index - 1].errors += request.status >= 400 || request.status == 0 ? 1 : 0
        minutes[index - 1].itemErrors += request.itemErrors.count
        minutes[index - 1].milliseconds += request.isStream ? 0 : request.milliseconds
        if minutes.count > Self.minuteLimit { minutes.removeFirst() }
    }
}

extension Telemetry.Operation {
    fileprivate mutating func note(_ request: ServedRequest) {
        statuses[request.status, default: 0] += 1
        for error in request.itemErrors { itemErrors[error.code, default: 0] += 1 }
        if !request.isStream { latency.note(request.milliseconds) }
        bytesIn = bytesIn.addingSaturated(Int64(request.bytesIn))
        bytesOut = bytesOut.addingSaturated(Int64(request.bytesOut))
        records = records.addingSaturated(Int64(request.records))
    }
}
