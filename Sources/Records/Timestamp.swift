internal import Foundation

/// A moment, in whole milliseconds since 1 January 1970 UTC, as CloudKit stores TIMESTAMP values.
public struct Timestamp: Sendable, Hashable, Comparable {
    /// Negative before 1970.
    public var milliseconds: Int64

    /// - Parameter milliseconds: since 1 January 1970 UTC.
    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// The current time.
    @Sendable public static func now() -> Timestamp {
        Timestamp(milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)))
    }

    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.milliseconds < right.milliseconds
    }
}
