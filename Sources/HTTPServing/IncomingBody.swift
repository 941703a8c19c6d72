internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import Records

/// The body of a request as it arrives, with checks of its size and rate.
struct IncomingBody {
    enum Coding {
        case identity
        case gzip
    }

    /// The minimum rate in bytes per second. It is checked after every ten seconds of waiting.
    private static let slowestRate = 1024.0

    private let limit: Int64
    /// The waiting time between two checks of the rate.
    private let watch: Duration
    private let offered: Result<Coding, Refusal>
    private var parts: RequestBody.AsyncIterator
    /// The waiting time since the last check of the rate.
    private var waited = Duration.zero
    private var arrived: Int64 = 0
    private var isBegun = false
    /// The declared size in bytes, at most the largest number.
    let declared: Int64?
    private(set) var received: Int64 = 0

    /// - Parameter limit: the maximum size of the decoded body in bytes.
    init(_ body: RequestBody, headers: HTTPFields, limit: Int64, watch: Duration = .seconds(10)) {
        self.limit = limit
        self.watch = watch
        offered = Self.coding(headers)
        declared = headers[.contentLength].map { Int64($0) ?? .max }
        parts = body.makeAsyncIterator()
    }

    /// - Throws: ``Refusal`` 415 for an unsupported coding.
    var coding: Coding {
        get throws { try offered.get() }
    }

    private static func coding(_ headers: HTTPFields) -> Result<Coding, Refusal> {
        guard headers.contains(.contentEncoding) else { return .success(.identity) }
        let codings = headers[values: .contentEncoding].joined(separator: ",").lowercased().split(separator: ",")
            .map { $0.filter { $0 != " " && $0 != "\t" } }.filter { !$0.isEmpty && $0 != "identity" }
        switch codings {
        case []: return .success(.identity)
        case ["gzip"], ["x-gzip"]: return .success(.gzip)
        default:
            let names = codings.joined(separator: ", ").prefix(100)
            return .failure(
                Refusal(
                    .unsupportedMediaType, .badRequest, "The request body is in the coding '\(names)', which is not supported; send gzip or no coding",
                    headers: [.acceptEncoding: "gzip"], endsConnection: true))
        }
    }

    /// The next bytes, before content decoding.
    /// - Throws: ``Refusal`` 413 if there are too many, without reading any if the
    ///   head declares so; 408 if they arrive too slowly; 415 for an unsupported coding.
    mutating func next() async throws -> ByteBuffer? {
        if !isBegun { _ = try acceptableSize() }
        let start = ContinuousClock.now
        guard let part = try await parts.next() else { return nil }
        received += Int64(part.readableBytes)
        if received > (try sentLimit) { throw Self.tooLarge(limit) }
        // Only counts the time of waiting for the client, not that of the server's own work.
        waited += ContinuousClock.now - start
        arrived += Int64(part.readableBytes)
        if waited > watch {
            if Double(arrived) < waited / .seconds(1) * Self.slowestRate {
                throw Refusal(.requestTimeout, .badRequest, "The request body comes too slowly", endsConnection: true)
            }
            (waited, arrived) = (.zero, 0)
        }
        return part
    }

    /// The declared size in bytes; 0 if the head has none.
    /// - Throws: ``Refusal`` 413 if the size exceeds the limit, 415 for an unsupported coding.
    mutating func acceptableSize() throws -> Int {
        isBegun = true
        guard let declared else { return 0 }
        if declared > (try sentLimit) { throw Self.tooLarge(limit) }
        return Int(clamping: max(0, declared))
    }

    /// The maximum size of the encoded body in bytes. Incompressible data grows slightly when compressed.
    private var sentLimit: Int64 {
        get throws { try coding == .gzip ? limit.addingSaturated(limit / 1000 + 1024) : limit }
    }

    static func tooLarge(_ limit: Int64) -> Refusal {
        Refusal(
            .contentTooLarge, .badRequest, "The request body is larger than \(limit) bytes; send less at a time, or raise the server's limit",
            endsConnection: true)
    }

    static func damaged() -> Refusal {
        Refusal(.badRequest, .badRequest, "The request body is not valid gzip, as Content-Encoding claims", endsConnection: true)
    }
}
