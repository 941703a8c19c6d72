internal import AssetStore
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import Records
internal import RequestLog

/// Logs the web service requests of clients and their answers, including refused requests. Also sets the request
/// identifier header of every answer.
///
/// Asset downloads, and services about the server, such as the log itself, are not logged.
/// Preflights, and requests that the host and origin guards refuse, never get here, so foreign pages cannot write to
/// the log.
struct RequestLogMiddleware: Sendable {
    let log: RequestLog
    /// True if requests act for the user they name without credentials.
    let believesNames: Bool

    func handle(_ request: Request, _ context: ServingRequestContext, _ next: () async throws -> Response) async throws
        -> Response
    {
        guard log.isOn, Self.isNoted(request, context) else {
            let response = try await next()
            return response.isPassedOn ? response : Self.identifying(response, context)
        }
        let note = RequestRecorder(request, context, in: log)
        do {
            let response = try await RequestRecorder.$current.withValue(note) { try await next() }
            // Noted by its proxy, and unchanged.
            if response.isPassedOn { return response }
            return Self.identifying(noted(response, request, note), context)
        } catch let refusal as Refusal {
            note.failed(refusal, context)
            note.finish(status: refusal.status) { complete(&$0, of: request) }
            throw refusal
        } catch {
            note.finish { complete(&$0, of: request) }
            throw error
        }
    }

    private static func isNoted(_ request: Request, _ context: ServingRequestContext) -> Bool {
        let path = request.path
        if path.hasPrefix(AssetPath.root) { return request.method == .post || request.method == .put }
        return !path.hasPrefix("/skylight/") || SkylightServices.hasContainer(request, context)
    }

    private static func identifying(_ response: Response, _ context: ServingRequestContext) -> Response {
        var response = response
        response.headers.append(HTTPField(name: .skylightRequest, value: context.requestID))
        return response
    }

    private func noted(_ response: Response, _ request: Request, _ note: RequestRecorder) -> Response {
        let faults = response.headers[.skylightRehearsal]
        let (status, body) = (response.status, response.body)
        if let length = body.contentLength {
            // Logged before the answer is sent, so that a client that has the answer finds the entry.
            note.finish(status: status) { noted in
                noted.bytesOut = length
                noted.rehearsals = faults
                complete(&noted, of: request)
            }
            return response
        }
        note.update { noted in
            noted.isStream = true
            noted.rehearsals = faults
            complete(&noted, of: request)
        }
        var response = response
        response.body = ResponseBody { writer in
            do {
                try await body.write(LoggingWriter(parent: writer, note: note))
                note.finish(status: status)
            } catch {
                note.finish(status: status) { $0.isBrokenOff = true }
                throw error
            }
        }
        return response
    }

    /// Fills in the place of a request that was refused before it reached a service, from the path alone.
    private func complete(_ noted: inout ServedRequest, of request: Request) {
        if noted.container != nil { return }
        if let path = AssetPath(String(request.path)) {
            (noted.container, noted.environment, noted.operation) = (
                path.container, path.environment, Self.fileOperation
            )
            // A malformed path has no place. The logged answer has its error.
        } else if let path = try? WebServicePath(request.path) {
            noted.place(path)
            if !EndpointTable.knows(path.action), !SkylightServices.knows(path.action) {
                noted.operation = String(request.path)
            }
            if believesNames { noted.userRecordName = CallerResolver.userRecordName(in: request) }
        }
    }

    /// The operation name of asset uploads.
    private static let fileOperation = "assets/file"
}

/// Forwards a streamed body, and logs it.
private struct LoggingWriter: ResponseBodyWriter {
    var parent: any ResponseBodyWriter
    let note: RequestRecorder

    mutating func write(_ buffer: ByteBuffer) async throws {
        note.streamed(buffer.readableBytesView)
        try await parent.write(buffer)
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
        try await parent.finish(trailingHeaders)
    }
}

// MARK: - Address

/// The target of a request as it is logged, without secrets.
///
/// Clients send tokens in the address. The tokens are valid here, or on another
/// server if this one ignores them, and log entries are shown and copied.
struct LoggedTarget {
    /// The target with its query.
    let text: String
    /// The path without the query.
    let path: String

    static let hidden = "hidden"
    /// Lower-case parameter names.
    private static let secrets: Set<String> = ["ckapitoken", "ckwebauthtoken", "cksession", "tok"]

    init(_ request: Request) {
        let target = request.head.path ?? "/"
        let isAsset = target.hasPrefix(AssetPath.root)
        path = isAsset ? Self.withoutTicket(String(request.path)) : String(request.path)
        guard let mark = target.firstIndex(ofByte: UInt8(ascii: "?")) else {
            text = isAsset ? path : target
            return
        }
        let parameters = target[mark...].utf8.dropFirst().split(
            separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
        let query = parameters.map { Self.withoutSecret(Substring($0)) }.joined(separator: "&")
        text = "\(isAsset ? path : String(target[..<mark]))?\(query)"
    }

    /// Removes the tokens from the queries of all targets in a text.
    static func hidingSecrets(in text: String) -> String {
        let separators: Set<UInt8> = [UInt8(ascii: "?"), UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "\"")]
        var (shown, start) = ("", text.startIndex)
        func show(upTo end: String.Index) {
            let piece = text[start..<end]
            shown += piece.utf8.contains(UInt8(ascii: "=")) ? withoutSecret(piece) : String(piece)
        }
        for index in text.utf8.indices where text.utf8[index] <= 0x20 || separators.contains(text.utf8[index]) {
            show(upTo: index)
            start = text.utf8.index(after: index)
            shown += text[index..<start]
        }
        show(upTo: text.endIndex)
        return shown
    }

    private static func withoutSecret(_ parameter: Substring) -> String {
        let name = parameter.utf8.firstIndex(of: UInt8(ascii: "=")).map { parameter[..<$0] } ?? parameter
        guard secrets.contains((PercentEncoding.decoded(name) ?? String(name)).lowercased()) else {
            return String(parameter)
        }
        return "\(name)=\(hidden)"
    }

    /// The address of a sign-in page without its ticket.
    static func withoutTicket(ofRedirect url: String) -> String {
        guard let value = url.firstRange(of: "ticket=")?.upperBound else { return url }
        return url[..<value] + hidden
    }

    /// The path `/assets/{container}/{environment}/upload` without the ticket after it, which authorizes the upload.
    private static func withoutTicket(_ path: String) -> String {
        let parts = path.utf8.split(separator: UInt8(ascii: "/"))
        let kept = parts.prefix(4).map { String(Substring($0)) }
        return "/" + (parts.count > 4 ? kept + [hidden] : kept).joined(separator: "/")
    }
}
