internal import HTTPTypes
public import Hummingbird
internal import NIOCore
internal import Records

extension Request {
    /// Bytes that a body may have unless a handler says otherwise: 32 MiB, room for 200 operations of usual size.
    public static let bodyLimit = 32 << 20
    /// After the first ten seconds a body must have come at this rate, in bytes per second, or it is given up.
    private static let slowestRate = 1024.0

    /// The whole body.
    /// - Parameter limit: how many bytes it may have. A body that says it has more is refused before any of it is read.
    /// - Throws: ``Refusal`` 413 when the body is too large, 408 when it comes too slowly; both end the connection.
    public func bodyBytes(limit: Int = bodyLimit) async throws -> [UInt8] {
        let declared = headers[.contentLength].flatMap { Int($0) } ?? 0
        if declared > limit { throw Self.tooLarge(limit) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(declared)
        let start = ContinuousClock.now
        for try await part in body {
            if bytes.count + part.readableBytes > limit { throw Self.tooLarge(limit) }
            bytes.append(contentsOf: part.readableBytesView)
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            if seconds > 10, Double(bytes.count) < seconds * Self.slowestRate {
                throw Refusal(.requestTimeout, .badRequest, "The request body comes too slowly", endsConnection: true)
            }
        }
        return bytes
    }

    private static func tooLarge(_ limit: Int) -> Refusal {
        Refusal(
            .contentTooLarge, .badRequest, "The request body is larger than \(limit) bytes; split the request into smaller ones",
            endsConnection: true)
    }
}
