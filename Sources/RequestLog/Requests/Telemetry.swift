public import Records

/// Request counts, errors and durations per operation since the server was started.
///
/// The memory is bounded by a maximum number of operations. Requests without a matching service count as ``unknown``.
public struct Telemetry: Sendable {
    /// The number of minutes to keep.
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
        /// The durations of the answers. Streams count only if they failed before they began, and requests only if they
        /// did not wait for a change, because their duration depends on the client.
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
        /// The number of requests that failed, as a whole or in items, by container and environment, without Skylight's
        /// own: a command may request a zone to find out whether it exists. Requests can name any container, so only the
        /// first containers of a minute are counted.
        var clientErrors: [Target: Int] = [:]
        public internal(set) var milliseconds = 0.0
    }

    /// The container and environment in the path of a request; `nil` if the path has none.
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

    /// The number of requests of apps in a container's environment that failed, as a whole or in items, in the minutes
    /// that began at a time or later.
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
        // Requests are recorded when they end. A request that began in an earlier minute counts for that minute, if it
        // is still kept.
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
        let target = Target(container: request.container, environment: request.environment)
        if request.hasErrors, !request.client.isOfSkylight,
            minutes[index - 1].clientErrors.count < Self.targetLimit || minutes[index - 1].clientErrors[target] != nil
        {
            minutes[index - 1].clientErrors[target, default: 0] += 1
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

// MARK: - Latency

/// A histogram of durations, with constant memory use.
public struct LatencyHistogram: Sendable, Hashable {
    /// The upper bounds of the buckets, in milliseconds. One more bucket counts longer durations.
    public static let bounds: [Double] = [0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000]

    /// The number of durations per bucket: above the previous bound, up to its own. The last bucket has no upper bound.
    public private(set) var counts = [Int](repeating: 0, count: bounds.count + 1)
    public private(set) var count = 0
    /// The sum of all durations, in milliseconds.
    public private(set) var sum = 0.0
    /// The longest duration, in milliseconds.
    public private(set) var longest = 0.0

    public init() {}

    public mutating func note(_ milliseconds: Double) {
        counts[Self.bounds.firstIndex { milliseconds <= $0 } ?? Self.bounds.count] += 1
        count += 1
        sum += milliseconds
        longest = max(longest, milliseconds)
    }

    /// The duration in milliseconds that a share of all durations does not exceed, interpolated between the bounds;
    /// `nil` if there are no durations.
    /// - Parameter share: the share, such as 0.5 for the median or 0.99 for the 99th percentile.
    public func percentile(_ share: Double) -> Double? {
        guard count > 0 else { return nil }
        let rank = min(max(share, 0), 1) * Double(count)
        var below = 0
        for (index, inStep) in counts.enumerated() where inStep > 0 {
            defer { below += inStep }
            guard Double(below + inStep) >= rank else { continue }
            let low = index == 0 ? 0 : Self.bounds[index - 1]
            let high = min(index < Self.bounds.count ? Self.bounds[index] : longest, longest)
            return low + (max(high, low) - low) * max(0, rank - Double(below)) / Double(inStep)
        }
        return longest
    }
}

// MARK: - Prometheus

extension Telemetry {
    /// The statistics in the Prometheus text format (Prometheus documentation, "Exposition formats", version 0.0.4).
    public var prometheusText: String {
        let operations = operations.sorted { $0.key < $1.key }
        var text = PrometheusText()
        text.metric(
            "skylight_requests_total", "counter",
            "Requests to the web services, by HTTP status; 0 if the connection ended before the response.")
        for (name, operation) in operations {
            for (status, count) in operation.statuses.sorted(by: { $0.key < $1.key }) {
                text.sample(
                    "skylight_requests_total", [("operation", name), ("status", String(status))], String(count))
            }
        }
        text.metric("skylight_item_errors_total", "counter", "Failed items of requests, in responses with status 200.")
        for (name, operation) in operations {
            for (code, count) in operation.itemErrors.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
                text.sample(
                    "skylight_item_errors_total", [("operation", name), ("code", code.rawValue)], String(count))
            }
        }
        text.metric(
            "skylight_request_duration_seconds", "histogram",
            "Time from a request's head to its response, without streams.")
        for (name, operation) in operations where operation.latency.count > 0 {
            text.histogram("skylight_request_duration_seconds", name, operation.latency)
        }
        let sums: [(metric: String, help: String, value: (Operation) -> Int64)] = [
            ("skylight_request_bytes_total", "Bytes of request bodies.", \.bytesIn),
            ("skylight_response_bytes_total", "Bytes of response bodies, before compression.", \.bytesOut),
            ("skylight_records_returned_total", "Records and changes in responses.", \.records),
        ]
        for (metric, help, value) in sums {
            text.metric(metric, "counter", help)
            for (name, operation) in operations { text.sample(metric, [("operation", name)], String(value(operation))) }
        }
        return text.text
    }
}

/// Output in the Prometheus text format (Prometheus documentation, "Exposition formats", version 0.0.4).
///
/// Names and help texts are trusted and not escaped. Label values are escaped, because they may contain client input.
public struct PrometheusText: Sendable {
    public private(set) var text = ""

    public init() {}

    /// Starts a metric. Its samples follow.
    /// - Parameter type: `counter`, `gauge` or `histogram`.
    public mutating func metric(_ name: String, _ type: String, _ help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
    }

    public mutating func sample(_ name: String, _ labels: [(name: String, value: String)], _ value: String) {
        text += name
        if !labels.isEmpty {
            text += "{\(labels.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }.joined(separator: ","))}"
        }
        text += " \(value)\n"
    }

    /// Writes cumulative buckets: each includes all shorter durations.
    mutating func histogram(_ name: String, _ operation: String, _ latency: LatencyHistogram) {
        var total = 0
        for (bound, count) in zip(LatencyHistogram.bounds, latency.counts) {
            total += count
            sample("\(name)_bucket", [("operation", operation), ("le", Self.seconds(bound))], String(total))
        }
        sample("\(name)_bucket", [("operation", operation), ("le", "+Inf")], String(latency.count))
        sample("\(name)_sum", [("operation", operation)], Self.seconds(latency.sum))
        sample("\(name)_count", [("operation", operation)], String(latency.count))
    }

    private static func seconds(_ milliseconds: Double) -> String { (milliseconds / 1000).description }

    private static func escaped(_ value: String) -> String {
        value.writingBytes { byte in
            switch byte {
            case UInt8(ascii: "\\"): #"\\"#
            case UInt8(ascii: "\""): #"\""#
            case UInt8(ascii: "\n"): #"\n"#
            default: nil
            }
        }
    }
}
