internal import JSON
public import Records

/// A pull that brought something, or failed in part.
public struct PastPull: Sendable, Hashable {
    public var started: Timestamp
    public var ended: Timestamp
    public var saved: Int
    public var deleted: Int
    public var conflicts: Int
    public var problems: Int
    public var requests: Int
}

/// The latest pulls as a mark. A pull that was interrupted has no entry; its records are in the next one as unchanged.
enum PullHistory {
    private static let limit = 100

    static func pulls(in mark: String?) -> [PastPull] {
        guard let mark, case .array(let entries)? = try? JSONReader.value(of: mark) else { return [] }
        return entries.compactMap { entry in
            guard case .array(let values) = entry else { return nil }
            let numbers = values.compactMap { if case .integer(let number) = $0 { number } else { nil } }
            guard numbers.count == 7 else { return nil }
            return PastPull(
                started: Timestamp(milliseconds: numbers[0]), ended: Timestamp(milliseconds: numbers[1]), saved: Int(numbers[2]), deleted: Int(numbers[3]),
                conflicts: Int(numbers[4]), problems: Int(numbers[5]), requests: Int(numbers[6]))
        }
    }

    /// - Returns: the mark with one more pull, the latest first.
    static func adding(_ pull: PastPull, to mark: String?) -> String {
        var writer = JSONWriter()
        writer.array { writer in
            for pull in ([pull] + pulls(in: mark)).prefix(limit) {
                let counts = [pull.saved, pull.deleted, pull.conflicts, pull.problems, pull.requests].map { Int64($0) }
                writer.array { writer in
                    for number in [pull.started.milliseconds, pull.ended.milliseconds] + counts { writer.value(number) }
                }
            }
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
