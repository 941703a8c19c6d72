internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import Records

/// The body of a request as it comes over the wire, watched for size and speed.
struct IncomingBody {
    enum Coding {
        case identity
        case gzip
    }

    /// A body must come at this rate, in bytes per second, in each stretch of ten seconds that are waited for it, or it is given up.
    private static let slowestRate = 1024.0

    private let limit: Int64
    /// How long is waited for a body from one look at its rate to the next.
    private let watch: Duration
    private let offered: Result<Coding, Refusal>
    private var parts: RequestBody.AsyncIterator
    /// How long was waited for what came since the last look at the rate.
    private var waited = Duration.zero
    private var arrived: Int64 = 0
    private var isBegun = false
    /// Bytes that the head says are to come.
    let declared: Int64?
    private(set) var received: Int64 = 0

    /// - Parameter limit: bytes that the body may have without its coding.
    init(_ body: RequestBody, headers: HTTPFields, limit: Int64, watch: Duration = .seconds(10)) {
        self.limit = limit
        self.watch = watch
        offered = Self.coding(headers)
        declared = headers[.contentLength].flatMap { Int64($0) }
        parts = body.makeAsyncIterator()
    }

    /// - Throws: ``Refusal`` 415 for what can't be read.
    var coding: Coding {
        get throws { try offered.get() }
    }

    private static func coding(_ headers: HTTPFields) -> Result<Coding, Refusal> {
        let codings = headers[values: .contentEncoding].joined(separator: ",").lowercased().split(separator: ",")
            .map { $0.filter { $0 != " " && $0 != "\t" } }.filter { !$0.isEmpty && $0 != "identity" }
        switch codings {
        case []: return .success(.identity)
        case ["gzip"], ["x-gzip"]: return .success(.gzip)
        default:
            let names = codings.joined(separator: ", ").prefix(100)
            return .failure(
                Refusal(
                    .unsupportedMediaType, .badRequest, "The request body is in the coding '\(names)', which is not understood; send gzip or no coding",
                    headers: [.acceptEncoding: "gzip"], endsConnection: true))
        }
    }

    /// The next bytes, still in their coding.
    /// - Throws: ``Refusal`` 413 when there are too many, before any is read if the head says so; 408 when they come too slowly.
    mutating func next() async throws -> ByteBuffer? {
        if !isBegun { _ = try acceptableSize() }
        let start = ContinuousClock.now
        guard let part = try await parts.next() else { return nil }
        received += Int64(part.readableBytes)
        if received > (try sentLimit) { throw Self.tooLarge(limit) }
        // What the server itself takes its time for is not counted.
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

    /// How many bytes the head says are to come; 0 where it doesn't.
    /// - Throws: ``Refusal`` 413 when they are too many, 415 for what can't be read.
    mutating func acceptableSize() throws -> Int {
        isBegun = true
        guard let declared else { return 0 }
        if declared > (try sentLimit) { throw Self.tooLarge(limit) }
        return Int(clamping: declared)
    }

    /// Bytes that the body may have in its coding: what does not compress grows a little when it is compressed.
    private var sentLimit: Int64 {
        get throws { try coding == .gzip ? limit.addingSaturated(limit / 1000 + 1024) : limit }
    }

    static func tooLarge(_ limit: Int64) -> Refusal {
        Refusal(
            .contentTooLarge, .badRequest, "The request body is larger than \(limit) bytes; send less at a time, or raise the server's limit",
            endsConnection: true)
    }

    static func damaged() -> Refusal {
        Refusal(.badRequest, .badRequest, "The request body is not whole and sound gzip, as Content-Encoding says it is", endsConnection: true)
    }
}
