/// What was sent and answered, as far as it is kept.
public struct RequestBodies: Sendable, Hashable {
    /// Bytes that are kept of one body.
    public static let limit = 64 << 10

    /// A body, or the beginning of it. Files of assets are not kept.
    public struct Body: Sendable, Hashable {
        /// At most ``RequestBodies/limit``.
        public let bytes: [UInt8]
        /// How many there were.
        public let total: Int

        /// - Parameter bytes: the whole body, without its content coding.
        public init(_ bytes: [UInt8]) {
            self.init(bytes, of: bytes.count)
        }

        /// - Parameter total: how many bytes the body has of which these are the first.
        public init(_ bytes: [UInt8], of total: Int) {
            // What fits is shared with whoever made it and not copied, unless that would keep much more memory than it counts for.
            self.bytes = bytes.count <= RequestBodies.limit && bytes.capacity <= 2 * bytes.count ? bytes : Self.copy(of: bytes)
            self.total = total
        }

        /// In a memory of its own: an array of a slice may share that of the whole.
        private static func copy(of bytes: [UInt8]) -> [UInt8] {
            bytes.withUnsafeBufferPointer { Array(UnsafeBufferPointer(rebasing: $0.prefix(RequestBodies.limit))) }
        }

        public var isCut: Bool { bytes.count < total }
    }

    public var request: Body?
    public var response: Body?

    public init(request: Body? = nil, response: Body? = nil) {
        self.request = request
        self.response = response
    }

    /// Bytes that it takes.
    var size: Int { (request?.bytes.count ?? 0) + (response?.bytes.count ?? 0) }
}
