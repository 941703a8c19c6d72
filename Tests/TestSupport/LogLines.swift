public import Logging
internal import Synchronization

/// All lines of a log, with their metadata.
public final class LogLines: Sendable {
    private let kept = Mutex<[String]>([])

    public init() {}

    public var lines: [String] { kept.withLock { $0 } }
    public var text: String { lines.joined(separator: "\n") }
    public var logger: Logger {
        var logger = Logger(label: "test") { _ in Handler(lines: self) }
        logger.logLevel = .trace
        return logger
    }

    private struct Handler: LogHandler {
        let lines: LogLines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let details = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
            lines.kept.withLock { $0.append("\(event.level): \(event.message)\(details)") }
        }
    }
}
