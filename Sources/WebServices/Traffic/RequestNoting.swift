internal import AssetStore
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import Records
internal import Traffic

/// Logs the web service requests of clients and their answers, including refused requests. Also sets the request identifier header of every answer.
///
/// Asset downloads, and services about the server, such as the log itself, are not logged.
/// Preflights, and requests that the host and origin guards refuse, never get here, so foreign pages cannot write to the log.
struct RequestNoting: Sendable {
    let log: RequestLog
    /// True if requests act for the user they name without credentials.
    let believesNames: Bool

    func handle(_ request: Request, _ context: ServingRequestContext, _ next: () async throws -> Response) async throws -> Response {
        guard log.isOn, Self.isNoted(request, context) else { return Self.identifying(try await next(), context) }
        let note = RequestNote(request, context, in: log)
        do {
            let response = try await RequestNote.$current.withValue(note) { try await next() }
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

    private func noted(_ response: Response, _ request: Request, _ note: RequestNote) -> Response {
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
                try await body.write(NotingWriter(parent: writer, note: note))
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
            (noted.container, noted.environment, noted.operation) = (path.container, path.environment, Self.fileOperation)
            // A malformed path has no place. The logged answer has its error.
        } else if let path = try? WebServicePath(request.path) {
            noted.place(path)
            if !EndpointTable.knows(path.action), !SkylightServices.knows(path.action) { noted.operation = String(request.path) }
            if believesNames { noted.userRecordName = CallerResolver.userRecordName(in: request) }
        }
    }

    /// The operation name of asset uploads.
    private static let fileOperation = "assets/file"
}

/// Forwards a streamed body, and logs it.
private struct NotingWriter: ResponseBodyWriter {
    var parent: any ResponseBodyWriter
    let note: RequestNote

    mutating func write(_ buffer: ByteBuffer) async throws {
        note.streamed(buffer.readableBytesView)
        try await parent.write(buffer)
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
        try await parent.finish(trailingHeaders)
    }
}
