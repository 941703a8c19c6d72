internal import Text

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
        if !labels.isEmpty { text += "{\(labels.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }.joined(separator: ","))}" }
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
