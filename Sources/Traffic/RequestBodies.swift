/// The kept parts of a request's and an answer's body.
public struct RequestBodies: Sendable, Hashable {
    /// The maximum number of bytes kept per body.
    public static let limit = 64 << 10

    /// A body, or the beginning of it. The bytes of asset files are not kept.
    public struct Body: Sendable, Hashable {
        /// The kept bytes, at most ``RequestBodies/limit``.
        public let bytes: [UInt8]
        /// The number of bytes in the whole body.
        public let total: Int

        /// - Parameter bytes: the whole body, without content encoding.
        public init(_ bytes: [UInt8]) {
            self.init(bytes, of: bytes.count)
        }

        /// - Parameter total: the number of bytes in the whole body, which begins with these bytes.
        public init(_ bytes: [UInt8], of total: Int) {
            // Shares the array without a copy if it fits, unless its capacity is larger: arrays that grew have room for up to as much again.
            self.bytes = bytes.count <= RequestBodies.limit && bytes.capacity <= bytes.count + bytes.count / 4 ? bytes : Self.copy(of: bytes)
            self.total = total
        }

        /// A copy in its own memory: an array made from a slice may keep the whole buffer alive.
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

    /// The memory use in bytes.
    var size: Int { (request?.bytes.count ?? 0) + (response?.bytes.count ?? 0) }
}
