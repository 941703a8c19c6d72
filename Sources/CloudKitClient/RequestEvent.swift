/// A step of a request, for logs, progress and timings.
public enum RequestEvent: Sendable {
    /// One sending of a request.
    public struct Attempt: Sendable, Hashable {
        /// The client's id of the request. All attempts have the same one.
        public let requestID: String
        /// Such as `records/query`.
        public let action: String
        /// Counts from 1.
        public let number: Int
    }

    /// - Parameter signed: the exact text that the signature covers; `nil` without a server-to-server key.
    case sending(Attempt, signed: SigningText?)
    /// The whole answer is there, or the file of an asset begins.
    /// - Parameters:
    ///   - bytes: size of its body; 0 for the file of an asset, which is read afterwards.
    ///   - duration: from the sending to the last byte. This is CloudKit's part and the network's.
    case answered(Attempt, status: Int, bytes: Int, duration: Duration, appleRequestUUID: String?)
    /// The request will be sent again after a pause.
    case waiting(Attempt, Pause, because: CloudKitFailure.Kind)

    /// The pause before another attempt.
    public struct Pause: Sendable, Hashable {
        /// The time that is waited.
        public let length: Duration
        /// The time that CloudKit asked for; `nil` if it did not.
        public let stated: Duration?
        /// True if CloudKit asked for more than ``ClientConfiguration/longestPause``, which is waited instead.
        public let isCapped: Bool
    }
}
