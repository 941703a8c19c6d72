public import HTTPTypes
public import Hummingbird
internal import NIOCore

extension Response {
    /// A JSON answer. Caches must not store it.
    public static func json(_ bytes: [UInt8], status: HTTPResponse.Status = .ok) -> Response {
        Response(status: status, headers: headersOfJSON, body: .pieces(of: bytes))
    }

    /// Made once, because making a header checks its text.
    private static let headersOfJSON: HTTPFields = [
        .contentType: "application/json; charset=UTF-8", .cacheControl: "no-store",
    ]

    /// An HTML page. Caches must not store it.
    public static func html(_ text: String, status: HTTPResponse.Status = .ok) -> Response {
        content(text.utf8, type: "text/html; charset=utf-8", status: status)
    }

    /// A plain text answer. Caches must not store it.
    public static func text(_ text: String, status: HTTPResponse.Status = .ok) -> Response {
        content(text.utf8, type: "text/plain; charset=utf-8", status: status)
    }

    /// An answer with the given bytes. Caches must not store it, because it may soon be outdated.
    public static func content(_ bytes: some Sequence<UInt8>, type: String, status: HTTPResponse.Status = .ok)
        -> Response
    {
        Response(
            status: status, headers: [.contentType: type, .cacheControl: "no-store"], body: .pieces(of: Array(bytes)))
    }
}

// MARK: - Bodies in pieces

/// The number of bytes to write to the connection at a time.
private let pieceSize = 64 << 10

extension ResponseBody {
    /// A body of bytes in memory, written in pieces as fast as the client takes them. The connection
    /// copies each write, and compressing or encrypting a large one would block other clients.
    public static func pieces(of bytes: [UInt8]) -> ResponseBody {
        if bytes.count <= pieceSize { return ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)) }
        return ResponseBody(contentLength: bytes.count) { writer in
            try await writer.write(piecesOf: bytes)
            try await writer.finish(nil)
        }
    }
}

extension ResponseBodyWriter {
    /// Writes bytes in pieces, like ``HummingbirdCore/ResponseBody/pieces(of:)``.
    public mutating func write(piecesOf bytes: [UInt8]) async throws {
        for start in stride(from: 0, to: bytes.count, by: pieceSize) {
            try await write(ByteBuffer(bytes: bytes[start..<min(start + pieceSize, bytes.count)]))
        }
    }
}

/// Forwards writes no faster than the client takes them.
///
/// The parent writer blocks while the connection is full, but it learns that from the event loop. Until the loop has
/// processed earlier writes, further writes do not block and accumulate. So this writer waits until the loop has
/// processed the write before the last one. At the end, all bytes were passed to the connection, and at most one
/// connection's buffer is waiting.
struct PacedWriter: ResponseBodyWriter {
    private var parent: any ResponseBodyWriter
    private let loop: any EventLoop
    /// Completes when the event loop has processed the last write.
    private var reached: EventLoopFuture<Void>?

    init(_ parent: any ResponseBodyWriter, on loop: any EventLoop) {
        self.parent = parent
        self.loop = loop
    }

    mutating func write(_ buffer: ByteBuffer) async throws {
        try await parent.write(buffer)
        let before = reached
        reached = loop.submit {}
        try await before?.get()
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
        try await reached?.get()
        try await parent.finish(trailingHeaders)
    }
}

// MARK: - Header names

/// Header names that HTTPTypes lacks. Each is made once, because making one checks and copies its text.
extension HTTPField.Name {
    public static let crossOriginOpenerPolicy = constant("Cross-Origin-Opener-Policy")
    public static let forwarded = constant("Forwarded")
    /// A second `Host` header. The first one became the authority.
    public static let hostHeader = constant("Host")
    public static let lastEventID = constant("Last-Event-ID")
    public static let referrerPolicy = constant("Referrer-Policy")
    public static let secFetchDest = constant("Sec-Fetch-Dest")
    public static let secFetchMode = constant("Sec-Fetch-Mode")
    public static let secFetchSite = constant("Sec-Fetch-Site")
    public static let serverTiming = constant("Server-Timing")
    public static let xForwardedFor = constant("X-Forwarded-For")
    public static let xFrameOptions = constant("X-Frame-Options")

    public static let skylightAccess = constant("X-Skylight-Access")
    public static let skylightClient = constant("X-Skylight-Client")
    public static let skylightDevice = constant("X-Skylight-Device")
    public static let skylightFileName = constant("X-Skylight-File-Name")
    public static let skylightForm = constant("X-Skylight-Form")
    public static let skylightRehearsal = constant("X-Skylight-Rehearsal")
    public static let skylightRehearse = constant("X-Skylight-Rehearse")
    public static let skylightRequest = constant("X-Skylight-Request")
    public static let skylightSize = constant("X-Skylight-Size")
    public static let skylightUser = constant("X-Skylight-User")

    public static let cloudKitKeyID = constant("X-Apple-CloudKit-Request-KeyID")
    public static let cloudKitDate = constant("X-Apple-CloudKit-Request-ISO8601Date")
    public static let cloudKitSignature = constant("X-Apple-CloudKit-Request-SignatureV1")
    /// The web auth token. Every answer contains the next one in this header. Requests may send theirs in it too, so
    /// that it is not part of the address.
    public static let cloudKitWebAuthToken = constant("X-Apple-CloudKit-Web-Auth-Token")
    /// The web auth token, in the header of CloudKit JS 1.
    public static let cloudKitSession = constant("X-Apple-CloudKit-Session")

    static func constant(_ text: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(text) else { preconditionFailure("'\(text)' is not a header name") }
        return name
    }
}
