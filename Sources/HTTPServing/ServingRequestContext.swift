public import Hummingbird
public import NIOCore

/// The context of a request on its way through guards, web services and console.
public struct ServingRequestContext: RequestContext {
    public var coreContext: CoreRequestContextStorage
    /// The connection of the request. It is closed after some refusals.
    public let channel: any Channel
    /// The time at which the head of the request arrived.
    public let started: ContinuousClock.Instant
    /// The identifier of the request, a lower-case UUID. Error answers return it as `uuid`.
    public let requestID: String
    /// The parts of the request's path, percent-decoded.
    public internal(set) var parts: [Substring] = []
    /// True for HEAD, which is answered like GET.
    public internal(set) var isHead = false

    public init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
        started = .now
        requestID = Self.randomID()
    }

    /// A random UUID of version 4 (RFC 9562), written once.
    private static func randomID() -> String {
        var random = SystemRandomNumberGenerator()
        // The version and the variant have fixed bits.
        let (high, low) = (random.next() & ~0xF000 | 0x4000, random.next() & ~(3 << 62) | 1 << 63)
        return String(unsafeUninitializedCapacity: 36) { text in
            var digit = 0
            for index in 0..<36 {
                if index == 8 || index == 13 || index == 18 || index == 23 {
                    text[index] = UInt8(ascii: "-")
                    continue
                }
                let value = UInt8(truncatingIfNeeded: (digit < 16 ? high : low) >> UInt64(60 - digit % 16 * 4)) & 0xF
                text[index] = value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
                digit += 1
            }
            return 36
        }
    }
}
